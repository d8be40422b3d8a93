use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

/// Spreads what would otherwise happen at the same moment everywhere. Nothing secret depends on it
/// (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Jitter(u64);

impl Jitter {
    /// Always the same sequence.
    #[cfg(test)]
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Another sequence each time.
    pub(crate) fn random() -> Self {
        Self(RandomState::new().hash_one(0_u8))
    }

    /// From nothing to just under `time`.
    pub(crate) fn below(&mut self, time: Duration) -> Duration {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        // 24 of the bits: exact in a float.
        time.mul_f64((mixed >> 40) as f64 / f64::from(1_u32 << 24))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_spreads_over_the_whole_time_and_not_beyond() {
        let mut jitter = Jitter::seeded(1);
        let drawn: Vec<_> = (0..1000).map(|_| jitter.below(Duration::from_secs(10)).as_secs()).collect();
        let tenth = |second| drawn.iter().filter(|drawn| **drawn == second).count();
        assert!((0..10).all(|second| (50..200).contains(&tenth(second))), "{drawn:?}");
        assert!(drawn.iter().all(|second| *second < 10));
    }
}
