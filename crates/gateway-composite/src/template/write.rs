//! Values as JSON, in no more bytes than there may be: the bound holds while they are written (C-57, C-W20).

use gateway_domain::{RawJson, printable};
use minijinja::{Value, value::ValueKind};

use super::{
    SHOWN,
    node::{BigNumber, Node},
};
use crate::error::TemplateError;

/// How deep a value that an expression makes may be nested (C-57).
pub(super) const DEPTH_LIMIT: usize = 100;

/// JSON that is being written.
pub(crate) struct Writer {
    out: Vec<u8>,
    limit: usize,
    /// The limit that an error tells.
    whole: usize,
}

impl Writer {
    pub(crate) fn new(limit: usize) -> Self {
        Self { out: Vec::new(), limit, whole: limit }
    }

    /// One for what may still be written here.
    pub(crate) fn rest(&self) -> Self {
        Self { out: Vec::new(), limit: self.left(), whole: self.whole }
    }

    /// What was written; one whole value.
    pub(crate) fn finish(self) -> Result<RawJson, TemplateError> {
        RawJson::parse(self.out).map_err(|error| failed(format!("it does not come to JSON: {error}")))
    }

    /// What was written, as text.
    pub(super) fn into_text(self) -> Result<String, TemplateError> {
        String::from_utf8(self.out).map_err(|_| failed("it does not come to UTF-8".to_owned()))
    }

    /// How much is written.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Takes back what was written after there were `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    /// Writes what is JSON already.
    pub(crate) fn raw(&mut self, json: &str) -> Result<(), TemplateError> {
        if json.len() > self.left() {
            return Err(failed(format!("it comes to more than {} bytes", self.whole)));
        }
        self.out.extend_from_slice(json.as_bytes());
        Ok(())
    }

    /// Writes a string whose inside `write` writes with [`Self::escaped`].
    pub(crate) fn text(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), TemplateError>,
    ) -> Result<(), TemplateError> {
        self.raw("\"")?;
        write(self)?;
        self.raw("\"")
    }

    /// Writes a stretch of a string.
    pub(crate) fn escaped(&mut self, text: &str) -> Result<(), TemplateError> {
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            let (run, from) = rest.split_at(at);
            self.raw(run)?;
            match from.as_bytes()[0] {
                b'"' => self.raw("\\\"")?,
                b'\\' => self.raw("\\\\")?,
                b'\n' => self.raw("\\n")?,
                b'\r' => self.raw("\\r")?,
                b'\t' => self.raw("\\t")?,
                byte => self.raw(&format!("\\u{byte:04x}"))?,
            }
            rest = &from[1..];
        }
        self.raw(rest)
    }

    /// Writes a value as a stretch of a string: texts as they are, anything else as JSON.
    pub(super) fn escaped_value(&mut self, value: &Value) -> Result<(), TemplateError> {
        match value.as_str() {
            Some(text) => self.escaped(text),
            None => {
                let mut inner = self.rest();
                inner.value(value)?;
                self.escaped(inner.finish()?.as_str())
            }
        }
    }

    /// Writes a value.
    pub(super) fn value(&mut self, value: &Value) -> Result<(), TemplateError> {
        self.nested(value, 0)
    }

    fn left(&self) -> usize {
        self.limit.saturating_sub(self.out.len())
    }

    fn nested(&mut self, value: &Value, depth: usize) -> Result<(), TemplateError> {
        if let Some(json) = as_it_came(value) {
            return self.raw(json);
        }
        match value.kind() {
            ValueKind::None => self.raw("null"),
            ValueKind::Bool => self.raw(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value),
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                self.text(|out| out.escaped(text))
            }
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Map if depth == DEPTH_LIMIT => {
                Err(failed(format!("it is nested deeper than {DEPTH_LIMIT} levels")))
            }
            ValueKind::Seq | ValueKind::Iterable => self.array(value, depth + 1),
            ValueKind::Map => self.object(value, depth + 1),
            ValueKind::Undefined => Err(missing("a value inside it")),
            _ => Err(failed(format!("a {} is no JSON value", value.kind()))),
        }
    }

    fn number(&mut self, value: &Value) -> Result<(), TemplateError> {
        if value.is_integer() {
            return self.raw(&value.to_string());
        }
        match f64::try_from(value.clone()) {
            Ok(float) if float.is_finite() => self.raw(&format!("{float:?}")),
            _ => Err(failed(format!("{value} is no JSON value"))),
        }
    }

    fn array(&mut self, value: &Value, depth: usize) -> Result<(), TemplateError> {
        let items = value.try_iter().map_err(|error| failed(printable(&error.to_string(), SHOWN)))?;
        let mut separator = "[";
        for item in items {
            self.raw(separator)?;
            self.nested(&item, depth)?;
            separator = ",";
        }
        self.raw(if separator == "[" { "[]" } else { "]" })
    }

    fn object(&mut self, value: &Value, depth: usize) -> Result<(), TemplateError> {
        let mut separator = "{";
        for (name, member) in
            value.as_object().and_then(|object| object.try_iter_pairs()).into_iter().flatten()
        {
            let name = name.as_str().ok_or_else(|| {
                failed(format!("a member's name must be a text, not {}", printable(&name.to_string(), SHOWN)))
            })?;
            self.raw(separator)?;
            self.text(|out| out.escaped(name))?;
            self.raw(":")?;
            self.nested(&member, depth)?;
            separator = ",";
        }
        self.raw(if separator == "{" { "{}" } else { "}" })
    }
}

/// The text of a value that still is what came.
fn as_it_came(value: &Value) -> Option<&str> {
    let node = value.downcast_object_ref::<Node>().map(Node::as_str);
    node.or_else(|| value.downcast_object_ref::<BigNumber>().map(BigNumber::as_str))
}

/// The error for something that cannot be done.
pub(super) fn failed(reason: String) -> TemplateError {
    TemplateError { place: String::new(), reason, is_missing: false }
}

/// The error for something that is not there.
pub(super) fn missing(what: &str) -> TemplateError {
    let reason = format!("{what} is missing; `| default(…)` says what to take instead");
    TemplateError { place: String::new(), reason, is_missing: true }
}
