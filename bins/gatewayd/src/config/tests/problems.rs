use super::*;

/// A downstream that is right, for rows about other things.
const FINE: &str = "[downstreams.ok]\ncommand = [\"true\"]\n";

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(Scene::with("g.toml", text).problems(), expected);
}

/// Rows about one top-level text above a downstream that is right.
#[track_caller]
fn check_top(text: &str, expected: &[&str]) {
    check(&format!("{text}\n{FINE}"), expected);
}

#[test]
fn all_problems_are_reported_together_with_their_lines() {
    check(
        r#"listen = "somewhere"
shutdown_grace = 30
liste = 1

[limits]
in_flight = "many"
body_byte = 5

[downstreams.a__b]
command = ["x"]

[downstreams.files]
command = "npx -y secret-argument"
pool = { max = 0, idle_tll = "1s" }
env = { TOKEN = { env = "FILES_TOKEN" } }

[downstreams.search]
url = "https://search.example/mcp"
headers = { Authorization = { env = "SEARCH_TOKEN", prefix = "Bearer " } }
cwd = "/"
"#,
        &[
            "g.toml:1: listen: \"somewhere\" is not an address to listen on; hint: write an IP address and a port: \"127.0.0.1:8080\", \"[::1]:8080\"; port 0 takes a free one",
            "g.toml:2: shutdown_grace: a duration needs a unit; hint: write \"30s\" for seconds, \"30ms\" for milliseconds",
            "g.toml:3: liste: unknown key `liste`; hint: did you mean `listen`?",
            "g.toml:6: limits.in_flight: found a string where a whole number is needed; hint: write it without quotes",
            "g.toml:7: limits.body_byte: unknown key `body_byte`; hint: did you mean `body_bytes`?",
            "g.toml:9: downstreams.a__b: the name contains `__`, which separates downstream and tool; hint: use letters, digits, - and single _ inside, 40 at most",
            "g.toml:13: downstreams.files.command: found a string where an array is needed; hint: no shell reads it: write command = [\"npx\", \"argument\", …]",
            "g.toml:14: downstreams.files.pool.max: must be 1 to 10000",
            "g.toml:14: downstreams.files.pool.idle_tll: unknown key `idle_tll`; hint: did you mean `idle_ttl`?",
            "g.toml:15: downstreams.files.env.TOKEN.env: the environment variable FILES_TOKEN is not set or empty; hint: set FILES_TOKEN before the gateway starts",
            "g.toml:19: downstreams.search.headers.Authorization.env: the environment variable SEARCH_TOKEN is not set or empty; hint: set SEARCH_TOKEN before the gateway starts",
            "g.toml:20: downstreams.search.cwd: belongs to a downstream with a command",
        ],
    );
}

const TOP_LEVEL: &[(&str, &[&str])] = &[
    (
        "listen = 8080",
        &["g.toml:1: listen: found a number where a string is needed; hint: write it in quotes"],
    ),
    (
        "allow_unauthenticated = \"yes\"",
        &[
            "g.toml:1: allow_unauthenticated: found a string where true or false is needed; hint: write true or false without quotes",
        ],
    ),
    (
        "shutdown_grace = \"5 parsecs\"",
        &[
            "g.toml:1: shutdown_grace: \"5 parsecs\" is not a duration; hint: write \"250ms\", \"30s\", \"1m30s\" or \"2h\"",
        ],
    ),
    ("shutdown_grace = \"0s\"", &["g.toml:1: shutdown_grace: must be 1ms to 1h"]),
    (
        "allowed_hosts = \"a.example\"",
        &[
            "g.toml:1: allowed_hosts: found a string where an array is needed; hint: put it in brackets: [\"…\", \"…\"]",
        ],
    ),
    (
        "allowed_hosts = [\n \"https://a.example\",\n 5,\n]",
        &[
            "g.toml:2: allowed_hosts[0]: \"https://a.example\" is not a host; hint: write \"gateway.example\" or \"gateway.example:8443\", without https:// and path",
            "g.toml:3: allowed_hosts[1]: found a number where a string is needed; hint: write it in quotes",
        ],
    ),
    (
        "allowed_origins = [\"https://a.example/\"]",
        &[
            "g.toml:1: allowed_origins[0]: \"https://a.example/\" is not an origin; hint: write scheme, host and port as a browser sends them, without a path: \"https://app.example\"",
        ],
    ),
    (
        "reload = { watch = \"no\", interval = 1, wach = true }",
        &[
            "g.toml:1: reload.watch: found a string where true or false is needed; hint: write true or false without quotes",
            "g.toml:1: reload.interval: a duration needs a unit; hint: write \"1s\" for seconds, \"1ms\" for milliseconds",
            "g.toml:1: reload.wach: unknown key `wach`; hint: did you mean `watch`?",
        ],
    ),
    (
        "lists = { strict = 1 }",
        &[
            "g.toml:1: lists.strict: found a number where true or false is needed; hint: write true or false without quotes",
        ],
    ),
    ("names = { max_length = 129 }", &["g.toml:1: names.max_length: must be 16 to 128"]),
    (
        "names = { characters = \"portabel\" }",
        &[
            "g.toml:1: names.characters: \"portabel\" is not one of portable, protocol; hint: did you mean \"portable\"?",
        ],
    ),
    (
        "log = { level = \"gatewayd=loud\" }",
        &[
            "g.toml:1: log.level: \"gatewayd=loud\" is not a log filter; hint: write \"info\", \"debug\" or, as in RUST_LOG, \"info,gateway_registry=debug\"",
        ],
    ),
    (
        "limits = { body_bytes = \"4MB\" }",
        &[
            "g.toml:1: limits.body_bytes: \"4MB\" is not a size; hint: write bytes, or \"64KiB\", \"4MiB\", \"1GiB\"",
        ],
    ),
    ("limits = { body_bytes = 10 }", &["g.toml:1: limits.body_bytes: must be 1024 to 1073741824"]),
    ("limits = { in_flight = 1.5 }", &["g.toml:1: limits.in_flight: must be a whole number"]),
    ("limits = { in_flight = -1 }", &["g.toml:1: limits.in_flight: must be 1 to 1000000"]),
    ("limits = 5", &["g.toml:1: limits: found a number where a table of keys is needed"]),
    (
        "admin = { listen = \":9090\" }",
        &[
            "g.toml:1: admin.listen: \":9090\" is not an address to listen on; hint: write an IP address and a port: \"127.0.0.1:8080\", \"[::1]:8080\"; port 0 takes a free one",
        ],
    ),
    (
        "lists = { zzz = 1 }",
        &[
            "g.toml:1: lists.zzz: unknown key `zzz`; hint: known here: strict, page_size, budget, settle, ttl, max_pages, max_tools, max_definition_bytes",
        ],
    ),
];

#[test]
fn a_top_level_value_is_refused_with_a_hint() {
    for (text, expected) in TOP_LEVEL {
        check_top(text, expected);
    }
}

const DOWNSTREAM: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "g.toml:1: downstreams.d: has neither a command nor a url nor openapi; hint: write command = [\"program\", \"argument\"], url = \"https://…/mcp\", or openapi = \"api.yaml\" and base_url = \"https://…\"",
        ],
    ),
    (
        "command = [\"x\"]\nurl = \"https://a.example\"",
        &["g.toml:1: downstreams.d: has a command and a url; a downstream has one of them"],
    ),
    (
        "command = []",
        &["g.toml:2: downstreams.d.command: the command is empty; hint: its first item is the program"],
    ),
    (
        "command = [\"x\", 8080]",
        &[
            "g.toml:2: downstreams.d.command[1]: found a number where a string is needed; hint: write it in quotes",
        ],
    ),
    (
        "command = [\"x\"]\ncwd = \"nowhere\"",
        &["g.toml:3: downstreams.d.cwd: FOLDER/nowhere is not a folder that exists"],
    ),
    (
        "command = [\"x\"]\nenv = { PORT = 80 }",
        &[
            "g.toml:3: downstreams.d.env.PORT: found a number where a string is needed; hint: write it in quotes, or name its source: { env = \"NAME\" } or { file = \"path\" }",
        ],
    ),
    (
        "command = [\"x\"]\nenv = { A = { env = \"B\", file = \"c\" } }",
        &[
            "g.toml:3: downstreams.d.env.A: a secret has exactly one source; hint: write { env = \"NAME\" } or { file = \"path\" }",
        ],
    ),
    (
        "command = [\"x\"]\nenv = { A = { file = \"missing\" } }",
        &[
            "g.toml:3: downstreams.d.env.A.file: cannot read FOLDER/missing: No such file or directory (os error 2)",
        ],
    ),
    (
        "command = [\"x\"]\ninherit_env = 1",
        &[
            "g.toml:3: downstreams.d.inherit_env: found a number where true, false or an array of names is needed",
        ],
    ),
    (
        "command = [\"x\"]\nheaders = { A = \"b\" }",
        &["g.toml:3: downstreams.d.headers: belongs to a downstream with a url"],
    ),
    (
        "command = [\"x\"]\nsharing = \"perclient\"",
        &[
            "g.toml:3: downstreams.d.sharing: \"perclient\" is not one of per_client, shared; hint: did you mean \"per_client\"?",
        ],
    ),
    (
        "command = [\"x\"]\nprotocol = \"2025-06-19\"",
        &[
            "g.toml:3: downstreams.d.protocol: \"2025-06-19\" is not one of auto, 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28; hint: did you mean \"2025-06-18\"?",
        ],
    ),
    (
        "command = [\"x\"]\ncall_timeout = \"20m\"",
        &[
            "g.toml:3: downstreams.d.call_timeout: must not be longer than max_call_time, which is 10m; hint: raise max_call_time as well",
        ],
    ),
    (
        "command = [\"x\"]\nhealth = { interval = true, timeout = \"0s\" }\nrestarts = { limit = 0, period = 5 }",
        &[
            "g.toml:3: downstreams.d.health.interval: found true or false where a duration is needed; hint: write \"30s\" or \"250ms\"",
            "g.toml:3: downstreams.d.health.timeout: must be 1ms to 1h",
            "g.toml:4: downstreams.d.restarts.limit: must be 1 to 1000",
            "g.toml:4: downstreams.d.restarts.period: a duration needs a unit; hint: write \"5s\" for seconds, \"5ms\" for milliseconds",
        ],
    ),
    (
        "url = \"https://a.example\"\nrestarts = { limit = 3 }",
        &["g.toml:3: downstreams.d.restarts: belongs to a downstream with a command"],
    ),
    (
        "command = [\"x\"]\nsharing = \"shared\"\npublic_tool_list = false",
        &[
            "g.toml:4: downstreams.d.public_tool_list: cannot be false for a downstream whose sessions all clients share; hint: remove it, or give each client its own session: sharing = \"per_client\"",
        ],
    ),
    (
        "url = \"search.example/mcp\"",
        &["g.toml:2: downstreams.d.url: is not a URL; hint: write \"https://host/path\""],
    ),
    (
        "url = \"ftp://a.example/\"",
        &["g.toml:2: downstreams.d.url: is not an http or https URL; hint: write \"https://host/path\""],
    ),
    (
        "url = \"https://me:pw@a.example/\"",
        &[
            "g.toml:2: downstreams.d.url: a URL must not hold a user and a password; hint: write headers = { Authorization = { env = \"NAME\", prefix = \"Basic \" } }",
        ],
    ),
    (
        "url = \"https://a.example\"\nheaders = { Host = \"b\", \"a b\" = \"c\", X = \"1\\n2\", Y = \"\" }",
        &[
            "g.toml:3: downstreams.d.headers.Host: the gateway sets this header itself; hint: remove it",
            "g.toml:3: downstreams.d.headers.X: a header's value must be one line without control characters",
            "g.toml:3: downstreams.d.headers.Y: must not be empty",
            "g.toml:3: downstreams.d.headers.\"a b\": is not a header's name",
        ],
    ),
    (
        "url = \"https://a.example\"\nca_file = \"ca.pem\"",
        &["g.toml:3: downstreams.d.ca_file: FOLDER/ca.pem is not a file that exists"],
    ),
    (
        "comand = [\"x\"]",
        &[
            "g.toml:1: downstreams.d: has neither a command nor a url nor openapi; hint: write command = [\"program\", \"argument\"], url = \"https://…/mcp\", or openapi = \"api.yaml\" and base_url = \"https://…\"",
            "g.toml:2: downstreams.d.comand: unknown key `comand`; hint: did you mean `command`?",
        ],
    ),
];

#[test]
fn a_downstream_is_refused_with_a_hint() {
    for (text, expected) in DOWNSTREAM {
        check(&format!("[downstreams.d]\n{text}"), expected);
    }
}

#[test]
fn a_client_is_refused_with_a_hint() {
    let rows: &[(&str, &[&str])] = &[
        ("[clients.a]", &["g.toml:1: clients.a: a client needs a key; hint: write key = { env = \"NAME\" }"]),
        ("[clients.a]\nkey = \"\"", &["g.toml:2: clients.a.key: a key must not be empty"]),
        (
            "[clients.a]\nkey = \"two words\"",
            &["g.toml:2: clients.a.key: a key may hold only visible ASCII characters, no spaces"],
        ),
        (
            "[clients.a]\nkey = { env = \"DESK_KEY\" }",
            &[
                "g.toml:2: clients.a.key.env: the environment variable DESK_KEY is not set or empty; hint: set DESK_KEY before the gateway starts",
            ],
        ),
        (
            "[clients.a]\nkey = \"same\"\n[clients.b]\nkey = \"same\"",
            &[
                "g.toml:3: clients.b: has the same key as client a; hint: a key names its owner: give each client one of its own",
            ],
        ),
    ];
    for (text, expected) in rows {
        check_top(text, expected);
    }
}

#[test]
fn an_open_address_without_clients_is_refused_only_where_it_is_served() {
    let open = format!("listen = \"0.0.0.0:80\"\n{FINE}");
    check(
        &open,
        &[
            "g.toml:1: listen: 0.0.0.0:80 can be reached by others and no client needs a key; hint: add [clients.NAME] with a key, listen on 127.0.0.1, or allow everybody with --allow-unauthenticated",
        ],
    );
    for accepted in [
        Scene::with("g.toml", &format!("allow_unauthenticated = true\n{open}")),
        Scene::with("g.toml", &format!("{open}[clients.a]\nkey = \"0123456789abcdef\"")),
        Scene::with("g.toml", &open).flags(Flags { allow_unauthenticated: true, ..Flags::default() }),
        Scene::with("g.toml", &open).variable("GATEWAY_ALLOW_UNAUTHENTICATED", "true"),
        Scene::with("g.toml", &open).variable("GATEWAY_LISTEN", "[::1]:80"),
    ] {
        accepted.good();
    }
    let mut elsewhere = Scene::with("g.toml", &open);
    elsewhere.request.opens_port = false;
    assert_eq!(
        notes(&elsewhere.good()),
        [
            "g.toml:1: listen: 0.0.0.0:80 can be reached by others and no client needs a key; serve will refuse it"
        ]
    );
}

#[test]
fn pages_for_users_are_where_their_browsers_find_them() {
    let with = |auth: &str, more: &str| {
        let listen = "listen = \"0.0.0.0:80\"";
        let clients = "[clients.a]\nkey = \"0123456789abcdef\"";
        format!("{listen}\n{more}\n[downstreams.r]\nurl = \"https://r.example\"\n{auth}\n{clients}")
    };
    let auth = "auth = { type = \"oauth\", mode = \"per_user\" }";
    check(
        &with(auth, ""),
        &[
            "g.toml:1: listen: users of `r` have to visit pages, which browsers do not find at 0.0.0.0:80; hint: write public_url = \"https://gateway.example\", where they reach the gateway",
        ],
    );
    check(
        &with(auth, "public_url = \"http://gateway.example\""),
        &[
            "g.toml:2: public_url: is not https, and browsers prove who they are there; hint: write \"https://gateway.example\", or http only with a loopback address",
        ],
    );
    let oauth = "[oauth]\nresource = \"https://gateway.example/mcp\"\n[[oauth.issuers]]\nissuer = \"https://login.example\"";
    for accepted in [
        with(auth, "public_url = \"https://gateway.example\""),
        with(auth, "public_url = \"http://localhost:80\""),
        with(auth, oauth),
        with(&format!("enabled = false\n{auth}"), "[downstreams.k]\ncommand = [\"k\"]"),
        with("auth = { type = \"oauth\" }", ""),
        with(auth, "").replace("0.0.0.0", "127.0.0.1"),
        with(auth, "").replace("listen = \"0.0.0.0:80\"", ""),
    ] {
        Scene::with("g.toml", &accepted).good();
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("g.toml", "a = 1\nb = [", &["g.toml:2: unclosed array, expected `]`"]),
        ("g.toml", "a = 1\na = 2", &["g.toml:2: duplicate key"]),
        ("g.yaml", "a: 1\na: 2\n", &["g.yaml:2: duplicate mapping key `a` is not allowed here"]),
        ("g.json", "{\n\"a\": 1,\n\"a\": 2}", &["g.json:3: duplicate key `a`"]),
        ("g.json", "[1]", &["g.json:1: the file must hold keys with values"]),
        (
            "g.ini",
            "a=1",
            &["g.ini: the extension does not tell the format; hint: use .toml, .yaml, .yml or .json"],
        ),
        (
            "g.toml",
            "",
            &[
                "g.toml: no downstreams are configured; hint: add [downstreams.NAME] with command = [\"…\"], url = \"…\" or openapi = \"…\"",
            ],
        ),
        (
            "g.yaml",
            "downstreams:\n",
            &[
                "g.yaml: no downstreams are configured; hint: add [downstreams.NAME] with command = [\"…\"], url = \"…\" or openapi = \"…\"",
            ],
        ),
        (
            "g.toml",
            "[downstreams]",
            &[
                "g.toml:1: downstreams: no downstreams are configured; hint: add [downstreams.NAME] with command = [\"…\"], url = \"…\" or openapi = \"…\"",
            ],
        ),
    ];
    for (name, text, expected) in rows {
        assert_eq!(Scene::with(name, text).problems(), *expected, "{name}: {text}");
    }
    let mut missing = Scene::new();
    missing.request.files = vec![PathBuf::from("a.toml"), PathBuf::from("b.yaml")];
    assert_eq!(
        missing.problems(),
        [
            "a.toml: cannot be read: No such file or directory (os error 2)",
            "b.yaml: cannot be read: No such file or directory (os error 2)"
        ]
    );
}

#[test]
fn yaml_that_grows_without_bound_is_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let previous = format!("*a{}, ", level - 1).repeat(10);
        bomb += &format!("a{level}: &a{level} [{}]\n", previous.trim_end_matches(", "));
    }
    let problems = Scene::with("g.yaml", &bomb).problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("g.yaml:5: YAML document too large or too complex"), "{problems:?}");
}

#[test]
fn the_place_names_variable_and_flag() {
    let scene = Scene::with("g.toml", FINE)
        .variable("GATEWAY_LIMITS__IN_FLIGHT", "lots")
        .variable("GATEWAY_ALLOWED_HOSTS", "a.example,b/c")
        .variable("GATEWAY_LISTNE", "127.0.0.1:1")
        .flags(Flags {
            listen: Some("nowhere".to_owned()),
            watch_interval: Some("often".to_owned()),
            ..Flags::default()
        });
    assert_eq!(
        scene.problems(),
        [
            "environment variable GATEWAY_ALLOWED_HOSTS: \"b/c\" is not a host; hint: write \"gateway.example\" or \"gateway.example:8443\", without https:// and path",
            "environment variable GATEWAY_LIMITS__IN_FLIGHT: found a string where a whole number is needed; hint: write it without quotes",
            "environment variable GATEWAY_LISTNE: unknown key `listne`; hint: did you mean `listen`?",
            "--listen: \"nowhere\" is not an address to listen on; hint: write an IP address and a port: \"127.0.0.1:8080\", \"[::1]:8080\"; port 0 takes a free one",
            "--watch-interval: \"often\" is not a duration; hint: write \"250ms\", \"30s\", \"1m30s\" or \"2h\"",
        ]
    );
}

#[test]
fn a_secret_is_shown_by_nothing() {
    let text = r#"
[downstreams.d]
command = ["x", "--key", "s3cr3t-arg"]
env = { A = "s3cr3t-plain", B = { env = "B" }, C = { file = "key" } }
[clients.a]
key = "s3cr3t-client-key"
"#;
    let scene = Scene::with("g.toml", text).file("key", "s3cr3t-file\n").variable("B", "s3cr3t-variable");
    let loaded = scene.good();
    let dump = format!("{loaded:?} {:#?} {:?}", loaded, notes(&loaded));
    assert!(!dump.contains("s3cr3t"), "{dump}");
    let wrong = text.replace("\"x\"", "5").replace("[clients.a]", "[clients.a]\nallow = \"x\"");
    let problems = Scene::with("g.toml", &wrong).variable("B", "s3cr3t\u{7}").problems().join("\n");
    assert!(problems.contains("clients.a.allow") && !problems.contains("s3cr3t"), "{problems}");
}

#[test]
fn a_ca_file_without_certificates_is_found_before_anything_starts() {
    let text =
        "[downstreams.d]\nurl = \"https://a.example\"\nca_file = \"ca.pem\"\nheaders = { Expect = \"x\" }\n";
    let problems = Scene::with("g.toml", text).file("ca.pem", "not a certificate").problems().join("\n");
    assert!(problems.contains("g.toml:3: downstreams.d.ca_file: "), "{problems}");
    assert!(
        problems.contains("downstreams.d.headers.Expect: the gateway sets this header itself"),
        "{problems}"
    );
}

#[test]
fn hosts_and_origins_are_judged_by_the_rules_of_the_edge() {
    let text =
        "allowed_hosts = [\"*.example\"]\nallowed_origins = [\"null\"]\n[downstreams.d]\ncommand = [\"x\"]\n";
    let problems = Scene::with("g.toml", text).problems().join("\n");
    assert!(problems.contains("g.toml:1: allowed_hosts[0]: \"*.example\" is not a host"), "{problems}");
    assert!(problems.contains("g.toml:2: allowed_origins[0]: \"null\" is not an origin"), "{problems}");
}

#[test]
fn a_state_key_is_32_bytes_and_an_extension_has_a_prefix() {
    check_top(
        "extensions = [\"tasks\"]\nquestions = { state_key = \"c2hvcnQ=\", rounds = 0 }",
        &[
            "g.toml:1: extensions[0]: \"tasks\" is not the identifier of an extension; hint: write it with its prefix: \"io.modelcontextprotocol/ui\"",
            "g.toml:2: questions.rounds: must be 1 to 1000",
            "g.toml:2: questions.state_key: a state key is 32 bytes in base64; hint: make one with: head -c 32 /dev/urandom | base64",
        ],
    );
}
