use aws_lc_rs::digest;
use gateway_domain::Caller;

/// Whose tokens they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// The gateway's, for everybody.
    Gateway,
    /// A configured client's.
    Client(String),
    /// A user's: issuer and subject.
    User(String, String),
}

impl Owner {
    /// Whose tokens a caller's are; `None` for one that nobody has authenticated.
    pub(crate) fn of(caller: &Caller) -> Option<Self> {
        let user = |(issuer, subject): (&str, &str)| Self::User(issuer.to_owned(), subject.to_owned());
        let client = |name: &str| Self::Client(name.to_owned());
        caller.issuer_and_subject().map(user).or_else(|| caller.client_name().map(client))
    }

    fn parts(&self) -> [&str; 3] {
        match self {
            Self::Gateway => ["gateway", "", ""],
            Self::Client(name) => ["client", name, ""],
            Self::User(issuer, subject) => ["user", issuer, subject],
        }
    }
}

/// The place of one document in a store. Two are the same only if everything that identifies them is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot {
    identity: String,
}

impl Slot {
    pub(crate) fn tokens(issuer: &str, resource: &str, owner: &Owner) -> Self {
        let [kind, first, second] = owner.parts();
        Self::of(&["tokens", issuer, resource, kind, first, second])
    }

    /// Which issuer an owner's tokens for a resource are of.
    pub(crate) fn binding(resource: &str, owner: &Owner) -> Self {
        let [kind, first, second] = owner.parts();
        Self::of(&["binding", resource, kind, first, second])
    }

    pub(crate) fn client(issuer: &str, redirect: &str) -> Self {
        Self::of(&["client", issuer, redirect])
    }

    /// What identifies it, to be authenticated together with what is kept.
    pub fn identity(&self) -> &[u8] {
        self.identity.as_bytes()
    }

    /// A name for it, of 64 hexadecimal digits.
    pub fn name(&self) -> String {
        let digest = digest::digest(&digest::SHA256, self.identity());
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Each part with its length, so that no two lists of parts read the same.
    fn of(parts: &[&str]) -> Self {
        Self { identity: parts.iter().map(|part| format!("{}:{part}", part.len())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use gateway_domain::Grants;

    use super::*;

    #[test]
    fn each_issuer_resource_and_owner_has_a_slot_of_its_own() {
        let owners = [
            Owner::Gateway,
            Owner::Client("a".into()),
            Owner::Client("gateway".into()),
            Owner::User("a".into(), String::new()),
            Owner::User("a".into(), "b".into()),
            Owner::User("ab".into(), String::new()),
        ];
        let mut slots = HashSet::new();
        for owner in &owners {
            for (one, other) in [("i", "r"), ("r", "i"), ("ir", ""), ("", "ir")] {
                assert!(slots.insert(Slot::tokens(one, other, owner).name()));
                assert!(slots.insert(Slot::binding(&format!("{one}{other}x{one}"), owner).name()));
            }
        }
        assert!(slots.insert(Slot::client("i", "r").name()) && slots.insert(Slot::client("ir", "").name()));
        assert!(slots.iter().all(|name| name.len() == 64));
    }

    #[test]
    fn only_who_is_known_owns_something() {
        assert_eq!(Owner::of(&Caller::anonymous()), None);
        assert_eq!(Owner::of(&Caller::client("a")), Some(Owner::Client("a".into())));
        let user = Caller::user("i", "s", Grants::default());
        assert_eq!(Owner::of(&user), Some(Owner::User("i".into(), "s".into())));
    }
}
