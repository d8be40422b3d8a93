use gateway_domain::{JsonKind, Outcome, PeerError, RawJson, RawObject, Scanner, Subject};

use super::{
    config::Direction,
    decoded::Decoded,
    redactor::{Redacted, Redactor},
};

/// So many items of a result's content are looked at for one with text.
const MOST_ITEMS: usize = 16;
/// JSON-RPC's internal error: what the gateway answers for a result that has no other way to say that it is none.
const INTERNAL_ERROR: i64 = -32603;

/// How large a result may be, and how much is kept of one that is larger.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// In bytes.
    pub(super) limit: usize,
    /// How many bytes of the first text are shown.
    pub(super) keep: usize,
}

impl Bounds {
    /// What stands in place of a result that is too large and was not looked into (P-37); its redactions are those in
    /// what is kept.
    pub(super) fn replace_result(
        self,
        redactor: Option<&Redactor>,
        subject: &Subject,
        result: &RawObject,
    ) -> Redacted<Outcome> {
        let size = result.raw().as_bytes().len();
        let Subject::Tool { .. } = subject else {
            let error = self.error(INTERNAL_ERROR, "result", size, None);
            return Redacted { value: error, count: 0 };
        };
        let kept = first_text(result).map(|text| self.kept(redactor, &text));
        let count = kept.as_ref().map_or(0, |kept| kept.count);
        let sizes = format!("The result has {size} bytes; the limit is {} bytes.", self.limit);
        let begins = kept.filter(|kept| !kept.value.is_empty());
        let begins = begins.map(|kept| format!("The first text in it begins:\n{}", kept.value));
        let items = [Some(sizes), begins].into_iter().flatten().map(|text| {
            let text = RawJson::string(&text);
            format!(r#"{{"type":"text","text":{text}}}"#)
        });
        let items = items.collect::<Vec<_>>().join(",");
        let result = RawObject::parse(format!(r#"{{"content":[{items}],"isError":true}}"#));
        Redacted { value: Outcome::Complete(result.unwrap_or_default()), count }
    }

    /// The same for an error, which keeps its code.
    pub(super) fn replace_error(self, redactor: Option<&Redactor>, error: &PeerError) -> Redacted<Outcome> {
        let size = error.raw.raw().as_bytes().len();
        let message = error.raw.get("message").filter(|message| message.kind() == JsonKind::String);
        let kept = message.map(|message| self.kept(redactor, &message));
        let (kept, count) = kept.map_or((None, 0), |kept| (Some(kept.value), kept.count));
        let value = self.error(error.code, "error", size, kept.filter(|kept| !kept.is_empty()));
        Redacted { value, count }
    }

    fn error(self, code: i64, what: &str, size: usize, kept: Option<String>) -> Outcome {
        let limit = self.limit;
        let kept = kept.map(|kept| format!(" It begins: {kept}")).unwrap_or_default();
        let message = format!("The {what} has {size} bytes; the limit is {limit} bytes.{kept}");
        let message = RawJson::string(&message);
        let data = format!(r#"{{"kind":"{what}_too_large","bytes":{size},"limit":{limit}}}"#);
        let raw = RawObject::parse(format!(r#"{{"code":{code},"message":{message},"data":{data}}}"#));
        Outcome::Failed(PeerError { code, raw: raw.unwrap_or_default() })
    }

    /// The first bytes of a text. What is redacted is looked for in as much more as it can be long, so that no part of
    /// it is left at the end.
    fn kept(self, redactor: Option<&Redactor>, text: &RawJson) -> Redacted<String> {
        let inner = text.as_str().get(1..text.as_bytes().len().saturating_sub(1)).unwrap_or_default();
        let longest = redactor.map_or(0, Redactor::longest);
        // An escape has at most twelve bytes for what is one byte or more; one that is cut is behind all that matters.
        let enough = self.keep.saturating_add(longest).saturating_mul(12);
        let decoded = Decoded::read(&inner[..inner.floor_char_boundary(enough)]);
        let end = decoded.text().floor_char_boundary(self.keep);
        let hidden = redactor.and_then(|redactor| redactor.hide(decoded.text(), Some(Direction::Results)));
        match hidden {
            Some((marked, _)) => {
                let (text, count) = marked.until(end);
                Redacted { value: text, count }
            }
            None => Redacted { value: decoded.text()[..end].to_owned(), count: 0 },
        }
    }
}

/// The text of the first item of a tool's content that has one.
fn first_text(result: &RawObject) -> Option<RawJson> {
    let content = result.get("content").filter(|content| content.kind() == JsonKind::Array)?;
    let mut at = 1;
    for _ in 0..MOST_ITEMS {
        let rest = content.as_str().get(at..)?;
        let item = Scanner::new(rest).value().ok()?;
        let text = RawObject::parse(content.clone().into_bytes().slice(at + item.start..at + item.end));
        let text = text.ok().and_then(|item| item.get("text"));
        if let Some(text) = text.filter(|text| text.kind() == JsonKind::String) {
            return Some(text);
        }
        let after = at + item.end;
        at = after + content.as_str().get(after..)?.find(',')? + 1;
    }
    None
}
