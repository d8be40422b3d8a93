/// Several downstreams' instructions as one text, each under a heading with its name, at most `limit` bytes
/// (protocol.md §20.10). What is too long is cut at a character and says so; who needs less than a fair share leaves
/// the rest to the others. `None` if there are none, or no room.
pub fn merge_instructions(texts: &[(&str, &str)], limit: usize) -> Option<String> {
    let parts: Vec<_> = texts
        .iter()
        .map(|(name, text)| (format!("# {name}\n\n"), text.trim()))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let fixed: usize = parts.iter().map(|(heading, _)| heading.len() + SEPARATOR.len()).sum();
    let share = share(parts.iter().map(|(_, text)| text.len()).collect(), limit.checked_sub(fixed)?);
    let mut merged = String::new();
    for (heading, text) in &parts {
        if !merged.is_empty() {
            merged.push_str(SEPARATOR);
        }
        merged.push_str(heading);
        merged.push_str(&cut(text, share)?);
    }
    Some(merged).filter(|merged| !merged.is_empty())
}

/// The most that each may have so that all together have no more than `room`.
fn share(mut lengths: Vec<usize>, mut room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = lengths.len();
    for length in lengths {
        let share = room / left;
        if length > share {
            return share;
        }
        room -= length;
        left -= 1;
    }
    usize::MAX
}

/// `None` if there is not even room to say that something is missing.
fn cut(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return Some(text.to_owned());
    }
    let mut end = limit.checked_sub(NOTE.len())?;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(format!("{}{NOTE}", &text[..end]))
}

const SEPARATOR: &str = "\n\n";
const NOTE: &str = "\n[cut by the gateway]";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_has_its_heading_and_a_fair_share() {
        #[track_caller]
        fn check(texts: &[(&str, &str)], limit: usize, expected: Option<&str>) {
            assert_eq!(merge_instructions(texts, limit).as_deref(), expected);
        }
        check(&[], 100, None);
        check(&[("a", " "), ("b", "")], 100, None);
        check(&[("a", "one\n"), ("b", ""), ("c", "two")], 100, Some("# a\n\none\n\n# c\n\ntwo"));
        let long = "x".repeat(100);
        let cut = format!("# a\n\nshort\n\n# b\n\n{}\n[cut by the gateway]", "x".repeat(60));
        check(&[("a", "short"), ("b", &long)], 100, Some(&cut));
        check(&[("a", &long)], 10, None);
    }

    proptest! {
        #[test]
        fn the_limit_is_kept(texts in prop::collection::vec(("[a-c]{1,3}", "\\PC{0,60}"), 0..5), limit in 0_usize..300) {
            let texts: Vec<_> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            if let Some(merged) = merge_instructions(&texts, limit) {
                prop_assert!(merged.len() <= limit);
            }
        }
    }
}
