use std::fmt;

use gateway_domain::Era;

/// A published revision of the protocol (protocol.md §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the revisions' own dates")]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// All of them, newest first.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// The newest with an `initialize` handshake; what a handshake that names an unknown or modern
    /// revision is answered with.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest without.
    pub const NEWEST_MODERN: Self = Self::V2026_07_28;

    /// The revision of this date, if it is a known one.
    pub fn parse(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == date)
    }

    /// The date that names it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether version and capabilities ride on each request.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    /// Whether a client may send arrays of messages (protocol.md §2.2).
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// The revisions of one era, newest first.
    pub fn of(era: Era) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |revision| revision.era() == era)
    }

    /// What an `initialize` that asks for `date` is answered with (protocol.md §7.2, §20.12).
    pub fn negotiate(date: &str) -> Self {
        Self::parse(date).filter(|revision| revision.era() == Era::Legacy).unwrap_or(Self::NEWEST_LEGACY)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_never_agree_on_a_modern_date() {
        for (asked, answered) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("2031-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(Revision::negotiate(asked).as_str(), answered, "for {asked:?}");
        }
    }
}
