//! A downstream and authorization servers that exist only as answers, with a record of every request.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_credentials::oauth::{
    LoginReport, MemoryStore, OauthConfig, OauthCredentials, OauthError, TokenStore, login,
};
use gateway_domain::Incoming;
use gateway_egress::{
    Answer, Bounds, Challenge, CredentialError, Credentials, EgressError, Fetch, Named, Reaction,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

pub(crate) const SERVER: &str = "https://server.example/mcp";
pub(crate) const ISSUER: &str = "https://issuer.example";
pub(crate) const PRM: &str = "https://server.example/.well-known/oauth-protected-resource/mcp";
pub(crate) const METADATA: &str = "https://issuer.example/.well-known/oauth-authorization-server";
pub(crate) const TOKEN: &str = "https://issuer.example/token";
pub(crate) const REGISTER: &str = "https://issuer.example/register";

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) named: Named,
    pub(crate) authorization: Option<String>,
    pub(crate) body: String,
}

#[derive(Default)]
pub(crate) struct Fake {
    documents: Mutex<HashMap<String, (u16, String)>>,
    /// What each endpoint answers, in order; the last one again and again.
    posts: Mutex<HashMap<String, VecDeque<(u16, String)>>>,
    seen: Mutex<Vec<Seen>>,
}

impl Fake {
    /// A server whose authorization server does everything that is asked of it.
    pub(crate) fn usual() -> Arc<Self> {
        let fake = Self::default();
        fake.document(PRM, &format!(r#"{{"resource":"{SERVER}","authorization_servers":["{ISSUER}"]}}"#));
        fake.document(METADATA, &metadata(ISSUER, ""));
        fake.posts(REGISTER, &[(201, r#"{"client_id":"dynamic"}"#)]);
        fake.posts(TOKEN, &[(200, r#"{"access_token":"access-1","token_type":"Bearer","expires_in":3600}"#)]);
        Arc::new(fake)
    }

    pub(crate) fn document(&self, url: &str, text: &str) {
        self.documents.lock().unwrap().insert(url.to_owned(), (200, text.to_owned()));
    }

    pub(crate) fn remove(&self, url: &str) {
        self.documents.lock().unwrap().remove(url);
    }

    pub(crate) fn posts(&self, url: &str, answers: &[(u16, &str)]) {
        let answers = answers.iter().map(|(status, text)| (*status, (*text).to_owned())).collect();
        self.posts.lock().unwrap().insert(url.to_owned(), answers);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The bodies that an endpoint got.
    pub(crate) fn bodies(&self, url: &str) -> Vec<String> {
        self.seen().into_iter().filter(|seen| seen.url == url).map(|seen| seen.body).collect()
    }
}

#[async_trait]
impl Fetch for Fake {
    async fn fetch(&self, request: Request<Bytes>, named: Named, _: Bounds) -> Result<Answer, EgressError> {
        let url = request.uri().to_string();
        self.seen.lock().unwrap().push(Seen {
            method: request.method().clone(),
            url: url.clone(),
            named,
            authorization: request
                .headers()
                .get(header::AUTHORIZATION)
                .map(|one| one.to_str().unwrap().to_owned()),
            body: String::from_utf8(request.body().to_vec()).unwrap(),
        });
        // Others get their turn, as they do while a network is waited for.
        tokio::task::yield_now().await;
        let found = if request.method() == Method::GET {
            self.documents.lock().unwrap().get(&url).cloned()
        } else {
            let mut posts = self.posts.lock().unwrap();
            posts.get_mut(&url).and_then(|answers| {
                if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
            })
        };
        let (status, text) = found.unwrap_or_else(|| (404, "nothing".to_owned()));
        let status = StatusCode::from_u16(status).unwrap();
        let mut headers = HeaderMap::new();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_str(&text).unwrap());
        }
        Ok(Answer { status, headers, body: Bytes::from(text) })
    }
}

/// Metadata of an issuer whose endpoints are below it; `more` are members, each with a comma before.
pub(crate) fn metadata(issuer: &str, more: &str) -> String {
    format!(
        r#"{{"issuer":"{issuer}","authorization_endpoint":"{issuer}/authorize","token_endpoint":"{issuer}/token",
        "registration_endpoint":"{issuer}/register","code_challenge_methods_supported":["S256"],
        "token_endpoint_auth_methods_supported":["none","client_secret_basic"]{more}}}"#
    )
}

pub(crate) fn credentials(config: OauthConfig, fake: &Arc<Fake>) -> OauthCredentials {
    with_store(config, fake, Arc::new(MemoryStore::default()))
}

pub(crate) fn with_store(
    config: OauthConfig,
    fake: &Arc<Fake>,
    store: Arc<dyn TokenStore>,
) -> OauthCredentials {
    OauthCredentials::new(config, fake.clone(), store).unwrap()
}

/// The parameters of a URL's query or of a form.
pub(crate) fn parameters(text: &str) -> HashMap<String, String> {
    let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let query = text.split_once('?').map_or(text, |(_, query)| query);
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (plain(name), plain(value)))
        .collect()
}

/// Logs in with a browser that comes back with this query, where STATE is that of the authorization. Also gives the
/// authorization URL, if it came to one.
pub(crate) async fn log_in(
    credentials: &OauthCredentials,
    answer: &str,
) -> (Result<LoginReport, OauthError>, Option<String>) {
    let opened = Mutex::new(None);
    let report = login(credentials, |url| {
        let asked = parameters(url);
        *opened.lock().unwrap() = Some(url.to_owned());
        let target = format!("{}?{}", asked["redirect_uri"], answer.replace("STATE", &asked["state"]));
        tokio::spawn(async move { visit(&target).await });
    });
    let report = report.await;
    let opened = opened.into_inner().unwrap();
    (report, opened)
}

/// What a browser is answered on the loopback.
pub(crate) async fn visit(url: &str) -> String {
    let (host, target) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut connection = TcpStream::connect(host).await.unwrap();
    connection.write_all(format!("GET /{target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

/// The token that a request would carry.
pub(crate) async fn token(
    credentials: &OauthCredentials,
    incoming: Option<&Incoming>,
) -> Result<String, CredentialError> {
    let headers = credentials.headers(incoming).await?;
    assert!(headers.iter().all(|(name, value)| name == header::AUTHORIZATION && value.is_sensitive()));
    Ok(headers[0].1.to_str().unwrap().strip_prefix("Bearer ").unwrap().to_owned())
}

/// The server refuses a token.
pub(crate) async fn refuse(
    credentials: &OauthCredentials,
    incoming: Option<&Incoming>,
    sent: &str,
    status: u16,
    authenticate: &str,
) -> Result<Reaction, CredentialError> {
    let sent = [(header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {sent}")).unwrap())];
    let authenticate = [HeaderValue::from_str(authenticate).unwrap()];
    let status = StatusCode::from_u16(status).unwrap();
    credentials.refused(incoming, &Challenge { status, authenticate: &authenticate, sent: &sent }).await
}
