use crate::config::checked::{Health, Names, Questions, Reload, Restarts, ToolFilter};
use std::time::Duration;

use super::*;

const TOML: &str = r#"
listen = "127.0.0.1:9000"
allowed_hosts = ["Gateway.Example"]
allowed_origins = ["https://app.example"]
shutdown_grace = "1m30s"
admin = { listen = "127.0.0.1:9001" }
names = { max_length = 128, characters = "protocol" }
log = { format = "json", level = "debug" }
reload = { watch = false, interval = "5s" }
limits = { body_bytes = "8MiB", in_flight = 2000, session_idle = "1h" }
lists = { page_size = 50, settle = "250ms", strict = true }

[downstreams.files]
command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"]
env = { LOG = "warn", EMPTY = "", TOKEN = { env = "FILES_TOKEN" } }
inherit_env = ["SSH_AUTH_SOCK"]
cwd = "work"
sharing = "shared"
pool = { max = 4, acquire_timeout = "3s", idle_ttl = "5m" }
call_timeout = "2m"
max_call_time = "20m"
startup_timeout = "10s"
terminate = "1s"
protocol = "2025-11-25"
required = true
max_message_bytes = 1048576
supervision = { failures = 3, cooldown = "1m" }
health = { interval = false, timeout = "2s" }
restarts = { limit = 3, period = "2m" }

[downstreams.search]
url = "https://search.example/mcp?x=1"
headers = { Authorization = { env = "SEARCH_TOKEN", prefix = "Bearer " }, X-Key = { file = "key" } }
tools = { allow = ["query", "fetch_*"], deny = ["fetch_secret"] }
connect_timeout = "3s"
enabled = false
public_tool_list = false
health = { interval = "0s" }

[clients.desk]
key = { env = "DESK_KEY" }
"#;

const YAML: &str = r#"
# the same in YAML
listen: 127.0.0.1:9000
allowed_hosts: [Gateway.Example]
allowed_origins: ["https://app.example"]
shutdown_grace: 1m30s
admin: {listen: "127.0.0.1:9001"}
names: {max_length: 128, characters: protocol}
log:
  format: json
  level: debug
reload: {watch: false, interval: 5s}
limits: &limits {body_bytes: 8MiB, in_flight: 2000, session_idle: 1h}
lists: {page_size: 50, settle: 250ms, ttl: null, strict: true}
downstreams:
  files:
    command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv/docs]
    env: {LOG: warn, EMPTY: "", TOKEN: {env: FILES_TOKEN}}
    inherit_env: [SSH_AUTH_SOCK]
    cwd: work
    sharing: shared
    pool: {max: 4, acquire_timeout: 3s, idle_ttl: 5m}
    call_timeout: 2m
    max_call_time: 20m
    startup_timeout: 10s
    terminate: 1s
    protocol: 2025-11-25
    required: true
    max_message_bytes: 1048576
    supervision: {failures: 3, cooldown: 1m}
    health: {interval: false, timeout: 2s}
    restarts: {limit: 3, period: 2m}
  search:
    url: https://search.example/mcp?x=1
    headers: {Authorization: {env: SEARCH_TOKEN, prefix: "Bearer "}, X-Key: {file: key}}
    tools: {allow: [query, "fetch_*"], deny: [fetch_secret]}
    connect_timeout: 3s
    enabled: false
    public_tool_list: false
    health: {interval: 0s}
clients:
  desk:
    key: {env: DESK_KEY}
"#;

const JSON: &str = r#"{
  // the same in JSON, as editors write it
  "listen": "127.0.0.1:9000",
  "allowed_hosts": ["Gateway.Example"],
  "allowed_origins": ["https://app.example"],
  "shutdown_grace": "1m30s",
  "admin": {"listen": "127.0.0.1:9001"},
  "names": {"max_length": 128, "characters": "protocol"},
  "log": {"format": "json", "level": "debug"},
  "reload": {"watch": false, "interval": "5s"},
  "limits": {"body_bytes": "8MiB", "in_flight": 2000, "session_idle": "1h"},
  "lists": {"page_size": 50, "settle": "250ms", "ttl": null, "strict": true},
  "downstreams": {
    "files": {
      "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"],
      "env": {"LOG": "warn", "EMPTY": "", "TOKEN": {"env": "FILES_TOKEN"}},
      "inherit_env": ["SSH_AUTH_SOCK"],
      "cwd": "work", "sharing": "shared",
      "pool": {"max": 4, "acquire_timeout": "3s", "idle_ttl": "5m"},
      "call_timeout": "2m", "max_call_time": "20m", "startup_timeout": "10s", "terminate": "1s",
      "protocol": "2025-11-25", "required": true, "max_message_bytes": 1048576,
      "supervision": {"failures": 3, "cooldown": "1m"},
      "health": {"interval": false, "timeout": "2s"}, "restarts": {"limit": 3, "period": "2m"},
    },
    "search": {
      "url": "https://search.example/mcp?x=1", /* not https://other.example */
      "headers": {"Authorization": {"env": "SEARCH_TOKEN", "prefix": "Bearer "}, "X-Key": {"file": "key"}},
      "tools": {"allow": ["query", "fetch_*"], "deny": ["fetch_secret"]},
      "connect_timeout": "3s", "enabled": false, "public_tool_list": false, "health": {"interval": "0s"}
    }
  },
  "clients": {"desk": {"key": {"env": "DESK_KEY"}}},
}
"#;

fn furnished(scene: Scene) -> Scene {
    scene
        .file("key", "from-a-file\r\n")
        .file("work/.keep", "")
        .variable("FILES_TOKEN", "files-token")
        .variable("SEARCH_TOKEN", "search-token")
        .variable("DESK_KEY", "desk-key-0123456789")
}

#[test]
fn three_notations_say_the_same() {
    let scene = furnished(Scene::with("g.toml", TOML));
    let expected = scene.good().config;
    for (name, text) in [("g.yaml", YAML), ("g.yml", YAML), ("g.json", JSON)] {
        let other = furnished(Scene::with(name, text));
        let mut config = other.good().config;
        // Each scene has a folder of its own.
        for (ours, theirs) in config.downstreams.iter_mut().zip(&expected.downstreams) {
            if let (Reach::Command(ours), Reach::Command(theirs)) = (&mut ours.reach, &theirs.reach) {
                assert_eq!(ours.cwd, Some(other.path().join("work")));
                ours.cwd.clone_from(&theirs.cwd);
            }
        }
        assert_eq!(config, expected, "{name}");
    }
}

#[test]
fn every_value_arrives() {
    let scene = furnished(Scene::with("g.toml", TOML));
    let config = scene.good().config;
    assert_eq!(config.listen, "127.0.0.1:9000".parse().unwrap());
    assert_eq!(config.allowed_hosts, ["gateway.example"]);
    assert_eq!(config.shutdown_grace, Duration::from_secs(90));
    assert_eq!(config.names, Names { max_length: 128, characters: Characters::Protocol });
    assert_eq!(config.log, Log { format: LogFormat::Json, level: "debug".to_owned() });
    assert_eq!((config.limits.body_bytes, config.limits.in_flight), (8 << 20, 2000));
    assert_eq!((config.lists.page_size, config.lists.settle), (50, Duration::from_millis(250)));
    assert!(config.lists.strict);
    assert_eq!(config.reload, Reload { watch: false, interval: Duration::from_secs(5) });
    let variables: Vec<_> = config.secret_variables.iter().map(String::as_str).collect();
    assert_eq!(variables, ["DESK_KEY", "FILES_TOKEN", "SEARCH_TOKEN"]);

    let [files, search] = config.downstreams.as_slice() else { panic!("{:?}", config.downstreams) };
    let child = command(files);
    assert_eq!((files.name.as_str(), child.program.to_str()), ("files", Some("npx")));
    assert_eq!(child.args, ["-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"]);
    let env: Vec<_> = child.env.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(env, [("EMPTY", ""), ("LOG", "warn"), ("TOKEN", "files-token")]);
    assert_eq!(child.inherit_env, InheritEnv::Named(vec!["SSH_AUTH_SOCK".to_owned()]));
    assert_eq!(child.cwd, Some(scene.path().join("work")));
    assert_eq!((files.sharing, files.protocol), (Sharing::Shared, Protocol::Revision("2025-11-25")));
    assert_eq!((files.required, files.enabled, search.enabled), (true, true, false));
    assert_eq!(files.health, Health { interval: None, timeout: Duration::from_secs(2) });
    assert_eq!(child.restarts, Restarts { limit: 3, period: Duration::from_secs(120) });
    assert_eq!((files.public_tool_list, search.public_tool_list), (true, false));
    assert_eq!(search.health, Health { interval: None, timeout: Duration::from_secs(5) });
    assert_eq!(files.tools, ToolFilter { allow: vec!["*".to_owned()], deny: vec![], workflows: vec![] });

    let server = remote(search);
    assert_eq!(server.url, "https://search.example/mcp?x=1");
    let headers: Vec<_> =
        server.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("authorization", "Bearer search-token"), ("x-key", "from-a-file")]);
    assert_eq!(search.tools.deny, ["fetch_secret"]);
    assert_eq!(key_of(&config.clients[0]), "desk-key-0123456789");
}

#[test]
fn what_is_not_written_has_the_published_default() {
    let config = Scene::with("g.toml", "[downstreams.d]\ncommand = [\"x\"]").good().config;
    let downstream = only(&config);
    assert_eq!(config.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(config.shutdown_grace, Duration::from_secs(15));
    assert_eq!(config.names, Names { max_length: 64, characters: Characters::Portable });
    assert_eq!(config.admin_listen, None);
    assert_eq!((config.limits.body_bytes, config.limits.header_bytes), (4_194_304, 32_768));
    assert_eq!(config.limits.sessions, 10_000);
    let questions = Questions {
        time: Duration::from_secs(600),
        rounds: 10,
        parked: 1024,
        parked_per_caller: 16,
        state_key: None,
        label: false,
    };
    assert_eq!(config.questions, questions);
    assert_eq!(config.extensions, ["io.modelcontextprotocol/ui", "io.modelcontextprotocol/tasks"]);
    assert_eq!(config.limits.session_idle, Duration::from_secs(1800));
    assert_eq!(config.limits.session_lifetime, Duration::from_secs(86_400));
    assert_eq!((config.lists.ttl, config.lists.budget), (Duration::from_secs(900), Duration::from_secs(5)));
    assert_eq!((downstream.enabled, downstream.required), (true, false));
    assert_eq!(
        (downstream.call_timeout, downstream.max_call_time),
        (Duration::from_secs(60), Duration::from_secs(600))
    );
    assert_eq!(downstream.pool.max, None);
    assert_eq!(config.reload, Reload { watch: true, interval: Duration::from_secs(1) });
    assert_eq!((config.lists.strict, downstream.public_tool_list), (false, true));
    assert_eq!(
        downstream.health,
        Health { interval: Some(Duration::from_secs(30)), timeout: Duration::from_secs(5) }
    );
    assert_eq!(command(downstream).restarts, Restarts { limit: 5, period: Duration::from_secs(60) });
    assert_eq!(downstream.max_message_bytes, 16_777_216);
    assert_eq!(command(downstream).inherit_env, InheritEnv::Minimal);
    assert_eq!(command(downstream).terminate, Duration::from_secs(2));
}

#[test]
fn a_shorter_longest_call_shortens_the_default_timeout() {
    let config =
        Scene::with("g.toml", "[downstreams.d]\ncommand = [\"x\"]\nmax_call_time = \"10s\"").good().config;
    assert_eq!(only(&config).call_timeout, Duration::from_secs(10));
}

#[test]
fn later_layers_win_and_tables_merge() {
    let scene = Scene::with("a.toml", "listen = \"127.0.0.1:1\"\nallowed_hosts = [\"a\", \"b\"]\n[downstreams.d]\ncommand = [\"x\", \"y\"]\n[downstreams.d.pool]\nmax = 1\n")
        .config("b.yaml", "listen: 127.0.0.1:2\nallowed_hosts: [c]\nlimits: {in_flight: 5}\ndownstreams: {d: {command: [z], pool: {idle_ttl: 1s}}}\n")
        .variable("GATEWAY_LISTEN", "127.0.0.1:3")
        .variable("GATEWAY_LIMITS__IN_FLIGHT", "7")
        .variable("GATEWAY_LIMITS__BODY_BYTES", "1MiB")
        .variable("GATEWAY_DOWNSTREAMS__D__CALL_TIMEOUT", "5s")
        .variable("GATEWAY_DOWNSTREAMS__D__REQUIRED", "true")
        .variable("GATEWAY_ALLOWED_ORIGINS", "[\"https://a.example\"]");
    let config = scene.good().config;
    let downstream = only(&config);
    assert_eq!(config.listen.port(), 3);
    assert_eq!((config.limits.in_flight, config.limits.body_bytes), (7, 1 << 20));
    assert_eq!(config.allowed_hosts, ["c"]);
    assert_eq!(config.allowed_origins, ["https://a.example"]);
    assert_eq!((command(downstream).program.to_str(), command(downstream).args.len()), (Some("z"), 0));
    assert_eq!((downstream.pool.max, downstream.pool.idle_ttl), (Some(1), Duration::from_secs(1)));
    assert_eq!((downstream.call_timeout, downstream.required), (Duration::from_secs(5), true));

    let flags = Flags {
        listen: Some("localhost:4".to_owned()),
        allow_hosts: vec!["d".to_owned()],
        log_format: Some(LogFormat::Json),
        watch: Some(false),
        watch_interval: Some("3s".to_owned()),
        ..Flags::default()
    };
    let config = scene.flags(flags).good().config;
    assert_eq!(config.listen, "127.0.0.1:4".parse().unwrap());
    assert_eq!(config.allowed_hosts, ["c", "d"]);
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.reload, Reload { watch: false, interval: Duration::from_secs(3) });
}

#[test]
fn a_secret_in_the_environment_stays_the_text_it_is() {
    let scene = Scene::with("g.toml", "[downstreams.d]\ncommand = [\"x\"]\n[clients.a]\n")
        .variable("GATEWAY_CLIENTS__A__KEY", "0123456789012345678901234567890");
    assert_eq!(key_of(&scene.good().config.clients[0]), "0123456789012345678901234567890");
}

#[test]
fn variables_of_others_are_not_taken_for_settings() {
    let text = "[downstreams.d]\nurl = \"https://a.example\"\nheaders = { A = { env = \"GATEWAY_TOKEN\" } }";
    let scene = Scene::with("g.toml", text)
        .variable("GATEWAY_TOKEN", "x")
        .variable("GATEWAY_SERVICE_HOST", "10.0.0.1")
        .variable("GATEWAY_", "x");
    assert_eq!(
        notes(&scene.good()),
        ["environment variable GATEWAY_SERVICE_HOST: is not a setting of the gateway; ignored"]
    );
}

#[test]
fn without_a_file_the_folder_and_then_the_built_in_default_are_used() {
    let loaded = Scene::new().good();
    assert_eq!(loaded.source, Source::BuiltIn);
    let [demo, library] = loaded.config.downstreams.as_slice() else { panic!("{loaded:?}") };
    let child = command(demo);
    assert_eq!(
        (child.program.to_str(), child.args.as_slice()),
        (Some("/opt/gatewayd"), ["demo-server".to_owned()].as_slice())
    );
    assert!(api(library).part.read_only);

    let loaded =
        Scene::new().file("gateway.toml", "[downstreams.d]\ncommand = [\"./server\", \"./x\"]").good();
    assert_eq!(loaded.source, Source::Found(PathBuf::from("gateway.toml")));
}

#[test]
fn every_file_that_is_read_is_told_whatever_comes_of_it() {
    let told = |scene: &Scene| {
        let attempt = load(&scene.request, &Environment::default());
        let name = |path: &PathBuf| path.strip_prefix(scene.path()).unwrap().display().to_string();
        let there = |stamp: &Option<Stamp>| if stamp.is_some() { "there" } else { "missing" };
        let files = attempt.files.iter().map(|(path, stamp)| format!("{} {}", name(path), there(stamp)));
        (attempt.outcome.is_ok(), files.collect::<Vec<_>>())
    };
    let text = "[downstreams.d]\ncommand = [\"x\"]\nenv = { A = { file = \"deep/key\" } }\n";
    let scene = Scene::with("g.toml", text).config("h.json", r#"{"mcpServers": {}}"#).file("deep/key", "k");
    let expected = ["deep/key there", "g.toml there", "h.json there"].map(str::to_owned);
    assert_eq!(told(&scene), (true, expected.to_vec()));
    std::fs::remove_file(scene.path().join("deep/key")).unwrap();
    let expected = ["deep/key missing", "g.toml there", "h.json there"].map(str::to_owned);
    assert_eq!(told(&scene), (false, expected.to_vec()));
    let text = "[downstreams.d]\nurl = \"https://a.example\"\nca_file = \"ca.pem\"\n";
    let expected = ["ca.pem missing", "g.toml there"].map(str::to_owned);
    assert_eq!(told(&Scene::with("g.toml", text)), (false, expected.to_vec()));
    let mut gone = Scene::new();
    gone.request.files = vec![PathBuf::from("a.toml")];
    assert_eq!(told(&gone), (false, vec!["a.toml missing".to_owned()]));
    assert_eq!(told(&Scene::new()), (true, vec![]), "the demonstration has no file");
}

#[test]
fn other_certificates_in_the_same_file_are_another_server() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/gateway-transport-http/tests/http/certs");
    let pem = |name: &str| std::fs::read_to_string(format!("{folder}/{name}.pem")).unwrap();
    let text = "[downstreams.d]\nurl = \"https://a.example\"\nca_file = \"ca.pem\"\n";
    let mut scene = Scene::with("g.toml", text).file("ca.pem", &pem("ca"));
    let before = scene.good().config;
    scene = scene.file("ca.pem", &pem("ca"));
    assert_eq!(scene.good().config, before, "written again");
    scene = scene.file("ca.pem", &pem("server"));
    assert_ne!(scene.good().config, before);
}

#[test]
fn relative_paths_are_relative_to_their_file() {
    let scene =
        Scene::with("deep/g.toml", "[downstreams.d]\ncommand = [\"./server\", \"./x\"]\n").file("deep/x", "");
    let config = scene.good().config;
    let child = command(only(&config));
    assert_eq!((child.program.clone(), child.args[0].as_str()), (scene.path().join("deep/./server"), "./x"));
}

#[test]
fn a_disabled_downstream_needs_nothing_from_outside() {
    let text = "[downstreams.d]\nenabled = false\ncommand = [\"x\"]\ncwd = \"gone\"\nenv = { A = { env = \"UNSET\" }, B = { file = \"gone\" } }";
    let loaded = Scene::with("g.toml", text).good();
    assert!(!only(&loaded.config).enabled);
    assert_eq!(
        notes(&loaded),
        ["g.toml:1: downstreams: every downstream is disabled; nothing will be offered"]
    );
}

#[test]
fn what_deserves_a_remark_gets_one() {
    let rows = [
        (
            "admin = { listen = \"0.0.0.0:1\" }",
            "g.toml:1: admin.listen: health and metrics ask nobody for a key; others can reach this address",
        ),
        (
            "clients = { a = { key = \"short\" } }",
            "g.toml:1: clients.a.key: a key of fewer than 16 characters can be guessed",
        ),
        (
            "downstreams = { e = { url = \"http://a.example\", headers = { A = \"b\" } } }",
            "g.toml:1: downstreams.e.url: headers travel unencrypted over http",
        ),
        ("downstreams = { e = { url = \"http://127.0.0.1:1\", headers = { A = \"b\" } } }", ""),
    ];
    for (text, expected) in rows {
        let scene = Scene::with("g.toml", text).config("h.toml", "[downstreams.d]\ncommand = [\"x\"]");
        assert_eq!(notes(&scene.good()).join("\n"), expected, "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_key_file_that_everybody_can_read_gets_a_remark() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::with("g.toml", "[downstreams.d]\ncommand = [\"x\"]\nenv = { A = { file = \"key\" } }")
        .file("key", "k");
    let key = scene.path().join("key");
    for (mode, expected) in [(0o644, 1), (0o640, 0)] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(scene.good().notes.len(), expected, "{mode:o}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_everybody_can_change_gets_a_remark() {
    use std::os::unix::fs::PermissionsExt as _;
    for (command, mode, expected) in [
        ("./bin/server", 0o757, 1),
        ("./bin/server", 0o775, 0),
        ("server", 0o757, 1),
        ("server", 0o755, 0),
        ("missing", 0o757, 0),
        ("./bin", 0o757, 0),
    ] {
        let text = format!("[downstreams.d]\ncommand = [\"{command}\", \"./bin/server\"]");
        let scene = Scene::with("g.toml", &text).file("bin/server", "");
        let bin = scene.path().join("bin");
        std::fs::set_permissions(bin.join("server"), std::fs::Permissions::from_mode(mode)).unwrap();
        let scene = scene.variable("PATH", format!("/nowhere:{}", bin.display()).leak());
        let found = notes(&scene.good());
        assert_eq!(found.len(), expected, "{command} {mode:o}: {found:?}");
        assert!(
            found.iter().all(|note| note.contains("bin/server can be changed by every user")),
            "{found:?}"
        );
    }
}

#[test]
fn variables_reach_names_that_they_cannot_spell() {
    let scene = Scene::with("g.toml", "[downstreams.My-Server]\ncommand = [\"x\"]\nenv = { Mode = \"a\" }")
        .variable("GATEWAY_DOWNSTREAMS__MY_SERVER__ENV__MODE", "b")
        .variable("GATEWAY_DOWNSTREAMS__MY_SERVER__CALL_TIMEOUT", "5s");
    let config = scene.good().config;
    assert_eq!(only(&config).call_timeout, Duration::from_secs(5));
    assert_eq!(command(only(&config)).env["Mode"].expose(), "b");
}

#[test]
fn questions_and_extensions_are_settings() {
    let text = "extensions = [\"a.example/b\"]\n[questions]\ntime = \"2m\"\nrounds = 3\nparked = 5\n\
        parked_per_caller = 2\nlabel = true\nstate_key = { env = \"STATE_KEY\" }\n[downstreams.d]\ncommand = [\"x\"]";
    let scene =
        Scene::with("g.toml", text).variable("STATE_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    let config = scene.good().config;
    let Questions { time, rounds, parked, parked_per_caller, state_key, label } = config.questions;
    assert_eq!((time, rounds, parked, parked_per_caller, label), (Duration::from_secs(120), 3, 5, 2, true));
    let key = state_key.unwrap();
    assert_eq!(key, gateway_server::StateKey::from(std::array::from_fn(|at| u8::try_from(at).unwrap())));
    assert_eq!(format!("{key:?}"), "StateKey { .. }");
    assert_eq!(config.extensions, ["a.example/b"]);
    assert!(config.secret_variables.contains("STATE_KEY"));
}

fn key_of(client: &Client) -> &str {
    match &client.keys[..] {
        [Key::Plain(key)] => key.expose(),
        keys => panic!("{keys:?}"),
    }
}
