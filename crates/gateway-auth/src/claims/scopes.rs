use std::borrow::Cow;

use gateway_domain::{RawJson, RawObject};

use super::texts;
use crate::{RoleMapping, reason::Reason};

/// The scopes of a token, each once, in its order: `scope` and `scp`, each a string of words (RFC 8693 §4.2) or an
/// array of strings, then the roles.
pub(super) fn read(claims: &RawObject, roles: &[RoleMapping]) -> Result<Vec<Box<str>>, Reason> {
    let mut scopes = Vec::new();
    for claim in ["scope", "scp"] {
        if let Some(value) = claims.get(claim) {
            add(&mut scopes, "", words(&value)?);
        }
    }
    for role in roles {
        if let Some(value) = find(claims, &role.claim) {
            add(&mut scopes, &role.prefix, values(&value)?);
        }
    }
    Ok(scopes)
}

fn add(scopes: &mut Vec<Box<str>>, prefix: &str, words: Vec<String>) {
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        let scope = format!("{prefix}{word}").into_boxed_str();
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
}

fn words(value: &RawJson) -> Result<Vec<String>, Reason> {
    match value.to_text() {
        Some(text) => Ok(text.split(' ').map(str::to_owned).collect()),
        None => texts(value, usize::MAX).ok_or(Reason::Claim),
    }
}

fn values(value: &RawJson) -> Result<Vec<String>, Reason> {
    match value.to_text() {
        Some(text) => Ok(vec![text.into_owned()]),
        None => texts(value, usize::MAX).ok_or(Reason::Claim),
    }
}

/// A claim by its name, or by a JSON pointer through objects (RFC 6901).
fn find(claims: &RawObject, claim: &str) -> Option<RawJson> {
    let Some(pointer) = claim.strip_prefix('/') else { return claims.get(claim) };
    let mut steps = pointer.split('/').map(unescaped);
    let mut value = claims.get(&steps.next()?)?;
    for step in steps {
        value = RawObject::parse(value.into_bytes()).ok()?.get(&step)?;
    }
    Some(value)
}

fn unescaped(step: &str) -> Cow<'_, str> {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}
