use std::sync::Arc;

use async_trait::async_trait;
use gateway_credentials::oauth::{
    ConnectPages, Mode, OauthConfig, OauthCredentials, PageAnswer, PageRequest, ProveUser, UserPages as _,
};
use gateway_domain::{Caller, Incoming, Secret};
use gateway_egress::{CredentialError, Credentials as _};
use http::{Method, header};

use crate::fake::{Fake, ISSUER, SERVER, TOKEN, credentials, log_in, parameters, refuse, token};

const BASE: &str = "https://gateway.example/connect";

/// Keys are the names of their clients.
#[derive(Debug)]
struct Keys;

#[async_trait]
impl ProveUser for Keys {
    async fn caller(&self, key: &Secret) -> Option<Caller> {
        ["ann", "bob"].contains(&key.expose()).then(|| Caller::client(key.expose()))
    }
}

struct World {
    fake: Arc<Fake>,
    one: OauthCredentials,
    pages: ConnectPages,
}

fn world(base: &str) -> World {
    let fake = Fake::usual();
    let one = credentials(OauthConfig::new("one", SERVER, Mode::PerUser { base: base.into() }), &fake);
    let pages = ConnectPages::new(vec![one.clone()], Arc::new(Keys)).unwrap();
    World { fake, one, pages }
}

fn ann() -> Incoming {
    Incoming::from(Caller::client("ann"))
}

impl World {
    async fn visit(&self, incoming: &Incoming) -> (String, String) {
        match token(&self.one, Some(incoming)).await.unwrap_err() {
            CredentialError::Visit { url, id, .. } => (url, id),
            other => panic!("{other}"),
        }
    }

    async fn get(&self, target: &str, cookie: Option<&str>) -> PageAnswer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.ask(&Method::GET, path, query, "", cookie, None, None).await
    }

    #[expect(clippy::too_many_arguments, reason = "all that a request has")]
    async fn ask(
        &self,
        method: &Method,
        path: &str,
        query: &str,
        form: &str,
        cookie: Option<&str>,
        origin: Option<&str>,
        caller: Option<Caller>,
    ) -> PageAnswer {
        self.pages.page(PageRequest { method, path, query, form, cookie, origin, caller }).await
    }

    /// The cookie and the form's hidden fields of the first page.
    async fn invited(&self, ticket: &str) -> (String, String) {
        let page = self.get(&format!("/one?ticket={ticket}"), None).await;
        assert_eq!(page.status, 200);
        let cookie = header(&page, header::SET_COOKIE).split(';').next().unwrap().to_owned();
        let csrf =
            page.body.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        (cookie, format!("ticket={ticket}&csrf={csrf}"))
    }

    async fn post(&self, form: &str, cookie: Option<&str>, origin: Option<&str>) -> PageAnswer {
        self.ask(&Method::POST, "/one", "", form, cookie, origin, None).await
    }
}

fn header(page: &PageAnswer, name: http::HeaderName) -> String {
    let (_, value) = page.headers.iter().find(|(own, _)| *own == name).unwrap();
    value.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_user_connects_and_has_a_token_of_their_own() {
    let world = world(BASE);
    let (url, id) = world.visit(&ann()).await;
    assert_eq!(url, format!("{BASE}/one?ticket={id}"));
    assert_eq!(world.visit(&ann()).await.1, id, "one visit at a time");
    let (cookie, form) = world.invited(&id).await;
    let begun = world.post(&format!("{form}&key=ann"), Some(&cookie), Some("https://gateway.example")).await;
    assert_eq!(begun.status, 303);
    // Who is asked meanwhile is shown the same page, and begins again there: the last time counts.
    assert_eq!(world.visit(&ann()).await.1, id);
    let first = parameters(&header(&begun, header::LOCATION));
    let begun = world.post(&format!("{form}&key=ann"), Some(&cookie), None).await;
    assert_eq!(begun.status, 303);
    let before = world.get(&format!("/one/callback?code=c&state={}", first["state"]), Some(&cookie)).await;
    assert_eq!((before.status.as_u16(), before.completed), (410, None));
    let asked = parameters(&header(&begun, header::LOCATION));
    assert_eq!(asked["redirect_uri"], format!("{BASE}/one/callback"));
    assert!(world.fake.bodies(crate::fake::REGISTER)[0].contains(r#""application_type":"web""#));
    let done = world.get(&format!("/one/callback?code=c&state={}", asked["state"]), Some(&cookie)).await;
    assert_eq!((done.status.as_u16(), done.completed), (200, Some(id)));
    assert_eq!(world.post(&format!("{form}&key=ann"), Some(&cookie), None).await.status, 410, "it is over");
    assert_eq!(token(&world.one, Some(&ann())).await.unwrap(), "access-1");
    assert!(matches!(
        token(&world.one, Some(&Incoming::from(Caller::client("bob")))).await,
        Err(CredentialError::Visit { .. })
    ));
    for nobody in [None, Some(Incoming::from(Caller::anonymous()))] {
        let what = "a key or an access token of yours";
        assert_eq!(token(&world.one, nobody.as_ref()).await, Err(CredentialError::OfCaller { what }));
    }
    assert!(world.one.is_per_caller());
    let again = refuse(&world.one, Some(&ann()), "access-1", 401, "Bearer").await;
    assert!(matches!(again, Err(CredentialError::Visit { .. })));
    assert!(log_in(&world.one, "").await.0.is_err(), "nobody logs in for everybody");
}

#[tokio::test]
async fn nothing_begins_for_anybody_else() {
    let world = world(BASE);
    let (_, id) = world.visit(&ann()).await;
    let (cookie, form) = world.invited(&id).await;
    let (other, other_form) = world.invited(&id).await;
    let good = format!("{form}&key=ann");
    let rows = [
        ("another user's key", format!("{form}&key=bob"), Some(&cookie), None, 403),
        ("a wrong key", format!("{form}&key=eve"), Some(&cookie), None, 403),
        ("no key", form.clone(), Some(&cookie), None, 403),
        ("no cookie", good.clone(), None, None, 403),
        ("another browser", good.clone(), Some(&other), None, 403),
        ("another browser's form", format!("{other_form}&key=ann"), Some(&cookie), None, 403),
        ("another site", good.clone(), Some(&cookie), Some("https://evil.example"), 403),
        ("no CSRF token", format!("ticket={id}&key=ann"), Some(&cookie), None, 403),
        ("no ticket", good.replace("ticket=", "x="), Some(&cookie), None, 410),
    ];
    for (what, form, cookie, origin, status) in rows {
        let answer = world.post(&form, cookie.map(String::as_str), origin).await;
        assert_eq!(answer.status, status, "{what}");
    }
    let forged = format!("{}x.{}", &cookie[..cookie.find('.').unwrap()], cookie.split_once('.').unwrap().1);
    assert_eq!(world.post(&good, Some(&forged), None).await.status, 403);
    assert!(world.fake.seen().is_empty());
    assert_eq!(world.post(&good, Some(&cookie), None).await.status, 303);
    let missing = ["/one", "/one?ticket=x", "/one?ticket="];
    for target in missing {
        assert_eq!(world.get(target, None).await.status, 410, "{target}");
    }
    for target in ["/two?ticket=x", "/", "", "/one/x", "one"] {
        assert_eq!(world.get(target, None).await.status, 404, "{target}");
    }
}

#[tokio::test]
async fn a_caller_who_is_known_already_needs_no_key() {
    let world = world(BASE);
    let (_, id) = world.visit(&ann()).await;
    let (cookie, form) = world.invited(&id).await;
    for (name, status) in [("bob", 403), ("ann", 303)] {
        let caller = Some(Caller::client(name));
        let answer = world.ask(&Method::POST, "/one", "", &form, Some(&cookie), None, caller).await;
        assert_eq!(answer.status, status, "{name}");
    }
}

#[tokio::test]
async fn the_answer_counts_in_the_same_browser_only_and_once() {
    let world = world(BASE);
    let (_, id) = world.visit(&ann()).await;
    let (cookie, form) = world.invited(&id).await;
    let (other, _) = {
        let (_, second) = world.visit(&Incoming::from(Caller::client("bob"))).await;
        world.invited(&second).await
    };
    let begun = world.post(&format!("{form}&key=ann"), Some(&cookie), None).await;
    let state = parameters(&header(&begun, header::LOCATION))["state"].clone();
    let target = format!("/one/callback?code=c&state={state}");
    assert_eq!(world.get(&target, None).await.status, 403);
    assert_eq!(world.get(&target, Some(&other)).await.status, 410);
    assert_eq!(world.get(&target, Some(&cookie)).await.status, 410, "it is over");
    assert!(world.fake.bodies(TOKEN).is_empty());
}

#[tokio::test]
async fn what_a_server_says_is_not_shown() {
    let world = world(BASE);
    let (_, id) = world.visit(&ann()).await;
    let (cookie, form) = world.invited(&id).await;
    let begun = world.post(&format!("{form}&key=ann"), Some(&cookie), None).await;
    let state = parameters(&header(&begun, header::LOCATION))["state"].clone();
    let target = format!(
        "/one/callback?error=visit_evil&error_description=evil&state={state}&iss=https://evil.example"
    );
    let page = world.get(&target, Some(&cookie)).await;
    assert_eq!(page.status, 502);
    assert!(!page.body.contains("evil") && !page.body.contains(ISSUER));
}

#[tokio::test]
async fn pages_cannot_be_framed_or_kept_and_cookies_are_bound() {
    for (base, cookie) in
        [(BASE, "__Host-gateway-connect="), ("http://127.0.0.1:8080/connect", "gateway-connect=")]
    {
        let world = world(base);
        let (_, id) = world.visit(&ann()).await;
        let page = world.get(&format!("/one?ticket={id}"), None).await;
        let set = header(&page, header::SET_COOKIE);
        assert!(
            set.starts_with(cookie) && set.contains("; Path=/;") && set.contains("; HttpOnly; SameSite=Lax")
        );
        assert_eq!(set.contains("; Secure"), base.starts_with("https"));
        for page in [page, world.get("/nothing", None).await] {
            assert!(header(&page, header::CONTENT_SECURITY_POLICY).contains("frame-ancestors 'none'"));
            assert_eq!(header(&page, header::X_FRAME_OPTIONS), "DENY");
            assert_eq!(header(&page, header::CACHE_CONTROL), "no-store");
            assert_eq!(header(&page, header::REFERRER_POLICY), "same-origin");
        }
    }
}

#[tokio::test]
async fn pages_are_for_one_base_and_per_user_tokens() {
    let fake = Fake::usual();
    let at =
        |base: &str| credentials(OauthConfig::new("one", SERVER, Mode::PerUser { base: base.into() }), &fake);
    let gateway = credentials(OauthConfig::new("two", SERVER, Mode::Gateway), &fake);
    let rows = [
        (vec![at(BASE), at("https://gateway.example/connect/")], true),
        (vec![at(BASE), at("https://gateway.example/other")], false),
        (vec![at(BASE), gateway], false),
        (vec![], false),
    ];
    for (downstreams, good) in rows {
        let count = downstreams.len();
        assert_eq!(ConnectPages::new(downstreams, Arc::new(Keys)).is_ok(), good, "{count}");
    }
    assert!(at(BASE).is_per_caller());
}
