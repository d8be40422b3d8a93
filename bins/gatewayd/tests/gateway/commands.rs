//! `check`, `tools` and `call` as a person or a script runs them (design §11).

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::support::{Folder, fake, gatewayd};

/// Runs a command and compares exit code, a part of stdout and a part of stderr.
#[track_caller]
fn check(folder: &Folder, arguments: &[&str], code: i32, out: &str, err: &str) {
    let output = folder.run(arguments);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stdout}{stderr}");
    assert!(stdout.contains(out), "{arguments:?}: {stdout}");
    assert!(stderr.contains(err), "{arguments:?}: {stderr}");
}

#[test]
fn without_a_configuration_the_demonstration_runs_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| gatewayd().args(arguments).current_dir(folder.path()).output().unwrap();
    let listed = run(&["tools", "--json"]);
    let tools = String::from_utf8(listed.stdout).unwrap();
    let demo = ["add", "echo", "now"].map(|tool| format!("demo__{tool}"));
    let library =
        ["get_book", "get_cover", "list_books", "search_books"].map(|tool| format!("library__{tool}"));
    for name in demo.iter().chain(&library) {
        assert!(tools.contains(&format!(r#""name":"{name}""#)), "{tools}");
    }
    assert!(tools.contains(r#""name":"reading_list""#), "{tools}");
    assert_eq!(tools.matches(r#""inputSchema""#).count(), 8, "nothing that changes something: {tools}");
    assert!(String::from_utf8(listed.stderr).unwrap().contains("built-in demonstration"));
    let called = run(&["call", "demo__add", r#"{"a":40,"b":2}"#]);
    assert!(String::from_utf8(called.stdout).unwrap().contains(r#""structuredContent":{"sum":42}"#));
    assert_eq!(called.status.code(), Some(0));
}

#[test]
fn the_demonstration_has_an_api_that_needs_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let run = |tool: &str, arguments: &str| {
        let mut command = gatewayd();
        command.env("GATEWAY_DOWNSTREAMS__LIBRARY__READ_ONLY", "false");
        let output = command.args(["call", tool, arguments]).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for (tool, arguments, code, expected) in [
        ("library__get_book", r#"{"id":4}"#, 0, r#""structuredContent":{"id":4,"title":"Twenty Thousand"#),
        ("library__get_book", r#"{"id":99}"#, 1, r#"HTTP 404\n{\"problem\":\"there is no book 99\"}"#),
        ("library__get_book", "{}", 1, "invalid arguments"),
        ("library__list_books", r#"{"limit":1,"sort":"year"}"#, 0, r#"{"total":12,"books":[{"id":10,"#),
        ("library__search_books", r#"{"subject":["sea","science"]}"#, 0, r#""structuredContent":[{"id":4,"#),
        ("library__get_cover", r#"{"id":1}"#, 0, r#""type":"image""#),
        (
            "library__add_book",
            r#"{"body":{"title":"Emma","author":"Jane Austen","year":1815,"subjects":[]}}"#,
            0,
            r#""structuredContent":{"id":13,"title":"Emma","#,
        ),
        ("library__remove_book", r#"{"id":1}"#, 0, r#""content":["#),
    ] {
        let (ended, out) = run(tool, arguments);
        assert_eq!(ended, Some(code), "{tool} {arguments}: {out}");
        assert!(out.contains(expected), "{tool} {arguments}: {out}");
    }
}

#[test]
fn calls_print_the_raw_result_and_say_how_they_ended() {
    let folder = Folder::with(&fake("d", &["--era", "dual"]));
    let odd = folder.run(&["call", "d__odd"]);
    let expected = format!("{}\n", gateway_testkit::fixtures::ODD_RESULT_MODERN);
    assert_eq!(String::from_utf8(odd.stdout).unwrap(), expected, "byte for byte, on one line");
    check(&folder, &["call", "d__fail"], 1, r#""isError":true"#, "reports an error");
    check(&folder, &["call", "d__nothing"], 1, "", "unknown tool \"d__nothing\"");
    check(&folder, &["call", "d__echo", "{\"a\":"], 2, "", "not a JSON object");
    check(&folder, &["call", "d__echo", "[1]"], 2, "", "not a JSON object");
    check(&folder, &["call"], 2, "", "Usage");
    let folder = Folder::with("[downstreams.missing]\ncommand = [\"no-such-program-anywhere\"]\n");
    let reason = "downstream `missing` cannot be reached: ";
    check(&folder, &["call", "missing__echo"], 1, "", reason);
    check(&folder, &["call", "missing__echo"], 1, "", "no-such-program-anywhere");
}

#[test]
fn a_call_starts_each_server_once() {
    for era in ["legacy", "modern"] {
        let folder = Folder::with("");
        let starts = folder.config().with_file_name("starts");
        let config = fake("d", &["--era", era, "--starts-file", starts.to_str().unwrap()]);
        std::fs::write(folder.config(), config).unwrap();
        check(&folder, &["call", "d__echo", "{\"a\":1}"], 0, "\"a\":1", "");
        let starts = std::fs::read_to_string(&starts).unwrap();
        assert_eq!(starts.lines().count(), 1, "{era}: {starts}");
    }
}

#[test]
fn wrong_configurations_are_reported_whole() {
    let folder = Folder::with("listne = \"x\"\n[downstreams.a__b]\ncommand = \"npx server\"\n");
    check(&folder, &["check"], 2, "", "did you mean `listen`?");
    check(&folder, &["check"], 2, "", "an array is needed");
    check(&folder, &["check"], 2, "", "separates downstream and tool");
    let folder =
        Folder::with("[downstreams.d]\ncommand = [\"x\"]\nenv = { T = { env = \"NOT_SET_ANYWHERE\" } }\n");
    check(&folder, &["tools"], 2, "", "NOT_SET_ANYWHERE");
    check(&folder, &["check", "--config", "missing.toml"], 2, "", "missing.toml");
}

#[test]
fn check_tells_what_works_and_why_something_does_not() {
    let config = [
        fake("good", &["--era", "legacy"]),
        fake("gone", &["--exit", "3"]),
        format!("{}startup_timeout = \"1s\"\nprobe_timeout = \"300ms\"\n", fake("hangs", &["--silent"])),
        format!(
            "{}startup_timeout = \"1s\"\nprobe_timeout = \"300ms\"\n",
            fake("floods", &["--stderr-flood", "unlimited", "--silent"])
        ),
        "[downstreams.missing]\ncommand = [\"no-such-program-anywhere\"]\n".to_owned(),
        "[downstreams.off]\ncommand = [\"x\"]\nenabled = false\n".to_owned(),
        "[downstreams.refused]\nurl = \"http://127.0.0.1:9/mcp\"\n".to_owned(),
    ];
    let folder = Folder::with(&config.concat());
    check(&folder, &["check"], 1, "good\tready\t2025-11-25", "downstream `gone` is broken");
    check(&folder, &["check"], 1, "off\tdisabled", "no-such-program-anywhere");
    check(&folder, &["check"], 1, "refused\tbroken", "exiting with 3 as told");
    check(&folder, &["check"], 1, "hangs\tbroken", "downstream `hangs` is broken");
    let json = String::from_utf8(folder.run(&["check", "--json"]).stdout).unwrap();
    for part in [
        r#"{"downstreams":[{"name":"floods","state":"broken""#,
        r#"{"name":"gone","state":"broken""#,
        r#"{"name":"good","state":"ready","reason":null,"protocol":"2025-11-25""#,
        r#""workflows":[],"problems":["downstream `floods` is broken"#,
    ] {
        assert!(json.contains(part), "{part} is not in {json}");
    }
}

#[test]
fn tools_of_a_filtered_downstream_are_neither_listed_nor_called() {
    let config = format!("{}tools = {{ allow = [\"echo\", \"odd\"], deny = [\"odd\"] }}\n", fake("d", &[]));
    let folder = Folder::with(&config);
    let listed = folder.run(&["tools"]);
    let tools = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(tools.lines().map(|line| line.split('\t').next().unwrap()).collect::<Vec<_>>(), ["d__echo"]);
    check(&folder, &["call", "d__odd"], 1, "", "unknown tool");
}

#[test]
fn names_that_do_not_fit_are_offered_under_an_alias_and_called_by_their_own() {
    let folder = Folder::with("");
    let file = folder.config().with_file_name("tools.json");
    std::fs::write(&file, r#"[{"name":"echo","inputSchema":{"type":"object"}},{"name":"a__b c","inputSchema":{"type":"object"}}]"#).unwrap();
    std::fs::write(folder.config(), fake("d", &["--tools-file", file.to_str().unwrap()])).unwrap();
    let checked = folder.run(&["check", "--json"]);
    let report = String::from_utf8(checked.stdout).unwrap();
    let aliases = report.split(r#""aliases":{"#).nth(1).unwrap().split('}').next().unwrap();
    assert!(aliases.starts_with("\"d__a") && aliases.ends_with(":\"a__b c\""), "{aliases}");
}

#[test]
fn a_command_that_is_interrupted_leaves_no_child_behind() {
    let folder = Folder::with("");
    let starts = folder.config().with_file_name("starts");
    let config = fake("hangs", &["--silent", "--ignore-eof", "--starts-file", starts.to_str().unwrap()]);
    std::fs::write(folder.config(), config).unwrap();
    let mut command = gatewayd();
    command.arg("check").arg("--config").arg(folder.config()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut checking = command.spawn().unwrap();
    let started = || std::fs::read_to_string(&starts).ok()?.trim().parse::<u32>().ok();
    let begun = Instant::now();
    let pid = loop {
        if let Some(pid) = started() {
            break pid;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "the fake does not start");
        std::thread::yield_now();
    };
    let interrupt = Command::new("kill").args(["-INT", &checking.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(checking.wait().unwrap().code(), Some(1));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "the child is gone");
}
