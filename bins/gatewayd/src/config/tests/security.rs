//! Clients, policy, records, credentials.

use super::*;

const DOWN: &str = "[downstreams.files]\ncommand = [\"x\"]\n";

fn security(text: &str) -> (Security, Vec<Client>) {
    let config = Scene::with("g.toml", &format!("{text}\n{DOWN}"))
        .variable("KEY", "a-secret-of-some-length")
        .good()
        .config;
    (config.security, config.clients)
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let scene = Scene::with("g.toml", &format!("{text}\n{DOWN}")).variable("KEY", "a-secret-of-some-length");
    assert_eq!(scene.problems(), expected, "{text}");
}

#[test]
fn keys_of_a_client_overlap_and_may_be_digests() {
    let digest = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
    let bytes: Vec<_> = digest.as_bytes().chunks(2).map(|byte| std::str::from_utf8(byte).unwrap()).collect();
    let fingerprint = bytes.join(":").to_uppercase();
    let text = format!(
        "[clients.desk]\nkey = {{ env = \"KEY\" }}\nkeys = [\"sha256:{digest}\", {{ env = \"KEY\", prefix = \"n-\" }}]\n\
         allow = [\"files__*\"]\ndeny = [\"files__rm\"]\ncertificates = [\"sha256:{fingerprint}\"]"
    );
    let (_, clients) = security(&text);
    let [client] = &clients[..] else { panic!("{clients:?}") };
    assert_eq!(client.keys.len(), 3);
    assert!(matches!(client.keys[1], Key::Digest([0x5e, 0x88, ..])));
    assert_eq!(
        (client.certificates.len(), &*client.allow[0], &*client.deny[0]),
        (1, "files__*", "files__rm")
    );
    assert_eq!(client.certificates[0][..2], [0x5e, 0x88], "as tools write fingerprints");
}

#[test]
fn what_is_not_written_is_off_or_strict() {
    let (security, _) = security("");
    assert_eq!(
        (&security.audit, &security.oauth, &security.tls, &security.telemetry),
        (&None, &None, &None, &None)
    );
    assert_eq!((security.policy.allows_by_default, security.pins.mode), (None, PinMode::Off));
    assert!(security.redaction.secrets && security.redaction.arguments && security.redaction.results);
    assert!(security.pins.lock.ends_with("gateway.lock"));
}

#[test]
fn records_have_the_published_defaults() {
    let (security, _) =
        security("[audit]\nsink = [\"stdout\", \"file:a.jsonl\"]\nrotate = { max_bytes = \"1MiB\" }");
    let audit = security.audit.unwrap();
    assert!(audit.sinks.stdout && audit.sinks.file.is_some_and(|path| path.is_absolute()));
    assert_eq!((audit.queue, audit.high_water, audit.flush_records), (10_000, 0.85, 100));
    assert_eq!((audit.rotation.max_bytes, audit.rotation.keep), (1 << 20, 5));
}

#[test]
fn what_variables_and_files_hold_is_kept_as_a_secret_by_its_key() {
    let text = format!(
        "[clients.desk]\nkey = {{ env = \"KEY\", prefix = \"n-\" }}\n{DOWN}env = {{ PLAIN = \"x\" }}"
    );
    let config = Scene::with("g.toml", &text).variable("KEY", "a-secret-of-some-length").good().config;
    let [(key, secret)] = &config.secrets[..] else { panic!("{:?}", config.secrets) };
    assert_eq!((&**key, secret.expose()), ("clients.desk.key", "a-secret-of-some-length"));
}

const WRONG: &[(&str, &[&str])] = &[
    (
        "[clients.a]\nkey = \"sha256:12\"",
        &[
            "g.toml:2: clients.a.key: is not a SHA-256; hint: write \"sha256:\" and 64 hexadecimal digits; for a key: printf %s KEY | sha256sum",
        ],
    ),
    (
        "[clients.a]\nkey = { env = \"KEY\" }\nallow = [\"flies__*\"]",
        &["g.toml:3: clients.a.allow[0]: there is no downstream \"flies\"; hint: did you mean `files`?"],
    ),
    (
        "[clients.a]\nkey = { env = \"KEY\" }\n[clients.b]\nkey = { env = \"KEY\" }",
        &[
            "g.toml:3: clients.b: has the same key as client a; hint: a key names its owner: give each client one of its own",
        ],
    ),
    (
        concat!(
            "[clients.a]\nkey = { env = \"KEY\" }\n",
            "certificates = [\"sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8\"]\n[clients.b]\n",
            "certificates = [\"sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8\"]",
        ),
        &[
            "g.toml:4: clients.b: has the same certificate as client a; hint: a certificate names its owner: give each client one of its own",
        ],
    ),
    (
        "key_header = \"Mcp-Session-Id\"",
        &["g.toml:1: key_header: belongs to HTTP or MCP; hint: write a name of its own: \"x-api-key\""],
    ),
    ("[policy]\ndefault = \"maybe\"", &["g.toml:2: policy.default: \"maybe\" is not one of deny, allow"]),
    (
        "[[policy.rules]]\nnames = [\"*\"]",
        &[
            "g.toml:1: policy.rules[0]: a rule has an effect; hint: write effect = \"allow\" or effect = \"deny\"",
        ],
    ),
    (
        "[[policy.rules]]\neffect = \"allow\"\nclients = [\"nobody\"]",
        &["g.toml:3: policy.rules[0].clients[0]: there is no client \"nobody\""],
    ),
    (
        "[[policy.rules]]\neffect = \"allow\"\nnames = []\nclaims = {}",
        &[
            "g.toml:3: policy.rules[0].names: is empty, so that the rule fits nothing; hint: leave it out, or name something",
            "g.toml:4: policy.rules[0].claims: names no claim; hint: leave it out, or name one",
        ],
    ),
    (
        "[audit]\nbuffer = 100",
        &[
            "g.toml:1: audit: does not say where records go; hint: write sink = \"file:audit.jsonl\" or sink = \"stdout\"",
        ],
    ),
    (
        "[audit]\nsink = \"syslog\"",
        &[
            "g.toml:2: audit.sink: \"syslog\" is no place for records; hint: write \"stdout\" or \"file:audit.jsonl\"",
        ],
    ),
    (
        "[audit]\nsink = \"file:\"",
        &[
            "g.toml:2: audit.sink: \"file:\" is no place for records; hint: write \"stdout\" or \"file:audit.jsonl\"",
        ],
    ),
    (
        "[audit]\nsink = \"stdout\"\nhigh_water_mark = 0",
        &["g.toml:3: audit.high_water_mark: must be 0.01 to 1"],
    ),
    (
        "[redaction]\npatterns = [{ name = \"card\" }]",
        &["g.toml:2: redaction.patterns[0]: a pattern has a regex"],
    ),
    (
        "[rates]\nper_caller = { burst = 5 }",
        &["g.toml:2: rates.per_caller: a rate needs per_second; hint: write { per_second = 5, burst = 10 }"],
    ),
    (
        "[profiles.files]\n",
        &["g.toml:1: profiles.files: a downstream has this name, and its path; hint: choose another one"],
    ),
    (
        "[profiles.p]\ndownstreams = [\"nothing\"]",
        &["g.toml:2: profiles.p.downstreams[0]: there is no downstream \"nothing\""],
    ),
    (
        "[tls]\ncertificate = \"c.pem\"",
        &[
            "g.toml:1: tls: lacks key; hint: name the PEM files of certificate and key",
            "g.toml:2: tls.certificate: FOLDER/c.pem is not a file that exists",
        ],
    ),
    (
        "[oauth]\nissuers = [{ issuer = \"https://a.example\" }]",
        &[
            "g.toml:1: oauth: does not say what tokens have to be for; hint: write resource = \"https://gateway.example/mcp\", the public URL of this endpoint",
        ],
    ),
    (
        "[oauth]\nresource = \"https://g.example/mcp\"",
        &["g.toml:1: oauth: names no issuer; hint: write issuers = [{ issuer = \"https://login.example\" }]"],
    ),
    (
        "[oauth]\nresource = \"https://g.example/mcp\"\nissuers = [{ issuer = \"https://a.example\", jwks_url = \"http://a.example/keys\" }]",
        &["g.toml:3: oauth.issuers[0].jwks_url: must be https: whoever is on its way could change it"],
    ),
    (
        "[oauth]\nresource = \"https://g.example/mcp\"\nissuers = [{ issuer = \"https://a.example\", algorithms = [\"HS256\"] }]",
        &[
            "g.toml:3: oauth.issuers[0].algorithms[0]: \"HS256\" is not one of RS256, PS256, ES256, EdDSA, RS384, RS512, PS384, PS512, ES384",
        ],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\nforward_headers = [\"Authorization\"]",
        &[
            "g.toml:3: downstreams.r.forward_headers[0]: authorization is never passed on; hint: a downstream that needs the caller's identity takes auth = { type = \"oauth\", mode = \"exchange\", … }",
        ],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\nauth = { type = \"oauth\", mode = \"exchange\", client_id = \"a\", client_secret = { env = \"KEY\" } }",
        &["g.toml:3: downstreams.r.auth: needs token_url: a caller's token goes nowhere else"],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\nauth = { type = \"command\", command = \"cat x\" }",
        &[
            "g.toml:3: downstreams.r.auth.command: found a string where an array is needed; hint: no shell reads it: write [\"program\", \"argument\", …]",
        ],
    ),
];

#[test]
fn each_way_to_be_wrong_is_told_with_its_place() {
    for (text, expected) in WRONG {
        check(text, expected);
    }
}

#[test]
fn what_serve_would_refuse_is_refused_by_every_command() {
    for (text, expected) in [
        (
            "key_header = \"authorization\"",
            "g.toml:1: key_header: header authorization cannot be the one for keys",
        ),
        (
            "key_header = \"traceparent\"",
            "g.toml:1: key_header: header traceparent cannot be the one for keys",
        ),
    ] {
        for opens_port in [true, false] {
            let mut scene = Scene::with("g.toml", &format!("{text}\n{DOWN}"));
            scene.request.opens_port = opens_port;
            assert_eq!(scene.problems(), [expected], "{opens_port}");
        }
    }
    let mut open = Scene::with("g.toml", &format!("listen = \"0.0.0.0:80\"\n{DOWN}"));
    open.request.opens_port = false;
    assert_eq!(open.good().notes.len(), 1, "whoever opens no port may be told and not refused");
}

#[test]
fn a_certificate_that_nobody_is_asked_for_gets_a_remark() {
    let digest = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
    let client = format!("[clients.desk]\ncertificates = [\"sha256:{digest}\"]\n{DOWN}");
    let found = notes(&Scene::with("g.toml", &client).good());
    let remark = "g.toml:1: clients: desk: no client is asked for a certificate; [tls] with a client_ca would be needed";
    assert_eq!(found, [remark]);
    let key = DOWN
        .replace("files", "desk")
        .replace("downstreams", "clients")
        .replace("command = [\"x\"]", "key = { env = \"KEY\" }");
    let scene = Scene::with("g.toml", &format!("{key}{DOWN}")).variable("KEY", "a-secret-of-some-length");
    assert_eq!(notes(&scene.good()), [""; 0]);
}

/// P-13: what is shown can be used as it is shown, where the downstreams that it names are there.
#[test]
fn examples_of_the_documentation_can_be_used() {
    let texts = [
        include_str!("../../../../../README.md"),
        include_str!("../../../../../docs/configuration.md"),
        include_str!("../../../../../docs/security.md"),
    ];
    let blocks = texts.iter().flat_map(|text| text.split("```toml\n").skip(1));
    let examples: Vec<_> = blocks.filter_map(|block| block.split("```").next()).collect();
    assert_eq!(examples.len(), 11);
    let certificate = include_str!("../../../../../crates/gateway-server/tests/edge/certs/server.pem");
    let key = include_str!("../../../../../crates/gateway-server/tests/edge/certs/server.key");
    for example in examples {
        let mut text = example.to_owned();
        for name in ["files", "search", "shop", "wiki"] {
            if !example.contains(&format!("[downstreams.{name}]")) {
                text += &format!("\n[downstreams.{name}]\ncommand = [\"x\"]\n");
            }
        }
        let mut scene = Scene::with("g.toml", &text);
        for name in ["CRM_CLIENT_SECRET", "DESK_KEY", "HANDBOOK_SECRET", "SEARCH_TOKEN", "SHOP_KEY"] {
            scene = scene.variable(name, "a-secret-of-some-length");
        }
        for (name, content) in [("gateway.pem", certificate), ("gateway.key", key), ("shop.yaml", "")] {
            scene = scene.file(name, content);
        }
        scene.good();
    }
}

/// What fits its kind, but cannot work together or as what it is for: known before anything starts.
const UNUSABLE: &[(&str, &[&str])] = &[
    (
        "[oauth]\nresource = \"https://g.example/mcp\"\nissuers = [{ issuer = \"https://a.example\", algorithms = [] }]",
        &["g.toml:1: oauth: issuer \"https://a.example\" needs at least one algorithm"],
    ),
    (
        "[oauth]\nresource = \"https://g.example/mcp\"\nissuers = [{ issuer = \"https://a.example\" }, { issuer = \"https://a.example\" }]",
        &["g.toml:1: oauth: issuer \"https://a.example\" must have a name and stand once"],
    ),
    (
        "[oauth]\nresource = \"https://g.example/mcp\"\nissuers = [{ issuer = \"https://a.example\", jwks_file = \"keys.json\" }]",
        &[
            "g.toml:3: oauth.issuers[0].jwks_file: cannot read FOLDER/keys.json: No such file or directory (os error 2)",
        ],
    ),
    (
        "[oauth]\nresource = \"https://g.example/mcp\"\ndeny_list = \"denied\"\nissuers = [{ issuer = \"https://a.example\" }]",
        &["g.toml:3: oauth.deny_list: cannot read FOLDER/denied: No such file or directory (os error 2)"],
    ),
    (
        "[tls]\ncertificate = \"g.toml\"\nkey = \"g.toml\"",
        &["g.toml:1: tls: TLS cannot be had: there is no certificate in FOLDER/g.toml"],
    ),
    (
        "[clients.a]\nkey = { file = \"secret\" }",
        &["g.toml:2: clients.a.key.file: cannot read FOLDER/secret: No such file or directory (os error 2)"],
    ),
    (
        "[clients.a]\nkey = { env = \"NOT_THERE\" }",
        &[
            "g.toml:2: clients.a.key.env: the environment variable NOT_THERE is not set or empty; hint: set NOT_THERE before the gateway starts",
        ],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\n[downstreams.r.auth]\ntype = \"oauth\"\nmode = \"client_credentials\"\nclient_id = \"a\"\nprivate_key = { env = \"KEY\" }",
        &["g.toml:7: downstreams.r.auth.private_key: private_key is not PEM"],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\n[downstreams.r.auth]\ntype = \"oauth\"\nmode = \"client_credentials\"\nclient_id = \"a\"\nclient_secret = { env = \"KEY\" }",
        &[
            "g.toml:3: downstreams.r.auth: client_secret needs issuer or token_url, so that it is sent nowhere else",
        ],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\n[downstreams.r.auth]\ntype = \"oauth\"\nclient_metadata_url = \"https://g.example\"",
        &["g.toml:3: downstreams.r.auth: client_metadata_url is no https URL with a path"],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\n[downstreams.r.auth]\ntype = \"oauth\"\nredirect = \"https://g.example/back\"",
        &["g.toml:3: downstreams.r.auth: redirect is no http URL on the loopback with a port"],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\n[downstreams.r.auth]\ntype = \"oauth\"\ntoken_url = \"https://g.example/token\"",
        &["g.toml:3: downstreams.r.auth: token_url is for what works without a login"],
    ),
    (
        "key_header = \"x-key\"\n[downstreams.r]\nurl = \"https://r.example\"\nforward_headers = [\"x-key\"]",
        &["g.toml:1: key_header: header x-key cannot be passed on"],
    ),
    (
        "[downstreams.r]\nurl = \"https://r.example\"\nforward_headers = [\"x-forwarded-for\"]",
        &[
            "g.toml:3: downstreams.r.forward_headers: the header `x-forwarded-for` is never passed on to a downstream",
        ],
    ),
];

#[test]
fn what_cannot_be_used_is_told_with_its_place_before_anything_starts() {
    for (text, expected) in UNUSABLE {
        check(text, expected);
    }
}

#[test]
fn one_that_is_switched_off_may_lack_what_it_needs() {
    let off = "[downstreams.r]\nurl = \"https://r.example\"\nenabled = false\n[downstreams.r.auth]\n";
    for auth in [
        "type = \"oauth\"\nmode = \"client_credentials\"\nclient_id = \"a\"\nprivate_key = { env = \"NOT_THERE\" }",
        "type = \"file\"\npath = \"nothing\"",
        "type = \"command\"\ncommand = [\"no-such-program\"]",
    ] {
        let loaded = Scene::with("g.toml", &format!("{off}{auth}\n{DOWN}")).good();
        assert_eq!(notes(&loaded), [""; 0], "{auth}");
    }
}

#[test]
fn what_is_read_or_run_later_is_looked_for_at_once() {
    let one =
        |auth: &str| format!("[downstreams.r]\nurl = \"https://r.example\"\nauth = {{ {auth} }}\n{DOWN}");
    let exchange = "type = \"oauth\", mode = \"exchange\", client_id = \"me\", client_secret = { env = \"KEY\" }, \
                    token_url = \"https://login.example/token\"";
    let missing = "No such file or directory (os error 2); calls fail until it can";
    let rows = [
        ("type = \"file\", path = \"g.toml\"".to_owned(), None),
        (
            "type = \"file\", path = \"token\"".to_owned(),
            Some(format!("g.toml:3: downstreams.r.auth.path: FOLDER/token cannot be read: {missing}")),
        ),
        (
            "type = \"file\", path = \".\"".to_owned(),
            Some(
                "g.toml:3: downstreams.r.auth.path: FOLDER/. cannot be read: it is not a file; calls fail until it can"
                    .to_owned(),
            ),
        ),
        ("type = \"command\", command = [\"/bin/sh\"]".to_owned(), None),
        ("type = \"command\", command = [\"sh\"]".to_owned(), None),
        (
            "type = \"command\", command = [\"no-such-program\"]".to_owned(),
            Some(
                "g.toml:3: downstreams.r.auth.command: there is no program \"no-such-program\"; calls fail until there is"
                    .to_owned(),
            ),
        ),
        (
            format!("{exchange}, actor_token = {{ file = \"token\" }}"),
            Some(format!("g.toml:3: downstreams.r.auth.actor_token.file: FOLDER/token cannot be read: {missing}")),
        ),
        (
            format!("{exchange}, actor_token = {{ command = [\"/no/such\"] }}"),
            Some(
                "g.toml:3: downstreams.r.auth.actor_token.command: there is no program \"/no/such\"; calls fail until there is"
                    .to_owned(),
            ),
        ),
    ];
    for (auth, expected) in rows {
        let scene = Scene::with("g.toml", &one(&auth)).variable("KEY", "a-secret-of-some-length");
        let folder = scene.path().display().to_string();
        let told: Vec<_> = notes(&scene.good()).iter().map(|note| note.replace(&folder, "FOLDER")).collect();
        assert_eq!(told, expected.into_iter().collect::<Vec<_>>(), "{auth}");
    }
}
