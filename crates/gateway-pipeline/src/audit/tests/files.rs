//! Files and standard output (P-61).

use std::{
    fs,
    io::Read as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
};

use gateway_domain::Dispatcher;

use super::*;
use crate::testing::{Fake, call, complete};

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
    assert_eq!(mode(&path), 0o640, "one that is there is left as it is");
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
        assert_eq!(tools(&path), ["b"]);
        assert_eq!(tools(&moved)[0], "a");
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
