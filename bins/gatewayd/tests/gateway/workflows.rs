//! Workflows as those who write them meet them: commands, files, reloads, and tools that only they have.

use std::path::PathBuf;

use gateway_testkit::client::{HttpClient, Speaks};

use crate::support::{Folder, Serving, WATCHED, fake, gatewayd, has, logged, toml, until, write};

fn file(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let file = folder.config().with_file_name(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

/// Exit code, stdout and stderr.
fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = folder.run(arguments);
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), out, err)
}

/// One step that echoes.
fn echoes(tool: &str, said: &str) -> String {
    format!(
        "description: Says {said}.\nsteps:\n  - id: say\n    tool: {tool}\n    arguments: {{said: {said}}}\n"
    )
}

#[test]
fn the_demonstration_has_a_workflow_over_both_of_its_servers() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = gatewayd().args(arguments).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for (author, expected) in [
        (
            "wells",
            r#""structuredContent":{"books":["The Invisible Man (1897)","The War of the Worlds (1898)"],"years":1}"#,
        ),
        ("austen", r#""structuredContent":{"books":["Pride and Prejudice (1813)"],"years":0}"#),
        ("nobody", r#""structuredContent":{"books":[],"years":0}"#),
    ] {
        let (code, out) = run(&["call", "reading_list", &format!(r#"{{"author":"{author}"}}"#)]);
        assert!(code == Some(0) && out.contains(expected), "{out}");
    }
    for wrong in ["{}", r#"{"author":1}"#, r#"{"author":"x","more":[]}"#] {
        let (code, out) = run(&["call", "reading_list", wrong]);
        let is_told = out.contains(r#""isError":true"#) && out.contains("author");
        assert_eq!(
            (code == Some(1), is_told),
            if wrong.contains("more") { (false, false) } else { (true, true) },
            "{wrong}: {out}"
        );
    }
    let (code, out) = run(&["check"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("\nreading_list\tready\t3 steps\tbuilt-in default:14: workflows.reading_list\n"),
        "{out}"
    );
}

#[test]
fn check_tells_which_workflows_are_left_out_and_why() {
    let config = format!("workflows = \"flows/*\"\n{}tools = {{ deny = [\"odd\"] }}\n", fake("d", &[]));
    let folder = Folder::with(&config);
    file(&folder, "flows/good.yaml", &echoes("d__echo", "one"));
    file(&folder, "flows/gone.yaml", &echoes("d__odd", "two"));
    file(&folder, "flows/wrong.yaml", &format!("{}    dependsOn: [nobody]\n", echoes("d__echo", "three")));
    file(&folder, "flows/cut.json", "{\"description\": ");
    let flows = folder.config().with_file_name("flows");
    let flows = flows.canonicalize().unwrap().display().to_string();
    let (code, out, err) = run(&folder, &["check"]);
    assert_eq!(code, Some(1), "{out}{err}");
    let workflows: Vec<_> = out.lines().skip_while(|line| !line.starts_with("cut")).collect();
    let [cut, cut_why, gone, good, wrong, wrong_why] = workflows.as_slice() else { panic!("{out}") };
    assert_eq!(*cut, format!("cut\tbroken\t{flows}/cut.json:1"));
    assert!(cut_why.starts_with('\t'), "{out}");
    let reason = "step `say` calls `d__odd`, but downstream `d` does not offer it to this caller; check its name, and `tools` of `d` (`deny`, `allow`, `workflows`)";
    assert_eq!(*gone, format!("gone\thidden\t1 step\t{flows}/gone.yaml\t{reason}"));
    assert_eq!(*good, format!("good\tready\t1 step\t{flows}/good.yaml"));
    assert_eq!(*wrong, format!("wrong\tbroken\t{flows}/wrong.yaml"));
    assert!(wrong_why.starts_with("\tstep `say`: `dependsOn"), "{out}");
    for sentence in [
        format!("workflow `gone` is hidden: {reason}"),
        format!("workflow `wrong` is broken: {flows}/wrong.yaml: step `say`: `dependsOn"),
        format!("workflow `cut` is broken: {flows}/cut.json:1: "),
        "workflow broken, left out workflow=wrong".to_owned(),
    ] {
        assert!(err.contains(&sentence), "{sentence} is not in {err}");
    }
    let (code, json, _) = run(&folder, &["check", "--json"]);
    assert_eq!(code, Some(1));
    for part in [
        format!(
            r#""workflows":[{{"name":"cut","file":"{flows}/cut.json","place":"{flows}/cut.json:1","state":"broken","steps":null,"tools":null,"problems":[{{"step":null,"field":null,"message":""#
        ),
        format!(
            r#"{{"name":"gone","file":"{flows}/gone.yaml","place":"{flows}/gone.yaml","state":"hidden","steps":1,"tools":["d__odd"],"problems":[{{"step":"say","field":null,"message":"{reason}"}}],"reason":"{reason}","remarks":[]}}"#
        ),
        format!(
            r#"{{"name":"good","file":"{flows}/good.yaml","place":"{flows}/good.yaml","state":"ready","steps":1,"tools":["d__echo"],"problems":[],"reason":null,"remarks":[]}}"#
        ),
        format!(
            r#"{{"name":"wrong","file":"{flows}/wrong.yaml","place":"{flows}/wrong.yaml","state":"broken","steps":null,"tools":null,"problems":[{{"step":"say","field":"dependsOn"#
        ),
        r#""reason":"step `say`: `dependsOn"#.to_owned(),
        format!(r#""problems":["workflow `cut` is broken: {flows}/cut.json:1: "#),
    ] {
        assert!(json.contains(&part), "{part} is not in {json}");
    }
}

#[test]
fn that_a_downstream_is_switched_off_on_purpose_fails_no_check() {
    let config = format!(
        "{}{}enabled = false\n[workflows.inline]\ndescription = \"x\"\nsteps = [{{ id = \"s\", tool = \"off.echo\" }}]\n",
        fake("d", &[]),
        fake("off", &[])
    );
    let folder = Folder::with(&config);
    let (code, out, err) = run(&folder, &["check"]);
    assert_eq!((code, err.contains("workflow `")), (Some(0), false), "{out}{err}");
    let reason = "step `s` calls `off.echo`, but downstream `off` is disabled";
    let place = "gateway.toml:6: workflows.inline";
    assert!(out.contains(&format!("inline\thidden\t1 step\t{place}\t{reason}\n")), "{out}");
    let (code, json, _) = run(&folder, &["check", "--json"]);
    let row = format!(
        r#""file":"gateway.toml","place":"{place}","state":"hidden","steps":1,"tools":["off.echo"],"problems":[{{"step":"s","field":null,"message":"{reason}"}}],"reason":"{reason}","remarks":[]"#
    );
    assert!(code == Some(0) && json.contains(&row) && json.ends_with("\"problems\":[]}\n"), "{json}");
    let (code, _, err) = run(&folder, &["call", "inline"]);
    assert!(code == Some(1) && err.contains(&format!("workflow `inline` is hidden: {reason}")), "{err}");
    let more = "[[workflows.inline.steps]]\nid = \"t\"\ntool = \"d__nothing\"\n";
    let steps = "[[workflows.inline.steps]]\nid = \"s\"\ntool = \"off.echo\"\n";
    let config = config.replace("steps = [{ id = \"s\", tool = \"off.echo\" }]\n", &format!("{steps}{more}"));
    let (code, out, err) = run(&Folder::with(&config), &["check"]);
    assert!(code == Some(1) && err.contains("workflow `inline` is hidden: "), "{out}{err}");
}

#[test]
fn what_is_left_out_is_neither_listed_nor_called_and_the_rest_is() {
    let config = format!("workflows = [\"flows/*.yaml\"]\n{}", fake("d", &[]));
    let folder = Folder::with(&config);
    file(&folder, "flows/good.yaml", &echoes("d.echo", "one"));
    file(&folder, "flows/gone.yaml", &echoes("x__echo", "two"));
    file(&folder, "flows/wrong.yaml", "steps: []\n");
    let (code, out, err) = run(&folder, &["tools"]);
    assert_eq!(code, Some(1), "{out}{err}");
    let names: Vec<_> = out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert!(names.contains(&"good") && names.is_sorted(), "{out}");
    for left_out in ["gone", "wrong"] {
        assert!(!names.contains(&left_out), "{out}");
        assert!(err.contains(&format!("workflow `{left_out}` is ")), "{err}");
        let (code, out, err) = run(&folder, &["call", left_out]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
        assert!(err.contains(&format!("error: workflow `{left_out}` is ")), "{err}");
    }
    let (code, out, err) = run(&folder, &["call", "good"]);
    assert!(code == Some(0) && out.contains(r#""structuredContent":{"said":"one"}"#), "{out}{err}");
}

#[test]
fn a_tool_that_is_kept_for_workflows_is_no_clients() {
    let config = format!(
        "workflows = \"flows/*\"\n{}tools = {{ allow = [\"add\"], workflows = [\"ec*\"] }}\n",
        fake("d", &[])
    );
    let folder = Folder::with(&config);
    file(&folder, "flows/inner.yaml", &echoes("d__echo", "one"));
    let (code, out, err) = run(&folder, &["tools"]);
    assert_eq!(code, Some(0), "{err}");
    let names: Vec<_> = out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names, ["d__add", "inner"]);
    let (code, _, err) = run(&folder, &["call", "d__echo"]);
    assert!(code == Some(1) && err.contains("unknown tool \"d__echo\""), "{err}");
    let (code, out, err) = run(&folder, &["call", "inner"]);
    assert!(code == Some(0) && out.contains(r#"{"said":"one"}"#), "{out}{err}");
    let (code, out, _) = run(&folder, &["check"]);
    let note = "\tnote: step `say`: `d__echo` is kept for workflows: clients are not shown it";
    assert!(code == Some(0) && out.contains(note), "{out}");
}

#[test]
fn a_workflow_that_asks_says_that_a_command_cannot_answer() {
    let workflow = "[workflows.ask]\ndescription = \"Asks.\"\n[[workflows.ask.steps]]\nid = \"who\"\n\
                    type = \"elicitation\"\nmessage = \"Who?\"\nschema = { type = \"object\", properties = { name = { type = \"string\" } } }\n";
    let folder = Folder::with(&format!("{workflow}{}", fake("d", &[])));
    let (code, out, err) = run(&folder, &["call", "ask"]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("asks for input, which `gatewayd call` cannot give"), "{err}");
}

async fn says(client: &HttpClient, workflow: &str, said: &str) -> bool {
    let answer = client.call("1", workflow, "{}").await.unwrap();
    answer.text.contains(&format!(r#""structuredContent":{{"said":"{said}"}}"#))
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_workflows_come_change_and_go_while_the_gateway_runs() {
    let folder = Folder::with(&format!("workflows = \"flows/*.yaml\"\n{}", fake("d", &["--era", "legacy"])));
    let one = file(&folder, "flows/one.yaml", &echoes("d__echo", "first"));
    let serving = Serving::start(&folder, &WATCHED);
    let client = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
    until("one is offered", &serving, async || has(&client, "one").await).await;
    assert!(says(&client, "one", "first").await);
    let mut stream = client.listen().await.unwrap();

    std::fs::write(&one, echoes("d__echo", "second")).unwrap();
    until("one has changed", &serving, async || says(&client, "one", "second").await).await;
    file(&folder, "flows/two.yaml", &echoes("d__echo", "other"));
    until("two is offered", &serving, async || has(&client, "two").await).await;
    let told = stream.next().await.unwrap().unwrap();
    assert!(told.contains("notifications/tools/list_changed"), "{told}");
    std::fs::write(&one, "steps: 1\n").unwrap();
    until("one is not offered", &serving, async || !has(&client, "one").await).await;
    assert!(says(&client, "two", "other").await, "it goes on");
    std::fs::remove_file(&one).unwrap();
    logged(&serving, "workflows reloaded", 4).await;
    let log = serving.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("workflows reloaded")).collect();
    let expected = [
        r#"added="" changed="one" removed="" broken="""#,
        r#"added="two" changed="" removed="" broken="""#,
        r#"added="" changed="one" removed="" broken="one""#,
        r#"added="" changed="" removed="one" broken="""#,
    ];
    assert!(lines.iter().zip(expected).all(|(line, part)| line.contains(part)), "{lines:#?}");
    assert!(log.contains("workflow broken, left out workflow=one"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_hidden_at_run_time_and_runs_need_a_restart() {
    let workflow = "[workflows.inner]\ndescription = \"Says one.\"\nsteps = [{ id = \"say\", tool = \"d__echo\", arguments = { said = \"one\" } }]\n";
    let downstream = fake("d", &["--era", "legacy"]);
    let folder = Folder::with(&format!("{workflow}{downstream}"));
    let serving = Serving::start(&folder, &WATCHED);
    let client = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
    until("inner", &serving, async || has(&client, "inner").await).await;
    let hidden = format!("runs.max = 5\n{workflow}{downstream}tools.workflows = [\"echo\"]\n");
    write(&folder, &hidden);
    until("echo is hidden", &serving, async || !has(&client, "d__echo").await).await;
    assert!(has(&client, "inner").await && says(&client, "inner", "one").await, "{}", serving.log());
    assert!(client.call("1", "d__echo", "{}").await.unwrap().error().is_some());
    logged(&serving, "some keys keep their values until the gateway is restarted", 1).await;
    assert!(serving.log().contains("keys=\"runs\""), "{}", serving.log());
    write(&folder, &hidden.replace("workflows = [\"echo\"]", "deny = [\"echo\"]"));
    until("inner is gone", &serving, async || !has(&client, "inner").await).await;
}

/// A client that says who it is.
async fn client_of(serving: &Serving, speaks: Speaks, key: &str) -> HttpClient {
    let client = HttpClient::new(&serving.url, speaks).unwrap();
    let client = client.with_header("authorization", &format!("Bearer {key}"));
    client.shake_hands().await.unwrap();
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_for_everybody_gives_each_caller_the_workflows_of_its_own_tools() {
    let (desk, lab) = ("desk-key-0123456789", "lab-key-0123456789");
    for speaks in [Speaks::legacy, Speaks::modern] {
        // What a process lists is what stands in the file when it starts, and each session has a process.
        let command = gateway_testkit::stdio::command(["--era", "legacy", "--tools-file", "tools.json"]);
        let config = format!(
            "workflows = \"flows/*\"\n[clients.desk]\nkey = \"{desk}\"\nallow = [\"*\"]\n[clients.lab]\nkey = \"{lab}\"\nallow = [\"*\"]\n\
             [downstreams.p]\ncommand = {}\npublic_tool_list = false\ntools = {{ workflows = [\"echo\"] }}\n",
            toml(&command)
        );
        let folder = Folder::with(&config);
        file(&folder, "flows/inner.yaml", &echoes("p__echo", "one"));
        file(&folder, "flows/dotted.yaml", &echoes("p.echo", "two"));
        file(&folder, "flows/sum.yaml", &echoes("p__add", "three"));
        let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
        let lists = |names: &[&str]| {
            let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
            file(&folder, "tools.json", &format!("[{}]", tools.join(",")));
        };
        lists(&["echo", "add"]);
        let serving = Serving::start(&folder, &[]);
        let served = client_of(&serving, speaks(), desk).await;
        // The client may remember the tool from before: it has not been listed to it now.
        assert!(says(&served, "inner", "one").await, "{}", serving.log());
        for (shown, name) in
            [(true, "inner"), (true, "dotted"), (true, "sum"), (true, "p__add"), (false, "p__echo")]
        {
            assert_eq!(has(&served, name).await, shown, "{name}: {}", serving.log());
        }
        assert!(says(&served, "dotted", "two").await, "{}", serving.log());
        assert!(served.call("1", "p__echo", "{}").await.unwrap().error().is_some(), "hidden from clients");

        lists(&["add"]);
        let other = client_of(&serving, speaks(), lab).await;
        for (shown, name) in [(false, "inner"), (false, "dotted"), (true, "sum"), (true, "p__add")] {
            assert_eq!(has(&other, name).await, shown, "{name}: {}", serving.log());
        }
        let refused = other.call("2", "inner", "{}").await.unwrap();
        assert!(
            refused.error().is_some_and(|error| error.to_lowercase().contains("unknown tool")),
            "{}",
            refused.text
        );
        assert!(has(&served, "inner").await && says(&served, "inner", "one").await, "{}", serving.log());
    }
}
