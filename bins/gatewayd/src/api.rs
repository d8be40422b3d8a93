//! An HTTP API, as the crate that offers it wants it.

use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use gateway_openapi::{
    curation::{Curation, Matcher},
    downstream::ApiConfig,
    engine::{
        BuildConfig, ClientConfig, ClientCredentials, ClientError, Credential, ExecutorConfig, HttpClient,
        NetworkClient, ResponseBody, Secret,
    },
    source::{OpenApi, Place, References},
};
use gateway_pipeline::redaction::LiveRedactor;
use http::{HeaderValue, header};

use crate::{
    config::{self, Api, Auth, OAuthClient, Selector},
    demo::library::Library,
};

/// # Errors
/// Certificates, references or headers that cannot be used.
pub(crate) fn config(
    config: &config::Config,
    downstream: &config::Downstream,
    api: &Api,
    redactor: &Arc<LiveRedactor>,
) -> anyhow::Result<ApiConfig> {
    let client = Arc::new(Told { inner: client(api)?, redactor: redactor.clone() });
    let source = OpenApi::new(api.document.clone())
        .with_references(references(&api.references)?)
        .with_client(client.clone());
    let executor = ExecutorConfig {
        headers: headers(api)?,
        timeout: downstream.call_timeout,
        ..ExecutorConfig::new(api.base_url.clone(), client)
    };
    let naming = config::naming(config.names, &downstream.name);
    let (part, limits) = (api.part.clone(), api.limits);
    let build = move |build: BuildConfig| BuildConfig {
        limit: limits.rate.unwrap_or_default(),
        naming,
        overrides: part.overrides.clone(),
        max_response_bytes: limits.response_bytes,
        max_schema_bytes: part.max_schema_bytes,
        output_schemas: part.output_schemas,
        max_concurrent: limits.concurrent,
        ..build
    };
    Ok(ApiConfig {
        curation: curation(api),
        credentials: api.auth.iter().map(|(scheme, auth)| (scheme.clone(), credential(auth))).collect(),
        build: Arc::new(build),
        watch: config.reload.watch.then_some(config.reload.interval),
        ..ApiConfig::new(downstream.name.clone(), Arc::new(source), executor)
    })
}

/// Has tokens redacted from when they are sent for the first time: those that the API's token server gives are not in the
/// configuration.
#[derive(Debug)]
struct Told {
    inner: Arc<dyn HttpClient>,
    redactor: Arc<LiveRedactor>,
}

#[async_trait]
impl HttpClient for Told {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<ResponseBody>, ClientError> {
        let sent = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = sent.and_then(|value| value.strip_prefix("Bearer ")) {
            self.redactor.learn(token);
        }
        self.inner.send(request).await
    }

    async fn reach(&self) -> Result<(), ClientError> {
        self.inner.reach().await
    }
}

/// Only the demonstration's description is not read from anywhere; its API is in this program too.
fn client(api: &Api) -> anyhow::Result<Arc<dyn HttpClient>> {
    if let Place::Bytes { .. } = api.document {
        return Ok(Arc::new(Library::default()));
    }
    let client = NetworkClient::new(ClientConfig {
        address: Some(api.base_url.uri().clone()),
        ca_file: api.certificates.as_ref().map(|certificates| certificates.file.clone()),
        connect_timeout: api.connect_timeout,
        ..ClientConfig::default()
    });
    Ok(Arc::new(client?))
}

/// All that is secret about an API, each with what tells it from the others.
pub(crate) fn secrets(api: &Api) -> impl Iterator<Item = (&str, &config::Secret)> {
    let headers = api.headers.iter().map(|(name, value)| (name.as_str(), value));
    let auth = api.auth.iter().map(|(scheme, auth)| {
        let secret = match auth {
            Auth::Token(secret) => secret,
            Auth::Basic { password, .. } => password,
            Auth::Client(client) => &client.secret,
        };
        (scheme.as_str(), secret)
    });
    headers.chain(auth)
}

fn references(allowed: &[String]) -> anyhow::Result<References> {
    let mut references = References::none();
    for place in allowed {
        references = match place.contains("://") {
            true => references.with_urls(place)?,
            false => references.with_files(place)?,
        };
    }
    Ok(references)
}

fn headers(api: &Api) -> anyhow::Result<Vec<(http::HeaderName, HeaderValue)>> {
    let header = |(name, value): &(http::HeaderName, config::Secret)| {
        let mut value =
            HeaderValue::from_str(value.expose()).with_context(|| format!("the header `{name}`"))?;
        value.set_sensitive(true);
        Ok((name.clone(), value))
    };
    api.headers.iter().map(header).collect()
}

fn curation(api: &Api) -> Curation {
    Curation {
        read_only: api.part.read_only,
        include: api.part.include.iter().map(matcher).collect(),
        exclude: api.part.exclude.iter().map(matcher).collect(),
    }
}

/// All that is selected by must fit.
fn matcher(selector: &Selector) -> Matcher {
    let Selector { tag, path, method, operation } = selector;
    let mut all: Vec<Matcher> = Vec::new();
    all.extend(tag.as_ref().map(Matcher::tag));
    all.extend(path.as_ref().map(Matcher::path));
    all.extend(method.map(|method| Matcher::method(method.as_str())));
    all.extend(operation.as_ref().map(Matcher::operation));
    match <[Matcher; 1]>::try_from(all) {
        Ok([one]) => one,
        Err(all) => {
            let names: Vec<_> = all.iter().map(ToString::to_string).collect();
            Matcher::predicate(names.join(" and "), move |operation| {
                all.iter().all(|matcher| matcher.matches(operation))
            })
        }
    }
}

fn credential(auth: &Auth) -> Credential {
    let secret = |secret: &config::Secret| Secret::new(secret.expose());
    match auth {
        // For schemes of other kinds it becomes what those need.
        Auth::Token(token) => Credential::ApiKey(secret(token)),
        Auth::Basic { username, password } => {
            Credential::Basic { user: username.clone(), password: secret(password) }
        }
        Auth::Client(OAuthClient {
            id,
            secret: key,
            token_url,
            scopes,
            authentication,
            resource,
            audience,
        }) => Credential::ClientCredentials(ClientCredentials {
            token_url: token_url.clone(),
            scopes: scopes.clone(),
            authentication: *authentication,
            resource: resource.clone(),
            audience: audience.clone(),
            ..ClientCredentials::new(id.clone(), secret(key))
        }),
    }
}
