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
            Grant::Exchange { .. } => "exchange",
            other => panic!("{other:?}"),
        };
        let client = grant.client().unwrap();
        assert_eq!(owner, mode);
        assert_eq!((&client.scopes.join(" ")[..], client.audience.as_deref()), ("a b", Some("x")), "{mode}");
        assert!(client.legacy_discovery && client.loopback_issuers, "{mode}");
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
