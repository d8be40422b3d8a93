use std::time::{Duration, SystemTime};

use gateway_domain::TraceContext;

/// How many characters of a text from outside stand in a span.
const TEXT_LIMIT: usize = 256;

/// A call that is over, as a span. It says nothing of arguments and results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The trace, and the span's own id.
    pub context: TraceContext,
    /// The span that it is part of; `None`: it is the first of its trace.
    pub parent: Option<u64>,
    /// The method, and the name of what was called if that is allowed: any other may be any text.
    pub name: String,
    /// When it began, by the wall clock.
    pub start: SystemTime,
    /// How long it took, by a clock that is not set.
    pub duration: Duration,
    /// What is known of it, by names of the semantic conventions where there are any. Values are cut at 256 characters.
    pub attributes: Vec<(&'static str, String)>,
    /// Whether it ended with an error; which one is among the attributes, as `error.type`.
    pub is_error: bool,
}

impl Span {
    pub(super) fn attribute(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.attributes.push((name, cut(value).to_owned()));
        }
    }
}

pub(super) fn cut(text: &str) -> &str {
    text.char_indices().nth(TEXT_LIMIT).map_or(text, |(end, _)| &text[..end])
}

/// Takes spans that are over. Must not block: what cannot be taken is dropped and counted.
pub trait SpanSink: Send + Sync {
    /// Takes one span of a trace that is recorded.
    fn ended(&self, span: Span);
}
