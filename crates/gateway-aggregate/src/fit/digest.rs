/// `count` digits, at most 12, that follow from `text` and `round` and never change from one release to the
/// next: aliases end up in clients' allow-lists and saved conversations.
///
/// Not for secrecy, and not for maps: a downstream can make two of its own names coincide, which
/// `Aliases::claim` sees and answers with another round. Maps keyed from outside use seeded hashers.
pub(super) fn digits(round: u8, text: &str, count: usize) -> String {
    let hash = mix(fnv1a([round].into_iter().chain(text.bytes())));
    let digit = |at: usize| ALPHABET[(hash >> (64 - 5 * (at + 1)) & 31) as usize] as char;
    (0..count.min(12)).map(digit).collect()
}

/// FNV-1a with 64 bits (draft-eastlake-fnv).
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// MurmurHash3's last step, a bijection: FNV hardly carries a text's last bytes into the highest bits, which
/// are the ones shown.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// Crockford's base32 in lower case: no `i`, `l`, `o`, `u`, which are misread or make words.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_are_the_published_ones() {
        for (text, expected) in
            [("", 0xcbf2_9ce4_8422_2325_u64), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(fnv1a(text.bytes()), expected, "for {text:?}");
        }
        assert_eq!(mix(0), 0);
        assert_eq!(mix(1), 0xb456_bcfc_34c2_cb2c);
    }

    #[test]
    fn digits_never_change() {
        for (round, text, count, expected) in [
            (0, "", 6, "q41mnm"),
            (0, "web query", 6, "mg6v98"),
            (1, "web query", 8, "0v53qmvb"),
            (3, "web query", 12, "gpp8tcw4texw"),
        ] {
            assert_eq!(digits(round, text, count), expected, "for {text:?}, round {round}");
        }
        assert_eq!(digits(0, "x", 99).len(), 12);
    }
}
