//! `auth` of a downstream with a url.

use std::time::Duration;

use super::*;

fn grant(auth: &str) -> Grant {
    let text = format!("[downstreams.r]\nurl = \"https://r.example/mcp\"\nauth = {{ {auth} }}");
    let config = Scene::with("g.toml", &text).variable("KEY", "a-secret-of-some-length").good().config;
    let [Downstream { reach: Reach::Url(remote), .. }] = &config.downstreams[..] else { panic!("{auth}") };
    remote.outgoing.grant.clone().expect(auth)
}

#[test]
fn tokens_come_from_a_file_or_a_program() {
    let path = |auth| {
        let Grant::File { header, path } = grant(auth) else { panic!("{auth}") };
        (header.to_string(), path.ends_with("token"))
    };
    assert_eq!(path("type = \"file\", path = \"token\""), ("authorization".to_owned(), true));
    assert_eq!(
        path("type = \"file\", path = \"token\", header = \"X-Api-Key\""),
        ("x-api-key".to_owned(), true)
    );
    let Grant::Command { argv, ttl, .. } = grant("type = \"command\", command = [\"pass\", \"show\"]") else {
        panic!("no command")
    };
    assert_eq!((argv.join(" "), ttl), ("pass show".to_owned(), Duration::from_secs(300)));
}

#[test]
fn each_mode_of_oauth_takes_its_members() {
    let client = "client_id = \"me\", client_secret = { env = \"KEY\" }, issuer = \"https://login.example\"";
    let rows = [
        ("gateway", String::new()),
        ("gateway", format!("{client}, redirect = \"http://127.0.0.1:8765/back\", store = \"kept\"")),
        ("per_user", "client_metadata_url = \"https://g.example/client.json\"".to_owned()),
        ("client_credentials", client.to_owned()),
        ("jwt_bearer", format!("{client}, assertion = {{ env = \"KEY\" }}")),
        ("exchange", format!("{client}, token_url = \"https://login.example/token\"")),
    ];
    for (mode, members) in rows {
        let comma = if members.is_empty() { "" } else { ", " };
        let grant = grant(&format!(
            "type = \"oauth\", mode = \"{mode}\", scopes = [\"a\", \"b\"], audience = \"x\", \
             legacy_discovery = true, loopback_issuers = true{comma}{members}"
        ));
        let owner = match &grant {
            Grant::Interactive(interactive) => match interactive.owner {
                Owner::Gateway => "gateway",
                Owner::User => "per_user",
            },
            Grant::ClientCredentials(_) => "client_credentials",
            Grant::JwtBearer { .. } => "jwt_bearer",
            Grant::Exchange { .. } => "exchange",
            other => panic!("{other:?}"),
        };
        let client = grant.client().unwrap();
        assert_eq!(owner, mode);
        assert_eq!((&client.scopes.join(" ")[..], client.audience.as_deref()), ("a b", Some("x")), "{mode}");
        assert!(client.legacy_discovery && client.loopback_issuers, "{mode}");
    }
}

const EXCHANGE: &str = "type = \"oauth\", mode = \"exchange\", client_id = \"me\", \
    client_secret = { env = \"KEY\" }, token_url = \"https://login.example/token\"";

fn exchange(members: &str) -> Exchange {
    match grant(&format!("{EXCHANGE}, {members}")) {
        Grant::Exchange { exchange, .. } => exchange,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_exchange_says_what_it_is_of_for_and_by_whom() {
    let urn = |kind: &str| format!("urn:ietf:params:oauth:token-type:{kind}");
    let plain = exchange("resource = \"urn:backend\"");
    assert_eq!(plain, Exchange { subject_type: None, requested_type: None, actor: None });
    let own = exchange(
        "subject_token_type = \"jwt\", requested_token_type = \"urn:example:t\", \
         actor_token = { env = \"KEY\" }, actor_token_type = \"id_token\"",
    );
    assert_eq!(own.subject_type.as_deref(), Some(&*urn("jwt")));
    assert_eq!(own.requested_type.as_deref(), Some("urn:example:t"));
    let value = TokenSource::Value(Secret::new("a-secret-of-some-length"));
    let actor = own.actor.unwrap();
    assert_eq!((actor.source, actor.kind), (value, urn("id_token")));
    let actor = exchange("actor_token = { file = \"token\" }").actor.unwrap();
    assert!(matches!(actor.source, TokenSource::File(path) if path.is_absolute() && path.ends_with("token")));
    assert_eq!(actor.kind, urn("access_token"));
    let actor = exchange("actor_token = { command = [\"pass\", \"show\"], ttl = \"1m\" }").actor.unwrap();
    let argv = ["pass", "show"].map(str::to_owned).to_vec();
    assert_eq!(actor.source, TokenSource::Command { argv, ttl: Duration::from_secs(60) });
    let for_itself = grant(
        "type = \"oauth\", mode = \"client_credentials\", client_id = \"me\", client_secret = { env = \"KEY\" }, \
         issuer = \"https://login.example\", resource = \"api://backend\"",
    );
    assert_eq!(for_itself.client().unwrap().resource.as_deref(), Some("api://backend"));
}

#[test]
fn an_assertion_comes_from_the_environment_a_file_or_a_program() {
    let from = |source: &str| {
        let grant = grant(&format!(
            "type = \"oauth\", mode = \"jwt_bearer\", client_id = \"me\", issuer = \"https://login.example\", \
             resource = \"api://backend\", assertion = {{ {source} }}"
        ));
        let Grant::JwtBearer { client, assertion } = grant else { panic!("{grant:?}") };
        assert_eq!((client.resource.as_deref(), client.client_secret), (Some("api://backend"), None));
        assertion
    };
    assert_eq!(from("env = \"KEY\""), TokenSource::Value(Secret::new("a-secret-of-some-length")));
    let file = from("file = \"token\"");
    assert!(matches!(&file, TokenSource::File(path) if path.is_absolute() && path.ends_with("token")));
    let argv = ["spire", "fetch"].map(str::to_owned).to_vec();
    let program = from("command = [\"spire\", \"fetch\"], ttl = \"1m\"");
    assert_eq!(program, TokenSource::Command { argv, ttl: Duration::from_secs(60) });
}

#[test]
fn an_assertion_that_cannot_be_sent_is_told_with_its_place() {
    let sources = "hint: write { env = \"NAME\" }, { file = \"path\" } or { command = [\"program\"] }";
    let [assertion, id, issuer] =
        ["assertion = { env = \"KEY\" }", "client_id = \"me\"", "issuer = \"https://login.example\""];
    let rows = [
        ([id, issuer, "scopes = []"], format!("auth: needs assertion; {sources}")),
        ([assertion, issuer, "scopes = []"], "auth: needs client_id".to_owned()),
        (
            [assertion, id, "scopes = []"],
            "auth: needs issuer or token_url: the assertion goes nowhere else".to_owned(),
        ),
        (
            ["assertion = \"in-the-clear\"", id, issuer],
            format!("auth.assertion: a token does not stand in the configuration; {sources}"),
        ),
    ];
    for (members, problem) in rows {
        let text = format!(
            "[downstreams.r]\nurl = \"https://r.example\"\n\
             auth = {{ type = \"oauth\", mode = \"jwt_bearer\", {} }}",
            members.join(", ")
        );
        let scene = Scene::with("g.toml", &text).variable("KEY", "a-secret-of-some-length");
        assert_eq!(scene.problems(), [format!("g.toml:3: downstreams.r.{problem}")], "{members:?}");
    }
}

const MANAGED: &str = "type = \"oauth\", mode = \"enterprise_managed\", client_id = \"me\", \
    client_secret = { env = \"KEY\" }";

#[test]
fn a_provider_is_asked_for_the_caller_or_for_the_gateway_itself() {
    let read = |members: &str| {
        let grant = grant(&format!(
            "{MANAGED}, issuer = \"https://login.example\", \
             idp = {{ token_url = \"https://idp.example/token\", client_id = \"us\"{members} }}"
        ));
        let Grant::EnterpriseManaged { provider, .. } = &grant else { panic!("{grant:?}") };
        let provider = (**provider).clone();
        (Outgoing { grant: Some(grant), forward: Vec::new() }.is_per_caller(), provider)
    };
    let (is_per_caller, provider) = read("");
    assert!(is_per_caller);
    assert_eq!((&*provider.client_id, provider.subject_type), ("us", None));
    let (is_per_caller, provider) =
        read(", subject_token = { file = \"token\" }, subject_token_type = \"saml2\"");
    assert!(!is_per_caller && matches!(provider.subject, Some(TokenSource::File(_))));
    assert_eq!(provider.subject_type.as_deref(), Some("urn:ietf:params:oauth:token-type:saml2"));
}

#[test]
fn a_provider_that_cannot_be_asked_is_told_with_its_place() {
    let issuer = "issuer = \"https://login.example\"";
    let good = "idp = { token_url = \"https://idp.example/token\", client_id = \"us\" }";
    let rows = [
        (issuer.to_owned(), "auth: lacks idp"),
        (format!("{issuer}, idp = {{ client_id = \"us\" }}"), "auth.idp: lacks token_url"),
        (
            format!("{issuer}, idp = {{ token_url = \"https://idp.example/token\" }}"),
            "auth.idp: lacks client_id",
        ),
        (
            format!("{issuer}, idp = {{ token_url = \"http://idp.example/token\", client_id = \"us\" }}"),
            "auth.idp.token_url: must be https: secrets travel there",
        ),
        (good.to_owned(), "auth: needs issuer, which the identity provider is asked for"),
    ];
    for (members, problem) in rows {
        let text = format!("[downstreams.r]\nurl = \"https://r.example\"\nauth = {{ {MANAGED}, {members} }}");
        let scene = Scene::with("g.toml", &text).variable("KEY", "a-secret-of-some-length");
        assert_eq!(scene.problems(), [format!("g.toml:3: downstreams.r.{problem}")], "{members}");
    }
}

#[test]
fn an_exchange_that_cannot_be_is_told_with_its_place() {
    let sources = "hint: write { env = \"NAME\" }, { file = \"path\" } or { command = [\"program\"] }";
    let types = "is neither a URI nor one of access_token, jwt, id_token, refresh_token, saml1, saml2";
    let rows = [
        (
            "actor_token = \"a-token-in-the-clear\"",
            format!("actor_token: a token does not stand in the configuration; {sources}"),
        ),
        (
            "actor_token = { file = \"a\", command = [\"b\"] }",
            format!("actor_token: a token has exactly one source; {sources}"),
        ),
        ("actor_token = {}", format!("actor_token: a token has exactly one source; {sources}")),
        (
            "actor_token = { env = \"NOT_THERE\" }",
            "actor_token.env: the environment variable NOT_THERE is not set or empty; \
             hint: set NOT_THERE before the gateway starts"
                .to_owned(),
        ),
        (
            "actor_token_type = \"jwt\"",
            "actor_token_type: there is no actor_token that this could be about".to_owned(),
        ),
        (
            "requested_token_type = \"acces_token\"",
            format!("requested_token_type: \"acces_token\" {types}; hint: did you mean \"access_token\"?"),
        ),
        ("subject_token_type = \"what\"", format!("subject_token_type: \"what\" {types}")),
        (
            "resource = \"backend\"",
            "resource: is no absolute URI without fragment; hint: write audience for a name".to_owned(),
        ),
        (
            "resource = \"https://a.example/#b\"",
            "resource: is no absolute URI without fragment; hint: write audience for a name".to_owned(),
        ),
    ];
    for (members, problem) in rows {
        let text =
            format!("[downstreams.r]\nurl = \"https://r.example\"\nauth = {{ {EXCHANGE}, {members} }}");
        let scene = Scene::with("g.toml", &text).variable("KEY", "a-secret-of-some-length");
        assert_eq!(scene.problems(), [format!("g.toml:3: downstreams.r.auth.{problem}")], "{members}");
    }
}

#[test]
fn what_is_not_said_is_off() {
    let Grant::Interactive(interactive) = grant("type = \"oauth\"") else { panic!("no login") };
    assert_eq!(interactive.owner, Owner::Gateway);
    assert!(!interactive.client.legacy_discovery && !interactive.client.loopback_issuers);
    assert_eq!((&interactive.store, &interactive.redirect), (&None, &None));
}

#[test]
fn a_secret_without_a_place_for_it_is_refused() {
    let rows = [
        (
            "client_id = \"me\", client_secret = { env = \"KEY\" }",
            "a client_secret needs issuer, so that it is sent nowhere else; hint: write issuer = \"https://login.example\"",
        ),
        (
            "mode = \"client_credentials\", client_id = \"me\"",
            "needs client_id, and client_secret or private_key",
        ),
        (
            "mode = \"exchange\", client_id = \"me\", token_url = \"https://login.example/token\"",
            "needs client_id, and client_secret or private_key",
        ),
    ];
    for (members, problem) in rows {
        let text =
            format!("[downstreams.r]\nurl = \"https://r.example\"\nauth = {{ type = \"oauth\", {members} }}");
        let scene = Scene::with("g.toml", &text).variable("KEY", "a-secret-of-some-length");
        assert_eq!(scene.problems(), [format!("g.toml:3: downstreams.r.auth: {problem}")], "{members}");
    }
}
