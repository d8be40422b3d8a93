use std::{collections::HashMap, sync::Arc};

use gateway_domain::{RawJson, RawObject, printable};

use super::{ApiConfig, Report, Taken};
use crate::{
    engine::{
        AuditFunc, BuildConfig, BuildError, Credential, CredentialError, Credentials, Executor, Tool, build,
    },
    ir::{Listing, Operation, SecurityScheme},
};

/// What one reading of the source gave. Never changes; the next reading gives another.
#[derive(Debug)]
pub(super) struct Loaded {
    tools: Vec<Tool>,
    by_name: HashMap<Arc<str>, usize>,
    report: Arc<Report>,
    server: RawJson,
    /// What the source said of itself before it was read.
    pub(super) stamp: Option<u64>,
}

/// Why an API cannot be offered although its source can be read. For the operator.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Loaded {
    /// Makes tools of what was read. Takes its time: thousands of schemas may have to be put together.
    pub(super) fn new(
        listing: Listing,
        stamp: Option<u64>,
        config: &ApiConfig,
        audit: impl FnOnce(Option<AuditFunc>) -> AuditFunc,
    ) -> Result<Self, Unusable> {
        let credentials = Arc::new(credentials(&listing, config)?);
        let mut executor = config.executor.clone();
        executor.credentials = credentials.clone();
        let mut settings = (config.build)(BuildConfig::new(Arc::new(Executor::new(executor))));
        settings.audit = Some(audit(settings.audit.take()));
        let server = server(&listing, config);
        let notes = notes(&listing.operations, config, &settings);
        let Listing { operations, skipped, .. } = config.curation.apply(listing);
        let tools = build(operations, &settings)?;
        let taken = tools.iter().map(|tool| taken(tool, &credentials)).collect();
        let by_name = tools.iter().enumerate();
        let by_name = by_name.map(|(at, tool)| (tool.definition().original().clone(), at)).collect();
        let mut report = Report { taken, skipped, notes };
        note_emptiness(&mut report);
        Ok(Self { tools, by_name, report: Arc::new(report), server, stamp })
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }

    /// The definitions of all tools, in order.
    pub(super) fn definitions(&self) -> Vec<RawObject> {
        self.tools.iter().map(|tool| tool.definition().definition().clone()).collect()
    }

    pub(super) fn report(&self) -> &Arc<Report> {
        &self.report
    }

    /// `serverInfo`: what the source calls the API.
    pub(super) fn server(&self) -> &RawJson {
        &self.server
    }
}

/// A configured key fits whatever a single secret fits: who configures it need not know of which kind the scheme is.
fn credentials(listing: &Listing, config: &ApiConfig) -> Result<Credentials, CredentialError> {
    let fitted = |(name, credential): (&String, &Credential)| {
        let wants_key = matches!(listing.schemes.get(name), Some(SecurityScheme::ApiKey { .. }));
        let credential = match credential.clone() {
            Credential::ApiKey(secret) if !wants_key => Credential::Bearer(secret),
            other => other,
        };
        (name.clone(), credential)
    };
    let fitted = config.credentials.iter().map(fitted).collect();
    let executor = &config.executor;
    Credentials::new(fitted, &listing.schemes, executor.base.uri(), &executor.client)
}

fn taken(tool: &Tool, credentials: &Credentials) -> Taken {
    let operation = tool.operation();
    let mut notes = tool.notes().to_vec();
    let missing = credentials.missing(operation);
    if !missing.is_empty() {
        notes.push(format!("goes without credentials: none are configured for {}", missing.join(", ")));
    }
    Taken {
        id: operation.id.clone(),
        method: operation.method,
        path: operation.path.clone(),
        tool: tool.definition().name().to_owned(),
        notes,
    }
}

/// Whatever is configured and concerns no operation is most likely a slip of the pen.
fn notes(operations: &[Operation], config: &ApiConfig, settings: &BuildConfig) -> Vec<String> {
    let is_known = |name: &str| {
        operations.iter().any(|operation| {
            operation.id == name || format!("{} {}", operation.method, operation.path) == name
        })
    };
    let unknown = settings.overrides.keys().filter(|name| !is_known(name));
    let mut notes: Vec<_> =
        unknown.map(|name| format!("the override `{name}` is for no operation")).collect();
    for (rules, word) in [(&config.curation.include, "include"), (&config.curation.exclude, "exclude")] {
        for (at, rule) in rules.iter().enumerate() {
            if !operations.iter().any(|operation| rule.matches(operation)) {
                notes.push(format!("{word}[{at}], {rule}, fits no operation"));
            }
        }
    }
    notes
}

fn note_emptiness(report: &mut Report) {
    if !report.taken.is_empty() {
        return;
    }
    report.notes.push(match report.skipped.len() {
        0 => "nothing is offered: there are no operations".to_owned(),
        1 => "nothing is offered: the only operation is left out".to_owned(),
        left_out => format!("nothing is offered: all {left_out} operations are left out"),
    });
}

/// What an API calls itself comes from outside, and is for display only.
fn server(listing: &Listing, config: &ApiConfig) -> RawJson {
    let shown = |text: &Option<String>| {
        text.as_deref().map(|text| printable(text, 200)).filter(|text| !text.is_empty())
    };
    let name = shown(&listing.title).unwrap_or_else(|| config.name.to_string());
    let version = shown(&listing.version).unwrap_or_else(|| "0".to_owned());
    let nothing = RawObject::empty();
    let info = nothing.edit().set("name", RawJson::string(&name).as_bytes());
    info.set("version", RawJson::string(&version).as_bytes()).finish()
}
