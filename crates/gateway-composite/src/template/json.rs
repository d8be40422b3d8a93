//! Parts of a checked JSON text, found without building values.

use std::{borrow::Cow, collections::HashMap, ops::Range, sync::Arc};

use gateway_domain::{JsonError, JsonKind, RawJson, Scanner};

/// One value inside a checked text. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Part {
    whole: RawJson,
    range: Range<usize>,
}

/// The parts of an object or array.
#[derive(Debug)]
pub(super) enum Index {
    Elements(Vec<Range<usize>>),
    Members(Members),
}

/// An object's members in the order of the text. Of a name that stands twice the last value counts.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) names: Vec<Arc<str>>,
    pub(super) values: Vec<Range<usize>>,
    pub(super) places: HashMap<Arc<str>, usize>,
}

impl From<RawJson> for Part {
    fn from(whole: RawJson) -> Self {
        let range = 0..whole.as_bytes().len();
        Self { whole, range }
    }
}

impl Part {
    /// Its text.
    pub(super) fn as_str(&self) -> &str {
        // Checked when the whole was; the fallback only spares a panic path.
        str::from_utf8(&self.whole.as_bytes()[self.range.clone()]).unwrap_or("null")
    }

    pub(super) fn kind(&self) -> JsonKind {
        match self.whole.as_bytes().get(self.range.start) {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Boolean,
            Some(b'n') => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// The decoded string, if it is one.
    pub(super) fn to_text(&self) -> Option<Cow<'_, str>> {
        (self.kind() == JsonKind::String).then(|| decode(self.as_str()))
    }

    /// A part of it, as its index says where it stands.
    pub(super) fn part(&self, range: &Range<usize>) -> Self {
        let range = self.range.start + range.start..self.range.start + range.end;
        Self { whole: self.whole.clone(), range }
    }

    /// Where its own parts stand.
    pub(super) fn index(&self) -> Index {
        match self.kind() {
            JsonKind::Object => Index::Members(members(self.as_str())),
            _ => Index::Elements(elements(self.as_str()).collect()),
        }
    }
}

/// A string with its quotes, decoded.
fn decode(quoted: &str) -> Cow<'_, str> {
    match quoted.get(1..quoted.len() - 1) {
        Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        _ => {
            let text = RawJson::parse(quoted.to_owned()).ok();
            Cow::Owned(text.and_then(|text| text.to_text().map(Cow::into_owned)).unwrap_or_default())
        }
    }
}

fn members(object: &str) -> Members {
    let mut found = Members::default();
    let visit = |_: &mut Scanner<'_>, _: &gateway_domain::Key<'_>| Ok::<_, JsonError>(());
    // Of a text that was checked before there are no errors.
    let _ = Scanner::new(object).object(visit, |key, value| {
        let name: Arc<str> = key.name().into();
        match found.places.get(&name) {
            Some(place) => found.values[*place] = value,
            None => {
                found.places.insert(name.clone(), found.names.len());
                found.names.push(name);
                found.values.push(value);
            }
        }
        Ok::<_, JsonError>(())
    });
    found
}

/// How many elements a list has, however many that are.
pub(crate) fn count(list: &RawJson) -> usize {
    elements(list.as_str()).count()
}

/// Where the elements of a list stand. Of a text that was checked before there are no errors.
fn elements(array: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 1;
    std::iter::from_fn(move || {
        loop {
            let mut scanner = Scanner::new(array.get(from..)?);
            match scanner.peek()? {
                b',' => from += scanner.position() + 1,
                b']' => return None,
                _ => {
                    let range = scanner.value().ok()?;
                    let found = from + range.start..from + range.end;
                    from = found.end;
                    return Some(found);
                }
            }
        }
    })
}
