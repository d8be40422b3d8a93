use aws_lc_rs::{digest, rand};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::OauthError;

/// 256 bits that nobody can guess, as 43 characters that need no escaping.
pub(super) fn unguessable() -> Result<String, OauthError> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| OauthError::Internal("no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The SHA-256 of a text, as 43 characters: what S256 makes of a verifier (RFC 7636 §4.2).
pub(super) fn digest_of(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_as_in_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(digest_of(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "RFC 7636 appendix B");
    }

    #[test]
    fn no_two_are_the_same() {
        let (one, other) = (unguessable().unwrap(), unguessable().unwrap());
        assert!(one.len() == 43 && one != other);
    }
}
