use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use aws_lc_rs::digest::{SHA256, digest};

/// Names a token at an issuer without holding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    /// The SHA-256 of a token, with the issuer it is checked for.
    pub(crate) fn of(issuer: &str, token: &str) -> Self {
        let mut text = Vec::with_capacity(issuer.len() + 1 + token.len());
        text.extend_from_slice(issuer.as_bytes());
        text.push(0);
        text.extend_from_slice(token.as_bytes());
        Self(sha256(&text))
    }
}

/// A digest.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.iter_mut().zip(digest(&SHA256, bytes).as_ref()).for_each(|(to, from)| *to = *from);
    hash
}

/// A bounded memory of tokens. What has not been asked for while half of the limit came anew is forgotten.
#[derive(Debug)]
pub(crate) struct Memory<V> {
    half: usize,
    generations: Mutex<Generations<V>>,
}

#[derive(Debug)]
struct Generations<V> {
    young: HashMap<TokenHash, V>,
    old: HashMap<TokenHash, V>,
}

impl<V: Clone> Memory<V> {
    /// Of at most `limit` tokens, or of two if that is more.
    pub(crate) fn new(limit: usize) -> Self {
        let generations = Generations { young: HashMap::new(), old: HashMap::new() };
        Self { half: (limit / 2).max(1), generations: Mutex::new(generations) }
    }

    pub(crate) fn get(&self, token: &TokenHash) -> Option<V> {
        let mut generations = self.lock();
        if let Some(value) = generations.young.get(token) {
            return Some(value.clone());
        }
        let value = generations.old.remove(token)?;
        self.insert(&mut generations, *token, value.clone());
        Some(value)
    }

    pub(crate) fn put(&self, token: TokenHash, value: V) {
        self.insert(&mut self.lock(), token, value);
    }

    pub(crate) fn forget(&self, token: &TokenHash) {
        let mut generations = self.lock();
        generations.young.remove(token);
        generations.old.remove(token);
    }

    fn insert(&self, generations: &mut Generations<V>, token: TokenHash, value: V) {
        if generations.young.len() >= self.half {
            generations.old = mem::take(&mut generations.young);
        }
        generations.young.insert(token, value);
    }

    fn lock(&self) -> MutexGuard<'_, Generations<V>> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: usize) -> TokenHash {
        TokenHash::of("i", &number.to_string())
    }

    #[test]
    fn it_never_holds_more_than_its_limit_and_keeps_what_is_asked_for() {
        let memory = Memory::new(8);
        for number in 0..1000 {
            memory.put(token(number), number);
            assert_eq!(memory.get(&token(0)), Some(0), "after {number}");
            let generations = memory.lock();
            assert!(generations.young.len() + generations.old.len() <= 8, "after {number}");
        }
        assert_eq!(memory.get(&token(999)), Some(999));
        assert_eq!(memory.get(&token(500)), None);
    }

    #[test]
    fn what_is_to_be_forgotten_is_forgotten_young_and_old() {
        let memory = Memory::new(2);
        memory.put(token(1), 1);
        memory.put(token(2), 2);
        memory.forget(&token(1));
        memory.forget(&token(2));
        assert_eq!((memory.get(&token(1)), memory.get(&token(2))), (None, None));
        memory.put(token(3), 3);
        assert_eq!(memory.get(&token(3)), Some(3));
    }

    #[test]
    fn a_token_is_another_one_at_another_issuer() {
        let hashes =
            [("a", "b"), ("b", "a"), ("ab", ""), ("", "ab"), ("a", "c")].map(|(i, t)| TokenHash::of(i, t));
        assert_eq!(hashes.iter().collect::<std::collections::HashSet<_>>().len(), hashes.len());
        assert_eq!(TokenHash::of("a", "b"), hashes[0]);
        let known = [0xba, 0x78, 0x16, 0xbf];
        assert_eq!(sha256(b"abc")[..4], known);
    }
}
