//! Files and standard output (P-61).

use std::{
    fs,
    io::Read as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
};

use gateway_domain::Dispatcher;

use super::*;
use crate::testing::{Fake, Log, call, complete};

fn logging(path: &Path, rotation: Rotation) -> AuditLog {
    let config = AuditConfig { flush_records: 1, fsync_interval: 20 * MILLI, ..AuditConfig::default() };
    AuditLog::start(&config, vec![Box::new(FileSink::open(path, rotation).unwrap())])
}

async fn record(log: &AuditLog, name: &str) {
    let written = log.counts().written;
    Audit::new(log.clone(), Fake::now(|_| complete("{}"))).dispatch(call(name)).await.unwrap();
    while log.counts().written == written {
        tokio::task::yield_now().await;
    }
}

fn tools(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines().map(|line| object(line).get_text("tool").unwrap()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_file_is_for_its_owner_alone_and_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    for name in ["a", "b"] {
        let log = logging(&path, Rotation::default());
        record(&log, name).await;
        log.close().await;
        assert_eq!(mode(&path), 0o600);
    }
    assert_eq!(tools(&path), ["a", "b"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    logging(&path, Rotation::default()).close().await;
    assert_eq!(mode(&path), 0o600, "one that others can read is so no more");
}

/// Of each file that records may have gone to, the oldest first.
fn all_tools(paths: &[&Path]) -> Vec<String> {
    paths.iter().filter(|path| path.exists()).flat_map(|path| tools(path)).collect()
}

#[tokio::test]
async fn no_record_is_lost_when_the_file_is_moved_removed_or_replaced() {
    for what in ["moved", "removed", "replaced by a file", "replaced by a link", "put behind a link"] {
        let folder = tempfile::tempdir().unwrap();
        let [path, moved, target] = ["audit.jsonl", "moved", "target"].map(|name| folder.path().join(name));
        let told = Arc::new(Log::default());
        let telling = tracing::subscriber::set_default(told.clone());
        let log = logging(&path, Rotation::default());
        record(&log, "a").await;
        let spare = folder.path().join("spare");
        match what {
            "moved" => fs::rename(&path, &moved).unwrap(),
            "removed" => fs::remove_file(&path).unwrap(),
            "replaced by a file" => {
                fs::write(&spare, "").unwrap();
                fs::rename(&spare, &path).unwrap();
            }
            "replaced by a link" => {
                symlink(&target, &spare).unwrap();
                fs::rename(&spare, &path).unwrap();
            }
            _ => {
                fs::rename(&path, &moved).unwrap();
                symlink(&target, &path).unwrap();
            }
        }
        let is_link = what.contains("link");
        let stage = Audit::new(log.clone(), Fake::now(|_| complete("{}")));
        for name in ["b", "c"] {
            stage.dispatch(call(name)).await.unwrap();
            sleep(60 * MILLI).await;
        }
        if is_link {
            fs::remove_file(&path).unwrap();
            while !path.exists() {
                sleep(MILLI).await;
            }
        }
        stage.dispatch(call("d")).await.unwrap();
        log.close().await;
        drop(telling);
        let expected = if what.starts_with("re") { &["b", "c", "d"][..] } else { &["a", "b", "c", "d"] };
        assert_eq!(all_tools(&[&moved, &path]), expected, "{what}");
        assert!(!target.exists(), "{what}: nothing goes through a link");
        let errors = told.of(tracing::Level::ERROR);
        let most = if is_link { 2 } else { 0 };
        assert!(errors.len() <= most && errors.is_empty() != is_link, "{what}: once: {errors:?}");
    }
}

#[tokio::test]
async fn records_that_are_written_together_are_put_into_as_many_files_as_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut sink = FileSink::open(&path, Rotation { max_bytes: 10, keep: 9 }).unwrap();
    let mut lines = b"{1}\n{2}\n{3}\n{a long one}\n{4}\n".to_vec();
    sink.write(&mut lines).await.unwrap();
    assert!(lines.is_empty());
    let aged = |age: u32| fs::read_to_string(folder.path().join(format!("audit.jsonl.{age}"))).unwrap();
    let found = [aged(3), aged(2), aged(1), fs::read_to_string(&path).unwrap()];
    assert_eq!(found, ["{1}\n{2}\n", "{3}\n", "{a long one}\n", "{4}\n"]);
}

#[tokio::test]
async fn a_file_that_is_full_is_put_aside_and_the_oldest_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let aged = |age: u32| folder.path().join(format!("audit.jsonl.{age}"));
    let log = logging(&path, Rotation { max_bytes: 500, keep: 2 });
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        record(&log, name).await;
    }
    log.close().await;
    let all = [path.clone(), aged(1), aged(2)];
    let found: Vec<_> = all.iter().map(|path| tools(path)).collect();
    assert_eq!(found, [vec!["g"], vec!["e", "f"], vec!["c", "d"]]);
    assert!(all.iter().all(|path| mode(path) == 0o600 && fs::metadata(path).unwrap().len() <= 500));
    assert!(!aged(3).exists());
}

#[tokio::test]
async fn a_bound_of_no_files_begins_anew_and_none_at_all_grows() {
    for (rotation, found) in [
        (Rotation { max_bytes: 1, keep: 0 }, vec!["c"]),
        (Rotation { max_bytes: 0, keep: 0 }, vec!["a", "b", "c"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let log = logging(&path, rotation);
        for name in ["a", "b", "c"] {
            record(&log, name).await;
        }
        log.close().await;
        assert_eq!(tools(&path), found);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn what_cannot_be_put_aside_is_written_on_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = logging(&path, Rotation { max_bytes: 1, keep: 1 });
    fs::create_dir(folder.path().join("audit.jsonl.1")).unwrap();
    for name in ["a", "b"] {
        record(&log, name).await;
    }
    log.close().await;
    assert_eq!(tools(&path), ["a", "b"]);
    assert_eq!(counts(&log), [2, 0, 0, 1]);
}

#[tokio::test]
async fn a_file_that_somebody_moved_is_noticed_or_told() {
    for is_told in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("audit.jsonl"), folder.path().join("moved"));
        let log = logging(&path, Rotation::default());
        record(&log, "a").await;
        fs::rename(&path, &moved).unwrap();
        if is_told {
            log.reopen();
        } else {
            record(&log, "late").await;
        }
        while !path.exists() {
            sleep(MILLI).await;
        }
        record(&log, "b").await;
        log.close().await;
        assert_eq!(tools(&path), if is_told { &["b"][..] } else { &["late", "b"] });
        assert_eq!(tools(&moved), ["a"]);
        assert_eq!(mode(&path), 0o600);
    }
}

#[tokio::test]
async fn what_is_no_place_for_records_fails_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("link"), folder.path().join("target"));
    fs::write(&target, "").unwrap();
    symlink(&target, &link).unwrap();
    let dangling = folder.path().join("dangling");
    symlink(folder.path().join("nothing"), &dangling).unwrap();
    for path in [folder.path().to_owned(), folder.path().join("no/folder"), link, dangling] {
        let error = FileSink::open(&path, Rotation::default()).unwrap_err();
        assert!(error.to_string().starts_with(&format!("audit log {}: ", path.display())), "{error}");
    }
    assert!(!folder.path().join("nothing").exists());
}

#[tokio::test]
async fn a_pipe_that_nobody_reads_does_not_hang_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let log = logging(&path, Rotation { max_bytes: 1, keep: 1 });
    for name in ["a", "b"] {
        record(&log, name).await;
    }
    let mut pipe = fs::File::open(&path).unwrap();
    let mut text = vec![0; 4096];
    let count = pipe.read(&mut text).unwrap();
    log.close().await;
    assert_eq!(String::from_utf8_lossy(&text[..count]).lines().count(), 2);
    assert_eq!(counts(&log), [2, 0, 0, 0]);
}

#[tokio::test]
async fn a_device_without_room_fails_and_keeps_what_it_did_not_take() {
    let mut sink = FileSink::open("/dev/full", Rotation::default()).unwrap();
    let mut lines = b"{}\n".to_vec();
    assert_eq!(sink.write(&mut lines).await.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(lines, b"{}\n");
    sink.sync().await.unwrap();
}

#[tokio::test]
async fn standard_output_takes_lines() {
    let mut sink = StdoutSink::open().unwrap();
    let mut lines = b"\n".to_vec();
    sink.write(&mut lines).await.unwrap();
    assert!(lines.is_empty());
}

#[tokio::test]
async fn a_file_moved_across_a_restart_keeps_its_size_in_mind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    for name in ["a", "b", "c"] {
        let log = logging(&path, Rotation { max_bytes: 500, keep: 1 });
        record(&log, name).await;
        log.close().await;
    }
    assert_eq!(tools(&path), ["c"], "what stood there before counts");
    assert!(fs::metadata(&path).unwrap().size() > 0);
}

#[tokio::test]
async fn after_a_line_that_was_broken_off_a_record_is_a_line_of_its_own() {
    for (before, broken) in
        [("", ""), ("", "{\"ts\":\"2026-"), ("{\"tool\":\"x\"}\n", "{"), ("{\"tool\":\"x\"}\n", "")]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, format!("{before}{broken}")).unwrap();
        let log = logging(&path, Rotation::default());
        record(&log, "a").await;
        log.close().await;
        let text = fs::read_to_string(&path).unwrap();
        let ended = if broken.is_empty() { String::new() } else { format!("{broken}\n") };
        let rest = text.strip_prefix(&format!("{before}{ended}")).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(rest.lines().count(), 1, "{text}");
        assert_eq!(object(rest.trim_end()).get_text("tool").as_deref(), Some("a"), "{text}");
    }
}
