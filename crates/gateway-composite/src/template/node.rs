//! JSON as values of the language, looked into only where an expression does.

use std::{
    cmp::Ordering,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use gateway_domain::JsonKind;
use minijinja::{
    Value,
    value::{DynObject, Enumerator, Object, ObjectRepr},
};

use super::{
    json::{Index, Part},
    number::{self, Decimal},
};

/// A JSON value in the language. Objects and arrays stay text until somebody looks into them, and numbers that the
/// language cannot hold stay text for good.
pub(super) fn value(part: Part) -> Value {
    match part.kind() {
        JsonKind::Object | JsonKind::Array => Value::from_object(Node::new(part)),
        JsonKind::String => Value::from(part.to_text().unwrap_or_default().as_ref()),
        JsonKind::Boolean => Value::from(part.as_str() == "true"),
        JsonKind::Null => Value::from(()),
        JsonKind::Number => {
            number::native(part.as_str()).unwrap_or_else(|| Value::from_object(BigNumber(part)))
        }
    }
}

/// An object or array.
#[derive(Debug)]
pub(super) struct Node {
    part: Part,
    index: OnceLock<Index>,
    /// What has been looked up: several expressions mostly want the same, and it need not be indexed again.
    seen: Mutex<HashMap<usize, Value>>,
}

impl Node {
    fn new(part: Part) -> Self {
        Self { part, index: OnceLock::new(), seen: Mutex::default() }
    }

    /// Its text as it came.
    pub(super) fn as_str(&self) -> &str {
        self.part.as_str()
    }

    /// A member or element as it came.
    pub(super) fn raw(&self, key: &Value) -> Option<Part> {
        self.at(self.place(key)?)
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| self.part.index())
    }

    fn len(&self) -> usize {
        match self.index() {
            Index::Elements(elements) => elements.len(),
            Index::Members(members) => members.names.len(),
        }
    }

    fn place(&self, key: &Value) -> Option<usize> {
        match self.index() {
            Index::Elements(_) => match key.as_i64()? {
                back @ ..0 => self.len().checked_sub(usize::try_from(back.unsigned_abs()).ok()?),
                at => usize::try_from(at).ok(),
            },
            Index::Members(members) => members.places.get(key.as_str()?).copied(),
        }
    }

    fn at(&self, place: usize) -> Option<Part> {
        let range = match self.index() {
            Index::Elements(elements) => elements.get(place)?,
            Index::Members(members) => members.values.get(place)?,
        };
        Some(self.part.part(range))
    }
}

impl Object for Node {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match self.part.kind() {
            JsonKind::Object => ObjectRepr::Map,
            _ => ObjectRepr::Seq,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let place = self.place(key)?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = seen.get(&place) {
            return Some(value.clone());
        }
        let value = value(self.at(place)?);
        seen.insert(place, value.clone());
        Some(value)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let node = Arc::clone(self);
        let at = move |place| node.at(place).map(value).unwrap_or_default();
        match self.index() {
            Index::Elements(elements) => Enumerator::RevIter(Box::new((0..elements.len()).map(at))),
            Index::Members(members) => {
                let names = Arc::clone(self);
                let name = move |place: usize| match names.index() {
                    Index::Members(members) => members.names.get(place).map(Value::from).unwrap_or_default(),
                    Index::Elements(_) => Value::UNDEFINED,
                };
                let pairs = (0..members.names.len()).map(move |place| (name(place), at(place)));
                Enumerator::RevKeyValueIter(Box::new(pairs))
            }
        }
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A number that fits none of the language's types. It can be handed on and compared with its like, not calculated
/// with.
pub(super) struct BigNumber(Part);

impl BigNumber {
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for BigNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Object for BigNumber {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = other.downcast_ref::<Self>()?;
        Some(Decimal::parse(self.as_str()).cmp(&Decimal::parse(other.as_str())))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
