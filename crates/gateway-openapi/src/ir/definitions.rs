use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use gateway_domain::{JsonKind, RawJson, RawObject};

/// Schemas by name that other schemas refer to as `#/$defs/NAME`. Shared by the operations of a source; cheap to
/// clone.
#[derive(Clone, Default, PartialEq)]
pub struct Definitions(Arc<BTreeMap<Arc<str>, Definition>>);

#[derive(Debug, Clone, PartialEq)]
struct Definition {
    schema: RawJson,
    references: Box<[Arc<str>]>,
    verdict: OnceLock<bool>,
}

impl Definitions {
    /// Where references to them begin.
    pub const PREFIX: &str = "#/$defs/";

    /// Takes the schemas. Names are of letters, digits, `_`, `-` and `.`, so that no reference needs escapes.
    pub fn new(schemas: impl IntoIterator<Item = (Arc<str>, RawJson)>) -> Self {
        let definition = |(name, schema)| {
            let references = references(&schema).into_iter().map(Arc::from).collect();
            (name, Definition { schema, references, verdict: OnceLock::new() })
        };
        Self(Arc::new(schemas.into_iter().map(definition).collect()))
    }

    /// The schema of this name.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.0.get(name).map(|definition| &definition.schema)
    }

    /// The names that the schema of this name refers to, itself perhaps among them.
    pub fn references(&self, name: &str) -> &[Arc<str>] {
        self.0.get(name).map_or(&[], |definition| &definition.references)
    }

    /// What `judge` says of the schema of this name, which is asked once for all operations. `false` if there is none.
    pub(crate) fn judged(&self, name: &str, judge: impl FnOnce(&RawJson) -> bool) -> bool {
        self.0
            .get(name)
            .is_some_and(|definition| *definition.verdict.get_or_init(|| judge(&definition.schema)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &RawJson)> {
        self.0.iter().map(|(name, definition)| (name, &definition.schema))
    }
}

/// Thousands of schemas are no help in a log.
impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Definitions({})", self.0.len())
    }
}

/// The names of definitions that a schema refers to, each once, sorted. A `$ref` in an example counts as well: one
/// definition too many does no harm.
pub(crate) fn references(schema: &RawJson) -> Vec<String> {
    let mut found = Vec::new();
    collect(schema, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Nests no deeper than [`RawJson`] does.
fn collect(value: &RawJson, found: &mut Vec<String>) {
    if !value.mentions(b"ref") {
        return;
    }
    match value.kind() {
        JsonKind::Object => {
            let Ok(object) = RawObject::try_from(value.clone()) else { return };
            for (name, member) in object.iter() {
                match (name.as_ref(), member.to_text()) {
                    ("$ref", Some(target)) => {
                        found.extend(target.strip_prefix(Definitions::PREFIX).map(str::to_owned));
                    }
                    _ => collect(&member, found),
                }
            }
        }
        JsonKind::Array => {
            value.elements(usize::MAX).into_iter().flatten().for_each(|item| collect(&item, found))
        }
        _ => {}
    }
}
