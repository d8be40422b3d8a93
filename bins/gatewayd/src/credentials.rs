//! What downstreams are proved to who calls them, as the configuration has it.

use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use async_trait::async_trait;
use gateway_credentials::{
    All,
    fixed::{CommandSource, FileSource, Fixed, Source},
    forward::{Forward, ForwardError},
    oauth::{
        Actor, ClientIdentity, Confidant, Exchange, FileStore, Mode, OauthConfig, OauthCredentials,
        OauthError, Probe, Provider, SigningKey, StoreKey, TokenStore, login as log_in,
    },
};
use gateway_domain::{Incoming, Secret};
use gateway_egress::{Challenge, CredentialError, Credentials, Fetch, Reaction};
use gateway_pipeline::redaction::LiveRedactor;
use http::{HeaderName, HeaderValue, header};

use crate::{
    command,
    config::{
        self, Config, Downstream, Grant, Interactive, Outgoing, Owner, Reach, Remote, TokenClient,
        TokenSource,
    },
};

/// Those of one downstream.
#[derive(Default)]
pub(crate) struct Proofs {
    /// What its requests carry; `None`: fixed headers alone.
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
    /// The same, if each user gets tokens of its own at a page.
    pub(crate) per_user: Option<OauthCredentials>,
}

/// Those of one downstream.
///
/// # Errors
/// What cannot be used as it is written.
pub(crate) fn of(
    config: &Config,
    downstream: &Downstream,
    remote: &Remote,
    fetch: &Arc<dyn Fetch>,
    redactor: &Arc<LiveRedactor>,
) -> anyhow::Result<Proofs> {
    let Outgoing { grant, forward } = &remote.outgoing;
    let mut all: Vec<Arc<dyn Credentials>> = Vec::new();
    let mut per_user = None;
    if let Some(grant) = grant {
        if remote.outgoing.is_per_user() {
            let credentials = oauth(config, downstream, remote, grant, fetch, Some(redactor))?;
            per_user = Some(credentials.clone());
            all.push(told(Arc::new(credentials), redactor));
        } else {
            all.push(told(granted(config, downstream, remote, grant, fetch, redactor)?, redactor));
        }
    }
    if !forward.is_empty() {
        let own: Vec<_> = config.security.key_header.iter().cloned().collect();
        all.push(Arc::new(forwarded(forward, &own)?));
    }
    let credentials = match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(Arc::new(All(all)) as Arc<dyn Credentials>),
    };
    Ok(Proofs { credentials, per_user })
}

fn told(inner: Arc<dyn Credentials>, redactor: &Arc<LiveRedactor>) -> Arc<dyn Credentials> {
    Arc::new(Told { inner, redactor: redactor.clone() })
}

/// Credentials that are not in the configuration, each of which is redacted from when it is used for the first time:
/// what a file has or a command says, and tokens of an authorization server.
#[derive(Debug)]
struct Told {
    inner: Arc<dyn Credentials>,
    redactor: Arc<LiveRedactor>,
}

#[async_trait]
impl Credentials for Told {
    async fn headers(
        &self,
        incoming: Option<&Incoming>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        let headers = self.inner.headers(incoming).await?;
        for (_, value) in &headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            self.redactor.learn(value.strip_prefix("Bearer ").unwrap_or(&value));
        }
        Ok(headers)
    }

    async fn refused(
        &self,
        incoming: Option<&Incoming>,
        challenge: &Challenge<'_>,
    ) -> Result<Reaction, CredentialError> {
        self.inner.refused(incoming, challenge).await
    }

    fn is_per_caller(&self) -> bool {
        self.inner.is_per_caller()
    }
}

/// Has what authorization servers give redacted before it is sent anywhere: also what refreshes a token, which no
/// downstream should ever have seen.
#[derive(Debug)]
struct Learning(Arc<LiveRedactor>);

impl Confidant for Learning {
    fn told(&self, secrets: &[&Secret]) {
        self.0.learn_all(secrets.iter().map(|secret| secret.expose()));
    }
}

fn granted(
    config: &Config,
    downstream: &Downstream,
    remote: &Remote,
    grant: &Grant,
    fetch: &Arc<dyn Fetch>,
    redactor: &Arc<LiveRedactor>,
) -> anyhow::Result<Arc<dyn Credentials>> {
    let (header, source) = match grant {
        Grant::File { header, path } => (header, Source::File(FileSource::new(path))),
        Grant::Command { header, argv, ttl } => (header, printed(argv, *ttl)),
        Grant::ClientCredentials(_)
        | Grant::JwtBearer { .. }
        | Grant::EnterpriseManaged { .. }
        | Grant::Exchange { .. }
        | Grant::Interactive(_) => {
            return Ok(Arc::new(oauth(config, downstream, remote, grant, fetch, Some(redactor))?));
        }
    };
    let fixed = match *header == header::AUTHORIZATION {
        true => Fixed::bearer(source),
        false => Fixed::header(header.as_str(), source),
    };
    Ok(Arc::new(fixed?))
}

fn printed(argv: &[String], ttl: Duration) -> Source {
    Source::Command(CommandSource::new(argv.iter().map(Into::into).collect()).kept_for(ttl))
}

fn oauth(
    config: &Config,
    downstream: &Downstream,
    remote: &Remote,
    grant: &Grant,
    fetch: &Arc<dyn Fetch>,
    redactor: Option<&Arc<LiveRedactor>>,
) -> anyhow::Result<OauthCredentials> {
    let (mut oauth, interactive) = oauth_config(config, downstream, remote, grant)?;
    oauth.confidant = redactor.map(|redactor| Arc::new(Learning(redactor.clone())) as Arc<dyn Confidant>);
    Ok(OauthCredentials::new(oauth, fetch.clone(), store(interactive)?)?)
}

fn oauth_config<'a>(
    config: &Config,
    downstream: &Downstream,
    remote: &Remote,
    grant: &'a Grant,
) -> anyhow::Result<(OauthConfig, Option<&'a Interactive>)> {
    let (mode, client, interactive) = match grant {
        Grant::ClientCredentials(client) => (Mode::ClientCredentials, client, None),
        Grant::JwtBearer { client, .. } => (Mode::JwtBearer, client, None),
        Grant::Exchange { client, .. } => (Mode::Exchange, client, None),
        Grant::EnterpriseManaged { client, .. } => (Mode::EnterpriseManaged, client, None),
        Grant::Interactive(interactive) => {
            (mode(config, interactive), &interactive.client, Some(&**interactive))
        }
        Grant::File { .. } | Grant::Command { .. } => {
            bail!("these credentials are not of an authorization server")
        }
    };
    let TokenClient {
        issuer, token_url, scopes, audience, resource, legacy_discovery, loopback_issuers, ..
    } = client;
    let oauth = OauthConfig {
        client: identity(client, interactive)?,
        scopes: scopes.clone(),
        issuer: issuer.clone(),
        token_url: token_url.as_ref().map(ToString::to_string),
        audience: audience.clone(),
        resource: resource.clone(),
        assertion: assertion(grant),
        exchange: exchange(grant),
        provider: provider(grant)?,
        redirect: interactive.and_then(|interactive| interactive.redirect.as_ref()).map(ToString::to_string),
        legacy_discovery: *legacy_discovery,
        loopback_issuers: *loopback_issuers,
        probe: Some(probe()),
        ..OauthConfig::new(downstream.name.as_str(), &remote.url.to_string(), mode)
    };
    Ok((oauth, interactive))
}

/// What of these cannot be used, beyond what single values tell, each with the key it is about. Nothing is asked, read
/// or run.
pub(crate) fn faults(config: &Config) -> Vec<(String, String)> {
    // Secrets of those that are switched off may be missing.
    let used = config.downstreams.iter().filter(|downstream| downstream.enabled);
    used.flat_map(|downstream| faults_of(config, downstream)).collect()
}

fn faults_of(config: &Config, downstream: &Downstream) -> Vec<(String, String)> {
    let Reach::Url(remote) = &downstream.reach else { return Vec::new() };
    let Outgoing { grant, forward } = &remote.outgoing;
    let place = |member: &str| format!("downstreams.{}.{member}", downstream.name);
    let mut faults = Vec::new();
    if let Some((member, fault)) = grant.as_ref().and_then(|grant| {
        let key = grant.client()?.private_key.as_ref();
        if let Some(error) = key.and_then(|key| SigningKey::from_pem(key).err()) {
            return Some(("auth.private_key", said(&error)));
        }
        if let Err(error) = provider(grant) {
            return Some(("auth.idp.private_key", said(&error)));
        }
        let (oauth, _) = oauth_config(config, downstream, remote, grant).ok()?;
        Some(("auth", said(&oauth.check().err()?)))
    }) {
        faults.push((place(member), fault));
    }
    // That one of these is for keys is said of `key_header`.
    if let Err(error) = forwarded(forward, &[]) {
        faults.push((place("forward_headers"), error.to_string()));
    }
    faults
}

/// The rule alone: what it is about is said by the place.
fn said(error: &OauthError) -> String {
    match error {
        OauthError::Misconfigured(rule) => (*rule).to_owned(),
        other => other.to_string(),
    }
}

fn forwarded(names: &[HeaderName], own: &[HeaderName]) -> Result<Forward, ForwardError> {
    Forward::new(names.iter().map(HeaderName::as_str), own)
}

fn source(source: &TokenSource) -> Source {
    match source {
        TokenSource::Value(value) => Source::Value(value.clone()),
        TokenSource::File(path) => Source::File(FileSource::new(path)),
        TokenSource::Command { argv, ttl } => printed(argv, *ttl),
    }
}

fn provider(grant: &Grant) -> Result<Option<Provider>, OauthError> {
    let Grant::EnterpriseManaged { provider, .. } = grant else { return Ok(None) };
    let client = ClientIdentity {
        id: Some(provider.client_id.clone()),
        secret: provider.client_secret.clone(),
        key: provider.private_key.as_ref().map(SigningKey::from_pem).transpose()?,
        metadata_url: None,
    };
    let usual = Provider::new(&provider.token_url.to_string(), client);
    Ok(Some(Provider {
        subject: provider.subject.as_ref().map(|subject| Arc::new(source(subject))),
        subject_type: provider.subject_type.clone().unwrap_or(usual.subject_type),
        ..usual
    }))
}

fn assertion(grant: &Grant) -> Option<Arc<Source>> {
    match grant {
        Grant::JwtBearer { assertion, .. } => Some(Arc::new(source(assertion))),
        _ => None,
    }
}

fn exchange(grant: &Grant) -> Exchange {
    let usual = Exchange::default();
    let Grant::Exchange { exchange: config::Exchange { subject_type, requested_type, actor }, .. } = grant
    else {
        return usual;
    };
    let actor = actor
        .as_ref()
        .map(|actor| Actor { token: Arc::new(source(&actor.source)), kind: actor.kind.clone() });
    Exchange {
        subject_type: subject_type.clone().unwrap_or(usual.subject_type),
        requested_type: requested_type.clone().unwrap_or(usual.requested_type),
        actor,
    }
}

fn mode(config: &Config, interactive: &Interactive) -> Mode {
    match interactive.owner {
        Owner::Gateway => Mode::Gateway,
        Owner::User => Mode::PerUser { base: format!("{}/connect", config.public_url()) },
    }
}

fn identity(client: &TokenClient, interactive: Option<&Interactive>) -> anyhow::Result<ClientIdentity> {
    let metadata_url = interactive.and_then(|interactive| interactive.client_metadata_url.as_ref());
    Ok(ClientIdentity {
        id: client.client_id.clone(),
        secret: client.client_secret.clone(),
        key: client.private_key.as_ref().map(SigningKey::from_pem).transpose()?,
        metadata_url: metadata_url.map(ToString::to_string),
    })
}

/// Tokens that nobody has to allow are fetched anew; the others are kept on the disk.
fn store(interactive: Option<&Interactive>) -> anyhow::Result<Arc<dyn TokenStore>> {
    let Some(interactive) = interactive else {
        return Ok(Arc::new(gateway_credentials::oauth::MemoryStore::default()));
    };
    let folder = interactive.store.clone().or_else(usual_store);
    let folder =
        folder.ok_or_else(|| anyhow!("there is no HOME; say where tokens are kept with `auth.store`"))?;
    let key = interactive.store_key.clone().map_or(StoreKey::Generated, StoreKey::Given);
    let store = FileStore::open(&folder, &key);
    Ok(Arc::new(store.with_context(|| format!("tokens cannot be kept in {}", folder.display()))?))
}

fn usual_store() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("gatewayd/tokens"))
}

/// Has the operator allow the gateway to use a downstream. Gives what to say about it.
///
/// # Errors
/// It is no downstream that somebody logs in at, or was not allowed.
pub(crate) async fn login(config: &Config, name: &str, fetch: Arc<dyn Fetch>) -> anyhow::Result<String> {
    let downstream = config.downstreams.iter().find(|downstream| downstream.name.as_str() == name);
    let Some(downstream) = downstream else { bail!("there is no downstream `{name}` in the configuration") };
    let Reach::Url(remote) = &downstream.reach else { bail!("downstream `{name}` has no url to log in at") };
    let Some(grant @ Grant::Interactive(interactive)) = &remote.outgoing.grant else {
        bail!("downstream `{name}` needs no login; auth = {{ type = \"oauth\" }} would");
    };
    if interactive.owner == Owner::User {
        bail!("each user of `{name}` logs in by a page of the gateway, which calls send them to");
    }
    let credentials = oauth(config, downstream, remote, grant, &fetch, None)?;
    let report = log_in(&credentials, |url| open(config, url)).await?;
    let lasting =
        if report.is_renewable { "it is renewed by itself" } else { "log in again when it has ended" };
    Ok(format!("logged in to {name} at {}; {lasting}", report.issuer))
}

/// A list of tools, which every server has and no server gives to those who have to prove who they are. One that does
/// not know the revision refuses it no less.
fn probe() -> Probe {
    const BODY: &str = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#
    );
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let field = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    Probe { headers: headers.into_iter().map(field).collect(), body: BODY.into() }
}

/// Shows a page to the operator: no shell reads its address.
fn open(config: &Config, url: &str) {
    command::say(format_args!("open this page to log in: {url}"));
    let usual = [if cfg!(target_os = "macos") { "open" } else { "xdg-open" }.to_owned()];
    let argv = config.security.login.as_deref().unwrap_or(&usual);
    let Some((program, arguments)) = argv.split_first() else { return };
    let mut child = std::process::Command::new(program);
    child.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = child.spawn() {
        tracing::debug!(program, %error, "no browser");
    }
}

#[cfg(test)]
mod tests {
    use gateway_pipeline::redaction::{RedactSettings, RedactorConfig};

    use super::*;

    #[tokio::test]
    async fn what_is_sent_is_redacted_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let redactor = LiveRedactor::new(RedactorConfig::default(), RedactSettings::default()).unwrap();
        let redactor = Arc::new(redactor);
        let knows = |text: &str| redactor.current().redactor.redact_text(text) == "[REDACTED]";
        let file = Fixed::bearer(Source::File(FileSource::new(&path))).unwrap();
        let credentials = told(Arc::new(file), &redactor);
        assert!(credentials.headers(None).await.is_err());
        for token in ["token-of-today", "token-of-tomorrow"] {
            assert!(!knows(token));
            std::fs::write(&path, format!(" {token}\n")).unwrap();
            let challenge =
                Challenge { status: http::StatusCode::UNAUTHORIZED, authenticate: &[], sent: &[] };
            assert_eq!(credentials.refused(None, &challenge).await.unwrap(), Reaction::Retry);
            credentials.headers(None).await.unwrap();
            assert!(knows(token));
        }
        assert!(knows("token-of-today"), "the old one may still be valid");
        assert!(!credentials.is_per_caller());
        assert!(told(Arc::new(Forward::new(["x-a"], &[]).unwrap()), &redactor).is_per_caller());
    }
}
