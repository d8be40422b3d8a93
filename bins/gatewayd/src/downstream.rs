//! One downstream, as the crates that it is made of want it.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use gateway_catalog::{Signal, Source, ToolFilter};
use gateway_credentials::oauth::OauthCredentials;
use gateway_egress::Fetch;
use gateway_openapi::downstream::{ApiFactory, Reports};
use gateway_openapi::source::Place;
use gateway_pipeline::redaction::LiveRedactor;
use gateway_protocol::Revision;
use gateway_registry::{
    HealthConfig, ManagedDownstream, Pool, PoolConfig, RestartBudget, SessionMode, SupervisorConfig,
    supervise,
};
use gateway_transport_http::{HttpConfig, HttpFactory};
use gateway_transport_stdio::{InheritEnv, StdioConfig, StdioFactory, lifeline::Lifeline};

use crate::{
    api, config,
    credentials::{self, Proofs},
    gateway::identity,
};

/// The downstream as the catalogue sees it.
pub(crate) fn source(downstream: &config::Downstream, signal: Arc<Signal>) -> Source {
    Source {
        name: downstream.name.clone(),
        address: address(&downstream.reach),
        is_public: downstream.public_tool_list,
        is_per_caller: is_per_caller(&downstream.reach),
        filter: filter(&downstream.tools),
        required: downstream.required,
        enabled: downstream.enabled,
        mirrors_headers: matches!(downstream.reach, config::Reach::Url(_)),
        list_timeout: downstream.list_timeout,
        signal,
    }
}

/// For whom its tools are.
pub(crate) fn filter(tools: &config::ToolFilter) -> ToolFilter {
    ToolFilter::new(&tools.allow, &tools.deny).with_workflows(&tools.workflows)
}

/// What there is of a downstream besides itself.
#[derive(Default)]
pub(crate) struct Besides {
    /// What becomes of its operations, if it is an API.
    pub(crate) reports: Option<Reports>,
    /// Where its users get tokens of their own.
    pub(crate) per_user: Option<OauthCredentials>,
}

/// The downstream, ready to be started, and what there is besides; nothing of it runs yet (P-15).
///
/// # Errors
/// What its transport does not accept.
pub(crate) fn manage(
    config: &config::Config,
    downstream: &config::Downstream,
    observer: Arc<Signal>,
    lifeline: Option<Arc<Lifeline>>,
    (fetch, redactor): (&Arc<dyn Fetch>, &Arc<LiveRedactor>),
) -> anyhow::Result<(ManagedDownstream, Besides)> {
    let name = downstream.name.clone();
    let supervision = SupervisorConfig {
        max_consecutive_failures: u32::try_from(downstream.supervision.failures).unwrap_or(u32::MAX),
        broken_cooldown: downstream.supervision.cooldown,
        restarts: restarts(&downstream.reach),
    };
    let health = health(downstream, &supervision);
    let mut besides = Besides::default();
    let (factory, health) = match &downstream.reach {
        config::Reach::Command(command) => {
            let stdio = StdioConfig { lifeline, ..stdio_config(config, downstream, command) };
            let stdio = StdioFactory::new(name.clone(), stdio, observer.clone())
                .with_context(|| format!("downstream `{name}`"))?;
            supervise(name.clone(), stdio, &supervision, health, observer)
        }
        config::Reach::Url(remote) => {
            let Proofs { credentials, per_user } =
                credentials::of(config, downstream, remote, fetch, redactor)
                    .with_context(|| format!("downstream `{name}`"))?;
            besides.per_user = per_user;
            let http = HttpConfig { credentials, ..http_config(downstream, remote) };
            let http = HttpFactory::new(name.clone(), http, observer.clone())
                .with_context(|| format!("downstream `{name}`"))?;
            supervise(name.clone(), http, &supervision, health, observer)
        }
        config::Reach::Api(api) => {
            let api = api::config(config, downstream, api, redactor)
                .with_context(|| format!("downstream `{name}`"))?;
            let api = ApiFactory::new(api, observer.clone());
            besides.reports = Some(api.reports());
            supervise(name.clone(), api, &supervision, health, observer)
        }
    };
    let pool = Pool::new(name.clone(), factory, pool_config(downstream));
    Ok((ManagedDownstream { name, mode: mode(downstream), pool, health }, besides))
}

fn health(downstream: &config::Downstream, supervision: &SupervisorConfig) -> HealthConfig {
    HealthConfig {
        interval: downstream.health.interval,
        timeout: downstream.health.timeout,
        max_consecutive_failures: supervision.max_consecutive_failures,
        broken_cooldown: supervision.broken_cooldown,
    }
}

fn pool_config(downstream: &config::Downstream) -> PoolConfig {
    PoolConfig {
        max: clients_at_once(downstream),
        acquire_timeout: downstream.pool.acquire_timeout,
        idle_ttl: downstream.pool.idle_ttl,
        close_timeout: close_timeout(downstream),
    }
}

fn is_per_caller(reach: &config::Reach) -> bool {
    matches!(reach, config::Reach::Url(remote) if remote.outgoing.is_per_caller())
}

fn mode(downstream: &config::Downstream) -> SessionMode {
    match downstream.sharing {
        config::Sharing::PerClient if is_per_caller(&downstream.reach) => SessionMode::PerCaller,
        config::Sharing::PerClient => SessionMode::PerClient,
        config::Sharing::Shared => SessionMode::Shared,
    }
}

/// How long all of a downstream's sessions may take to end: longer than the stop ladder of a process.
fn close_timeout(downstream: &config::Downstream) -> Duration {
    let stages = match &downstream.reach {
        config::Reach::Command(command) => command.terminate.saturating_mul(2),
        config::Reach::Url(_) | config::Reach::Api(_) => Duration::ZERO,
    };
    stages.saturating_add(Duration::from_secs(4))
}

/// How many sessions clients may have: a process each costs memory, an HTTP session hardly any (R-W7).
fn clients_at_once(downstream: &config::Downstream) -> usize {
    downstream.pool.max.unwrap_or(match downstream.reach {
        config::Reach::Command(_) => 16,
        config::Reach::Url(_) | config::Reach::Api(_) => 10_000,
    })
}

/// A remote server is reached, not started.
fn restarts(reach: &config::Reach) -> Option<RestartBudget> {
    match reach {
        config::Reach::Command(command) => Some(RestartBudget {
            limit: u32::try_from(command.restarts.limit).unwrap_or(u32::MAX),
            period: command.restarts.period,
        }),
        config::Reach::Url(_) | config::Reach::Api(_) => None,
    }
}

/// What a list comes from: the server, and all that it is told about who asks. What may be secret is only in
/// a digest.
fn address(reach: &config::Reach) -> String {
    let mut digest = DefaultHasher::new();
    let mut secrets: Vec<(&str, &config::Secret)> = Vec::new();
    let place = match reach {
        config::Reach::Command(command) => {
            (&command.args, &command.cwd).hash(&mut digest);
            secrets.extend(command.env.iter().map(|(name, value)| (name.as_str(), value)));
            command.program.display().to_string()
        }
        config::Reach::Url(remote) => {
            remote.url.query().hash(&mut digest);
            // As whom the gateway comes.
            format!("{:?}", remote.outgoing).hash(&mut digest);
            secrets.extend(remote.headers.iter().map(|(name, value)| (name.as_str(), value)));
            let scheme = remote.url.scheme_str().unwrap_or_default();
            let host = remote.url.authority().map_or("", http::uri::Authority::as_str);
            format!("{scheme}://{host}{}", remote.url.path())
        }
        config::Reach::Api(api) => {
            // Which part of it is offered makes another list too.
            format!("{api:?}").hash(&mut digest);
            if let Place::Url(url) = &api.document {
                // Which is not shown.
                url.query().hash(&mut digest);
            }
            secrets.extend(api::secrets(api));
            api.base_url.uri().to_string()
        }
    };
    for (name, value) in secrets {
        (name, value.expose()).hash(&mut digest);
    }
    format!("{place} {:016x}", digest.finish())
}

fn stdio_config(
    config: &config::Config,
    downstream: &config::Downstream,
    command: &config::Command,
) -> StdioConfig {
    let program = command.program.to_string_lossy().into_owned();
    let argv = std::iter::once(program).chain(command.args.iter().cloned()).collect();
    let env = command.env.iter().map(|(name, value)| (name.clone(), value.expose().into()));
    StdioConfig {
        env: env.collect::<BTreeMap<_, _>>(),
        inherit_env: match &command.inherit_env {
            config::InheritEnv::Minimal => InheritEnv::Minimal,
            config::InheritEnv::Named(names) => InheritEnv::Named(names.clone()),
            config::InheritEnv::All => InheritEnv::Named(all_but_secrets(config)),
        },
        cwd: command.cwd.clone(),
        protocol: revision(downstream.protocol),
        startup_timeout: command.startup_timeout,
        probe_timeout: downstream.probe_timeout,
        call_timeout: downstream.call_timeout,
        max_call_time: downstream.max_call_time,
        request_timeout: downstream.list_timeout,
        terminate: command.terminate,
        max_line_bytes: downstream.max_message_bytes,
        ..StdioConfig::new(argv, identity())
    }
}

/// Everything in the gateway's environment but its own settings, which may hold keys, and what it took
/// secrets from (R-57, R-W8).
fn all_but_secrets(config: &config::Config) -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let is_secret = |name: &String| name.starts_with("GATEWAY_") || config.secret_variables.contains(name);
    names.filter(|name| !is_secret(name)).collect()
}

fn http_config(downstream: &config::Downstream, remote: &config::Remote) -> HttpConfig {
    let headers = remote.headers.iter().map(|(name, value)| (name.to_string(), value.expose().to_owned()));
    HttpConfig {
        headers: headers.collect(),
        ca_file: remote.certificates.as_ref().map(|certificates| certificates.file.clone()),
        connect_timeout: remote.connect_timeout,
        call_timeout: downstream.call_timeout,
        max_call_time: downstream.max_call_time,
        request_timeout: downstream.list_timeout,
        max_message_bytes: downstream.max_message_bytes,
        protocol: revision(downstream.protocol),
        ..HttpConfig::new(remote.url.to_string(), identity())
    }
}

fn revision(protocol: config::Protocol) -> Option<Revision> {
    match protocol {
        config::Protocol::Auto => None,
        config::Protocol::Revision(date) => Revision::parse(date),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, Request};

    fn address_of(description: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("[downstreams.d]\nopenapi = {description:?}\nbase_url = \"https://b.example\"\n");
        std::fs::write(folder.path().join("gateway.toml"), text).unwrap();
        let request = Request { folder: folder.path().to_owned(), ..Request::default() };
        let loaded = config::load(&request, &Environment::default()).outcome.unwrap();
        address(&loaded.config.downstreams[0].reach)
    }

    #[test]
    fn another_description_is_another_address() {
        let one = address_of("https://a.example/x?version=s3cret");
        assert_eq!(one, address_of("https://a.example/x?version=s3cret"));
        assert_ne!(one, address_of("https://a.example/x?version=2"));
        assert_ne!(one, address_of("https://a.example/y?version=s3cret"));
        assert!(one.starts_with("https://b.example") && !one.contains("s3cret"), "{one}");
    }
}
