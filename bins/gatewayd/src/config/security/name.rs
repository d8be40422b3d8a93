//! Patterns over names on `/mcp`: those that begin with a downstream begin with one that there is.

use gateway_domain::NAMESPACE_SEPARATOR;

use crate::config::problem::{Fault, nearest};
use crate::config::reader::Item;
use crate::config::scalar;

/// The downstreams of a configuration, whatever is wrong with them.
#[derive(Debug)]
pub(in crate::config) struct Downstreams(pub(in crate::config) Vec<String>);

impl Downstreams {
    /// A pattern over names.
    pub(super) fn pattern(&self, item: &Item<'_>) -> Result<String, Fault> {
        let text = scalar::word(item)?;
        if let Some((name, _)) = text.split_once(NAMESPACE_SEPARATOR)
            && !name.contains(['*', '?', ':', '/'])
        {
            self.check(name)?;
        }
        Ok(text)
    }

    /// A pattern over downstreams.
    pub(super) fn downstream(&self, item: &Item<'_>) -> Result<String, Fault> {
        let text = scalar::word(item)?;
        if !text.contains(['*', '?']) {
            self.check(&text)?;
        }
        Ok(text)
    }

    pub(super) fn check(&self, name: &str) -> Result<(), Fault> {
        let known: Vec<_> = self.0.iter().map(String::as_str).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let fault = Fault::new(format!("there is no downstream {name:?}"));
        Err(match nearest(name, &known) {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => fault,
        })
    }
}
