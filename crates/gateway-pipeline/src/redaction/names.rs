use std::collections::HashSet;

use super::{
    decoded::Decoded,
    marked::MARK,
    strings::{Quoted, Strings},
};

/// The same JSON text with a number after each name with a mark that its object has already. A reader would take but
/// one member of that name, or refuse the object.
pub(super) fn distinct(text: String) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut open: Vec<HashSet<String>> = Vec::new();
    let mut copied = 0;
    for quoted in Strings::of(&text) {
        let before = &text[copied..quoted.inner.start - 1];
        nest(before, &mut open);
        out.push_str(before);
        out.push_str(&text[quoted.inner.start - 1..quoted.inner.end]);
        if let Some(names) = open.last_mut().filter(|_| quoted.is_name(&text)) {
            out.push_str(&number(names, &name(&text, &quoted)));
        }
        copied = quoted.inner.end;
        out.push('"');
        copied += 1;
    }
    out.push_str(&text[copied..]);
    out
}

/// What is to be appended to a name so that it differs from all before it.
fn number(names: &mut HashSet<String>, name: &str) -> String {
    if names.insert(name.to_owned()) || !name.contains(MARK) {
        return String::new();
    }
    let numbers = (2_usize..).map(|number| format!(" {number}"));
    // There are more numbers than names.
    numbers.into_iter().find(|number| names.insert(format!("{name}{number}"))).unwrap_or_default()
}

/// Opens and closes what is opened and closed between two strings. Arrays have no names, and a set that stays empty.
fn nest(between: &str, open: &mut Vec<HashSet<String>>) {
    for byte in between.bytes() {
        match byte {
            b'{' | b'[' => open.push(HashSet::new()),
            b'}' | b']' => _ = open.pop(),
            _ => {}
        }
    }
}

fn name(text: &str, quoted: &Quoted) -> String {
    Decoded::read(&text[quoted.inner.clone()]).text().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_marks_are_numbered_where_they_repeat() {
        for (text, expected) in [
            (r#"{"[REDACTED]":1,"[REDACTED]":2}"#, r#"{"[REDACTED]":1,"[REDACTED] 2":2}"#),
            (
                r#"{"[REDACTED]":{"[REDACTED]":"[REDACTED]"},"b":["[REDACTED]"],"[REDACTED]":2,"[REDACTED]":3}"#,
                r#"{"[REDACTED]":{"[REDACTED]":"[REDACTED]"},"b":["[REDACTED]"],"[REDACTED] 2":2,"[REDACTED] 3":3}"#,
            ),
            (
                r#"{"[REDACTED] 2":1,"[REDACTED]":2, "[REDACTED]" :3,"a":1,"a":2}"#,
                r#"{"[REDACTED] 2":1,"[REDACTED]":2, "[REDACTED] 3" :3,"a":1,"a":2}"#,
            ),
            (r#"[{"[REDACTED]":1},{"[REDACTED]":1}]"#, r#"[{"[REDACTED]":1},{"[REDACTED]":1}]"#),
            (r#"{"[RE\u0044ACTED]":1,"[REDACTED]":2}"#, r#"{"[RE\u0044ACTED]":1,"[REDACTED] 2":2}"#),
        ] {
            assert_eq!(distinct(text.to_owned()), expected);
        }
    }
}
