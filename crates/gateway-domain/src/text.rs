//! Text of others, shown to people.

/// `text` as it may stand in a log line or on a terminal: at most `limit` characters, and nothing that
/// moves the cursor, changes the reading direction or cannot be seen (security.md §2.5). Each such
/// character becomes one space; what is cut off is marked by `…`.
pub fn printable(text: &str, limit: usize) -> String {
    let mut shown: String = text.chars().take(limit).map(|c| if is_visible(c) { c } else { ' ' }).collect();
    if text.chars().nth(limit).is_some() {
        shown.push('…');
    }
    shown
}

fn is_visible(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !c.is_control() && !hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_a_reader_becomes_a_space() {
        for (text, shown) in [
            ("plain é 日本", "plain é 日本"),
            ("a\tb\r\nc", "a b  c"),
            ("\u{1b}[31mred", " [31mred"),
            ("a\u{202e}b\u{200b}c\u{e0041}d\u{feff}", "a b c d "),
            ("0123456789x", "0123456789…"),
        ] {
            assert_eq!(printable(text, 10), shown.chars().take(11).collect::<String>(), "for {text:?}");
        }
    }
}
