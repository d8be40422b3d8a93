use super::*;
use crate::config::checked::Runs;
use std::time::Duration;

const FINE: &str = "[downstreams.ok]\ncommand = [\"true\"]\n";

/// A configuration with files beside it.
fn scene(top: &str, files: &[(&str, &str)]) -> Scene {
    let scene = Scene::with("g.toml", &format!("{top}\n{FINE}"));
    files.iter().fold(scene, |scene, (name, text)| scene.file(name, text))
}

#[track_caller]
fn check(top: &str, files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(scene(top, files).problems(), expected, "{top}");
}

/// Name, place and definition, or why there is none, of each.
#[track_caller]
fn read(scene: &Scene) -> Vec<[String; 3]> {
    let folder = scene.path().display().to_string();
    let row = |workflow: Workflow| {
        let definition = workflow
            .definition
            .map_or_else(|reason| format!("no: {reason}"), |object| object.as_str().to_owned());
        [workflow.name, workflow.place, definition].map(|text| text.replace(&folder, "FOLDER"))
    };
    scene.good().config.workflows.into_iter().map(row).collect()
}

#[test]
fn what_names_no_workflows_is_a_problem() {
    for (top, expected) in [
        (
            "workflows = 1",
            "g.toml:1: workflows: found a number where a table of workflows, a glob or an array of globs is needed",
        ),
        ("workflows = \" \"", "g.toml:1: workflows: must not be empty"),
        (
            "workflows = [1]",
            "g.toml:1: workflows[0]: found a number where a string is needed; hint: write it in quotes",
        ),
        (
            "workflows = \"a.yaml\"",
            "g.toml:1: workflows: cannot read FOLDER/a.yaml: No such file or directory (os error 2)",
        ),
        (
            "workflows = [\"f/*\", \"a.yaml\"]",
            "g.toml:1: workflows[1]: cannot read FOLDER/a.yaml: No such file or directory (os error 2)",
        ),
        ("workflows = \"f\"", "g.toml:1: workflows: FOLDER/f is a folder; hint: write \"f/*.yaml\""),
        (
            "workflows = \"f/***.yaml\"",
            "g.toml:1: workflows: is no glob: wildcards are either regular `*` or recursive `**`; hint: write \"flows/*.yaml\"",
        ),
        ("workflows.w = \"a.yaml\"", "g.toml:1: workflows.w: found a string where a table of keys is needed"),
        (
            "workflows = [\"f/*\", \"g/*\"]",
            "g.toml:1: workflows: the workflow \"a\" is defined twice: in FOLDER/f/a.yaml and in FOLDER/g/b.yaml; hint: rename one of them",
        ),
        ("workflow = \"f/*\"", "g.toml:1: workflow: unknown key `workflow`; hint: did you mean `workflows`?"),
    ] {
        check(top, &[("f/a.yaml", "description: x"), ("g/b.yaml", "name: a")], &[expected]);
    }
}

#[test]
fn more_than_a_thousand_are_refused() {
    let text: String = (0..1001).map(|n| format!("[workflows.w{n}]\n")).collect();
    check(&text, &[], &["g.toml:1: workflows: there are 1001 workflows, and 1000 at most are read"]);
    let names: Vec<_> = (0..1001).map(|n| format!("f/{n}.yaml")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    check(
        "workflows = \"f/*\"",
        &files,
        &["g.toml:1: workflows: there are 1001 files, and 1000 at most are read"],
    );
}

#[test]
fn a_file_that_is_no_definition_leaves_out_its_workflow_alone() {
    let large = " ".repeat((1 << 20) + 1);
    let scene = scene(
        "workflows = \"f/*\"",
        &[
            ("f/bad.yaml", "a: 1\nb: ["),
            ("f/good.yaml", "description: x"),
            ("f/large.json", &large),
            ("f/list.json", "[]"),
            ("f/notes.md", "# x"),
            ("f/twice.toml", "a = 1\na = 2"),
            ("f/.hidden.yaml", "["),
            ("f/folder/deep.yaml", "["),
        ],
    );
    let read = read(&scene);
    let row =
        |name: &str| read.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}: {read:?}"));
    assert_eq!(row("good")[1..], ["FOLDER/f/good.yaml", r#"{"description":"x"}"#]);
    assert!(row("bad")[1].starts_with("FOLDER/f/bad.yaml:") && row("bad")[2].starts_with("no: "), "{read:?}");
    assert_eq!(row("large")[2], "no: the file is larger than 1048576 bytes");
    assert_eq!(row("list")[2], "no: the file must hold keys with values");
    assert_eq!(
        row("notes")[2],
        "no: the extension does not tell the format; use .toml, .yaml, .yml or .json"
    );
    assert_eq!(row("twice")[1..], ["FOLDER/f/twice.toml:2", "no: duplicate key"]);
    assert_eq!(read.len(), 6);
}

#[test]
fn more_than_eight_mebibytes_are_refused_before_they_are_read() {
    let large = " ".repeat(1 << 20);
    let names: Vec<_> = (0..9).map(|n| format!("f/{n}.yaml")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), large.as_str())).collect();
    assert_eq!(scene("workflows = \"f/*\"", &files[..8]).good().config.workflows.len(), 8);
    check(
        "workflows = \"f/*\"",
        &files,
        &["g.toml:1: workflows: the workflows have 9437184 bytes in all, and 8388608 at most are read"],
    );
}

#[test]
fn more_than_fifty_thousand_expressions_are_refused() {
    let text = |count| format!("a: \"{}\"\n", "{{1}}".repeat(count));
    let (half, more) = (text(25_000), text(25_001));
    let half = ("f/a.yaml", half.as_str());
    let top = "workflows = \"f/*\"";
    assert_eq!(scene(top, &[half, ("f/b.yaml", half.1)]).good().config.workflows.len(), 2);
    check(
        top,
        &[half, ("f/b.yaml", &more)],
        &["g.toml:1: workflows: the workflows have 50001 expressions in all, and 50000 at most are compiled"],
    );
}

#[test]
fn a_glob_that_searches_more_folders_than_can_be_watched_is_refused() {
    let names: Vec<_> = (0..1001).map(|n| format!("f/{n}/x")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    check(
        "workflows = \"f/*/*.yaml\"",
        &files,
        &[
            "g.toml:1: workflows: 1001 folders are searched, and 1000 at most may be; hint: write a narrower glob",
        ],
    );
}

#[test]
fn a_folder_among_the_files_of_a_glob_is_a_note() {
    let files = [("f/a.yaml", ""), ("f/deep/b.yaml", "")];
    let told = notes(&scene("workflows = \"f/*\"", &files).good());
    assert!(told[0].ends_with("/f/deep is a folder, and what is in it is not read"), "{told:?}");
    assert!(notes(&scene("workflows = \"f/**/*\"", &files).good()).is_empty());
}

#[test]
fn members_of_what_stands_in_the_configuration_keep_their_order() {
    let toml = "[workflows.w]\nz = 1\na = { y = 1, b = 2 }\nsteps = [{ tool = \"t\", id = \"s\" }]\n[workflows.w.m]\nq = 1\nc = 2\n";
    let scene = scene(toml, &[]);
    let expected = r#"{"z":1,"a":{"y":1,"b":2},"steps":[{"tool":"t","id":"s"}],"m":{"q":1,"c":2}}"#;
    assert_eq!(read(&scene)[0][2], expected);
    // What is laid over it comes last, unless it was there.
    let over = scene.variable("GATEWAY_WORKFLOWS__W__Z", "5").variable("GATEWAY_WORKFLOWS__W__B", "x");
    let expected = r#"{"a":{"y":1,"b":2},"steps":[{"tool":"t","id":"s"}],"m":{"q":1,"c":2},"b":"x","z":"5"}"#;
    assert_eq!(read(&over)[0][2], expected);
}

#[test]
fn yaml_is_that_of_1_2() {
    let yaml = "a: no\nb: 1_000\nc: true\nd: on\n";
    let scene = |yaml: &str| scene("workflows = \"w.yaml\"", &[("w.yaml", yaml)]);
    assert_eq!(read(&scene(yaml))[0][2], r#"{"a":"no","b":"1_000","c":true,"d":"on"}"#);
    for tagged in ["a: !foo 1\n", "a: !foo {b: 1}\n"] {
        assert!(read(&scene(tagged))[0][2].starts_with("no: "), "{tagged}");
    }
}

#[test]
fn a_glob_that_matches_nothing_is_a_note() {
    let loaded = scene("workflows = [\"f/*.yaml\"]", &[]).good();
    let notes = notes(&loaded);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("g.toml:1: workflows[0]: no file matches /"), "{notes:?}");
    assert!(loaded.config.workflows.is_empty());
}

#[test]
fn every_notation_says_the_same() {
    let toml = "[workflows.w]\ndescription = \"d\"\nsteps = [{ id = \"a\", arguments = { n = 9007199254740993, f = 1.0 } }]\n";
    let yaml = "workflows:\n  w:\n    description: d\n    steps:\n      - {id: a, arguments: {n: 9007199254740993, f: 1.0}}\n";
    let json = r#"{"workflows": {"w": {"description": "d", "steps": [{"id": "a", "arguments": {"n": 9007199254740993, "f": 1.0}}]}}}"#;
    let fine = [
        FINE,
        "downstreams: {ok: {command: [\"true\"]}}\n",
        r#", "downstreams": {"ok": {"command": ["true"]}}}"#,
    ];
    let texts = [
        ("g.toml", format!("{toml}{}", fine[0])),
        ("g.yaml", format!("{yaml}{}", fine[1])),
        ("g.json", format!("{}{}", json.strip_suffix('}').unwrap(), fine[2])),
    ];
    for (name, text) in texts {
        let [[workflow, _, definition]] = read(&Scene::with(name, &text)).try_into().unwrap();
        assert_eq!(workflow, "w");
        assert_eq!(
            definition,
            r#"{"description":"d","steps":[{"id":"a","arguments":{"n":9007199254740993,"f":1.0}}]}"#,
            "{name}"
        );
    }
}

#[test]
fn a_workflow_is_called_by_its_key_or_what_its_file_says_or_its_file() {
    let inline = scene("[workflows.restock]\ndescription = \"x\"\n", &[]);
    let expected = ["restock", "g.toml:1: workflows.restock", r#"{"description":"x"}"#];
    assert_eq!(read(&inline), [expected.map(str::to_owned)]);
    let files = [("f/b.yaml", "name: a\n"), ("f/deep/er/c.toml", ""), ("f/d.json", r#"{"z": null, "a": 1}"#)];
    let expected = [
        ["a", "FOLDER/f/b.yaml", r#"{"name":"a"}"#],
        ["c", "FOLDER/f/deep/er/c.toml", "{}"],
        ["d", "FOLDER/f/d.json", r#"{"z":null,"a":1}"#],
    ];
    let expected = expected.map(|row| row.map(str::to_owned));
    for top in
        ["workflows = \"f/**/*\"", "workflows = [\"f/b.yaml\", \"f/*.json\", \"f/**/c.*\", \"f/*.yaml\"]"]
    {
        assert_eq!(read(&scene(top, &files)), expected, "{top}");
    }
    let environment = scene("", &files).variable("GATEWAY_WORKFLOWS", "FOLDER");
    let globs = format!("{0}/f/*.[yj]*,{0}/f/deep/*/*", environment.path().display());
    let environment = environment.variable("GATEWAY_WORKFLOWS", Box::leak(globs.into_boxed_str()));
    assert_eq!(read(&environment), expected);
}

#[test]
fn files_and_the_folders_that_are_searched_are_watched() {
    let scene = scene(
        "workflows = [\"f/**/*.yaml\", \"one.toml\", \"later/*/*.yaml\"]",
        &[("f/g/a.yaml", ""), ("one.toml", "")],
    );
    let files = load(&scene.request, &Environment::default()).files;
    for file in ["g.toml", "f", "f/g", "f/g/a.yaml", "one.toml"] {
        assert!(files.contains_key(&scene.path().join(file)), "{file} is not among {files:?}");
    }
    assert_eq!(files[&scene.path().join("later")], None, "it may come");
    let folder = Stamp::of(&scene.path().join("f/g")).unwrap();
    std::fs::write(scene.path().join("f/g/b.yaml"), "").unwrap();
    assert_ne!(Stamp::of(&scene.path().join("f/g")).unwrap(), folder, "a file that is put there is seen");
}

#[test]
fn runs_are_bounded_as_published_and_as_written() {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let default = Runs {
        max: 100,
        max_per_caller: 10,
        parallel_steps: 10,
        max_calls: 1_000,
        max_bytes: 32 << 20,
        max_time: minutes(30),
    };
    assert_eq!(scene("", &[]).good().config.runs, default);
    let written = "[runs]\nmax = 7\nmax_per_caller = 3\nparallel_steps = 2\nmax_calls = 9\nmax_bytes = \"1MiB\"\nmax_time = \"1h\"\n";
    let expected = Runs {
        max: 7,
        max_per_caller: 3,
        parallel_steps: 2,
        max_calls: 9,
        max_bytes: 1 << 20,
        max_time: minutes(60),
    };
    assert_eq!(scene(written, &[]).good().config.runs, expected);
    for (top, expected) in [
        ("runs.max = 0", "g.toml:1: runs.max: must be 1 to 1000000"),
        ("runs.max_per_caller = 0", "g.toml:1: runs.max_per_caller: must be 1 to 1000000"),
        ("runs.parallel_steps = 101", "g.toml:1: runs.parallel_steps: must be 1 to 100"),
        (
            "runs.max_calls = \"many\"",
            "g.toml:1: runs.max_calls: found a string where a whole number is needed; hint: write it without quotes",
        ),
        ("runs.max_bytes = 10", "g.toml:1: runs.max_bytes: must be 1024 to 1073741824"),
        (
            "runs.max_bytes = \"1 kilo\"",
            "g.toml:1: runs.max_bytes: \"1 kilo\" is not a size; hint: write bytes, or \"64KiB\", \"4MiB\", \"1GiB\"",
        ),
        ("runs.max_time = \"2days\"", "g.toml:1: runs.max_time: must be 1ms to 1day"),
        (
            "runs.max_cals = 1",
            "g.toml:1: runs.max_cals: unknown key `max_cals`; hint: did you mean `max_calls`?",
        ),
        ("run.max = 1", "g.toml:1: run: unknown key `run`; hint: did you mean `runs`?"),
    ] {
        check(top, &[], &[expected]);
    }
}

#[test]
fn tools_are_kept_for_workflows_by_their_own_names() {
    let tools = "[downstreams.d]\ncommand = [\"x\"]\ntools = { workflows = [\"write_*\"] }\n";
    let config = Scene::with("g.toml", tools).good().config;
    assert_eq!(only(&config).tools.workflows, ["write_*"]);
    assert_eq!(only(&config).tools.allow, ["*"]);
    let wrong = |text: &str| Scene::with("g.toml", &tools.replace("[\"write_*\"]", text)).problems();
    assert_eq!(wrong("[\"\"]"), ["g.toml:3: downstreams.d.tools.workflows[0]: must not be empty"]);
    assert_eq!(
        wrong("\"x\""),
        [
            "g.toml:3: downstreams.d.tools.workflows: found a string where an array is needed; hint: put it in brackets: [\"…\", \"…\"]"
        ]
    );
}
