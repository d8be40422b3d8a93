//! How long to rest before a lost stream is opened again.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The rest if the server does not say.
const USUAL: Duration = Duration::from_secs(1);
/// A server that wants us back at once is not asked more often than this.
const SHORTEST: Duration = Duration::from_millis(100);

/// The least rest: what the server `asked` for, which it may make very short but not nothing.
fn least(asked: Option<Duration>) -> Duration {
    asked.unwrap_or(USUAL).max(SHORTEST)
}

/// Rests that grow while a stream does not come about. Never shorter than the server asked for unless that is
/// over the limit; above it they are drawn, so that the clients of a server that is back do not come at once.
#[derive(Debug)]
pub(crate) struct Pace {
    grown: Duration,
    limit: Duration,
}

impl Pace {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { grown: Duration::ZERO, limit }
    }

    /// The stream was in order.
    pub(crate) fn reset(&mut self) {
        self.grown = Duration::ZERO;
    }

    /// The next rest.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Duration {
        self.draw(asked, chance())
    }

    fn draw(&mut self, asked: Option<Duration>, chance: f64) -> Duration {
        let least = least(asked).min(self.limit);
        let most = self.grown.max(least);
        self.grown = most.saturating_mul(2).min(self.limit);
        least + (most - least).mul_f64(chance)
    }
}

/// A number from 0 to 1. The keys of hash maps are random enough for a rest.
fn chance() -> f64 {
    f64::from((RandomState::new().hash_one(()) >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: u64, asked: Option<u64>, chance: f64, expected: [u64; 8]) {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(limit));
        let rests = [(); 8].map(|()| pace.draw(asked.map(ms), chance).as_millis() as u64);
        assert_eq!(rests, expected, "at most {limit}, {asked:?} asked, chance {chance}");
        pace.reset();
        assert_eq!(pace.draw(asked.map(ms), chance), ms(expected[0]), "begins anew");
    }

    #[test]
    fn rests_grow_up_to_the_limit_and_honour_what_the_server_asks() {
        check(60_000, None, 1.0, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        check(60_000, None, 0.5, [1000, 1500, 2500, 4500, 8500, 16_500, 30_500, 30_500]);
        check(60_000, None, 0.0, [1000; 8]);
        check(60_000, Some(30_000), 0.0, [30_000; 8]);
        check(60_000, Some(3000), 1.0, [3000, 6000, 12_000, 24_000, 48_000, 60_000, 60_000, 60_000]);
        check(60_000, Some(250), 1.0, [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000]);
        check(60_000, Some(0), 1.0, [100, 200, 400, 800, 1600, 3200, 6400, 12_800]);
        check(60_000, Some(3_600_000), 1.0, [60_000; 8]);
        check(0, Some(5), 1.0, [0; 8]);
    }

    #[test]
    fn chances_differ() {
        let drawn: Vec<_> = (0..100).map(|_| chance()).collect();
        assert!(drawn.iter().all(|chance| (0.0..=1.0).contains(chance)));
        assert!(drawn.iter().any(|chance| *chance < 0.5) && drawn.iter().any(|chance| *chance > 0.5));
    }
}
