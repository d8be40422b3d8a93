//! Access tokens: whose are taken, for what, and what others are told.

use gateway_testkit::client::{Answer, HttpClient, Speaks};

use crate::{
    issuer::{CLIENT_SECRET, Issuer},
    process::{Folder, Serving, fake, signal},
    web,
};

const RESOURCE: &str = "https://gateway.example/mcp";

/// A gateway that takes tokens of an issuer; `more` are lines of `[oauth]`.
fn config(issuers: &[&Issuer], more: &str, rest: &str) -> String {
    let issuers: String =
        issuers.iter().map(|issuer| format!("[[oauth.issuers]]\nissuer = \"{}\"\n", issuer.url())).collect();
    format!(
        "listen = \"127.0.0.1:0\"\n{rest}\n[oauth]\nresource = \"{RESOURCE}\"\n{more}\n{issuers}\n{}",
        fake("d", &[])
    )
}

const ALLOW_ALL: &str = "policy.default = \"allow\"";

fn challenge(answer: &Answer) -> &str {
    answer.headers.get("www-authenticate").map_or("", |value| value.to_str().unwrap())
}

async fn ready(serving: &Serving) {
    let url = serving.at("/readyz");
    serving.until("it is ready", async || web::status(&web::visit(&url)) == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_the_issuer_for_this_resource_get_in_and_others_are_told_where_to_ask() {
    let issuer = Issuer::open();
    let folder = Folder::with(&config(&[&issuer], "scopes_supported = [\"mcp\"]", ALLOW_ALL));
    let serving = Serving::start(&folder);
    ready(&serving).await;
    let good = issuer.token(RESOURCE, "ann", "");
    for speaks in [Speaks::modern(), Speaks::legacy()] {
        let client = serving.client(speaks, &good);
        client.shake_hands().await.unwrap();
        let listed = client.request("1", "tools/list", "{}").await.unwrap();
        assert!(listed.text.contains(r#""name":"d__echo""#), "{}", listed.text);
        assert!(client.call("2", "d__echo", r#"{"text":"x"}"#).await.unwrap().result().is_some());
    }
    let other = Issuer::open();
    for token in [
        "nonsense".to_owned(),
        issuer.token("https://elsewhere.example/mcp", "ann", ""),
        other.token(RESOURCE, "ann", ""),
        format!("{good}x"),
    ] {
        let refused = serving.tools(&token).await;
        assert_eq!(refused.status, 401, "{}", refused.text);
        let told = challenge(&refused);
        assert!(told.contains("error=\"invalid_token\""), "{told}");
        let place = "resource_metadata=\"https://gateway.example/.well-known/oauth-protected-resource/mcp\"";
        assert!(told.contains(place), "{told}");
    }
    let stranger = HttpClient::new(&serving.url, Speaks::modern()).unwrap();
    let refused = stranger.request("1", "tools/list", "{}").await.unwrap();
    assert_eq!((refused.status, challenge(&refused).contains("error=")), (401, false));
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let document = web::visit(&serving.at(path));
        assert_eq!(web::status(&document), 200, "{document}");
        assert!(document.contains(&format!(r#""resource":"{RESOURCE}""#)), "{document}");
        assert!(document.contains(&format!(r#""authorization_servers":["{}"]"#, issuer.url())), "{document}");
        assert!(document.contains(r#""scopes_supported":["mcp"]"#), "{document}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lacks_scopes_is_told_all_that_are_needed_and_still_sees_the_tool() {
    let issuer = Issuer::open();
    let scopes = "scopes = { always = [\"mcp\"], tools = { \"d__ech*\" = [\"echo:use\"] } }";
    let serving = Serving::start(&Folder::with(&config(&[&issuer], scopes, ALLOW_ALL)));
    ready(&serving).await;
    let little = issuer.token(RESOURCE, "ann", r#","scope":"mcp""#);
    assert!(serving.tools(&little).await.text.contains(r#""name":"d__echo""#));
    let refused = serving.call(&little, "d__echo", "{}").await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let told = challenge(&refused);
    assert!(told.contains("error=\"insufficient_scope\""), "{told}");
    assert!(told.contains("scope=\"mcp echo:use\"") || told.contains("scope=\"echo:use mcp\""), "{told}");
    assert!(serving.call(&little, "d__odd", "{}").await.result().is_some());
    let all = issuer.token(RESOURCE, "ann", r#","scope":"mcp echo:use""#);
    assert!(serving.call(&all, "d__echo", "{}").await.result().is_some());
    let none = issuer.token(RESOURCE, "ann", "");
    assert_eq!(serving.tools(&none).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_can_have_a_resource_of_its_own() {
    let issuer = Issuer::open();
    let own = "https://gateway.example/mcp/d";
    let resources = format!("resources = {{ d = \"{own}\" }}");
    let serving = Serving::start(&Folder::with(&config(&[&issuer], &resources, ALLOW_ALL)));
    ready(&serving).await;
    let document = web::visit(&serving.at("/.well-known/oauth-protected-resource/mcp/d"));
    assert!(document.contains(&format!(r#""resource":"{own}""#)), "{document}");
    for (path, audience, status) in
        [("/mcp/d", own, 200), ("/mcp", own, 401), ("/mcp", RESOURCE, 200), ("/mcp/d", RESOURCE, 401)]
    {
        let token = issuer.token(audience, "ann", "");
        let client = HttpClient::new(&serving.at(path), Speaks::modern()).unwrap();
        let client = client.with_header("authorization", &format!("Bearer {token}"));
        let answer = client.request("1", "tools/list", "{}").await.unwrap();
        assert_eq!(answer.status, status, "{path} with {audience}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_in_before_there_are_keys_and_new_keys_are_fetched_when_a_token_has_one() {
    let issuer = Issuer::open();
    issuer.set_down(true);
    let serving = Serving::start(&Folder::with(&config(&[&issuer], "", ALLOW_ALL)));
    assert_eq!(web::status(&web::visit(&serving.at("/readyz"))), 503);
    assert_eq!(web::status(&web::visit(&serving.at("/healthz"))), 200);
    let good = issuer.token(RESOURCE, "ann", "");
    let refused = serving.tools(&good).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.headers.contains_key("retry-after"));
    issuer.set_down(false);
    ready(&serving).await;
    assert_eq!(serving.tools(&good).await.status, 200);
    issuer.rotate("second");
    let rotated = issuer.token(RESOURCE, "ann", "");
    serving.until("the new key is known", async || serving.tools(&rotated).await.status == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_and_issuers_decide_what_rules_allow_and_a_reload_changes_it() {
    let (first, second) = (Issuer::open(), Issuer::open());
    let rules = |group: &str| {
        let rule = format!(
            "[[policy.rules]]\neffect = \"allow\"\nclaims = {{ groups = [\"{group}\"] }}\nissuers = [\"{}\"]\nnames = [\"d__echo\"]\n",
            first.url()
        );
        config(&[&first, &second], "", "") + &rule
    };
    let folder = Folder::with(&rules("ops"));
    let serving = Serving::start(&folder);
    ready(&serving).await;
    let of = |issuer: &Issuer, groups: &str| issuer.token(RESOURCE, "ann", &format!(r#","groups":{groups}"#));
    let ops = of(&first, r#"["dev","ops"]"#);
    assert!(serving.call(&ops, "d__echo", "{}").await.result().is_some());
    let hidden = serving.call(&ops, "d__odd", "{}").await;
    let unknown = serving.call(&ops, "d__xyz", "{}").await;
    assert_eq!(hidden.text.replace("odd", "xyz"), unknown.text);
    for (token, sees) in [
        (of(&first, r#"["ops"]"#), true),
        (of(&first, r#""ops""#), true),
        (of(&first, r#"["dev"]"#), false),
        (first.token(RESOURCE, "ann", ""), false),
        (of(&second, r#"["ops"]"#), false),
    ] {
        let listed = serving.tools(&token).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        assert_eq!(listed.text.contains(r#""name":"d__echo""#), sees, "{}", listed.text);
        assert!(!listed.text.contains("d__odd"), "{}", listed.text);
    }
    folder.write("gateway.toml", &rules("dev"));
    serving.logged("configuration reloaded", 1).await;
    assert!(serving.tools(&of(&first, r#"["dev"]"#)).await.text.contains("d__echo"));
    assert!(!serving.tools(&of(&first, r#"["ops"]"#)).await.text.contains("d__echo"));
    signal(serving.pid(), "-HUP");
    serving.logged("configuration reloaded", 2).await;
    assert!(serving.call(&ops, "d__echo", "{}").await.result().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_asked_about_is_refused_soon_after_it_is_revoked() {
    let issuer = Issuer::open();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{ALLOW_ALL}\n[oauth]\nresource = \"{RESOURCE}\"\n[[oauth.issuers]]\nissuer = \
         \"{url}\"\nintrospection = {{ endpoint = \"{url}/introspect\", client_id = \"gateway\", client_secret = {{ env = \"ASK\" }}, cache = \"2s\" }}\n{}",
        fake("d", &[]),
        url = issuer.url(),
    );
    let serving = Serving::with(&Folder::with(&text), &[("ASK", CLIENT_SECRET)]);
    issuer.opaque("opaque-1", RESOURCE, "ann", "");
    for _ in 0..3 {
        assert_eq!(serving.tools("opaque-1").await.status, 200, "{}", serving.log());
    }
    assert_eq!(issuer.web.asked_at("/introspect").len(), 1, "what it was told is kept for a moment");
    assert_eq!(serving.tools("opaque-2").await.status, 401);
    issuer.revoke("opaque-1");
    serving.until("the token is refused", async || serving.tools("opaque-1").await.status == 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_may_reach_an_address_where_tokens_are_asked_for() {
    let issuer = Issuer::open();
    let text = config(&[&issuer], "", ALLOW_ALL).replace("127.0.0.1:0", "0.0.0.0:0");
    let text = text.replacen("listen =", "allowed_hosts = [\"127.0.0.1\"]\nlisten =", 1);
    let serving = Serving::start(&Folder::with(&text));
    ready(&serving).await;
    assert_eq!(serving.tools(&issuer.token(RESOURCE, "ann", "")).await.status, 200);
    assert_eq!(serving.tools("other").await.status, 401);
}
