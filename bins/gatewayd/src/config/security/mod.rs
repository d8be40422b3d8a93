//! Who may do what, what is kept of it, and what the gateway proves itself with.

mod audit;
mod clients;
mod credentials;
mod exchange;
mod later;
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

pub(super) use clients::{read_all as clients, remarks};
pub(super) use credentials::{FORWARD_HEADERS, read as credentials};
pub(crate) use model::{
    Audit, Bucket, Client, ClientCertificates, Exchange, Grant, Interactive, Issuer, Key, KeySource, Oauth,
    Outgoing, Overflow, Owner, PinMode, Profile, Redaction, RedactionPattern, Rotation, Rule, Security,
    Telemetry, Through, Tls, TokenClient, TokenSource,
};
pub(super) use name::Downstreams;

use http::Uri;

use super::problem::Fault;
use super::reader::{Item, Table};
use super::{Request, reach};

/// The sections of the top level that belong here, but for clients.
pub(super) fn read(
    top: &mut Table<'_>,
    downstreams: &Downstreams,
    clients: &[Client],
    request: &Request,
) -> Security {
    let profiles = profiles::read_all(top.table("profiles"), downstreams);
    Security {
        public_url: top.read("public_url", public_url),
        key_header: clients::key_header(top),
        policy: policy::read(top.table("policy"), downstreams, clients),
        oauth: oauth::read(top, downstreams, &profiles),
        audit: audit::read(top, request.stdout),
        redaction: redaction::read(top.table("redaction")),
        rates: rates::read(top.table("rates")),
        pins: pins::read(top.table("pins"), request.pins),
        profiles,
        tls: tls::read(top),
        telemetry: telemetry::read(top),
        login: credentials::login(top.table("login")),
    }
}

fn public_url(item: &Item<'_>) -> Result<Uri, Fault> {
    let url = reach::url(item)?;
    if reach::is_in_the_clear(&url) {
        let fault = Fault::new("is not https, and browsers prove who they are there");
        return Err(fault.hint("write \"https://gateway.example\", or http only with a loopback address"));
    }
    match url.path() {
        "" | "/" if url.query().is_none() => Ok(url),
        _ => Err(Fault::new("has a path").hint("write scheme, host and port: \"https://gateway.example\"")),
    }
}
