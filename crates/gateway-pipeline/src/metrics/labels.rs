use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use gateway_domain::{Caller, DownstreamName};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

/// The label of clients beyond the limit.
const OTHER: &str = "other";

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) client: Arc<str>,
    pub(super) downstream: Downstream,
    pub(super) decision: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct DownstreamLabels {
    pub(super) downstream: Downstream,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct StageLabels {
    pub(super) stage: &'static str,
}

/// A downstream; empty for none, which is the same as no label.
#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub(super) struct Downstream(pub(super) Option<DownstreamName>);

impl EncodeLabelValue for Downstream {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        self.0.as_ref().map_or("", DownstreamName::as_str).encode(encoder)
    }
}

/// The labels of clients: the name of one that is configured, of others the issuer that vouches for them. So many, and
/// then no more.
#[derive(Debug)]
pub(super) struct Clients {
    known: RwLock<HashMap<Box<str>, Arc<str>>>,
    limit: usize,
    other: Arc<str>,
}

impl Clients {
    pub(super) fn new(limit: usize) -> Self {
        Self { known: RwLock::default(), limit, other: OTHER.into() }
    }

    pub(super) fn label(&self, caller: &Caller) -> Arc<str> {
        let issuer = caller.issuer_and_subject().map(|(issuer, _)| issuer);
        let name = caller.client_name().or(issuer).unwrap_or("anonymous");
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        known.unwrap_or_else(|| self.learn(name))
    }

    fn learn(&self, name: &str) -> Arc<str> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.limit && !known.contains_key(name) {
            return self.other.clone();
        }
        known.entry(name.into()).or_insert_with(|| name.into()).clone()
    }
}
