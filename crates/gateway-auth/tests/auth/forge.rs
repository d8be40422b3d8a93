//! Makes keys and tokens, good ones and all others.

use std::sync::{Arc, LazyLock, atomic::AtomicI64, atomic::Ordering};

use aws_lc_rs::{
    hmac,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
        EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
        RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
        RsaKeyPair,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_auth::Clock;
use gateway_domain::RawObject;
use tokio::time::Instant;

/// The time of day when a test begins.
pub(crate) const NOW: u64 = 1_800_000_000;

/// A clock that goes with the paused one, and can be put forward or back by seconds.
pub(crate) fn clock() -> (Clock, Arc<AtomicI64>) {
    let (begun, shift) = (Instant::now(), Arc::new(AtomicI64::new(0)));
    let moved = Arc::clone(&shift);
    let clock = Clock::new(move || {
        let seconds = NOW.saturating_add_signed(moved.load(Ordering::Relaxed));
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds) + begun.elapsed()
    });
    (clock, shift)
}

pub(crate) enum Signer {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

pub(crate) static RSA: LazyLock<Signer> =
    LazyLock::new(|| Signer::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()));
pub(crate) static P256: LazyLock<Signer> = LazyLock::new(p256);
pub(crate) static P384: LazyLock<Signer> =
    LazyLock::new(|| Signer::P384(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap()));
pub(crate) static ED: LazyLock<Signer> = LazyLock::new(|| Signer::Ed(Ed25519KeyPair::generate().unwrap()));

/// Another key each time.
pub(crate) fn p256() -> Signer {
    Signer::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
}

impl Signer {
    /// The public half, with members besides.
    pub(crate) fn jwk(&self, members: &str) -> String {
        let parts = match self {
            Self::Rsa(key) => {
                let (n, e) = rsa_parts(key);
                format!(r#""kty":"RSA","n":"{}","e":"{}""#, b64(&n), b64(&e))
            }
            Self::P256(key) => ec_parts("P-256", key.public_key().as_ref()),
            Self::P384(key) => ec_parts("P-384", key.public_key().as_ref()),
            Self::Ed(key) => {
                format!(r#""kty":"OKP","crv":"Ed25519","x":"{}""#, b64(key.public_key().as_ref()))
            }
        };
        let comma = if members.is_empty() { "" } else { "," };
        format!("{{{parts}{comma}{members}}}")
    }

    /// The public half as bytes that a confused verifier could take for a secret.
    pub(crate) fn public(&self) -> Vec<u8> {
        match self {
            Self::Rsa(key) => key.public_key().as_ref().to_vec(),
            Self::P256(key) | Self::P384(key) => key.public_key().as_ref().to_vec(),
            Self::Ed(key) => key.public_key().as_ref().to_vec(),
        }
    }

    /// By the algorithm of the name if the key can do that, else by its usual one.
    pub(crate) fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let encoding: &'static dyn RsaEncoding = match algorithm {
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    "PS512" => &RSA_PSS_SHA512,
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(encoding, &random, message, &mut signature).unwrap();
                signature
            }
            Self::P256(key) | Self::P384(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed(key) => key.sign(message).as_ref().to_vec(),
        }
    }
}

fn rsa_parts(key: &RsaKeyPair) -> (Vec<u8>, Vec<u8>) {
    // RFC 8017 A.1.1: SEQUENCE { INTEGER of 257 bytes, INTEGER of 3 }, as it is for 2,048 bits.
    let der = key.public_key().as_ref();
    (der[9..265].to_vec(), der[267..].to_vec())
}

fn ec_parts(curve: &str, point: &[u8]) -> String {
    let (x, y) = point[1..].split_at(point.len() / 2);
    format!(r#""kty":"EC","crv":"{curve}","x":"{}","y":"{}""#, b64(x), b64(y))
}

pub(crate) fn key_set(keys: &[String]) -> String {
    format!(r#"{{"keys":[{}]}}"#, keys.join(","))
}

pub(crate) fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A token to be: header and claims as JSON text, good until something is changed.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) header: String,
    pub(crate) claims: String,
}

/// A good one of an issuer, by the P-256 key named `ec`, for `https://gw/mcp`.
pub(crate) fn token(issuer: &str) -> Token {
    let (issued, expiry) = (NOW - 60, NOW + 300);
    Token {
        header: r#"{"alg":"ES256","typ":"at+jwt","kid":"ec"}"#.into(),
        claims: format!(
            r#"{{"iss":"{issuer}","sub":"ann","aud":"https://gw/mcp","iat":{issued},"exp":{expiry},"jti":"t-1","scope":"read write"}}"#
        ),
    }
}

impl Token {
    pub(crate) fn claim(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.claims = set(&self.claims, name, value.as_ref());
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.claims = RawObject::parse(self.claims).unwrap().edit().remove(name).finish().to_string();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.header = set(&self.header, name, value.as_ref());
        self
    }

    pub(crate) fn without_header(mut self, name: &str) -> Self {
        self.header = RawObject::parse(self.header).unwrap().edit().remove(name).finish().to_string();
        self
    }

    /// What is signed.
    pub(crate) fn message(&self) -> String {
        format!("{}.{}", b64(self.header.as_bytes()), b64(self.claims.as_bytes()))
    }

    /// Signed as the header says, or as the key does it.
    pub(crate) fn sign(&self, signer: &Signer) -> String {
        let header = RawObject::parse(self.header.clone());
        let algorithm = header.ok().and_then(|header| header.get_text("alg")).unwrap_or_default();
        let message = self.message();
        format!("{message}.{}", b64(&signer.sign(&algorithm, message.as_bytes())))
    }

    /// With a MAC under a "secret" that everybody knows.
    pub(crate) fn mac(&self, secret: &[u8]) -> String {
        let message = self.message();
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", b64(tag.as_ref()))
    }

    /// With the signature in the form that X.509 has.
    pub(crate) fn sign_asn1(&self, signer: &Signer) -> String {
        let Signer::P256(key) = signer else { panic!("not a P-256 key") };
        let asn1: &'static EcdsaSigningAlgorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = EcdsaKeyPair::from_pkcs8(asn1, key.to_pkcs8v1().unwrap().as_ref()).unwrap();
        let message = self.message();
        let signature = key.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", b64(signature.as_ref()))
    }
}

fn set(object: &str, name: &str, value: &str) -> String {
    RawObject::parse(object.to_owned()).unwrap().edit().set(name, value).finish().to_string()
}
