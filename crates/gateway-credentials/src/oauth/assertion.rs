use std::{fmt, sync::Arc};

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeyPair as RsaKeyPair,
    signature::{
        self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    },
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use gateway_domain::Secret;
use serde::Serialize;
use zeroize::Zeroizing;

use super::{OauthError, random::unguessable};

/// A private key that a client proves itself with (`private_key_jwt`, RFC 7523 §2.2): on P-256 or P-384, Ed25519, or
/// RSA.
#[derive(Clone)]
pub struct SigningKey(Arc<Key>);

enum Key {
    Ecdsa(EcdsaKeyPair, &'static str),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Reads a key in PEM: PKCS #8, or the older forms of EC and RSA keys.
    ///
    /// # Errors
    /// [`OauthError::Misconfigured`]: it is no such key.
    pub fn from_pem(pem: &Secret) -> Result<Self, OauthError> {
        let der = der_of(pem.expose()).ok_or(OauthError::Misconfigured("private_key is not PEM"))?;
        let p256 = || EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).ok();
        let p384 = || EcdsaKeyPair::from_private_key_der(&ECDSA_P384_SHA384_FIXED_SIGNING, &der).ok();
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).ok();
        let rsa = || RsaKeyPair::from_pkcs8(&der).or_else(|_| RsaKeyPair::from_der(&der)).ok();
        let key = p256()
            .map(|key| Key::Ecdsa(key, "ES256"))
            .or_else(|| p384().map(|key| Key::Ecdsa(key, "ES384")))
            .or_else(|| ed25519().map(Key::Ed25519))
            .or_else(|| rsa().map(Key::Rsa));
        let unknown =
            OauthError::Misconfigured("private_key is of no kind that is known: P-256, P-384, Ed25519, RSA");
        key.map(|key| Self(Arc::new(key))).ok_or(unknown)
    }

    /// A JWT that says who the client is, for one authorization server and one use.
    pub(crate) fn assertion(
        &self,
        client: &str,
        audience: &str,
        now: u64,
    ) -> Result<Zeroizing<String>, OauthError> {
        let claims = Claims {
            iss: client,
            sub: client,
            aud: audience,
            jti: &unguessable()?,
            iat: now,
            exp: now.saturating_add(LIFETIME),
        };
        let header = Header { alg: self.algorithm(), typ: "JWT" };
        let signed = Zeroizing::new(format!("{}.{}", part(&header)?, part(&claims)?));
        let signature = self.sign(signed.as_bytes()).ok_or(OauthError::Internal("a signature failed"))?;
        Ok(Zeroizing::new(format!("{}.{}", *signed, URL_SAFE_NO_PAD.encode(signature))))
    }

    fn algorithm(&self) -> &'static str {
        match &*self.0 {
            Key::Ecdsa(_, algorithm) => algorithm,
            Key::Ed25519(_) => "EdDSA",
            Key::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &*self.0 {
            Key::Ecdsa(key, _) => Some(key.sign(&random, text).ok()?.as_ref().to_vec()),
            Key::Ed25519(key) => Some(key.sign(text).as_ref().to_vec()),
            Key::Rsa(key) => {
                let mut bytes = vec![0; key.public_modulus_len()];
                key.sign(&signature::RSA_PKCS1_SHA256, &random, text, &mut bytes).ok()?;
                Some(bytes)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.algorithm())
    }
}

/// Seconds that an assertion is good for.
const LIFETIME: u64 = 60;

#[derive(Serialize)]
struct Header<'a> {
    alg: &'a str,
    typ: &'a str,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    jti: &'a str,
    iat: u64,
    exp: u64,
}

fn part(document: &impl Serialize) -> Result<String, OauthError> {
    let text =
        serde_json::to_vec(document).map_err(|_| OauthError::Internal("an assertion cannot be written"))?;
    Ok(URL_SAFE_NO_PAD.encode(text))
}

/// The first private key of a PEM text (RFC 7468).
fn der_of(pem: &str) -> Option<Zeroizing<Vec<u8>>> {
    let begin = pem.split("-----BEGIN ").skip(1).find(|section| {
        section
            .split("-----")
            .next()
            .is_some_and(|label| label.ends_with("PRIVATE KEY") && !label.contains("ENCRYPTED"))
    })?;
    let body = begin.split("-----").nth(1)?;
    let mut letters = Zeroizing::new(String::with_capacity(body.len()));
    letters.extend(body.chars().filter(|letter| !letter.is_whitespace()));
    STANDARD.decode(letters.as_bytes()).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests;
