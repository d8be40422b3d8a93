use gateway_domain::RawJson;

/// What can be told of a message by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlong {
    /// An answer, and to which request if its id comes before its content.
    Answer(Option<u64>),
    /// A notification, a request, or no message at all: nobody waits for it.
    Other,
}

impl Overlong {
    /// Judges a message by its `head`, the only part of it that was kept. The members up to the first that
    /// is long are read.
    pub fn of(head: &[u8]) -> Self {
        let Some(mut rest) = head.trim_ascii_start().strip_prefix(b"{") else { return Self::Other };
        let mut id = None;
        loop {
            let Some((name, after)) = string(rest) else { return Self::Other };
            let Some(value) = after.trim_ascii_start().strip_prefix(b":") else { return Self::Other };
            match name {
                br#""result""# | br#""error""# => return Self::Answer(id),
                br#""method""# | br#""params""# => return Self::Other,
                _ => {}
            }
            let Some((text, after)) = scalar(value.trim_ascii_start()) else { return Self::Other };
            if name == br#""id""# {
                id = RawJson::parse(text.to_vec()).ok().and_then(|id| id.to_integer()?.try_into().ok());
            }
            let Some(next) = after.trim_ascii_start().strip_prefix(b",") else { return Self::Other };
            rest = next;
        }
    }
}

/// A string with its quotes, and what follows it. Names with escapes are none of ours.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let inner = text.strip_prefix(b"\"")?;
    let end = inner.iter().position(|byte| *byte == b'"')?;
    Some(text.split_at(end + 2))
}

/// A string or a number that ends within `text`, and what follows it.
fn scalar(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match text.first()? {
        b'"' => string(text),
        b'{' | b'[' => None,
        _ => text.iter().position(|byte| b",} \t\r\n".contains(byte)).map(|end| text.split_at(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_are_waited_for() {
        for (head, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#, Overlong::Answer(Some(7))),
            (r#" { "id" : 7 , "jsonrpc" : "2.0" , "error" : {"#, Overlong::Answer(Some(7))),
            (r#"{"result":{"content":[{"id":9}]}"#, Overlong::Answer(None)),
            (r#"{"jsonrpc":"2.0","id":"7","result":{"#, Overlong::Answer(None)),
            (r#"{"jsonrpc":"2.0","id":-7,"result":{"#, Overlong::Answer(None)),
            (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"id":7"#, Overlong::Other),
            (r#"{"id":7,"jsonrpc":"2.0","method":"roots/list","params":{"#, Overlong::Other),
            (r#"{"params":{"result":1"#, Overlong::Other),
            (r#"{"jsonrpc":"2.0","id":7"#, Overlong::Other),
            (r#"{"extra":{"result":1},"id":7,"result":{}}"#, Overlong::Other),
            ("INFO {\"result\":1}", Overlong::Other),
            ("", Overlong::Other),
        ] {
            assert_eq!(Overlong::of(head.as_bytes()), expected, "for {head}");
        }
    }
}
