use gateway_domain::RawObject;

use crate::{Algorithm, reason::Reason};

/// A key's name may be so long.
const KID_LIMIT: usize = 128;

/// What counts of a protected header. Where it points to keys of its own (`jku`, `x5u`, `jwk`, `x5c`), nobody looks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) algorithm: Algorithm,
    /// Which of the issuer's keys; not a path, not a query, only a word to compare.
    pub(crate) kid: Option<String>,
    typ: Option<String>,
}

impl Header {
    /// Reads what counts.
    pub(crate) fn parse(header: &RawObject) -> Result<Self, Reason> {
        if header.contains("enc") {
            return Err(Reason::Encrypted);
        }
        if header.contains("crit") {
            return Err(Reason::Critical);
        }
        if text(header, "cty")?.is_some_and(|cty| is_type(&cty, "jwt")) {
            return Err(Reason::Nested);
        }
        let kid = text(header, "kid")?;
        if kid.as_ref().is_some_and(|kid| kid.len() > KID_LIMIT) {
            return Err(Reason::Header);
        }
        let algorithm =
            text(header, "alg")?.and_then(|name| Algorithm::named(&name)).ok_or(Reason::Algorithm)?;
        Ok(Self { algorithm, kid, typ: text(header, "typ")? })
    }

    /// Whether it is an access token by its media type; `plain` says that `JWT` and nothing at all pass, too.
    pub(crate) fn is_access_token(&self, plain: bool) -> bool {
        match &self.typ {
            Some(typ) => is_type(typ, "at+jwt") || plain && is_type(typ, "jwt"),
            None => plain,
        }
    }
}

/// Media types differ by case in nothing, and `application/` may be left out (RFC 7515 §4.1.9).
fn is_type(given: &str, wanted: &str) -> bool {
    let given = given.to_ascii_lowercase();
    given.strip_prefix("application/").unwrap_or(&given) == wanted
}

fn text(header: &RawObject, name: &str) -> Result<Option<String>, Reason> {
    let value = header.get(name);
    value.map(|value| value.to_text().map(Into::into).ok_or(Reason::Header)).transpose()
}
