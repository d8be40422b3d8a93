use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use gateway_domain::{RawJson, RawObject, printable};

use super::{ApiConfig, Report, Taken};
use crate::{
    curation::InvalidMatcher,
    engine::{
        AuditFunc, BuildConfig, BuildError, Credential, CredentialError, Credentials, Executor, Gates,
        Override, Tool, build_some, log_audit,
    },
    ir::{Listing, Operation, SecurityScheme, Skipped},
    source::legal_id,
};

/// What one reading of the source gave. Never changes; the next reading gives another.
#[derive(Debug)]
pub(super) struct Loaded {
    tools: Vec<Tool>,
    by_name: HashMap<Arc<str>, usize>,
    report: Arc<Report>,
    /// What the operator must hear of at once: operations that are configured and cannot be offered.
    warnings: Vec<String>,
    server: RawJson,
    schemes: BTreeMap<String, SecurityScheme>,
    credentials: Arc<Credentials>,
    /// What the source says of itself as long as it is what was read.
    pub(super) stamp: Option<u64>,
}

/// Why an API cannot be offered although its source can be read. For the operator.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Curation(Vec<InvalidMatcher>),
}

impl Loaded {
    /// Makes tools of what was read. Takes its time: thousands of schemas may have to be put together. Goes on with the
    /// limits and the credentials of the reading before.
    pub(super) fn new(
        listing: Listing,
        stamp: Option<u64>,
        config: &ApiConfig,
        audit: impl FnOnce(Option<AuditFunc>) -> AuditFunc,
        before: Option<&Self>,
    ) -> Result<Self, Unusable> {
        config.curation.check().map_err(Unusable::Curation)?;
        let credentials = match before.filter(|before| before.schemes == listing.schemes) {
            Some(before) => before.credentials.clone(),
            None => Arc::new(credentials(&listing, config)?),
        };
        let mut executor = config.executor.clone();
        executor.credentials = credentials.clone();
        let mut settings = BuildConfig::new(Arc::new(Executor::new(executor)));
        settings.audit = Some(log_audit());
        settings = (config.build)(settings);
        settings.audit = Some(audit(settings.audit.take()));
        settings.overrides = by_id(settings.overrides, &listing.operations);
        let server = server(&listing, config);
        let notes = notes(&listing.operations, config, &settings);
        let Listing { operations, mut skipped, schemes, .. } = config.curation.apply(listing);
        let gates = Gates::of(before.iter().flat_map(|before| &before.tools));
        let built = build_some(operations, &settings, &gates)?;
        let warnings = built.refused.iter().map(warning).collect();
        skipped.extend(built.refused);
        let tools = built.tools;
        let taken = tools.iter().map(|tool| taken(tool, &credentials)).collect();
        let by_name = tools.iter().enumerate();
        let by_name = by_name.map(|(at, tool)| (tool.definition().original().clone(), at)).collect();
        let mut report = Report { taken, skipped, notes };
        note_emptiness(&mut report);
        Ok(Self { tools, by_name, report: Arc::new(report), warnings, server, schemes, credentials, stamp })
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

    /// For the log.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &String> {
        self.report.notes.iter().chain(&self.warnings)
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

fn warning(refused: &Skipped) -> String {
    format!("{} {} is not offered: {}", refused.method, refused.path, refused.reason)
}

/// An override may also name an operation as its source writes it: `repos/get` is `repos_get` (E-42). What is said by
/// either name counts; where they say different things, the id does.
fn by_id(overrides: BTreeMap<String, Override>, operations: &[Operation]) -> BTreeMap<String, Override> {
    let is_known = |id: &str| operations.iter().any(|operation| operation.id == id);
    let by_alias = |name: &str| !is_known(name) && is_known(&legal_id(name));
    let (aliases, mut named): (BTreeMap<_, _>, BTreeMap<_, _>) =
        overrides.into_iter().partition(|(name, _)| by_alias(name));
    for (alias, given) in aliases {
        let merged = named.entry(legal_id(&alias)).or_default();
        *merged = merged.or(&given);
    }
    named
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
