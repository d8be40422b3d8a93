//! What starts processes, and what cannot (T25).

use gateway_testkit::client::{HttpClient, Speaks};

use crate::{
    support::{Folder, Serving, fake, has, toml, until},
    world::{Files as _, at, call, json},
};

/// Arguments that mean something to a shell, or to who reads arguments carelessly.
const ODD: [&str; 14] = [
    "$(touch made)",
    "`touch made`",
    "; touch made",
    "| touch made",
    "&& touch made",
    "> made",
    "*",
    "~",
    "--marker",
    "-rf",
    "a b",
    "'",
    "\"",
    "\\",
];

/// Variables that a child may have.
const ALLOWED: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "TERM",
    "DECLARED",
    "GATEWAYD_LIFELINE",
    "TEXT",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_started_as_it_is_written_with_little_of_the_environment() {
    let mut argv = gateway_testkit::stdio::command::<&str>([]);
    for value in ODD {
        argv.extend(["--marker".to_owned(), value.to_owned()]);
    }
    let config = format!(
        "[downstreams.d]\ncommand = {}\nenv = {{ DECLARED = {{ env = \"GIVEN\" }}, TEXT = \"$HOME $(id)\" }}\n",
        toml(&argv)
    );
    let folder = Folder::with(&config);
    let variables = [
        ("GIVEN", "given-value-1"),
        ("CANARY_TOKEN", "canary-1"),
        ("AWS_SECRET_ACCESS_KEY", "canary-2"),
        ("LD_PRELOAD_X", "canary-3"),
        ("LC_ALL", "C"),
    ];
    let serving = Serving::start_in(&folder, &[], &variables);
    let client = at(&serving, "", Speaks::modern()).await;
    until("report", &serving, async || has(&client, "d__report").await).await;
    // A value of a client is no part of any command line.
    call(&client, "d__echo", r#"{"text":"$(touch made)","command":["touch","made"]}"#).await;
    let report = call(&client, "d__report", r#"{"flag":"--exit 3"}"#).await;
    let result = json(&report.result().unwrap());
    let told = &result["structuredContent"];
    let found: Vec<_> =
        told["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned()).collect();
    assert_eq!(found, argv, "each argument is as it was written");
    assert_eq!(told["fds"], json("[0,1,2]"), "nothing of the gateway is open in it");
    let environment = told["env"].as_object().unwrap();
    assert_eq!(environment["TEXT"], "$HOME $(id)");
    let allowed = |name: &str| ALLOWED.contains(&name) || name.starts_with("LC_");
    let others: Vec<_> = environment.keys().filter(|name| !allowed(name)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(environment.contains_key("LC_ALL"));
    assert!(!report.text.contains("canary-"), "{}", report.text);
    assert!(
        !report.text.contains("given-value-1"),
        "what it is told in secret it does not tell: {}",
        report.text
    );
    for folder in [folder.file("made"), std::env::current_dir().unwrap().join("made")] {
        assert!(!folder.exists(), "a shell has read it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_starts_anything() {
    let folder = Folder::with("");
    let starts = folder.file("starts");
    let server = fake("d", &["--era", "modern", "--starts-file", starts.to_str().unwrap()]);
    crate::support::write(&folder, &server);
    let serving = Serving::start(&folder, &[]);
    let client = at(&serving, "", Speaks::modern()).await;
    until("echo", &serving, async || has(&client, "d__echo").await).await;
    let before = (std::fs::read_to_string(&starts).unwrap(), children(serving.pid()));
    let made = folder.file("made");
    let command = format!(r#"["touch","{}"]"#, made.display());
    let server = format!(
        r#"{{"command":"touch","args":["{0}"],"name":"x","transport":"stdio","mcpServers":{{"x":{{"command":"touch","args":["{0}"]}}}}}}"#,
        made.display()
    );
    for method in [
        "servers/add",
        "mcp/test",
        "gateway/test",
        "downstreams/add",
        "server/discover",
        "tools/list",
        "tools/call",
        "x/y",
    ] {
        for params in [&server, &format!(r#"{{"command":{command},"name":"d__echo","arguments":{server}}}"#)]
        {
            client.request(&client.next_id(), method, params).await.unwrap();
        }
    }
    let root = serving.url.trim_end_matches("/mcp").to_owned();
    for path in [
        "/",
        "/servers",
        "/test",
        "/mcp/test",
        "/mcp-rest/test/connection",
        "/mcp/new",
        "/config",
        "/api/servers",
    ] {
        let other = HttpClient::new(&format!("{root}{path}"), Speaks::modern()).unwrap();
        let answer = other.post(&server, &[]).await.unwrap();
        assert!(answer.status >= 400, "{path}: {}", answer.status);
    }
    assert_eq!((std::fs::read_to_string(&starts).unwrap(), children(serving.pid())), before);
    assert!(!made.exists());
}

/// How many processes have this one as their parent.
fn children(of: u32) -> usize {
    let folder = format!("/proc/{of}/task");
    let tasks = std::fs::read_dir(folder).unwrap();
    let of_task =
        |path: std::path::PathBuf| std::fs::read_to_string(path.join("children")).unwrap_or_default();
    tasks.map(|task| of_task(task.unwrap().path()).split_whitespace().count()).sum()
}

#[test]
fn what_is_not_known_or_missing_stops_the_start() {
    for (more, expected) in [
        ("comand = [\"x\"]\n", "comand"),
        ("shell = true\n", "shell"),
        ("env = { T = { env = \"NOT_SET_ANYWHERE\" } }\n", "NOT_SET_ANYWHERE"),
        ("env = { T = { file = \"not-there\" } }\n", "not-there"),
        ("env = { T = { command = \"id\" } }\n", "command"),
    ] {
        let folder = Folder::with("");
        let starts = folder.file("starts");
        let server = fake("d", &["--starts-file", starts.to_str().unwrap()]);
        crate::support::write(&folder, &[&server, more].concat());
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["check"], &["tools"]] {
            let output = folder.run(command);
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{more}: {err}");
            assert!(err.contains(expected) && err.contains("gateway.toml:"), "{more}: {err}");
            assert!(!starts.exists(), "{more}: nothing is started");
        }
    }
    let folder = Folder::with("[downstreams.d]\ncommand = \"cat made; touch made\"\n");
    let output = folder.run(&["check"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
