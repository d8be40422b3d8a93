//! What went wrong, in words that name no host and no address: a model reads them.

use std::{error::Error as StdError, io};

use gateway_egress::ConnectError;
use hyper_util::client::legacy;

use crate::engine::ClientError;

type Cause<'a> = &'a (dyn StdError + 'static);

/// No connection could be made.
pub(super) fn connecting(error: Cause<'_>) -> ClientError {
    ClientError { reason: why_unconnected(error), is_unsent: true }
}

/// No answer has begun.
///
/// What hyper says is "canceled" it hands back unwritten. Anything else counts as sent.
pub(super) fn before(error: &legacy::Error) -> ClientError {
    if error.is_connect() {
        return connecting(error);
    }
    match find::<hyper::Error>(error) {
        Some(cause) if cause.is_canceled() => ClientError {
            reason: "the connection was closed before anything was sent".into(),
            is_unsent: true,
        },
        Some(cause) if cause.is_parse_too_large() => large_head(),
        Some(cause) if cause.is_parse() => sent("the answer is not valid HTTP"),
        Some(cause) if cause.is_incomplete_message() => sent("closed before an answer"),
        Some(_) => sent("the connection broke before an answer"),
        None => ClientError { reason: "the request cannot be sent".into(), is_unsent: true },
    }
}

pub(super) fn large_head() -> ClientError {
    sent("the head of the answer is too large")
}

/// An answer has begun.
pub(super) fn during(error: &hyper::Error) -> ClientError {
    // hyper has no question for what is wrong with the framing of a body but this one.
    let invalid = find::<io::Error>(error).is_some_and(|cause| {
        matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
    });
    sent(if invalid { "it is not valid HTTP" } else { "the connection was closed too early" })
}

fn sent(reason: &str) -> ClientError {
    ClientError { reason: reason.into(), is_unsent: false }
}

fn why_unconnected(error: Cause<'_>) -> String {
    if let Some(unconnected) = find::<ConnectError>(error) {
        return unconnected.to_string();
    }
    if let Some(tls) = find::<rustls::Error>(error) {
        return why_insecure(tls).into();
    }
    let reason = match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused",
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => "connection closed",
        Some(io::ErrorKind::HostUnreachable) => "the host is unreachable",
        Some(io::ErrorKind::NetworkUnreachable) => "the network is unreachable",
        Some(io::ErrorKind::TimedOut) => "no connection in time",
        _ => "no connection can be made",
    };
    reason.into()
}

fn why_insecure(error: &rustls::Error) -> &'static str {
    use rustls::CertificateError as Certificate;
    let rustls::Error::InvalidCertificate(certificate) = error else { return "TLS: the handshake failed" };
    match certificate {
        Certificate::Expired | Certificate::ExpiredContext { .. } => "TLS: the certificate has expired",
        Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
            "TLS: the certificate is for another name"
        }
        _ => "TLS: the certificate is not trusted",
    }
}

/// The innermost error of this type. An [`io::Error`] hides what it holds from `source`.
fn find<'a, T: StdError + 'static>(error: Cause<'a>) -> Option<&'a T> {
    let mut found = None;
    let mut next = Some(error);
    while let Some(error) = next {
        found = error.downcast_ref::<T>().or(found);
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    found
}
