use super::*;

#[test]
fn claude_desktop_is_accepted_as_it_is() {
    let text = r#"{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]
    },
    "my server": { "command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "${GIT_TOKEN}", "MODE": "${MODE:-fast}"} }
  }
}"#;
    let loaded = Scene::with("claude_desktop_config.json", text).variable("GIT_TOKEN", "t0ken").good();
    let names: Vec<_> = loaded.config.downstreams.iter().map(|downstream| downstream.name.as_str()).collect();
    assert_eq!(names, ["filesystem", "my-server"]);
    let child = command(&loaded.config.downstreams[0]);
    assert_eq!(child.program.to_str(), Some("npx"));
    assert_eq!(child.args, ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]);
    let git = command(&loaded.config.downstreams[1]);
    assert_eq!((git.env["TOKEN"].expose(), git.env["MODE"].expose()), ("t0ken", "fast"));
    assert_eq!(loaded.config.secret_variables.iter().collect::<Vec<_>>(), ["GIT_TOKEN", "MODE"]);
    assert_eq!(
        notes(&loaded),
        ["claude_desktop_config.json:8: mcpServers.\"my server\": offered as \"my-server\""]
    );
}

#[test]
fn cursor_and_windsurf_are_accepted_as_they_are() {
    let text = r#"{
  "mcpServers": {
    "api": {
      "url": "https://api.example/mcp?v=${env:VERSION}",
      "headers": { "Authorization": "Bearer ${env:API_TOKEN}", "Content-Type": "application/json" },
      "autoApprove": ["*"]
    },
    "local": { "type": "stdio", "command": "${workspaceFolder}/bin/server", "args": ["--home=${userHome}", "$5 ${not a ref}"],
               "envFile": ".env", "url": "https://leftover.example" },
    "windsurf": { "serverUrl": "https://w.example/mcp", "disabled": true, "disabledTools": ["rm"],
                  "headers": { "A": "${env:UNSET}" } }
  }
}"#;
    let scene = Scene::with(".cursor/mcp.json", text)
        .variable("API_TOKEN", "t")
        .variable("VERSION", "2")
        .variable("HOME", "/home/me");
    let loaded = scene.good();
    let [api, local, windsurf] = loaded.config.downstreams.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(remote(api).url, "https://api.example/mcp?v=2");
    assert_eq!(remote(api).headers.len(), 1);
    assert_eq!(remote(api).headers[0].1.expose(), "Bearer t");
    assert_eq!(command(local).program, scene.path().join("bin/server"));
    assert_eq!(command(local).args, ["--home=/home/me", "$5 ${not a ref}"]);
    assert_eq!((windsurf.enabled, windsurf.tools.deny.as_slice()), (false, ["rm".to_owned()].as_slice()));
    assert_eq!(
        notes(&loaded),
        [
            ".cursor/mcp.json:5: mcpServers.api.headers.Content-Type: the gateway sets this header itself; ignored",
            ".cursor/mcp.json:9: mcpServers.local.envFile: is not read; name the variables in env",
        ]
    );
}

#[test]
fn vs_code_is_accepted_as_it_is() {
    let text = r#"{
  // VS Code writes comments
  "inputs": [{ "type": "promptString", "id": "key", "description": "Key", "password": true }],
  "servers": {
    "github": { "type": "http", "url": "https://api.githubcopilot.com/mcp/" },
    "old": { "type": "sse", "url": "http://localhost:3000/sse" },
    "play": { "command": "npx", "args": ["-y", "@playwright/mcp@latest"], "env": { "PORT": 3000, "X": null, }, "dev": { "watch": "src" } },
  },
}"#;
    let loaded = Scene::with(".vscode/mcp.json", text).good();
    let [github, old, play] = loaded.config.downstreams.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(remote(github).url, "https://api.githubcopilot.com/mcp/");
    assert_eq!(remote(old).url, "http://localhost:3000/sse");
    assert_eq!(command(play).env["PORT"].expose(), "3000");
    assert_eq!(command(play).env.len(), 1);
}

const REFUSED: &[(&str, &[&str])] = &[
    (
        "{\"mcpServers\": {\"a b\": {\"command\": \"x\"},\n\"a-b\": {\"command\": \"y\"}}}",
        &[
            "m.json:2: mcpServers.a-b: is offered as \"a-b\", which another server here is as well; hint: rename one of them",
        ],
    ),
    (
        "{\"mcpServers\": {\"日本\": {\"command\": \"x\"}}}",
        &[
            "m.json:1: mcpServers.\"日本\": the name has no letter or digit to make a downstream's name of; hint: rename it",
        ],
    ),
    (
        "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [\n\"${env:MISSING}\"]}}}",
        &[
            "m.json:2: mcpServers.a.args[0]: the environment variable MISSING is not set or empty; hint: set MISSING before the gateway starts",
        ],
    ),
    (
        "{\"servers\": {\"a\": {\"url\": \"https://a.example\", \"headers\": {\"K\": \"${input:key}\"}}}}",
        &[
            "m.json:1: servers.a.headers.K: the editor asks its user for ${input:key}; the gateway has nobody to ask; hint: put the value into an environment variable and write ${env:NAME}",
        ],
    ),
    (
        "{\"mcpServers\": {\"a\": {\"type\": \"carrier-pigeon\", \"command\": \"x\"}}}",
        &["m.json:1: mcpServers.a.type: \"carrier-pigeon\" is not one of stdio, http, streamable-http, sse"],
    ),
    (
        "{\"mcpServers\": {\"my server\": {\n\"args\": []}}}",
        &[
            "m.json:1: mcpServers.\"my server\": has neither a command nor a url nor openapi; hint: write command = [\"program\", \"argument\"], url = \"https://…/mcp\", or openapi = \"api.yaml\" and base_url = \"https://…\"",
        ],
    ),
    (
        "{\"mcpServers\": {\"my server\": {\"command\": \"x\",\n\"env\": {\"A\": []}}}}",
        &[
            "m.json:2: mcpServers.\"my server\".env.A: found an array where a string is needed; hint: write it in quotes, or name its source: { env = \"NAME\" } or { file = \"path\" }",
        ],
    ),
    (
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n\"listen\": \"127.0.0.1:1\"}",
        &[
            "m.json:2: listen: stands beside `mcpServers`, where other programs keep their settings; hint: put the gateway's own keys into a second --config file",
        ],
    ),
    (
        "{\"servers\": {\"a\": {}},\n\"listen\": \"127.0.0.1:1\"}",
        &[
            "m.json: no downstreams are configured; hint: add [downstreams.NAME] with command = [\"…\"], url = \"…\" or openapi = \"…\"",
            "m.json:1: servers: unknown key `servers`; hint: known here: listen, names, clients, allowed_hosts, allowed_origins, allow_unauthenticated, shutdown_grace, http2, cancel_on_disconnect, admin, log, reload, limits, lists, questions, runs, workflows, extensions, downstreams, profiles, public_url, key_header, policy, oauth, audit, redaction, rates, pins, tls, telemetry, login",
        ],
    ),
    (
        "{\"mcpServers\": {}}",
        &[
            "m.json:1: mcpServers: no downstreams are configured; hint: add [downstreams.NAME] with command = [\"…\"], url = \"…\" or openapi = \"…\"",
        ],
    ),
];

#[test]
fn an_editors_file_is_refused_in_its_own_words() {
    for (text, expected) in REFUSED {
        assert_eq!(Scene::with("m.json", text).problems(), *expected, "{text}");
    }
}

#[test]
fn names_are_adapted_the_same_whatever_stands_beside_them() {
    let rows = [
        ("a__b", "a_b"),
        ("_x_", "x"),
        ("my server", "my-server"),
        ("@scope/pkg", "scope-pkg"),
        ("a  b", "a-b"),
        ("dots.are.fine", "dots-are-fine"),
        ("0123456789012345678901234567890123456789tail", "0123456789012345678901234567890123456789"),
        ("plain", "plain"),
    ];
    for (written, expected) in rows {
        let text = format!("{{\"mcpServers\": {{{written:?}: {{\"command\": \"x\"}}}}}}");
        let config = Scene::with("m.json", &text).good().config;
        assert_eq!(only(&config).name.as_str(), expected);
    }
}

#[test]
fn our_own_keys_are_laid_over_an_editors_file() {
    let config = Scene::with("m.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}")
        .config("ours.toml", "[downstreams.a]\nsharing = \"shared\"")
        .good()
        .config;
    assert_eq!(only(&config).sharing, Sharing::Shared);
    assert_eq!(command(only(&config)).program.to_str(), Some("x"));
}

#[test]
fn the_gateway_does_not_start_itself() {
    let rows = [
        ("gatewayd", "\"command\": \"gatewayd\", \"args\": [\"stdio\"]", false),
        (
            "path",
            "\"command\": \"/usr/bin/gatewayd\", \"args\": [\"stdio\", \"--config\", \"FOLDER/m.json\"]",
            false,
        ),
        ("equals", "\"command\": \"gatewayd\", \"args\": [\"--config=FOLDER/m.json\", \"stdio\"]", false),
        (
            "another file",
            "\"command\": \"gatewayd\", \"args\": [\"stdio\", \"--config\", \"FOLDER/other.toml\"]",
            true,
        ),
        ("demo", "\"command\": \"gatewayd\", \"args\": [\"demo-server\"]", true),
        ("another program", "\"command\": \"x\", \"args\": [\"stdio\"]", true),
        ("url", "\"url\": \"http://127.0.0.1:8080/mcp\"", false),
        ("localhost", "\"url\": \"http://localhost:8080/mcp\"", false),
        ("another port", "\"url\": \"http://localhost:8081/mcp\"", true),
        ("another host", "\"url\": \"https://a.example:8080/mcp\"", true),
    ];
    for (row, entry, offered) in rows {
        let mut scene = Scene::new().file("other.toml", "");
        let entry = entry.replace("FOLDER", &scene.path().display().to_string());
        scene = scene.config(
            "m.json",
            &format!("{{\"mcpServers\": {{\"me\": {{{entry}}}, \"ok\": {{\"command\": \"x\"}}}}}}"),
        );
        let loaded = scene.good();
        assert_eq!(loaded.config.downstreams[0].enabled, offered, "{row}");
        let expected = if offered { "" } else { "m.json:1: mcpServers.me: is this gateway itself; left out" };
        assert_eq!(notes(&loaded).join("\n"), expected, "{row}");
    }
}
