use gateway_domain::{RawJson, RawObject};

/// An object that is being written.
#[derive(Default)]
pub(super) struct ObjectText(Vec<u8>);

impl ObjectText {
    /// Adds a member. `value` must be one JSON value; no name is given twice.
    pub(super) fn set(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.extend_from_slice(RawJson::string(name).as_bytes());
        self.0.push(b':');
        self.0.extend_from_slice(value.as_ref());
    }

    /// Adds those members of another object that are chosen, as they are.
    pub(super) fn copy(&mut self, from: &RawObject, is_chosen: impl Fn(&str) -> bool) {
        for (name, value) in from.iter().filter(|(name, _)| is_chosen(name)) {
            self.set(&name, value.as_bytes());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }
}

/// An array of values that are JSON already.
pub(super) fn array_text<T: AsRef<[u8]>>(items: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut out = vec![b'['];
    for item in items {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_ref());
    }
    out.push(b']');
    out
}
