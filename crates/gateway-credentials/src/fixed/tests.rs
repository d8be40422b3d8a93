use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

use http::StatusCode;

use super::*;

async fn sent(credentials: &Fixed) -> Result<String, String> {
    let headers = credentials.headers(None).await.map_err(|error| error.to_string())?;
    let [(name, value)] = &headers[..] else { panic!("{headers:?}") };
    assert!(value.is_sensitive());
    Ok(format!("{name}: {}", value.to_str().unwrap()))
}

async fn reaction(credentials: &Fixed) -> Reaction {
    let sent = credentials.headers(None).await.unwrap();
    refused(credentials, &sent).await
}

async fn refused(credentials: &Fixed, sent: &[(HeaderName, HeaderValue)]) -> Reaction {
    let challenge = Challenge { status: StatusCode::UNAUTHORIZED, authenticate: &[], sent };
    credentials.refused(None, &challenge).await.unwrap()
}

fn shell(script: &str) -> CommandSource {
    CommandSource::new(["/bin/sh", "-c", script].map(Into::into).to_vec())
}

fn counting(directory: &Path, rest: &str) -> CommandSource {
    shell(&format!("echo x >> {0}/runs; {rest}", directory.display()))
}

fn runs(directory: &Path) -> usize {
    fs::read_to_string(directory.join("runs")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn configured_values_are_checked_at_once() {
    let check = |made: Result<Fixed, FixedError>, expected: Option<FixedError>| {
        let told = made.err();
        assert!(!format!("{told:?}").contains("s3cret"));
        assert_eq!(told, expected);
    };
    let value = |text: &str| Source::Value(Secret::new(text));
    check(Fixed::bearer(value("s3cret")), None);
    check(Fixed::bearer(value("s3cret\n")), None);
    check(Fixed::header("X-Key", value("s3cret with spaces")), None);
    let spaces = "a token is of visible ASCII characters without spaces";
    check(Fixed::bearer(value("s3cret x")), Some(FixedError::Value(spaces)));
    check(Fixed::bearer(value("s3crét")), Some(FixedError::Value(spaces)));
    check(Fixed::bearer(value(" \n")), Some(FixedError::Value("the value is empty")));
    let characters = "the value has characters that no header can have";
    check(Fixed::header("X-Key", value("s3cret\r\nEvil: 1")), Some(FixedError::Value(characters)));
    check(Fixed::header("a b", value("s3cret")), Some(FixedError::Invalid { name: "a b".into() }));
    for name in ["host", "mcp-session-id", "content-length", "transfer-encoding"] {
        let reserved = FixedError::Reserved { name: name.parse().unwrap() };
        check(Fixed::header(name, value("s3cret")), Some(reserved));
    }
    let bearer = Fixed::bearer(value("s3cret")).unwrap();
    assert!(!format!("{bearer:?}").contains("s3cret"));
    assert_eq!(sent(&bearer).await.unwrap(), "authorization: Bearer s3cret");
    assert_eq!(sent(&Fixed::header("X-Key", value(" k y\n")).unwrap()).await.unwrap(), "x-key: k y");
    assert_eq!(reaction(&bearer).await, Reaction::GiveUp);
    assert!(!bearer.is_per_caller());
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read_again_when_it_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let token = Fixed::bearer(Source::File(FileSource::new(&path))).unwrap();
    assert!(
        sent(&token).await.unwrap_err().starts_with(&format!("the file {} cannot be read", path.display()))
    );
    fs::write(&path, "one\n").unwrap();
    assert_eq!(sent(&token).await.unwrap(), "authorization: Bearer one");
    fs::write(&path, "second\n").unwrap();
    assert_eq!(sent(&token).await.unwrap(), "authorization: Bearer one", "it was just looked at");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(sent(&token).await.unwrap(), "authorization: Bearer second");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(sent(&token).await.unwrap(), "authorization: Bearer second", "it has not changed");
    fs::write(directory.path().join("new"), "third!").unwrap();
    fs::rename(directory.path().join("new"), &path).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(sent(&token).await.unwrap(), "authorization: Bearer third!");
    fs::remove_file(&path).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(sent(&token).await.is_err());
}

#[tokio::test]
async fn a_refused_file_is_worth_another_try_if_it_says_something_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, "one").unwrap();
    let token = Fixed::bearer(Source::File(FileSource::new(&path))).unwrap();
    let sent = token.headers(None).await.unwrap();
    assert_eq!(refused(&token, &sent).await, Reaction::GiveUp);
    fs::write(&path, "two").unwrap();
    assert_eq!(refused(&token, &sent).await, Reaction::Retry);
    let elsewhere = [(HeaderName::from_static("x-key"), HeaderValue::from_static("Bearer two"))];
    assert_eq!(refused(&token, &elsewhere).await, Reaction::Retry, "it was sent in another header");
}

#[tokio::test]
async fn what_is_no_file_of_a_value_is_told_without_the_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let check = async |content: &[u8], expected: Option<&str>| {
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let token = Fixed::header("x-key", Source::File(FileSource::new(&path))).unwrap();
        let told = sent(&token).await.err();
        assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
        let told = told.unwrap_or_default();
        assert!(told.contains(expected.unwrap_or_default()) && !told.contains("s3cret"), "{told}");
    };
    check(b"s3cret", None).await;
    check(&vec![b'x'; 64 << 10], None).await;
    check(&vec![b'x'; (64 << 10) + 1], Some("it is larger than 65536 bytes")).await;
    check(b"", Some(": the value is empty")).await;
    check(b"s3cret\0", Some("the value has characters that no header can have")).await;
    check(b"s3cret\xff", Some("cannot be read: ")).await;
    let folder = Fixed::bearer(Source::File(FileSource::new(directory.path()))).unwrap();
    assert!(sent(&folder).await.unwrap_err().ends_with("it is not a file"));
}

#[tokio::test]
async fn what_a_command_prints_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let command = counting(directory.path(), "echo tok").kept_for(Duration::from_millis(300));
    let token = Fixed::bearer(Source::Command(command)).unwrap();
    assert_eq!(runs(directory.path()), 0);
    for _ in 0..3 {
        assert_eq!(sent(&token).await.unwrap(), "authorization: Bearer tok");
    }
    assert_eq!(runs(directory.path()), 1);
    tokio::time::sleep(Duration::from_millis(320)).await;
    sent(&token).await.unwrap();
    assert_eq!(runs(directory.path()), 2);
}

#[tokio::test]
async fn a_crowd_has_one_command_run() {
    let directory = tempfile::tempdir().unwrap();
    let token =
        Arc::new(Fixed::bearer(Source::Command(counting(directory.path(), "sleep 0.1; echo tok"))).unwrap());
    let crowd: Vec<_> = (0..20)
        .map(|_| {
            let token = Arc::clone(&token);
            tokio::spawn(async move { sent(&token).await })
        })
        .collect();
    for one in crowd {
        assert_eq!(one.await.unwrap().unwrap(), "authorization: Bearer tok");
    }
    assert_eq!(runs(directory.path()), 1);
}

#[tokio::test]
async fn a_command_that_goes_wrong_is_told_without_what_it_printed() {
    let check = async |command: CommandSource, expected: &str| {
        let token = Fixed::bearer(Source::Command(command)).unwrap();
        let told = sent(&token).await.unwrap_err();
        assert!(told.starts_with("the command ") && told.contains(expected), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    };
    check(shell("echo s3cret; exit 3"), "failed: exit status: 3").await;
    check(shell("echo s3cret x"), "a token is of visible ASCII characters without spaces").await;
    check(shell("exit 0"), "the value is empty").await;
    check(shell("printf 's3cret\\377'"), "printed what is no text").await;
    check(shell("head -c 65537 /dev/zero | tr '\\0' x"), "printed more than 65536 bytes").await;
    check(CommandSource::new(vec!["/no/such/program".into()]), "/no/such/program cannot be started").await;
    check(CommandSource::new(Vec::new()), "is empty").await;
    let slow = shell("echo s3cret; sleep 60").with_timeout(Duration::from_millis(200));
    let since = tokio::time::Instant::now();
    check(slow, "did not end within 200ms").await;
    assert!(since.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn as_much_is_taken_of_a_command_as_is_said() {
    let most = shell("head -c 65536 /dev/zero | tr '\\0' x").output().await.unwrap();
    assert_eq!(most.expose().len(), 65536);
}

#[tokio::test]
async fn after_a_failure_it_is_left_alone_for_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let token = Fixed::bearer(Source::Command(counting(directory.path(), "exit 1"))).unwrap();
    let first = sent(&token).await.unwrap_err();
    assert_eq!(sent(&token).await.unwrap_err(), first);
    assert_eq!(runs(directory.path()), 1);
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_all_that_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!("(sleep 1; echo late >> {}/runs) & sleep 60", directory.path().display());
    let slow = shell(&script).with_timeout(Duration::from_millis(100));
    sent(&Fixed::bearer(Source::Command(slow)).unwrap()).await.unwrap_err();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(runs(directory.path()), 0);
}

#[tokio::test]
async fn a_command_sees_few_variables_and_no_shell() {
    let env = CommandSource::new(vec!["/usr/bin/env".into()]).with_env(vec![("MINE".into(), "1".into())]);
    let printed = env.output().await.unwrap();
    for line in printed.expose().lines() {
        let (name, _) = line.split_once('=').unwrap();
        let known = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "MINE"];
        assert!(known.contains(&name), "{name}");
    }
    assert!(printed.expose().contains("MINE=1"));
    // Cargo tells its tests much.
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    let echo = CommandSource::new(["/bin/echo", "$HOME;", "a b"].map(Into::into).to_vec());
    assert_eq!(echo.output().await.unwrap().expose(), "$HOME; a b\n");
    let secret = CommandSource::new(["/bin/echo", "s3cret"].map(Into::into).to_vec());
    assert!(!format!("{secret:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_refused_value_of_a_command_is_renewed_unless_it_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display().to_string();
    let script = format!("echo x >> {path}/runs; wc -l < {path}/runs");
    let token = Fixed::header("x-key", Source::Command(shell(&script))).unwrap();
    let sent = token.headers(None).await.unwrap();
    tokio::time::pause();
    assert_eq!(refused(&token, &sent).await, Reaction::GiveUp, "it is new");
    assert_eq!(runs(directory.path()), 1);
    tokio::time::advance(Duration::from_secs(10)).await;
    tokio::time::resume();
    assert_eq!(refused(&token, &sent).await, Reaction::Retry);
    assert_eq!(runs(directory.path()), 2);
    assert_eq!(refused(&token, &sent).await, Reaction::Retry, "somebody has renewed it meanwhile");
    assert_eq!(runs(directory.path()), 2);
}
