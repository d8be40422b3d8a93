use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use crate::RawObject;

/// Who asks. Sessions, cursors, tasks and caches are keyed by it; it never comes from a client's own
/// description of itself (protocol.md §8).
///
/// Two are equal if they are the same person or program, whatever each request proves about what it may do.
#[derive(Clone)]
pub struct Caller {
    identity: Identity,
    grants: Option<Arc<Grants>>,
    until: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Identity {
    Anonymous,
    Client(Arc<str>),
    User(Arc<User>),
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct User {
    issuer: Box<str>,
    subject: Box<str>,
}

/// What an authorization server says of a caller in the token of one request, checked (security.md §5.1).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// The scopes, each once, in the order of the token.
    pub scopes: Vec<Box<str>>,
    /// The claims of the token, or the members of an introspection's answer.
    pub claims: RawObject,
}

impl Caller {
    /// The one caller there is while no clients are configured.
    pub fn anonymous() -> Self {
        Self { identity: Identity::Anonymous, grants: None, until: None }
    }

    /// A configured client that proved its key.
    pub fn client(name: &str) -> Self {
        Self { identity: Identity::Client(name.into()), grants: None, until: None }
    }

    /// Somebody whom an authorization server vouches for: identified by issuer and subject, by no other claim
    /// (security.md §5.1).
    pub fn user(issuer: &str, subject: &str, grants: Grants) -> Self {
        let user = User { issuer: issuer.into(), subject: subject.into() };
        Self { identity: Identity::User(Arc::new(user)), grants: Some(Arc::new(grants)), until: None }
    }

    /// The same, proved by something that is good until then, since 1970.
    #[must_use]
    pub fn proved_until(self, until: Option<Duration>) -> Self {
        Self { until, ..self }
    }

    /// Until when what this request was proved with is good, since 1970; `None`: until it is taken back.
    pub fn until(&self) -> Option<Duration> {
        self.until
    }

    /// Whether nobody was authenticated.
    pub fn is_anonymous(&self) -> bool {
        self.identity == Identity::Anonymous
    }

    /// The name of the configured client, if it is one.
    pub fn client_name(&self) -> Option<&str> {
        match &self.identity {
            Identity::Client(name) => Some(name),
            Identity::Anonymous | Identity::User(_) => None,
        }
    }

    /// Issuer and subject, if an authorization server vouches for the caller.
    pub fn issuer_and_subject(&self) -> Option<(&str, &str)> {
        match &self.identity {
            Identity::User(user) => Some((&user.issuer, &user.subject)),
            Identity::Anonymous | Identity::Client(_) => None,
        }
    }

    /// What the token of this request grants; `None` without one.
    pub fn grants(&self) -> Option<&Grants> {
        self.grants.as_deref()
    }

    /// Whether the token has a scope; never without a token.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.grants().is_some_and(|grants| grants.scopes.iter().any(|granted| **granted == *scope))
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for Caller {}

impl Hash for Caller {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

/// The client's name, `anonymous`, or subject and issuer as `SUBJECT at ISSUER`.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.identity {
            Identity::Anonymous => f.write_str("anonymous"),
            Identity::Client(name) => f.write_str(name),
            Identity::User(user) => write!(f, "{} at {}", user.subject, user.issuer),
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.identity.fmt(f)
    }
}

/// Scopes alone: claims may be personal.
impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn granted(scope: &str) -> Grants {
        Grants { scopes: vec![scope.into()], ..Grants::default() }
    }

    #[test]
    fn a_caller_is_the_same_whatever_its_token_grants() {
        let callers = [
            Caller::anonymous(),
            Caller::client("anonymous"),
            Caller::client("ann at https://a"),
            Caller::user("https://a", "ann", granted("read")),
            Caller::user("https://a", "ann", granted("write")),
            Caller::user("https://a", "bob", granted("read")),
            Caller::user("https://b", "ann", granted("read")),
        ];
        assert_eq!(callers.iter().collect::<HashSet<_>>().len(), callers.len() - 1);
        assert_eq!(callers[3], callers[4]);
        assert!(callers[4].has_scope("write") && !callers[4].has_scope("read"));
        assert!(!callers[0].has_scope("write"));
    }

    #[test]
    fn claims_are_not_shown() {
        let claims = RawObject::parse(r#"{"email":"ann@example"}"#).unwrap();
        let caller = Caller::user("https://a", "ann", Grants { claims, ..granted("read") });
        assert!(!format!("{caller:?} {:?}", caller.grants()).contains("example"));
        assert_eq!(caller.to_string(), "ann at https://a");
    }
}
