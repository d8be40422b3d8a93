//! Durations as people read them.

use std::time::Duration;

/// `p50/p99/max` in milliseconds.
pub(crate) fn spread(durations: &mut [Duration]) -> String {
    durations.sort_unstable();
    let at = |share| millis(quantile(durations, share));
    format!("{}/{}/{} ms", at(50), at(99), at(100))
}

/// The value that `percent` of the sorted ones do not exceed (nearest rank); zero for none.
pub(crate) fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// With a decimal below ten.
pub(crate) fn millis(duration: Duration) -> String {
    let millis = duration.as_secs_f64() * 1000.0;
    if millis < 10.0 { format!("{millis:.1}") } else { format!("{millis:.0}") }
}

/// Seconds with one decimal.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_by_nearest_rank() {
        let sorted: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        for (percent, millis) in [(0, 1), (50, 100), (99, 198), (100, 200)] {
            assert_eq!(quantile(&sorted, percent), Duration::from_millis(millis), "{percent}");
        }
        assert_eq!(quantile(&[], 99), Duration::ZERO);
    }
}
