use std::{collections::HashMap, fmt, sync::Arc};

use async_trait::async_trait;
use aws_lc_rs::{hmac, rand};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_domain::{Caller, Secret};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::time::Instant;

use super::{
    Mode, OauthCredentials, OauthError,
    address::Address,
    form::{only, parameters},
    login::Wish,
    page::{POLICY, escaped, page, plain_page},
    random::unguessable,
    store::Owner,
};

/// Pages for the people behind clients, as data in and data out, for whatever serves HTTP.
#[async_trait]
pub trait UserPages: Send + Sync + fmt::Debug {
    /// Answers one request. Cancel-safe, but an authorization that was being ended then has to begin again.
    async fn page(&self, request: PageRequest<'_>) -> PageAnswer;
}

/// Tells whose key somebody has typed.
#[async_trait]
pub trait ProveUser: Send + Sync + fmt::Debug {
    /// The caller with this key or token; `None`: it is nobody's. Cancel-safe, bounded in time.
    async fn caller(&self, key: &Secret) -> Option<Caller>;
}

/// What a browser asks for.
#[derive(Clone)]
pub struct PageRequest<'a> {
    /// GET or POST.
    pub method: &'a Method,
    /// The path below the base of [`Mode::PerUser`], with its slash.
    pub path: &'a str,
    /// The query without its question mark.
    pub query: &'a str,
    /// The body of a form; at most a few KiB.
    pub form: &'a str,
    /// The value of `Cookie`.
    pub cookie: Option<&'a str>,
    /// The value of `Origin`.
    pub origin: Option<&'a str>,
    /// Who it is, where the request itself carried something that was checked.
    pub caller: Option<Caller>,
}

/// What a browser is answered.
#[derive(Clone)]
pub struct PageAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers, all there are to be.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// A page of HTML; empty with a redirect.
    pub body: String,
    /// The visit that is over with this: the `id` of a [`Visit`](gateway_egress::CredentialError::Visit).
    pub completed: Option<String>,
}

/// The pages at which users authorize the gateway at downstreams (protocol.md §18.3 no. 11): whoever visits one proves
/// to be the user that the token is for before anything begins, and the answer counts only in the same browser.
#[derive(Clone)]
pub struct ConnectPages {
    downstreams: Arc<HashMap<Arc<str>, OauthCredentials>>,
    prove: Arc<dyn ProveUser>,
    base: String,
    origin: String,
    secure: bool,
    key: hmac::Key,
}

/// How a request goes wrong; each is a sentence for the person in front.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    NotFound,
    Expired,
    OtherSite,
    NotYou,
    Failed,
}

impl ConnectPages {
    /// Pages for these downstreams, which are all of the mode [`Mode::PerUser`] and have the same base.
    ///
    /// # Errors
    /// [`OauthError::Misconfigured`]: they are not.
    pub fn new(downstreams: Vec<OauthCredentials>, prove: Arc<dyn ProveUser>) -> Result<Self, OauthError> {
        let bases: Option<Vec<_>> = downstreams
            .iter()
            .map(|one| match one.mode() {
                Mode::PerUser { base } => Some(base.trim_end_matches('/').to_owned()),
                _ => None,
            })
            .collect();
        let bases = bases.ok_or(OauthError::Misconfigured("only the mode per_user has pages"))?;
        let base =
            bases.first().cloned().ok_or(OauthError::Misconfigured("there is nothing to have pages for"))?;
        if bases.iter().any(|other| *other != base) {
            return Err(OauthError::Misconfigured("the pages of all downstreams have one base"));
        }
        let address = Address::parse(&base)?;
        let mut bytes = zeroize::Zeroizing::new([0; 32]);
        rand::fill(&mut *bytes).map_err(|_| OauthError::Internal("no random numbers"))?;
        let named = |one: OauthCredentials| (Arc::clone(&one.shared.checked.config.name), one);
        Ok(Self {
            downstreams: Arc::new(downstreams.into_iter().map(named).collect()),
            prove,
            origin: address.origin(),
            secure: address.is_https(),
            base,
            key: hmac::Key::new(hmac::HMAC_SHA256, &*bytes),
        })
    }

    async fn answer(&self, request: &PageRequest<'_>) -> Result<PageAnswer, Wrong> {
        let path = request.path.strip_prefix('/').ok_or(Wrong::NotFound)?;
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let downstream = self.downstreams.get(name).ok_or(Wrong::NotFound)?;
        match (request.method, rest) {
            (&Method::GET, "") => self.invite(downstream, request),
            (&Method::POST, "") => self.begin(downstream, request).await,
            (&Method::GET, "callback") => self.finish(downstream, request).await,
            _ => Err(Wrong::NotFound),
        }
    }

    /// The form: it names the downstream, and asks for proof of who is in front.
    fn invite(&self, downstream: &OauthCredentials, request: &PageRequest<'_>) -> Result<PageAnswer, Wrong> {
        let query = parameters(request.query);
        let ticket = only(&query, "ticket").ok_or(Wrong::Expired)?;
        if !downstream.shared.tickets.is_good(ticket, Instant::now()) {
            return Err(Wrong::Expired);
        }
        let browser = self.browser(request).map_or_else(unguessable, Ok).map_err(|_| Wrong::Failed)?;
        let key = "<p><label>Your key for this gateway: <input type=\"password\" name=\"key\" autocomplete=\"off\" \
                   required></label></p>";
        let name = escaped(&downstream.shared.checked.config.name);
        let form = format!(
            "<h1>Connect {name}</h1><p>The gateway will use {name} in your name, whenever a client of yours calls it. \
             Go on only if you have just asked for this.</p><form method=\"post\" action=\"{}/{name}\"><input \
             type=\"hidden\" name=\"ticket\" value=\"{}\"><input type=\"hidden\" name=\"csrf\" value=\"{}\">{}<p><button>\
             Continue</button></p></form>",
            escaped(&self.base),
            escaped(ticket),
            self.signature("csrf", &[&browser, ticket]),
            if request.caller.is_some() { "" } else { key },
        );
        let mut answer = answer(StatusCode::OK, page(&form));
        answer.headers.extend(self.cookie(&browser));
        Ok(answer)
    }

    /// Sends the browser to the authorization server, if its user is the one whom the ticket was issued for.
    async fn begin(
        &self,
        downstream: &OauthCredentials,
        request: &PageRequest<'_>,
    ) -> Result<PageAnswer, Wrong> {
        if request.origin.is_some_and(|origin| origin != self.origin) {
            return Err(Wrong::OtherSite);
        }
        let form = parameters(request.form);
        let (browser, ticket) = (self.browser(request).ok_or(Wrong::OtherSite)?, only(&form, "ticket"));
        let ticket = ticket.ok_or(Wrong::Expired)?;
        let token = only(&form, "csrf").unwrap_or_default();
        if !self.is_signed("csrf", &[&browser, ticket], token) {
            return Err(Wrong::OtherSite);
        }
        let shared = &downstream.shared;
        let prover = self.prover(request, &form).await;
        if !shared.tickets.is_good(ticket, Instant::now()) {
            return Err(Wrong::Expired);
        }
        let owner = shared.tickets.admit(ticket, prover.as_ref(), Instant::now()).ok_or(Wrong::NotYou)?;
        let name = &shared.checked.config.name;
        let redirect = format!("{}/{name}/callback", self.base);
        let wish = Wish { owner, redirect, browser: Some(browser), visit: Some(ticket.to_owned()) };
        let url = shared.begin(wish).await.map_err(|error| {
            tracing::warn!(downstream = &**name, %error, "an authorization could not be begun");
            Wrong::Failed
        })?;
        let mut answer = answer(StatusCode::SEE_OTHER, String::new());
        answer.headers.push((header::LOCATION, HeaderValue::from_str(&url).map_err(|_| Wrong::Failed)?));
        Ok(answer)
    }

    async fn finish(
        &self,
        downstream: &OauthCredentials,
        request: &PageRequest<'_>,
    ) -> Result<PageAnswer, Wrong> {
        let browser = self.browser(request).ok_or(Wrong::OtherSite)?;
        let name = &downstream.shared.checked.config.name;
        match downstream.shared.finish(request.query, Some(&browser)).await {
            Ok(report) => {
                report.visit.iter().for_each(|visit| downstream.shared.tickets.close(visit));
                let text = format!("{name} is connected. You may close this page and go on in your client.");
                Ok(PageAnswer { completed: report.visit, ..answer(StatusCode::OK, plain_page(&text)) })
            }
            Err(OauthError::UnknownState) => Err(Wrong::Expired),
            Err(error) => {
                tracing::warn!(downstream = &**name, %error, "an authorization failed");
                Err(Wrong::Failed)
            }
        }
    }

    /// Who is in front: whom the request itself proved, else whose key was typed.
    async fn prover(&self, request: &PageRequest<'_>, form: &[(String, String)]) -> Option<Owner> {
        if let Some(caller) = &request.caller {
            return Owner::of(caller);
        }
        let key = Secret::new(only(form, "key")?.trim());
        self.prove.caller(&key).await.as_ref().and_then(Owner::of)
    }

    /// What the browser's cookie says, if it is ours.
    fn browser(&self, request: &PageRequest<'_>) -> Option<String> {
        let name = self.cookie_name();
        let pairs = request.cookie?.split(';').filter_map(|pair| pair.trim().split_once('='));
        let values = pairs.filter(|(own, _)| *own == name).filter_map(|(_, value)| value.split_once('.'));
        let mut ours = values.filter(|(value, signature)| self.is_signed("cookie", &[value], signature));
        ours.next().map(|(value, _)| value.to_owned())
    }

    fn cookie(&self, browser: &str) -> Option<(HeaderName, HeaderValue)> {
        let secure = if self.secure { "; Secure" } else { "" };
        let (name, signature) = (self.cookie_name(), self.signature("cookie", &[browser]));
        let text =
            format!("{name}={browser}.{signature}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax{secure}");
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some((header::SET_COOKIE, value))
    }

    /// Browsers let no other host set a cookie whose name begins with `__Host-`.
    fn cookie_name(&self) -> &'static str {
        if self.secure { "__Host-gateway-connect" } else { "gateway-connect" }
    }

    fn signature(&self, purpose: &str, parts: &[&str]) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, signed_text(purpose, parts).as_bytes()))
    }

    fn is_signed(&self, purpose: &str, parts: &[&str], signature: &str) -> bool {
        let signature = URL_SAFE_NO_PAD.decode(signature);
        let text = signed_text(purpose, parts);
        signature.is_ok_and(|signature| hmac::verify(&self.key, text.as_bytes(), &signature).is_ok())
    }
}

#[async_trait]
impl UserPages for ConnectPages {
    async fn page(&self, request: PageRequest<'_>) -> PageAnswer {
        let wrong = match self.answer(&request).await {
            Ok(answer) => return answer,
            Err(wrong) => wrong,
        };
        let (status, sentence) = match wrong {
            Wrong::NotFound => (StatusCode::NOT_FOUND, "There is nothing here."),
            Wrong::Expired => (StatusCode::GONE, "This link is over. Call the tool again to have another."),
            Wrong::OtherSite => (StatusCode::FORBIDDEN, "Open the link in one browser, which keeps cookies."),
            Wrong::NotYou => (StatusCode::FORBIDDEN, "This link is for somebody else, or the key is wrong."),
            Wrong::Failed => {
                (StatusCode::BAD_GATEWAY, "It could not be connected. The gateway's log says why.")
            }
        };
        answer(status, plain_page(sentence))
    }
}

impl fmt::Debug for ConnectPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectPages").field("base", &self.base).finish_non_exhaustive()
    }
}

/// No more than where to: the rest holds keys and codes.
impl fmt::Debug for PageRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageRequest")
            .field("method", self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The status alone: the rest is for one browser.
impl fmt::Debug for PageAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}

fn signed_text(purpose: &str, parts: &[&str]) -> String {
    std::iter::once(&purpose).chain(parts).map(|part| format!("{}:{part}", part.len())).collect()
}

fn answer(status: StatusCode, body: String) -> PageAnswer {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // With `no-referrer` a browser says `Origin: null` of its own form (Fetch, "append a request Origin header").
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into();
    PageAnswer { status, headers, body, completed: None }
}
