use std::net::IpAddr;

use crate::Caller;

/// Hears of every request that is refused before it becomes a call (P-W8). Must not block.
pub trait DoorAudit: Send + Sync {
    /// Takes note of one refusal.
    fn refused(&self, refusal: &DoorRefusal<'_>);
}

/// A request that did not become a call.
#[derive(Debug, Clone, Copy)]
pub struct DoorRefusal<'a> {
    /// Who asked, as far as that was found out.
    pub caller: Option<&'a Caller>,
    /// Where from; `None` over stdio.
    pub peer: Option<IpAddr>,
    /// The method, if the message was read that far.
    pub method: Option<&'a str>,
    /// The tool, prompt or resource, likewise.
    pub name: Option<&'a str>,
    /// Why: the `kind` that clients are told, or another code of ours for those who are told nothing.
    pub reason: &'a str,
}

/// Nobody keeps records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unrecorded;

impl DoorAudit for Unrecorded {
    fn refused(&self, _: &DoorRefusal<'_>) {}
}
