//! `[downstreams.NAME]` with `openapi`.

use std::time::Duration;

use gateway_openapi::engine::{AnnotationOverride, Argument, ClientAuthentication, Override, RateLimit};
use gateway_openapi::ir::Method;
use gateway_openapi::source::Place;

use super::*;

const TOML: &str = r#"
[downstreams.shop]
openapi = "docs/shop.yaml"
base_url = "https://shop.example/v2/"
references = ["docs/shared", "https://shop.example/schemas"]
headers = { Accept = "application/json", X-Tenant = { env = "TENANT" } }
auth = { api_key = { env = "SHOP_KEY" }, login = { username = "me", password = { file = "password" } }, plain = "t0ken", oauth = { client_id = "gateway", client_secret = { env = "OAUTH_SECRET", prefix = "x" }, token_url = "https://login.example/token", scopes = ["read"], authentication = "post", resource = "https://shop.example", audience = "shop" } }
read_only = false
include = [{ tag = "pets", method = "get" }, "POST /orders/*", "/public/*", "HEAD", "findPets"]
exclude = [{ path = "/admin/*" }, { operation = "getSecret" }]
rate_limit = { per_second = 0.5 }
max_concurrent = 4
max_response_bytes = 0
max_schema_bytes = "64KiB"
output_schemas = false
connect_timeout = "3s"
call_timeout = "5s"

[downstreams.shop.overrides.getPet]
name = "pet"
title = "A pet"
description = "One pet."
annotations = { read_only = true, destructive = false, idempotent = true, open_world = false }
arguments = { verbose = { hidden = true }, limit = { value = 10 }, filter = { value = { a = [1.5, "x", true] } } }
fields = ["name", "owner.id"]
output_schema = true
timeout = "1s"
max_concurrent = 1
rate_limit = { per_second = 2, burst = 7 }
max_response_bytes = "1KiB"

[downstreams.shop.overrides."delete /pets/{id}"]
annotations = { destructive = true }
"#;

fn furnished(text: &str) -> Scene {
    Scene::with("g.toml", text)
        .file("password", "pa55\n")
        .file("docs/shared/x.yaml", "")
        .variable("TENANT", "acme")
        .variable("SHOP_KEY", "k3y")
        .variable("OAUTH_SECRET", "s3cret")
}

#[test]
fn everything_that_can_be_said_of_an_api_arrives() {
    let scene = furnished(TOML);
    let loaded = scene.good();
    let downstream = only(&loaded.config);
    let shop = api(downstream);
    assert_eq!(downstream.call_timeout, Duration::from_secs(5));
    assert_eq!(shop.document, Place::File(scene.path().join("docs/shop.yaml")), "which need not be there");
    assert_eq!(shop.base_url.uri(), "https://shop.example/v2");
    let shared = scene.path().join("docs/shared").display().to_string();
    assert_eq!(shop.references, [shared, "https://shop.example/schemas".to_owned()]);
    let headers: Vec<_> = shop.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("accept", "application/json"), ("x-tenant", "acme")]);
    assert_eq!((shop.connect_timeout, shop.limits.concurrent), (Duration::from_secs(3), 4));
    assert_eq!(shop.limits.rate, Some(RateLimit { per_second: 0.5, burst: 1 }));
    assert_eq!((shop.limits.response_bytes, shop.part.max_schema_bytes), (0, 65_536));
    assert!(!shop.part.output_schemas && !shop.part.read_only);
    let variables: Vec<_> = loaded.config.secret_variables.iter().map(String::as_str).collect();
    assert_eq!(variables, ["OAUTH_SECRET", "SHOP_KEY", "TENANT"]);
}

#[test]
fn credentials_are_told_apart_by_what_is_written() {
    let loaded = furnished(TOML).good();
    let auth = &api(only(&loaded.config)).auth;
    let token = |scheme: &str| match &auth[scheme] {
        Auth::Token(secret) => secret.expose().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!([token("api_key"), token("plain")], ["k3y", "t0ken"]);
    let Auth::Basic { username, password } = &auth["login"] else { panic!("{auth:?}") };
    assert_eq!((username.as_str(), password.expose()), ("me", "pa55"));
    let Auth::Client(client) = &auth["oauth"] else { panic!("{auth:?}") };
    assert_eq!((client.id.as_str(), client.secret.expose()), ("gateway", "xs3cret"));
    assert_eq!(client.token_url.as_ref().unwrap(), "https://login.example/token");
    assert_eq!(client.scopes, Some(vec!["read".to_owned()]));
    assert_eq!(client.authentication, ClientAuthentication::Post);
    assert_eq!(
        [&client.resource, &client.audience].map(Option::as_deref),
        [Some("https://shop.example"), Some("shop")]
    );
    let shown = format!("{:?}", loaded.config);
    for secret in ["k3y", "t0ken", "pa55", "s3cret", "acme"] {
        assert!(!shown.contains(secret), "{secret} is in {shown}");
    }
}

#[test]
fn operations_are_selected_by_tables_and_by_short_texts() {
    let loaded = furnished(TOML).good();
    let part = &api(only(&loaded.config)).part;
    let text = |text: &str| Some(text.to_owned());
    let none = Selector::default;
    assert_eq!(
        part.include,
        [
            Selector { tag: text("pets"), method: Some(Method::Get), ..none() },
            Selector { method: Some(Method::Post), path: text("/orders/*"), ..none() },
            Selector { path: text("/public/*"), ..none() },
            Selector { method: Some(Method::Head), ..none() },
            Selector { operation: text("findPets"), ..none() },
        ]
    );
    assert_eq!(
        part.exclude,
        [Selector { path: text("/admin/*"), ..none() }, Selector { operation: text("getSecret"), ..none() }]
    );
}

#[test]
fn single_operations_are_overridden() {
    let loaded = furnished(TOML).good();
    let overrides = &api(only(&loaded.config)).part.overrides;
    assert_eq!(overrides.keys().collect::<Vec<_>>(), ["DELETE /pets/{id}", "getPet"]);
    let destructive = AnnotationOverride { destructive: Some(true), ..AnnotationOverride::default() };
    assert_eq!(overrides["DELETE /pets/{id}"], Override { annotations: destructive, ..Override::default() });
    let pet = &overrides["getPet"];
    assert_eq!(pet.name.as_deref(), Some("pet"));
    assert_eq!([&pet.title, &pet.description].map(Option::as_deref), [Some("A pet"), Some("One pet.")]);
    let fixed = |name: &str| match &pet.arguments[name] {
        Argument::Fixed(value) => value.as_str().to_owned(),
        Argument::Hidden => "hidden".to_owned(),
    };
    assert_eq!(["verbose", "limit", "filter"].map(fixed), ["hidden", "10", r#"{"a":[1.5,"x",true]}"#]);
    assert_eq!(pet.fields, [vec!["name".to_owned()], vec!["owner".to_owned(), "id".to_owned()]]);
    let annotations = pet.annotations;
    let AnnotationOverride { read_only, destructive, idempotent, open_world } = annotations;
    assert_eq!([read_only, destructive, idempotent, open_world], [true, false, true, false].map(Some));
    assert_eq!((pet.output_schema, pet.timeout), (Some(true), Some(Duration::from_secs(1))));
    assert_eq!((pet.max_concurrent, pet.max_response_bytes), (Some(1), Some(1024)));
    assert_eq!(pet.rate_limit, Some(RateLimit { per_second: 2.0, burst: 7 }));
}

const SHORT: &str = "[downstreams.d]\nopenapi = \"a.yaml\"\nbase_url = \"https://a.example\"\n";

#[test]
fn by_default_an_api_is_only_read() {
    let loaded = Scene::with("g.toml", SHORT).good();
    let downstream = only(&loaded.config);
    let shop = api(downstream);
    assert!(shop.part.read_only && shop.part.output_schemas);
    assert!(shop.part.include.is_empty() && shop.references.is_empty());
    assert_eq!(downstream.call_timeout, Duration::from_secs(30), "E-15");
    assert_eq!((shop.limits.rate, shop.limits.concurrent, shop.limits.response_bytes), (None, 32, 262_144));
    assert_eq!(shop.part.max_schema_bytes, 24_576);
    assert!(notes(&loaded).is_empty());
}

#[test]
fn a_document_may_be_at_a_url() {
    let text = SHORT.replace("a.yaml", "https://a.example/openapi.json?v=1");
    let loaded = Scene::with("g.toml", &text).good();
    let url = "https://a.example/openapi.json?v=1".parse().unwrap();
    assert_eq!(api(only(&loaded.config)).document, Place::Url(url));
}

#[test]
fn what_travels_unencrypted_is_noted() {
    let text = "[downstreams.d]\nopenapi = \"http://a.example/x\"\nbase_url = \"http://a.example\"\n\
        auth = { k = \"v\", o = { client_id = \"c\", client_secret = \"s\", token_url = \"http://b.example\" } }";
    assert_eq!(
        notes(&Scene::with("g.toml", text).good()),
        [
            "g.toml:2: downstreams.d.openapi: the document travels unencrypted over http; whoever is on its way can change it",
            "g.toml:4: downstreams.d.auth.o.token_url: the client's secret travels unencrypted over http",
            "g.toml:3: downstreams.d.base_url: headers and credentials travel unencrypted over http",
        ]
    );
    let local = "[downstreams.d]\nopenapi = \"x\"\nbase_url = \"http://127.0.0.1:1\"\nauth = { k = \"v\" }";
    assert!(notes(&Scene::with("g.toml", local).good()).is_empty());
}

#[test]
fn an_api_at_the_gateways_own_address_is_left_out() {
    let text = format!(
        "listen = \"127.0.0.1:7000\"\n{}",
        SHORT.replace("https://a.example", "http://localhost:7000/x")
    );
    let loaded = Scene::with("g.toml", &text).good();
    assert!(!only(&loaded.config).enabled);
}

#[test]
fn secrets_of_a_disabled_api_need_not_be_there() {
    let text = format!(
        "{SHORT}enabled = false\nauth = {{ k = {{ env = \"UNSET\" }} }}\nreferences = [\"missing\"]\n"
    );
    assert!(!only(&Scene::with("g.toml", &text).good().config).enabled);
}

/// Lines behind those of [`SHORT`], and what is said about them.
const PROBLEMS: &[(&str, &[&str])] = &[
    (
        "readonly = false",
        &["g.toml:4: downstreams.d.readonly: unknown key `readonly`; hint: did you mean `read_only`?"],
    ),
    (
        "read_only = \"no\"",
        &[
            "g.toml:4: downstreams.d.read_only: found a string where true or false is needed; hint: write true or false without quotes",
        ],
    ),
    (
        "command = [\"x\"]\nurl = \"https://a.example\"",
        &["g.toml:1: downstreams.d: has a command and a url and openapi; a downstream has one of them"],
    ),
    (
        "env = { A = \"b\" }\nprotocol = \"auto\"\npool = { max = 1 }",
        &[
            "g.toml:4: downstreams.d.env: belongs to a downstream with a command",
            "g.toml:5: downstreams.d.protocol: has no meaning for an HTTP API",
            "g.toml:6: downstreams.d.pool: has no meaning for an HTTP API",
        ],
    ),
    (
        "include = [\"/a[\", \"FETCH /a\", \"a b c\", {}, 5, { methd = \"GET\" }, { path = \"a\" }]",
        &[
            "g.toml:4: downstreams.d.include[0]: \"/a[\" fits no path: Pattern syntax error near position 2: invalid range pattern",
            "g.toml:4: downstreams.d.include[1]: \"FETCH\" is not one of GET, POST, PUT, PATCH, DELETE, HEAD",
            "g.toml:4: downstreams.d.include[2]: does not say which operations; hint: write \"/pets/*\", \"GET /pets/*\", an operation's id, or { tag = …, path = …, method = …, operation = … }",
            "g.toml:4: downstreams.d.include[3]: does not say which operations; hint: write \"/pets/*\", \"GET /pets/*\", an operation's id, or { tag = …, path = …, method = …, operation = … }",
            "g.toml:4: downstreams.d.include[4]: found a number where a string or a table is needed; hint: write \"/pets/*\", \"GET /pets/*\", an operation's id, or { tag = …, path = …, method = …, operation = … }",
            "g.toml:4: downstreams.d.include[5].methd: unknown key `methd`; hint: did you mean `method`?",
            "g.toml:4: downstreams.d.include[6].path: \"a\" fits no path: paths begin with `/`",
        ],
    ),
    (
        "exclude = [\"admin/*\", \"**\", \"adm?n\", { operation = \"[a]dm\" }, { tag = \"*\", method = \"GET\" }]",
        &[
            "g.toml:4: downstreams.d.exclude[0]: \"admin/*\" is a pattern, and only paths have those; hint: a path begins with /",
            "g.toml:4: downstreams.d.exclude[1]: \"**\" is a pattern, and only paths have those; hint: a path begins with /",
            "g.toml:4: downstreams.d.exclude[2]: \"adm?n\" is a pattern, and only paths have those; hint: a path begins with /",
            "g.toml:4: downstreams.d.exclude[3].operation: \"[a]dm\" is a pattern, and only paths have those; hint: a path begins with /",
            "g.toml:4: downstreams.d.exclude[4].tag: \"*\" is a pattern, and only paths have those; hint: a path begins with /",
        ],
    ),
    (
        "auth = { a = {}, b = { env = \"UNSET\" }, c = { username = \"x\" }, d = { client_id = \"x\" }, e = \"\", f = { username = \"x:y\", password = \"z\" } }",
        &[
            "g.toml:4: downstreams.d.auth.a: does not say what to send; hint: write { env = \"NAME\" } for a key or token, { username = …, password = … }, or { client_id = …, client_secret = … }",
            "g.toml:4: downstreams.d.auth.b.env: the environment variable UNSET is not set or empty; hint: set UNSET before the gateway starts",
            "g.toml:4: downstreams.d.auth.c: lacks password",
            "g.toml:4: downstreams.d.auth.d: lacks client_secret",
            "g.toml:4: downstreams.d.auth.e: must not be empty",
            "g.toml:4: downstreams.d.auth.f: a user name with a colon cannot be sent (RFC 7617)",
        ],
    ),
    (
        "headers = { Host = \"x\", Content-Type = \"y\" }",
        &[
            "g.toml:4: downstreams.d.headers.Content-Type: the gateway sets this header itself; hint: remove it",
            "g.toml:4: downstreams.d.headers.Host: the gateway sets this header itself; hint: remove it",
        ],
    ),
    (
        "rate_limit = { burst = 0 }",
        &[
            "g.toml:4: downstreams.d.rate_limit: a rate limit needs per_second; hint: write { per_second = 5, burst = 10 }",
            "g.toml:4: downstreams.d.rate_limit.burst: must be 1 to 1000000",
        ],
    ),
    (
        "rate_limit = { per_second = 0 }",
        &["g.toml:4: downstreams.d.rate_limit.per_second: must be 0.001 to 1000000"],
    ),
    (
        "references = [\"missing\", \"https://me:pw@a.example\"]",
        &[
            "g.toml:4: downstreams.d.references[0]: cannot read FOLDER/missing: No such file or directory (os error 2)",
            "g.toml:4: downstreams.d.references[1]: cannot read a URL that references may lead to: a URL may not hold a user name or password",
        ],
    ),
    (
        "overrides = { \"/pets\" = {}, \"GET pets\" = {}, \"GRAB /pets\" = {}, a = { nam = \"x\", name = \"a-b\", fields = [\"a..b\"], arguments = { x = {} } } }",
        &[
            "g.toml:4: downstreams.d.overrides.\"/pets\": does not say which operation; hint: write an operation's id, or \"GET /path/{name}\" as in its document",
            "g.toml:4: downstreams.d.overrides.\"GET pets\": does not say which operation; hint: write an operation's id, or \"GET /path/{name}\" as in its document",
            "g.toml:4: downstreams.d.overrides.\"GRAB /pets\": \"GRAB\" is not one of GET, POST, PUT, PATCH, DELETE, HEAD",
            "g.toml:4: downstreams.d.overrides.a.name: \"a-b\" is no name for a tool: it must be 1 to 61 letters, digits and single '_' inside",
            "g.toml:4: downstreams.d.overrides.a.arguments.x: does not say what becomes of it; hint: write { hidden = true } or { value = … }",
            "g.toml:4: downstreams.d.overrides.a.fields[0]: is not a path of names; hint: write \"id\" or \"items.id\"",
            "g.toml:4: downstreams.d.overrides.a.nam: unknown key `nam`; hint: did you mean `name`?",
        ],
    ),
    (
        "overrides = { a = { name = \"a__b\" }, b = { name = \"_b\" }, c = { name = \"{LONG}c\" }, d = { name = \"{LONG}\" } }",
        &[
            "g.toml:4: downstreams.d.overrides.a.name: \"a__b\" is no name for a tool: it must be 1 to 61 letters, digits and single '_' inside",
            "g.toml:4: downstreams.d.overrides.b.name: \"_b\" is no name for a tool: it must be 1 to 61 letters, digits and single '_' inside",
            "g.toml:4: downstreams.d.overrides.c.name: \"{LONG}c\" is no name for a tool: it must be 1 to 61 letters, digits and single '_' inside",
        ],
    ),
    (
        "call_timeout = \"25h\"\nmax_response_bytes = \"17MiB\"",
        &[
            "g.toml:4: downstreams.d.call_timeout: must be 1ms to 1day",
            "g.toml:5: downstreams.d.max_response_bytes: must be 0 bytes to 16777216 bytes",
        ],
    ),
    (
        "overrides = { a = { fields = [] }, \"GET /a\" = {}, \"get  /a\" = {} }",
        &[
            "g.toml:4: downstreams.d.overrides.a.fields: must not be empty; hint: remove it to pass everything on",
            "g.toml:4: downstreams.d.overrides.\"get  /a\": is for the same operation as another override; hint: write one of both",
        ],
    ),
];

#[test]
fn what_is_wrong_with_an_api_is_said_in_these_words() {
    let long = "x".repeat(61);
    for (text, expected) in PROBLEMS {
        let scene = Scene::with("g.toml", &format!("{SHORT}{}\n", text.replace("{LONG}", &long)));
        let expected: Vec<_> = expected.iter().map(|line| line.replace("{LONG}", &long)).collect();
        assert_eq!(scene.problems(), expected, "{text}");
    }
}

#[test]
fn a_tool_is_called_what_has_room_behind_the_name_of_its_downstream() {
    let text = format!("names = {{ max_length = 20 }}\n{SHORT}overrides = {{ a = {{ name = \"{{}}\" }} }}\n");
    Scene::with("g.toml", &text.replace("{}", &"x".repeat(17))).good();
    let problems = Scene::with("g.toml", &text.replace("{}", &"x".repeat(18))).problems();
    assert!(problems[0].contains("it must be 1 to 17 letters"), "{problems:?}");
}

#[test]
fn a_call_of_an_api_may_take_a_day() {
    let loaded = Scene::with("g.toml", &format!("{SHORT}call_timeout = \"24h\"\n")).good();
    assert_eq!(only(&loaded.config).call_timeout, Duration::from_secs(24 * 60 * 60));
}

#[test]
fn an_api_needs_a_place() {
    for (text, expected) in [
        (
            "openapi = \"a.yaml\"",
            "g.toml:1: downstreams.d: an HTTP API needs a base_url; hint: write base_url = \"https://host/path\"; the servers that its document names are not called",
        ),
        (
            "openapi = \"a.yaml\"\nbase_url = \"a.example\"",
            "g.toml:3: downstreams.d.base_url: is not an http or https URL; hint: write \"https://host/path\"",
        ),
        (
            "openapi = \"a.yaml\"\nbase_url = \"https://a.example?key=k\"",
            "g.toml:3: downstreams.d.base_url: a base URL has no query; hint: a key that belongs there is written as auth = { SCHEME = { env = \"NAME\" } }",
        ),
        (
            "openapi = \"\"\nbase_url = \"https://a.example\"",
            "g.toml:2: downstreams.d.openapi: must not be empty",
        ),
        (
            "openapi = \"builtin:library\"\nbase_url = \"https://a.example\"",
            "g.toml:2: downstreams.d.openapi: belongs to the demonstration that runs where there is no configuration; hint: name a file or a URL",
        ),
        (
            "openapi = \"ftp://a\"\nbase_url = \"https://a.example\"",
            "g.toml:2: downstreams.d.openapi: is not an http or https URL; hint: write \"https://host/path\"",
        ),
        (
            "command = [\"x\"]\nread_only = true",
            "g.toml:3: downstreams.d.read_only: belongs to a downstream with openapi",
        ),
        (
            "url = \"https://a.example\"\nbase_url = \"https://a.example\"",
            "g.toml:3: downstreams.d.base_url: belongs to a downstream with openapi",
        ),
    ] {
        let scene = Scene::with("g.toml", &format!("[downstreams.d]\n{text}\n"));
        assert_eq!(scene.problems(), [expected], "{text}");
    }
}
