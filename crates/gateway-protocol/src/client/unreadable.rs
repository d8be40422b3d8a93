use gateway_domain::{JsonError, RawJson, Scanner};

/// What can be told of a message that was refused: one too long to be kept, or one that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// An answer, and to which request if that can be told.
    Answer(Option<u64>),
    /// A notification, a request, or no message at all: nobody waits for it.
    Other,
}

impl Unreadable {
    /// Judges a whole message that was refused. A name that stands twice deeper inside is no obstacle; where
    /// the text cannot be read to its end, its beginning decides.
    pub fn whole(text: &[u8]) -> Self {
        std::str::from_utf8(text)
            .ok()
            .and_then(Members::read)
            .map_or_else(|| Self::head(text), Members::judge)
    }

    /// Judges a message by its `head`, the only part of it that was kept. The members up to the first that
    /// is long are read.
    pub fn head(head: &[u8]) -> Self {
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
                id = number(text);
            }
            let Some(next) = after.trim_ascii_start().strip_prefix(b",") else { return Self::Other };
            rest = next;
        }
    }
}

/// The members of an envelope that tell what it is.
#[derive(Default)]
struct Members<'a> {
    ids: Vec<&'a str>,
    version: bool,
    method: bool,
    content: bool,
}

impl<'a> Members<'a> {
    /// Reads the top level only; what is below needs to be JSON, no more.
    fn read(text: &'a str) -> Option<Self> {
        let (mut found, mut scanner) = (Self::default(), Scanner::new(text));
        let pass = |_: &mut Scanner<'a>, _: &_| Ok::<_, JsonError>(());
        scanner
            .object(pass, |key, value| {
                match &*key.name() {
                    "id" => found.ids.push(&text[value]),
                    "jsonrpc" => found.version = true,
                    "method" => found.method = true,
                    "result" | "error" => found.content = true,
                    _ => {}
                }
                Ok(())
            })
            .ok()?;
        scanner.end().ok()?;
        Some(found)
    }

    /// Lines of a log in JSON may have an `error` or an `id`, but hardly both, nor a `jsonrpc`.
    fn judge(self) -> Unreadable {
        // Of two ids neither is believed.
        let id = if let [id] = self.ids[..] { number(id.as_bytes()) } else { None };
        let bare = self.version && !self.method && id.is_some();
        if (self.content && (self.version || id.is_some())) || bare {
            return Unreadable::Answer(id);
        }
        Unreadable::Other
    }
}

/// An id of ours.
fn number(text: &[u8]) -> Option<u64> {
    RawJson::parse(text.to_vec()).ok()?.to_integer()?.try_into().ok()
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
            (r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#, Unreadable::Answer(Some(7))),
            (r#" { "id" : 7 , "jsonrpc" : "2.0" , "error" : {"#, Unreadable::Answer(Some(7))),
            (r#"{"result":{"content":[{"id":9}]}"#, Unreadable::Answer(None)),
            (r#"{"jsonrpc":"2.0","id":"7","result":{"#, Unreadable::Answer(None)),
            (r#"{"jsonrpc":"2.0","id":-7,"result":{"#, Unreadable::Answer(None)),
            (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"id":7"#, Unreadable::Other),
            (r#"{"id":7,"jsonrpc":"2.0","method":"roots/list","params":{"#, Unreadable::Other),
            (r#"{"params":{"result":1"#, Unreadable::Other),
            (r#"{"jsonrpc":"2.0","id":7"#, Unreadable::Other),
            (r#"{"extra":{"result":1},"id":7,"result":{}}"#, Unreadable::Other),
            ("INFO {\"result\":1}", Unreadable::Other),
            ("", Unreadable::Other),
        ] {
            assert_eq!(Unreadable::head(head.as_bytes()), expected, "for {head}");
        }
    }

    #[test]
    fn a_refused_answer_names_its_request_wherever_its_id_stands() {
        let deep = |id: &str| format!("{{{id}\"result\":{}{}}}", "[".repeat(200), "]".repeat(200));
        let late = format!(r#"{{"jsonrpc":"2.0","result":{}{},"id":7}}"#, "[".repeat(200), "]".repeat(200));
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","result":{"a":1,"a":2},"id":7}"#, Unreadable::Answer(Some(7))),
            (r#"{"jsonrpc":"2.0","x":{"y":[1]},"id":7,"result":{"a":1,"a":2}}"#, Unreadable::Answer(Some(7))),
            (r#"{"jsonrpc":"2.0","\u0069d":7,"error":[]}"#, Unreadable::Answer(Some(7))),
            (r#"{"id":7,"result":{}}"#, Unreadable::Answer(Some(7))),
            (r#"{"jsonrpc":"2.0","id":7}"#, Unreadable::Answer(Some(7))),
            (r#"{"jsonrpc":"2.0","id":7,"id":8,"result":{}}"#, Unreadable::Answer(None)),
            (r#"{"jsonrpc":"2.0","id":"7","result":{"a":1,"a":2}}"#, Unreadable::Answer(None)),
            (&deep(r#""jsonrpc":"2.0","id":7,"#), Unreadable::Answer(Some(7))),
            (&late, Unreadable::Answer(None)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":7}"#, Unreadable::Other),
            (r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}"#, Unreadable::Other),
            (r#"{"level":"error","error":"no disk"}"#, Unreadable::Other),
            (r#"{"level":"info","id":7}"#, Unreadable::Other),
            (r#"[{"jsonrpc":"2.0","id":7,"result":7}]"#, Unreadable::Other),
            ("{}", Unreadable::Other),
        ] {
            assert_eq!(Unreadable::whole(text.as_bytes()), expected, "for {text}");
        }
        let latin1 = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"\xe9\"}}";
        assert_eq!(Unreadable::whole(latin1), Unreadable::Answer(Some(7)));
    }
}
