use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
};

use crate::Algorithm;

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All of RSA.
    Rsa,
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384.
    P384,
    /// Ed25519.
    Ed25519,
}

impl Kind {
    /// Whether it is of the algorithm's family, curve included (RFC 7518 §3.4).
    pub(crate) const fn fits(self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        matches!(
            (self, algorithm),
            (Self::Rsa, Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512)
                | (Self::P256, Es256)
                | (Self::P384, Es384)
                | (Self::Ed25519, EdDsa)
        )
    }
}

/// A public key, ready to check signatures.
#[derive(Debug)]
pub(crate) struct PublicKey {
    kind: Kind,
    material: Material,
}

#[derive(Debug)]
enum Material {
    /// One key serves six algorithms.
    Rsa(Box<[(Algorithm, ParsedPublicKey)]>),
    /// One key, one algorithm.
    Single(ParsedPublicKey),
}

const RSA: [(Algorithm, &RsaParameters); 6] = [
    (Algorithm::Rs256, &RSA_PKCS1_2048_8192_SHA256),
    (Algorithm::Rs384, &RSA_PKCS1_2048_8192_SHA384),
    (Algorithm::Rs512, &RSA_PKCS1_2048_8192_SHA512),
    (Algorithm::Ps256, &RSA_PSS_2048_8192_SHA256),
    (Algorithm::Ps384, &RSA_PSS_2048_8192_SHA384),
    (Algorithm::Ps512, &RSA_PSS_2048_8192_SHA512),
];

impl PublicKey {
    /// From modulus and exponent, big-endian. `None`: no key, or one under 2,048 or over 8,192 bits.
    pub(crate) fn rsa(modulus: &[u8], exponent: &[u8]) -> Option<Self> {
        let modulus = without_zeros(modulus);
        if !(2048..=8192).contains(&bits(modulus)) {
            return None;
        }
        let components = RsaPublicKeyComponents { n: modulus, e: without_zeros(exponent) };
        let parse =
            |(algorithm, parameters)| Some((algorithm, components.to_parsed_public_key(parameters).ok()?));
        let keys = RSA.into_iter().map(parse).collect::<Option<_>>()?;
        Some(Self { kind: Kind::Rsa, material: Material::Rsa(keys) })
    }

    /// From the coordinates of a point on P-256, or on P-384 (RFC 7518 §6.2.1: of full length). `None`: no such point.
    pub(crate) fn ecdsa(kind: Kind, x: &[u8], y: &[u8]) -> Option<Self> {
        let (length, algorithm) = match kind {
            Kind::P256 => (32, &ECDSA_P256_SHA256_FIXED),
            Kind::P384 => (48, &ECDSA_P384_SHA384_FIXED),
            Kind::Rsa | Kind::Ed25519 => return None,
        };
        if [x.len(), y.len()] != [length; 2] {
            return None;
        }
        let point = [&[4], x, y].concat();
        Some(Self { kind, material: Material::Single(ParsedPublicKey::new(algorithm, point).ok()?) })
    }

    /// From the encoded point of RFC 8032. `None`: not 32 bytes, or no point.
    pub(crate) fn ed25519(x: &[u8]) -> Option<Self> {
        let key = ParsedPublicKey::new(&ED25519, x).ok()?;
        Some(Self { kind: Kind::Ed25519, material: Material::Single(key) })
    }

    /// What it can do.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the signature of a message is this key's; never by an algorithm of another family.
    pub(crate) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let key = match &self.material {
            Material::Rsa(keys) => keys.iter().find(|(known, _)| *known == algorithm).map(|(_, key)| key),
            Material::Single(key) => self.kind.fits(algorithm).then_some(key),
        };
        key.is_some_and(|key| key.verify_sig(message, signature).is_ok())
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

/// How many bits a number has that does not begin with a zero.
fn bits(number: &[u8]) -> usize {
    let unused = number.first().map_or(0, |first| first.leading_zeros() as usize);
    number.len() * 8 - unused
}
