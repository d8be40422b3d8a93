//! Who may do what, what is kept of it, and what the gateway proves itself with.

mod audit;
mod clients;
mod credentials;
mod model;
mod name;
mod oauth;
mod pins;
mod policy;
mod profiles;
mod rates;
mod redaction;
mod telemetry;
mod tls;

pub(super) use clients::read_all as clients;
pub(super) use credentials::{FORWARD_HEADERS, read as credentials};
pub(crate) use model::{
    Audit, Bucket, Client, ClientCertificates, Grant, Interactive, Issuer, Key, KeySource, Login, Methods,
    Oauth, Outgoing, Overflow, Owner, PinMode, Pins, Policy, Profile, Rates, Redaction, RedactionPattern,
    RequiredScopes, Rotation, Rule, Security, Sinks, Telemetry, Through, Tls, TokenClient,
};
pub(super) use name::Downstreams;

use super::reader::Table;

/// The sections of the top level that belong here, but for clients.
pub(super) fn read(
    top: &mut Table<'_>,
    downstreams: &Downstreams,
    clients: &[Client],
    accepting: bool,
) -> Security {
    Security {
        key_header: clients::key_header(top),
        policy: policy::read(top.table("policy"), downstreams, clients),
        oauth: oauth::read(top),
        audit: audit::read(top),
        redaction: redaction::read(top.table("redaction")),
        rates: rates::read(top.table("rates")),
        pins: pins::read(top.table("pins"), accepting),
        profiles: profiles::read_all(top.table("profiles"), downstreams),
        tls: tls::read(top),
        telemetry: telemetry::read(top),
    }
}
