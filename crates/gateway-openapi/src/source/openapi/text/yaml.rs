//! YAML as JSON text, written while it is read: there is never a tree of the document.
//!
//! The events of the parser are used, not values: numbers keep their digits, an alias is a copy of text, and nothing
//! recurses.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use gateway_domain::{DEPTH_LIMIT, RawJson, RawObject};
use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, Span, Tag};

use super::{Fault, Limits, scalar};

/// The only document of the text, as JSON.
pub(super) fn to_json(bytes: &[u8], limits: &Limits) -> Result<RawJson, Fault> {
    let text = str::from_utf8(bytes)
        .map_err(|error| Fault::Syntax(format!("not UTF-8 at byte {}", error.valid_up_to())))?;
    let options = granit_parser::options! {
        flow_nesting_limit: DEPTH_LIMIT,
        block_nesting_limit: DEPTH_LIMIT,
    };
    let mut writer = Writer::new(text.len(), limits);
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            Fault::Syntax(format!("not valid YAML in line {}: {}", error.marker().line(), error.info()))
        })?;
        writer.event(event, span)?;
    }
    if writer.out.is_empty() {
        return Err(Fault::Syntax("the file is empty".into()));
    }
    Ok(RawJson::parse(writer.out)?)
}

/// How much longer than the text it may get by aliases that are replaced. An alias bomb is stopped long before it
/// fills the memory; who uses aliases to save work stays far below.
const EXPANSION: usize = 16;

/// What even a small document may be expanded to, in bytes.
const EXPANSION_FLOOR: usize = 1 << 20;

struct Writer {
    out: Vec<u8>,
    /// Containers that are open.
    open: Vec<Container>,
    /// The text of the nodes that aliases may stand for.
    anchors: HashMap<usize, Rc<[u8]>>,
    /// How much text `anchors` holds.
    anchored: usize,
    nodes: usize,
    most_nodes: usize,
    most_bytes: usize,
}

struct Container {
    start: usize,
    anchor: usize,
    kind: Kind,
}

enum Kind {
    Sequence,
    Mapping {
        keys: HashSet<Box<str>>,
        /// What the value that comes next belongs to.
        next: Next,
        /// Mappings whose members are added at the end, unless they are there (YAML 1.1 merge keys).
        merged: Vec<RawJson>,
    },
}

#[derive(PartialEq, Eq)]
enum Next {
    Key,
    Value,
    /// The value of `<<`.
    Merge,
}

impl Writer {
    fn new(text: usize, limits: &Limits) -> Self {
        let expanded = text.saturating_mul(EXPANSION).max(EXPANSION_FLOOR);
        Self {
            out: Vec::with_capacity(text),
            open: Vec::new(),
            anchors: HashMap::new(),
            anchored: 0,
            nodes: 0,
            most_nodes: limits.nodes,
            most_bytes: limits.document_bytes.min(expanded),
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(..) if !self.out.is_empty() => {
                Err(Fault::Syntax("the file holds more than one document".into()))
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref(), span)
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::SequenceStart(_, anchor, _) => self.begin(Kind::Sequence, anchor, span),
            Event::MappingStart(_, anchor, _) => {
                let kind = Kind::Mapping { keys: HashSet::new(), next: Next::Key, merged: Vec::new() };
                self.begin(kind, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), Fault> {
        let is_text = style != ScalarStyle::Plain || tag.is_some_and(is_string);
        if self.expects_key() {
            if anchor != 0 {
                self.keep(anchor, scalar::quoted(text).as_bytes())?;
            }
            return self.key(text, !is_text, span);
        }
        let written = if is_text { scalar::quoted(text).into() } else { scalar::plain(text) };
        self.value(written.as_bytes(), span)?;
        self.keep_if(anchor, written.as_bytes())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Fault> {
        let Some(text) = self.anchors.get(&anchor).cloned() else {
            return Err(wrong("an alias stands within what it stands for", span));
        };
        if !self.expects_key() {
            return self.value(&text, span);
        }
        let json = RawJson::parse(text.to_vec())?;
        match json.to_text() {
            Some(key) => self.key(&key, false, span),
            None => Err(wrong("a key is not a text", span)),
        }
    }

    fn key(&mut self, key: &str, is_plain: bool, span: Span) -> Result<(), Fault> {
        let is_first = self.out.last() == Some(&b'{');
        let Some(Container { kind: Kind::Mapping { keys, next, .. }, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        if key == "<<" && is_plain {
            *next = Next::Merge;
            return self.count();
        }
        if !keys.insert(key.into()) {
            return Err(wrong(&format!("the key {key:?} stands twice"), span));
        }
        *next = Next::Value;
        if !is_first {
            self.out.push(b',');
        }
        self.out.extend_from_slice(scalar::quoted(key).as_bytes());
        self.out.push(b':');
        self.count()
    }

    /// Writes a whole value where one belongs.
    fn value(&mut self, text: &[u8], span: Span) -> Result<(), Fault> {
        self.separate();
        let start = self.out.len();
        self.fits(text.len())?;
        self.out.extend_from_slice(text);
        self.count()?;
        self.done(start, span)
    }

    fn begin(&mut self, kind: Kind, anchor: usize, span: Span) -> Result<(), Fault> {
        if self.expects_key() {
            return Err(wrong("a key is not a text", span));
        }
        if self.open.len() == DEPTH_LIMIT {
            return Err(Fault::TooMany { what: "levels of nesting", limit: DEPTH_LIMIT });
        }
        self.separate();
        let bracket = if matches!(kind, Kind::Sequence) { b'[' } else { b'{' };
        self.open.push(Container { start: self.out.len(), anchor, kind });
        self.out.push(bracket);
        self.count()
    }

    fn end(&mut self, span: Span) -> Result<(), Fault> {
        let Some(Container { start, anchor, kind }) = self.open.pop() else { return Ok(()) };
        match kind {
            Kind::Sequence => self.out.push(b']'),
            Kind::Mapping { keys, merged, .. } => {
                self.merge(keys, &merged)?;
                self.out.push(b'}');
            }
        }
        if anchor != 0 {
            let text = self.out[start..].to_vec();
            self.keep(anchor, &text)?;
        }
        self.done(start, span)
    }

    /// A value that begins at `start` is complete.
    fn done(&mut self, start: usize, span: Span) -> Result<(), Fault> {
        let Some(Container { kind: Kind::Mapping { next, merged, .. }, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        if std::mem::replace(next, Next::Key) == Next::Merge {
            let value = RawJson::parse(self.out.split_off(start))?;
            match value.elements(usize::MAX) {
                Some(several) => merged.extend(several),
                None => merged.push(value),
            }
            if merged.iter().any(|mapping| !mapping.as_bytes().starts_with(b"{")) {
                return Err(wrong("what `<<` merges is not a mapping", span));
            }
        }
        Ok(())
    }

    fn merge(&mut self, mut keys: HashSet<Box<str>>, merged: &[RawJson]) -> Result<(), Fault> {
        for mapping in merged {
            for (name, value) in RawObject::try_from(mapping.clone())?.iter() {
                if !keys.insert(name.as_ref().into()) {
                    continue;
                }
                if self.out.last() != Some(&b'{') {
                    self.out.push(b',');
                }
                self.fits(name.len() + value.as_bytes().len())?;
                self.out.extend_from_slice(scalar::quoted(&name).as_bytes());
                self.out.push(b':');
                self.out.extend_from_slice(value.as_bytes());
            }
        }
        Ok(())
    }

    /// The comma between two items. Before values of members stands the key.
    fn separate(&mut self) {
        let in_sequence = matches!(self.open.last(), Some(Container { kind: Kind::Sequence, .. }));
        if in_sequence && self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Container { kind: Kind::Mapping { next: Next::Key, .. }, .. }))
    }

    fn keep_if(&mut self, anchor: usize, text: &[u8]) -> Result<(), Fault> {
        if anchor == 0 { Ok(()) } else { self.keep(anchor, text) }
    }

    fn keep(&mut self, anchor: usize, text: &[u8]) -> Result<(), Fault> {
        self.anchored += text.len();
        self.fits(0)?;
        self.anchors.insert(anchor, text.into());
        Ok(())
    }

    fn fits(&self, more: usize) -> Result<(), Fault> {
        let limit = self.most_bytes;
        match self.out.len() + self.anchored + more > limit {
            true => Err(Fault::TooMany { what: "bytes with its aliases replaced", limit }),
            false => Ok(()),
        }
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.nodes += 1;
        match self.nodes > self.most_nodes {
            true => Err(Fault::TooMany { what: "values", limit: self.most_nodes }),
            false => self.fits(0),
        }
    }
}

fn is_string(tag: &Tag) -> bool {
    tag.suffix() == "str" || tag.suffix() == "binary" || (tag.handle().is_empty() && tag.suffix() == "!")
}

fn wrong(what: &str, span: Span) -> Fault {
    Fault::Syntax(format!("not valid YAML in line {}: {what}", span.start.line()))
}
