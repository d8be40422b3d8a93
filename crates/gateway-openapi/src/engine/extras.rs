use std::{
    collections::{BTreeSet, HashSet},
    fmt,
};

use http::{HeaderName, HeaderValue};

use crate::ir::Location;

/// What the operator adds to a request: static headers and credentials. Goes before anything that arguments say.
#[derive(Clone, Default)]
pub struct Extras {
    /// Headers; none of these names is taken from arguments.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Names and values for the query, not yet encoded.
    pub query: Vec<(String, String)>,
    /// Names and values for the `Cookie` header, not yet encoded.
    pub cookies: Vec<(String, String)>,
}

/// Shows no values: they are secrets.
impl fmt::Debug for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let query: Vec<_> = self.query.iter().map(|(name, _)| name).collect();
        let cookies: Vec<_> = self.cookies.iter().map(|(name, _)| name).collect();
        f.debug_struct("Extras")
            .field("headers", &headers)
            .field("query", &query)
            .field("cookies", &cookies)
            .finish()
    }
}

/// Names that parameters of an operation may not have, because the operator or HTTP sets what is there (E-W11).
/// A parameter with such a name is no input of the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reserved {
    /// Headers, besides those of HTTP's own, which are reserved always.
    pub headers: HashSet<HeaderName>,
    /// Members of the query.
    pub query: BTreeSet<String>,
    /// Cookies.
    pub cookies: BTreeSet<String>,
    /// Those among them, headers in lower case, that are for credentials of which none are configured.
    pub unset: BTreeSet<(Location, String)>,
}
