use std::{os::unix::fs::PermissionsExt as _, time::Duration};

use gateway_domain::{DownstreamFault, DownstreamSession, Era, Execution, Factory, OperatorError, Session};
use gateway_protocol::Revision;
use gateway_transport_stdio::{InheritEnv, StdioConfig, StdioFactory};

use crate::support::*;

#[tokio::test]
async fn the_wanted_era_is_spoken_where_the_server_has_it() {
    for (switches, want, spoken) in [
        ("--era legacy", Era::Modern, "2025-11-25"),
        ("--era legacy", Era::Legacy, "2025-11-25"),
        ("--era modern", Era::Modern, "2026-07-28"),
        ("--era modern", Era::Legacy, "2026-07-28"),
        ("--era dual", Era::Modern, "2026-07-28"),
        ("--era dual", Era::Legacy, "2025-11-25"),
        ("--protocol 2024-11-05", Era::Legacy, "2024-11-05"),
        ("--crlf --noise 3", Era::Legacy, "2025-11-25"),
    ] {
        let session = open(want, switches).await;
        assert_eq!(session.peer().protocol, spoken, "for {switches} and {want:?}");
        assert_eq!(session.peer().instructions.as_deref(), Some("a fake"));
        assert!(session.peer().server.as_ref().unwrap().as_str().contains("fake-mcp"));
        result(&session, "echo", "{}").await;
        session.ping().await.unwrap();
        session.close().await;
    }
}

#[tokio::test]
async fn a_probe_may_be_refused_in_any_way() {
    for refusal in [
        "reply-error -32601",
        "reply-error -32600",
        "reply-error -32602",
        "reply-error -32000",
        "reply-error 0",
        "silent",
        "garbage",
        "empty",
        "exit",
    ] {
        let starts = std::env::temp_dir().join(format!("{}-{}", marker("starts"), refusal.replace(' ', "")));
        let switches = format!("--era legacy --probe {refusal} --starts-file {}", starts.display());
        let (factory, _) = factory(config(&switches, |c| c.probe_timeout = Duration::from_millis(700)));
        for _ in 0..2 {
            let begun = tokio::time::Instant::now();
            let session = factory.open(&profile(Era::Modern)).await.unwrap();
            assert_eq!(session.peer().era, Era::Legacy, "for {refusal}");
            result(&session, "echo", "{}").await;
            session.close().await;
            assert!(begun.elapsed() < SOON);
        }
        let started = std::fs::read_to_string(&starts).unwrap().lines().count();
        std::fs::remove_file(&starts).unwrap();
        // The verdict is remembered: only the first session needs a second process.
        assert_eq!(started, if refusal == "exit" { 3 } else { 2 }, "for {refusal}");
    }
}

#[tokio::test]
async fn a_silent_probe_is_not_waited_for_again() {
    let (factory, _) =
        factory(config("--era legacy --probe silent", |c| c.probe_timeout = Duration::from_secs(2)));
    factory.open(&profile(Era::Modern)).await.unwrap().close().await;
    let begun = tokio::time::Instant::now();
    factory.open(&profile(Era::Modern)).await.unwrap().close().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_slow_starter_is_not_misread() {
    let slow = config("--era dual --start-delay 600", |c| c.probe_timeout = Duration::from_millis(200));
    let session = factory(slow).0.open(&profile(Era::Modern)).await.unwrap();
    assert_eq!(session.peer().era, Era::Modern);
    result(&session, "echo", "{}").await;
}

#[tokio::test]
async fn one_revision_can_be_demanded() {
    let only = |revision| config("--era dual", move |c| c.protocol = Some(revision));
    let (old, _) = factory(only(Revision::V2025_06_18));
    assert_eq!(old.open(&profile(Era::Modern)).await.unwrap().peer().protocol, "2025-06-18");
    let (refused, _) = factory(config("--era legacy", |c| c.protocol = Some(Revision::V2026_07_28)));
    let error = fault(refused.open(&profile(Era::Modern)).await);
    assert!(matches!(error.fault, DownstreamFault::Handshake { .. }), "{error}");
}

#[tokio::test]
async fn what_cannot_start_says_why_and_leaves_nothing() {
    for (switches, expected) in [
        ("--exit 3", "ended: exit status 3; last line on stderr: fake-mcp: exiting with 3 as told"),
        ("--no-such-switch", "exit status 2"),
        ("--silent", "no session within 1s"),
        ("--sleep --ignore-term", "no session within 1s"),
        ("--probe reply-error -32021", "refuses `server/discover` with -32021"),
    ] {
        let marker = marker("cannot-start");
        let fake = config(&format!("{switches} --marker {marker}"), |c| {
            c.startup_timeout = Duration::from_secs(1);
            c.probe_timeout = Duration::from_millis(200);
        });
        let (factory, ear) = factory(fake);
        let error = fault(factory.create(&profile(Era::Modern)).await.map(drop));
        assert!(error.to_string().contains(expected), "for {switches}: {error}");
        assert_eq!(error.execution, Execution::NotStarted);
        assert_eq!(processes(&marker), <[std::path::PathBuf; 0]>::default(), "for {switches}");
        assert!(ear.losses.lock().unwrap().is_empty(), "there was no session to lose");
    }
}

#[tokio::test]
async fn bad_commands_are_named() {
    let start = |command: &[&str]| {
        let config = StdioConfig::new(command.iter().map(|&word| word.to_owned()).collect(), us());
        async move { fault(factory(config).0.open(&profile(Era::Modern)).await).to_string() }
    };
    assert_eq!(
        start(&["npx-that-is-nowhere", "-y"]).await,
        "downstream `fake` cannot be reached: command `npx-that-is-nowhere` not found in PATH"
    );
    let folder = std::env::temp_dir().join(marker("bad-commands"));
    std::fs::create_dir(&folder).unwrap();
    let script = folder.join("script").to_str().unwrap().to_owned();
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        start(&[&script]).await,
        format!(
            "downstream `fake` cannot be reached: command `{script}` cannot be started: the interpreter that its \
             first line names, or the loader that it needs, does not exist"
        )
    );
    std::fs::remove_dir_all(&folder).unwrap();
    // Not an MCP server at all.
    let told = start(&["sh", "-c", "echo oops >&2; exit 7"]).await;
    assert_eq!(told, "downstream `fake` ended: exit status 7; last line on stderr: oops");
    let told = start(&["sh", "-c", "echo starting >&2; kill -9 $$"]).await;
    assert_eq!(
        told,
        "downstream `fake` ended: killed by signal 9 (SIGKILL: by somebody, or by the system for want of \
         memory); last line on stderr: starting"
    );
    let told = start(&["echo", "usage: server"]).await;
    assert_eq!(told, "downstream `fake` ended: exit status 0");

    let name = gateway_domain::DownstreamName::parse("empty").unwrap();
    let empty = StdioFactory::new(name, StdioConfig::new(vec![], us()), std::sync::Arc::new(Ear::default()));
    assert!(
        matches!(empty.unwrap_err(), OperatorError::Configuration { reason } if reason.contains("empty"))
    );
}

#[tokio::test]
async fn the_environment_is_what_is_needed_and_what_is_declared() {
    let open = async |inherit_env| {
        let fake = config("", |c| {
            c.env.insert("FAKE_TOKEN".into(), "s3cret".into());
            c.inherit_env = inherit_env;
            c.cwd = Some("/".into());
        });
        let session = factory(fake).0.open(&profile(Era::Modern)).await.unwrap();
        (report(&session).await, session.pid())
    };
    let (minimal, pid) = open(InheritEnv::Minimal).await;
    let env = minimal.get_object("env").unwrap();
    assert_eq!(env.get_text("FAKE_TOKEN").as_deref(), Some("s3cret"));
    assert!(env.contains("PATH") && !env.contains("CARGO_MANIFEST_DIR"), "{}", env.as_str());
    assert_eq!(minimal.get_text("cwd").as_deref(), Some("/"));
    let group = minimal.get("pgid").unwrap();
    assert_eq!(group.as_str(), pid.to_string(), "the child leads its own group");

    let (named, _) = open(InheritEnv::Named(vec!["CARGO_MANIFEST_DIR".into()])).await;
    assert!(named.get_object("env").unwrap().contains("CARGO_MANIFEST_DIR"));
}
