use std::time::Duration;

use tokio::time::Instant;

/// When the next failure is worth a warning: texts of failures differ from one retry to the next, so it is
/// the kind that counts.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    /// The kind of failure that was last warned of, while it lasts.
    kind: Option<&'static str>,
    last: Option<Instant>,
}

impl Warnings {
    /// That a downstream is left alone follows from how it failed before.
    pub(crate) fn admits(&mut self, kind: &'static str, is_broken: bool, now: Instant) -> bool {
        let known = self.kind.is_some_and(|known| known == kind || is_broken);
        let soon = self.last.is_some_and(|last| now - last < WARNING_INTERVAL);
        if known || soon {
            return false;
        }
        (self.kind, self.last) = (Some(kind), Some(now));
        true
    }

    /// The failure is over; the next is another, whatever its kind.
    pub(crate) fn recovered(&mut self) {
        self.kind = None;
    }
}

/// So often at most a failure is warned of; the rest is for those who look closely.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_warned_of_once_and_never_two_within_a_minute() {
        let start = Instant::now();
        let mut warnings = Warnings::default();
        for (seconds, kind, is_broken, expected) in [
            (0, "ended", false, true),
            (1, "ended", false, false),
            (600, "ended", false, false),
            (601, "broken", true, false),
            (602, "timeout", false, true),
            (603, "ended", false, false),
            (661, "ended", false, false),
            (662, "ended", false, true),
            (723, "timeout", false, true),
        ] {
            let now = start + Duration::from_secs(seconds);
            assert_eq!(warnings.admits(kind, is_broken, now), expected, "{kind} at {seconds}");
        }
        warnings.recovered();
        assert!(!warnings.admits("timeout", false, start + Duration::from_secs(724)), "it flaps");
        warnings.recovered();
        assert!(warnings.admits("timeout", false, start + Duration::from_secs(800)), "again, after a while");
    }
}
