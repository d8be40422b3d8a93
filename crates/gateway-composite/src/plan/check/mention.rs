use std::sync::Arc;

use super::findings::Part;
use crate::{definition::Place, template::Reference};

/// One reference, and where it stands.
#[derive(Debug)]
pub(super) struct Mention {
    /// [`Part::Head`]: a template of `vars`.
    pub(super) part: Part,
    /// What the item is called, if there is one here.
    pub(super) item: Option<Arc<str>>,
    pub(super) place: Place,
    /// Whether something else is taken if the template comes to nothing at all.
    pub(super) is_replaced: bool,
    pub(super) reference: Reference,
}

impl Mention {
    /// The parts of what it refers to.
    pub(super) fn path(&self) -> impl Iterator<Item = &str> {
        self.reference.path.iter().map(String::as_str)
    }

    /// What it refers to, as it may be written.
    pub(super) fn written(&self) -> String {
        gateway_domain::printable(&self.reference.path.join("."), 200)
    }
}
