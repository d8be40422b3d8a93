//! Texts that are as long as they may be (E-33, E-W12).

/// The text in at most `max` bytes, with a notice in it of what is missing. `total` is how long it would be in full,
/// if that is known: more than the text where the answer itself was not read to its end. Zero: any length will do.
pub(super) fn fit(text: String, total: Option<u64>, max: usize) -> String {
    let max = if max == 0 { usize::MAX } else { max };
    if total == Some(text.len() as u64) && text.len() <= max {
        return text;
    }
    let room = max.saturating_sub(notice(max.min(text.len()), total).len());
    let shown = text.floor_char_boundary(room);
    // Where not even the notice fits, something of the answer is worth more.
    let (shown, notice) = match room {
        0 => (text.floor_char_boundary(max), String::new()),
        _ => (shown, notice(shown, total)),
    };
    let mut text = text;
    text.truncate(shown);
    text.push_str(&notice);
    text
}

fn notice(shown: usize, total: Option<u64>) -> String {
    match total {
        Some(total) => format!("\n[cut: {shown} of {total} bytes shown]"),
        None => format!("\n[cut: {shown} bytes shown, there is more]"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, total: Option<u64>, max: usize, expected: &str) {
        assert_eq!(fit(text.into(), total, max), expected, "for {text:?} of {total:?} in {max}");
    }

    #[test]
    fn a_text_that_is_too_long_says_so_within_its_limit() {
        let long = "x".repeat(100);
        check(&long, Some(100), 100, &long);
        check(&long, Some(100), 0, &long);
        check("", Some(0), 1, "");
        check(&long, Some(100), 99, &format!("{}\n[cut: 70 of 100 bytes shown]", &long[..70]));
        check(&long, Some(5000), 0, &format!("{long}\n[cut: 100 of 5000 bytes shown]"));
        check(&long, Some(5000), 5000, &format!("{long}\n[cut: 100 of 5000 bytes shown]"));
        check(&long, None, 0, &format!("{long}\n[cut: 100 bytes shown, there is more]"));
        check(&long, Some(100), 10, "xxxxxxxxxx");
        check("ä€", Some(5), 4, "ä");
    }

    proptest! {
        #[test]
        fn no_text_is_longer_than_it_may_be(text: String, more in 0..9_u64, is_known: bool, max in 1..200_usize) {
            let total = is_known.then_some(text.len() as u64 + more);
            let fitted = fit(text.clone(), total, max);
            prop_assert!(fitted.len() <= max);
            let shown = fitted.split("\n[cut: ").next().unwrap();
            prop_assert!(text.starts_with(shown) || text.contains("\n[cut: "));
        }

        #[test]
        fn a_cut_anywhere_leaves_whole_characters(max in 1..120_usize) {
            let text = "a§€𝄞".repeat(20);
            let fitted = fit(text.clone(), Some(text.len() as u64), max);
            prop_assert!(fitted.len() <= max && !fitted.contains(char::REPLACEMENT_CHARACTER));
        }
    }
}
