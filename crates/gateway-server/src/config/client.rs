use std::fmt;

use aws_lc_rs::{constant_time, digest};

/// How many bytes a SHA-256 digest has.
pub(crate) const DIGEST: usize = digest::SHA256_OUTPUT_LEN;

/// A client and what it proves itself with: keys, of which the SHA-256 digests are kept and not the keys (P-25), and
/// certificates, by the digests of their DER form. Any one of them will do, so that a key can be replaced while both
/// the old and the new one are good.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientKey {
    name: String,
    keys: Vec<[u8; DIGEST]>,
    certificates: Vec<[u8; DIGEST]>,
    metrics: bool,
}

impl ClientKey {
    /// The client of this name, which proves itself with `key`.
    pub fn new(name: &str, key: &str) -> Self {
        Self::named(name).with_key(key)
    }

    /// The client of this name, which proves itself with the key of this SHA-256 digest.
    pub fn from_digest(name: &str, digest: [u8; 32]) -> Self {
        Self::named(name).with_digest(digest)
    }

    /// The client of this name, which has nothing yet to prove itself with.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), keys: Vec::new(), certificates: Vec::new(), metrics: false }
    }

    /// Takes one more key.
    #[must_use]
    pub fn with_key(self, key: &str) -> Self {
        self.with_digest(sha256(key.as_bytes()))
    }

    /// Takes one more key, by its SHA-256 digest.
    #[must_use]
    pub fn with_digest(mut self, digest: [u8; 32]) -> Self {
        self.keys.push(digest);
        self
    }

    /// Takes a certificate, by the SHA-256 digest of its DER form. It counts only on a listener that asks clients for
    /// certificates ([`TlsConfig`](crate::TlsConfig)), whose authority has signed it.
    #[must_use]
    pub fn with_certificate(mut self, digest: [u8; 32]) -> Self {
        self.certificates.push(digest);
        self
    }

    /// Lets it read the page of metrics, which tells of everybody, on the listener for clients.
    #[must_use]
    pub fn with_metrics(self) -> Self {
        Self { metrics: true, ..self }
    }

    /// Reads a SHA-256 digest as 64 hexadecimal digits in either case, with or without colons between the bytes as
    /// tools write fingerprints.
    ///
    /// # Errors
    /// [`DigestError`] for everything else.
    pub fn parse_digest(text: &str) -> Result<[u8; 32], DigestError> {
        let digits = match text.contains(':') {
            true => text.split(':').collect::<Vec<_>>(),
            false => text.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok()).collect(),
        };
        let is_hex = |pair: &&str| pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        if digits.len() != DIGEST || !digits.iter().all(is_hex) {
            return Err(DigestError);
        }
        let mut digest = [0; DIGEST];
        for (byte, pair) in digest.iter_mut().zip(digits) {
            *byte = u8::from_str_radix(pair, 16).map_err(|_| DigestError)?;
        }
        Ok(digest)
    }

    /// The client's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may read the page of metrics.
    pub(crate) fn reads_metrics(&self) -> bool {
        self.metrics
    }

    /// Whether this is the digest of one of its keys. All are compared, each in constant time.
    pub(crate) fn has_key(&self, digest: &[u8; DIGEST]) -> bool {
        any_equal(&self.keys, digest)
    }

    /// The same for certificates.
    pub(crate) fn has_certificate(&self, digest: &[u8; DIGEST]) -> bool {
        any_equal(&self.certificates, digest)
    }

    /// Whether something is enough for both.
    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        self.keys.iter().any(|key| other.has_key(key))
            || self.certificates.iter().any(|certificate| other.has_certificate(certificate))
    }

    /// Takes what another entry for the same client has.
    pub(crate) fn join(&mut self, other: &Self) {
        self.keys.extend(&other.keys);
        self.certificates.extend(&other.certificates);
        self.metrics |= other.metrics;
    }
}

fn any_equal(known: &[[u8; DIGEST]], digest: &[u8; DIGEST]) -> bool {
    let equal = |known: &[u8; DIGEST]| {
        #[cfg(test)]
        work::add(|(_, compared)| compared);
        constant_time::verify_slices_are_equal(known, digest).is_ok()
    };
    known.iter().fold(false, |found, known| found | equal(known))
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKey").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A text is not the SHA-256 digest of anything. The text is not repeated: it may be a key in the wrong place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest is 64 hexadecimal digits")]
pub struct DigestError;

pub(crate) fn sha256(bytes: &[u8]) -> [u8; DIGEST] {
    #[cfg(test)]
    work::add(|(hashed, _)| hashed);
    let mut out = [0; DIGEST];
    out.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    out
}

/// What a thread has done so far, for tests that look at work instead of time.
#[cfg(test)]
pub(crate) mod work {
    use std::cell::Cell;

    thread_local! {
        static DONE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    /// Counts one more.
    pub(super) fn add(which: impl FnOnce(&mut (usize, usize)) -> &mut usize) {
        let mut done = DONE.get();
        *which(&mut done) += 1;
        DONE.set(done);
    }

    /// How often something was hashed, and digests compared, since this was asked last.
    pub(crate) fn take() -> (usize, usize) {
        DONE.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_commonly_written() {
        let digest = sha256(b"k");
        let hex: Vec<_> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let plain = hex.concat();
        let mut non_ascii = plain[2..].to_owned();
        non_ascii.push('é');
        for (text, is_read) in [
            (plain.clone(), true),
            (plain.to_uppercase(), true),
            (hex.join(":"), true),
            (plain[1..].to_owned(), false),
            (plain[2..].to_owned(), false),
            (format!("{plain}00"), false),
            (format!("+{}", &plain[1..]), false),
            (format!("g{}", &plain[1..]), false),
            (non_ascii, false),
            (hex.join("::"), false),
            (format!("{}:", hex.join(":")), false),
            (hex.join(":").replacen(':', "", 1), false),
            (String::new(), false),
        ] {
            let expected = if is_read { Ok(digest) } else { Err(DigestError) };
            assert_eq!(ClientKey::parse_digest(&text), expected, "for {text:?}");
        }
    }

    #[test]
    fn any_of_its_keys_is_a_clients_and_no_other() {
        let client = ClientKey::new("desk", "old").with_key("new").with_certificate(sha256(b"cert"));
        for (text, is_key, is_certificate) in
            [("old", true, false), ("new", true, false), ("cert", false, true), ("else", false, false)]
        {
            let digest = sha256(text.as_bytes());
            let found = (client.has_key(&digest), client.has_certificate(&digest));
            assert_eq!(found, (is_key, is_certificate), "for {text}");
        }
        assert_eq!(ClientKey::from_digest("desk", sha256(b"old")), ClientKey::new("desk", "old"));
    }

    #[test]
    fn a_key_that_is_given_twice_is_a_key() {
        let client = ClientKey::new("desk", "k").with_key("k");
        assert!(client.has_key(&sha256(b"k")));
    }

    #[test]
    fn entries_for_one_client_add_up() {
        let plain = ClientKey::new("desk", "a");
        let reader = ClientKey::new("desk", "b").with_certificate([7; DIGEST]).with_metrics();
        for (mut first, second, metrics) in [
            (plain.clone(), reader.clone(), true),
            (reader.clone(), plain.clone(), true),
            (reader.clone(), reader, true),
            (plain.clone(), plain, false),
        ] {
            first.join(&second);
            assert_eq!(first.reads_metrics(), metrics, "{first:?}");
            assert!(first.keys.ends_with(&second.keys) && first.certificates.ends_with(&second.certificates));
        }
    }

    #[test]
    fn one_proof_in_common_is_enough_to_stay_the_same() {
        let old = ClientKey::new("desk", "a").with_key("b").with_certificate([7; DIGEST]);
        for (next, stays) in [
            (ClientKey::new("desk", "b"), true),
            (ClientKey::named("desk").with_certificate([7; DIGEST]), true),
            (ClientKey::new("desk", "c").with_digest([7; DIGEST]), false),
            (ClientKey::named("desk"), false),
        ] {
            assert_eq!(next.shares_with(&old), stays, "{next:?}");
        }
    }
}
