//! What downstreams are proved to who calls them, and what of a client never reaches them.

use gateway_testkit::{
    Profile,
    client::Speaks,
    http::{HttpFake, Recorded},
};

use crate::{
    issuer::{CLIENT_SECRET, Issuer},
    process::{Folder, Serving},
};

const RESOURCE: &str = "https://gateway.example/mcp";

fn downstream() -> HttpFake {
    HttpFake::start(Profile::default())
}

fn header<'a>(request: &'a Recorded, name: &str) -> Option<&'a str> {
    request.headers.get(name).map(|value| value.to_str().unwrap())
}

/// The last call that a downstream got.
fn last(fake: &HttpFake) -> Recorded {
    fake.requests_of("tools/call").pop().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_and_a_command_prove_the_gateway_and_change_while_it_runs() {
    let (file, command, both) = (downstream(), downstream(), downstream());
    let text = format!(
        "listen = \"127.0.0.1:0\"\n\
         [downstreams.f]\nurl = \"{}\"\nauth = {{ type = \"file\", path = \"token\" }}\n\
         [downstreams.c]\nurl = \"{}\"\nauth = {{ type = \"command\", command = [\"cat\", \"printed\"], ttl = \"100ms\" }}\n\
         [downstreams.b]\nurl = \"{}\"\nauth = {{ type = \"file\", path = \"token\", header = \"x-api-key\" }}\n",
        file.url(),
        command.url(),
        both.url()
    );
    let folder = Folder::with(&text);
    folder.write("token", "one\n");
    folder.write("printed", "eins\n");
    let serving = Serving::start(&folder);
    let sent = async |tool: &str, fake: &HttpFake, name: &str| {
        let answer = serving.call("canary-of-the-client", tool, "{}").await;
        assert!(answer.result().is_some(), "{}", answer.text);
        header(&last(fake), name).map(str::to_owned)
    };
    assert_eq!(sent("f__echo", &file, "authorization").await.as_deref(), Some("Bearer one"));
    assert_eq!(sent("c__echo", &command, "authorization").await.as_deref(), Some("Bearer eins"));
    assert_eq!(sent("b__echo", &both, "x-api-key").await.as_deref(), Some("one"));
    assert_eq!(sent("b__echo", &both, "authorization").await, None);
    folder.write("token", "second");
    folder.write("printed", "zwei");
    for (tool, fake, name, expected) in [
        ("f__echo", &file, "authorization", "Bearer second"),
        ("c__echo", &command, "authorization", "Bearer zwei"),
        ("b__echo", &both, "x-api-key", "second"),
    ] {
        let what = format!("{tool} sends {expected}");
        serving.until(&what, async || sent(tool, fake, name).await.as_deref() == Some(expected)).await;
    }
    for request in [&file, &command, &both].into_iter().flat_map(HttpFake::requests) {
        assert!(!format!("{request:?}").contains("canary-of-the-client"), "{request:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_client_forwards_is_never_sent_for_another() {
    let fake = downstream();
    let text = format!(
        "listen = \"127.0.0.1:0\"\npolicy.default = \"allow\"\n\
         [clients.ann]\nkey = \"key-of-ann-0123456789\"\n[clients.bob]\nkey = \"key-of-bob-0123456789\"\n\
         [downstreams.d]\nurl = \"{}\"\nforward_headers = [\"x-tenant\"]\n",
        fake.url()
    );
    let serving = Serving::start(&Folder::with(&text));
    for speaks in [Speaks::modern(), Speaks::legacy()] {
        for (key, tenant) in [("key-of-ann-0123456789", "t-ann"), ("key-of-bob-0123456789", "t-bob")] {
            let client = serving
                .client(speaks.clone(), key)
                .with_header("x-tenant", tenant)
                .with_header("x-other", "canary-other")
                .with_header("cookie", "canary=cookie");
            client.shake_hands().await.unwrap();
            for _ in 0..2 {
                let listed = client.request("1", "tools/list", "{}").await.unwrap();
                assert!(listed.text.contains("d__echo"), "{} {}", listed.text, serving.log());
                let answer = client.call("2", "d__echo", &format!(r#"{{"text":"{tenant}"}}"#)).await.unwrap();
                assert!(answer.result().is_some(), "{}", answer.text);
                assert_eq!(header(&last(&fake), "x-tenant"), Some(tenant));
            }
        }
    }
    let mut tenants = std::collections::HashMap::new();
    for request in fake.requests() {
        let text = format!("{request:?}");
        assert!(!text.contains("canary") && !text.contains("key-of-"), "{text}");
        for (mine, other) in [("t-ann", "t-bob"), ("t-bob", "t-ann")] {
            assert!(!(header(&request, "x-tenant") == Some(mine) && request.body.contains(other)), "{text}");
        }
        if let (Some(session), Some(tenant)) =
            (header(&request, "mcp-session-id"), header(&request, "x-tenant"))
        {
            let owner = tenants.entry(session.to_owned()).or_insert_with(|| tenant.to_owned());
            assert_eq!(owner, tenant, "a session is shared");
        }
    }
}

/// A gateway that takes tokens of `issuer` and is a client of it at `d`.
fn as_client(issuer: &Issuer, fake: &HttpFake, auth: &str) -> Folder {
    Folder::with(&format!(
        "listen = \"127.0.0.1:0\"\npolicy.default = \"allow\"\n[clients.desk]\nkey = \"key-of-desk-0123456789\"\n\
         [oauth]\nresource = \"{RESOURCE}\"\n[[oauth.issuers]]\nissuer = \"{issuer}\"\n\
         [downstreams.d]\nurl = \"{}\"\n[downstreams.d.auth]\ntype = \"oauth\"\nclient_id = \"gateway\"\n\
         client_secret = {{ env = \"CLIENT_SECRET\" }}\nissuer = \"{issuer}\"\ntoken_url = \"{issuer}/token\"\n{auth}\n",
        fake.url(),
        issuer = issuer.url(),
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_fetches_a_token_for_itself_and_sends_it_nowhere_else() {
    let (issuer, fake) = (Issuer::open(), downstream());
    fake.set(|faults| faults.tokens = Some(vec!["machine-1".to_owned(), "machine-2".to_owned()]));
    let folder = as_client(&issuer, &fake, "mode = \"client_credentials\"\nscopes = [\"use\"]");
    let serving = Serving::with(&folder, &[("CLIENT_SECRET", CLIENT_SECRET)]);
    for key in ["key-of-desk-0123456789", "key-of-desk-0123456789"] {
        let answer = serving.call(key, "d__echo", "{}").await;
        assert!(answer.result().is_some(), "{} {}", answer.text, serving.log());
        assert_eq!(header(&last(&fake), "authorization"), Some("Bearer machine-1"));
    }
    let grants = issuer.grants();
    assert_eq!(grants.len(), 1, "{grants:?}");
    assert_eq!(grants[0]["grant_type"], "client_credentials");
    assert_eq!((&*grants[0]["scope"], &*grants[0]["resource"]), ("use", &*fake.url()));
    // It is revoked: another one is fetched, once.
    fake.set(|faults| {
        faults.tokens = Some(vec!["machine-2".to_owned()]);
        faults.challenge = "Bearer error=\"invalid_token\"".to_owned();
    });
    let answer = serving.call("key-of-desk-0123456789", "d__echo", "{}").await;
    assert!(answer.result().is_some(), "{} {}", answer.text, serving.log());
    assert_eq!(header(&last(&fake), "authorization"), Some("Bearer machine-2"));
    let anywhere = format!("{:?}{}", fake.requests(), serving.log());
    assert!(!anywhere.contains(CLIENT_SECRET), "{anywhere}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_goes_nowhere_but_to_the_token_endpoint() {
    let (issuer, fake) = (Issuer::open(), downstream());
    fake.set(|faults| faults.tokens = Some((1..=9).map(|number| format!("workload-{number}")).collect()));
    let folder = as_client(&issuer, &fake, "mode = \"jwt_bearer\"\nassertion = { file = \"assertion\" }");
    let serving = Serving::with(&folder, &[("CLIENT_SECRET", CLIENT_SECRET)]);
    let call = async || serving.call("key-of-desk-0123456789", "d__echo", "{}").await;
    let without = call().await;
    assert!(without.result().is_none() || without.text.contains("isError"), "{}", without.text);
    serving.logged("there is no assertion: the file ", 1).await;
    assert_eq!(issuer.grants().len(), 0);
    folder.write("assertion", "canary-of-the-platform\n");
    serving.until("it has a token", async || call().await.result().is_some()).await;
    assert_eq!(header(&last(&fake), "authorization"), Some("Bearer workload-1"));
    let grants = issuer.grants();
    assert_eq!(grants.len(), 1, "{grants:?}");
    assert_eq!(grants[0]["assertion"], "canary-of-the-platform");
    assert_eq!(grants[0]["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let seen = format!("{:?}{}", fake.requests(), serving.log());
    assert!(!seen.contains("canary-of-the-platform") && !seen.contains(CLIENT_SECRET), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callers_token_is_exchanged_and_goes_nowhere_but_to_the_token_endpoint() {
    let (issuer, fake) = (Issuer::open(), downstream());
    fake.set(|faults| {
        faults.tokens = Some((1..=9).flat_map(|n| [format!("for-ann-{n}"), format!("for-bob-{n}")]).collect())
    });
    let folder = as_client(&issuer, &fake, "mode = \"exchange\"");
    let serving = Serving::with(&folder, &[("CLIENT_SECRET", CLIENT_SECRET)]);
    let tokens = ["ann", "bob"].map(|subject| (subject, issuer.token(RESOURCE, subject, "")));
    serving.until("it has keys", async || serving.tools(&tokens[0].1).await.status == 200).await;
    for (subject, token) in &tokens {
        for speaks in [Speaks::modern(), Speaks::legacy()] {
            let client = serving.client(speaks, token);
            client.shake_hands().await.unwrap();
            let listed = client.request("1", "tools/list", "{}").await.unwrap();
            assert!(listed.text.contains("d__echo"), "{} {}", listed.text, serving.log());
            let answer = client.call("2", "d__echo", "{}").await.unwrap();
            assert!(answer.result().is_some(), "{} {}", answer.text, serving.log());
            let sent = last(&fake);
            let sent = header(&sent, "authorization").unwrap();
            assert!(sent.starts_with(&format!("Bearer for-{subject}-")), "{sent}");
        }
    }
    for grant in issuer.grants() {
        assert_eq!(grant["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
        assert!(tokens.iter().any(|(_, token)| grant["subject_token"] == *token), "{grant:?}");
    }
    for (_, token) in &tokens {
        let signature = token.rsplit('.').next().unwrap();
        assert!(!format!("{:?}", fake.requests()).contains(signature));
        assert!(!serving.log().contains(signature));
        for asked in issuer.web.asked() {
            assert!(asked.path() == "/token" || !asked.text().contains(signature), "{asked:?}");
        }
    }
    // One with a key has nothing to exchange.
    let desk = serving.tools("key-of-desk-0123456789").await;
    assert!(!desk.text.contains("d__echo"), "{}", desk.text);
    let before = fake.request_count();
    let refused = serving.call("key-of-desk-0123456789", "d__echo", "{}").await;
    assert!(refused.result().is_none() || refused.text.contains("isError"), "{}", refused.text);
    assert!(refused.text.contains("downstream_credentials"), "says why: {}", refused.text);
    let told = "downstream `d` needs an access token of yours; a key is not enough";
    assert!(refused.text.contains(told), "{}", refused.text);
    assert_eq!(fake.request_count(), before, "nothing is sent for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_says_who_acts_and_is_over_with_the_callers_token() {
    let (issuer, fake) = (Issuer::open(), downstream());
    fake.set(|faults| faults.tokens = Some((1..=99).map(|number| format!("for-ann-{number}")).collect()));
    let folder = as_client(
        &issuer,
        &fake,
        "mode = \"exchange\"\nactor_token = { file = \"actor\" }\nactor_token_type = \"jwt\"\n\
         requested_token_type = \"jwt\"\nresource = \"urn:backend\"\naudience = \"backend\"\nscopes = [\"use\"]",
    );
    folder.write("actor", "canary-of-the-actor\n");
    let serving = Serving::with(&folder, &[("CLIENT_SECRET", CLIENT_SECRET)]);
    let [first, second, ended, refused] = [(300, 1), (300, 2), (-5, 3), (300, 4)]
        .map(|(left, number)| issuer.token_ending(left, RESOURCE, "ann", &format!(r#","number":{number}"#)));
    serving.until("it has keys", async || serving.tools(&first).await.status == 200).await;
    let of = |token: &str| issuer.grants().iter().filter(|grant| grant["subject_token"] == token).count();
    let sent = async |token: &str| {
        let answer = serving.call(token, "d__echo", "{}").await;
        assert!(answer.result().is_some(), "{} {}", answer.text, serving.log());
        header(&last(&fake), "authorization").unwrap().to_owned()
    };
    let got = sent(&first).await;
    assert_eq!((sent(&first).await, of(&first)), (got.clone(), 1), "it is kept");
    assert_ne!(sent(&second).await, got, "another token of the same caller is another");
    assert_eq!((sent(&first).await, of(&second)), (got, 1));
    let (before, after) = (sent(&ended).await, sent(&ended).await);
    assert_ne!(before, after, "nothing is kept for a token that has ended");
    for grant in issuer.grants() {
        for (name, value) in [
            ("actor_token", "canary-of-the-actor"),
            ("actor_token_type", "urn:ietf:params:oauth:token-type:jwt"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:jwt"),
            ("resource", "urn:backend"),
            ("audience", "backend"),
            ("scope", "use"),
        ] {
            assert_eq!(grant[name], value, "{grant:?}");
        }
    }
    issuer.refuse("invalid_grant");
    let answer = serving.call(&refused, "d__echo", "{}").await;
    let told = "downstream `d` needs another access token of yours: \
                its authorization server did not exchange this one";
    assert!(answer.text.contains(told), "{}", answer.text);
    serving.logged("the token endpoint did not exchange the caller's token (invalid_grant)", 1).await;
    let seen = format!("{:?}{}", fake.requests(), serving.log());
    assert!(!seen.contains("canary-of-the-actor"), "{seen}");
}
