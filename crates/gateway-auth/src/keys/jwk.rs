use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_domain::RawObject;

use crate::{
    Algorithm,
    jws::{Kind, PublicKey},
};

/// A name longer than a token may ask for is nobody's.
const KID_LIMIT: usize = 128;
/// Operations that are looked through.
const OPERATION_LIMIT: usize = 16;

/// One key of a set, good for checking signatures.
#[derive(Debug)]
pub(crate) struct Key {
    pub(super) kid: Option<String>,
    /// The one algorithm it is for, if it says so.
    algorithm: Option<String>,
    public: PublicKey,
}

impl Key {
    /// Reads a JWK (RFC 7517 §4). `None`: it is for something else, of a kind that is not used here, not well formed,
    /// or no secret any more, since its private half is published with it.
    pub(super) fn parse(jwk: &RawObject) -> Option<Self> {
        if jwk.contains("d") || !is_for_signatures(jwk)? {
            return None;
        }
        let kid = text(jwk, "kid")?;
        if kid.as_ref().is_some_and(|kid| kid.len() > KID_LIMIT) {
            return None;
        }
        Some(Self { kid, algorithm: text(jwk, "alg")?, public: public(jwk)? })
    }

    /// Whether signatures by an algorithm may be its.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        self.public.kind().fits(algorithm)
            && self.algorithm.as_deref().is_none_or(|own| own == algorithm.name())
    }

    /// Whether the signature of a message is this key's.
    pub(crate) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        self.fits(algorithm) && self.public.verify(algorithm, message, signature)
    }
}

fn public(jwk: &RawObject) -> Option<PublicKey> {
    let (kty, crv) = (jwk.get_text("kty")?, text(jwk, "crv")?);
    match (kty.as_str(), crv.as_deref()) {
        ("RSA", _) => PublicKey::rsa(&bytes(jwk, "n")?, &bytes(jwk, "e")?),
        ("EC", Some("P-256")) => PublicKey::ecdsa(Kind::P256, &bytes(jwk, "x")?, &bytes(jwk, "y")?),
        ("EC", Some("P-384")) => PublicKey::ecdsa(Kind::P384, &bytes(jwk, "x")?, &bytes(jwk, "y")?),
        ("OKP", Some("Ed25519")) => PublicKey::ed25519(&bytes(jwk, "x")?),
        _ => None,
    }
}

/// By `use` and `key_ops`; `None` if they are not what they should be.
fn is_for_signatures(jwk: &RawObject) -> Option<bool> {
    let by_use = text(jwk, "use")?.is_none_or(|purpose| purpose == "sig");
    let by_operations = match jwk.get("key_ops") {
        Some(operations) => {
            let operations = operations.elements(OPERATION_LIMIT)?;
            operations.iter().any(|operation| operation.to_text().as_deref() == Some("verify"))
        }
        None => true,
    };
    Some(by_use && by_operations)
}

/// `None`: there, and no string.
#[expect(clippy::option_option, reason = "absent and wrong are different")]
fn text(jwk: &RawObject, name: &str) -> Option<Option<String>> {
    match jwk.get(name) {
        Some(value) => value.to_text().map(|text| Some(text.into_owned())),
        None => Some(None),
    }
}

fn bytes(jwk: &RawObject, name: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(jwk.get_text(name)?).ok()
}
