use crate::{Caller, Secret};

/// What came with the request that a call is made for. It is for nobody but the parts that turn it into what the
/// operator lets a downstream have (requirements §7 item 6): as it is it goes nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Who asks.
    pub caller: Caller,
    /// The caller's own access token, checked, to be exchanged for another (RFC 8693); only kept where a downstream is
    /// configured so.
    pub token: Option<Secret>,
    /// Headers that are configured to be passed on to some downstream: names in lower case, with their values.
    pub headers: Vec<(Box<str>, Secret)>,
}

impl Incoming {
    /// Nothing but who asks.
    pub fn from(caller: Caller) -> Self {
        Self { caller, token: None, headers: Vec::new() }
    }
}
