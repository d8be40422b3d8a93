//! Conditions on who does something.

use gateway_domain::{Caller, JsonKind, RawJson, RawObject};

use super::pattern::Globs;

/// The conditions of one rule on who does something.
#[derive(Debug, Clone, Default)]
pub(super) struct Callers {
    pub(super) clients: Option<Globs>,
    pub(super) issuers: Option<Globs>,
    pub(super) subjects: Option<Globs>,
    pub(super) scopes: Vec<Box<str>>,
    pub(super) claims: Vec<Claim>,
}

impl Callers {
    pub(super) fn include(&self, caller: &Caller) -> bool {
        let is = |globs: &Option<Globs>, text: Option<&str>| {
            globs.as_ref().is_none_or(|globs| text.is_some_and(|text| globs.matches(text)))
        };
        let (issuer, subject) = caller.issuer_and_subject().unzip();
        is(&self.clients, caller.client_name())
            && is(&self.issuers, issuer)
            && is(&self.subjects, subject)
            && self.scopes.iter().all(|scope| caller.has_scope(scope))
            && self.claims.iter().all(|claim| claim.is_of(caller))
    }
}

/// A claim that a token must have.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// The members that lead to it.
    path: Vec<Box<str>>,
    /// The values it may have.
    values: Vec<Box<str>>,
}

/// The most elements of a claim that are looked at.
const ELEMENTS: usize = 10_000;

impl Claim {
    /// `None`: the name is no JSON Pointer although it begins like one.
    pub(super) fn new(name: &str, values: &[String]) -> Option<Self> {
        let path = match name.strip_prefix('/') {
            None => vec![name.into()],
            Some(pointer) => pointer.split('/').map(unescaped).collect::<Option<_>>()?,
        };
        Some(Self { path, values: values.iter().map(|value| (**value).into()).collect() })
    }

    fn is_of(&self, caller: &Caller) -> bool {
        let claim = caller.grants().and_then(|grants| self.find(&grants.claims));
        claim.is_some_and(|claim| match claim.kind() {
            JsonKind::Array => {
                claim.elements(ELEMENTS).is_some_and(|all| all.iter().any(|it| self.names(it)))
            }
            _ => self.names(&claim),
        })
    }

    fn find(&self, claims: &RawObject) -> Option<RawJson> {
        let (last, parents) = self.path.split_last()?;
        let mut object = claims.clone();
        for parent in parents {
            object = object.get_object(parent)?;
        }
        object.get(last)
    }

    fn names(&self, value: &RawJson) -> bool {
        let is = |text: &str| self.values.iter().any(|wanted| **wanted == *text);
        match value.kind() {
            JsonKind::String => value.to_text().is_some_and(|text| is(&text)),
            JsonKind::Number | JsonKind::Boolean => is(value.as_str()),
            _ => false,
        }
    }
}

/// A token of a JSON Pointer (RFC 6901 §4).
fn unescaped(token: &str) -> Option<Box<str>> {
    let is_whole = token.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    is_whole.then(|| token.replace("~1", "/").replace("~0", "~").into())
}
