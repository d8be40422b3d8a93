use gateway_domain::{DownstreamName, NAMESPACE_SEPARATOR};
use gateway_openapi::engine::Naming;

use crate::config::checked::Names;

/// How the tools of an API are named, so that nothing has to be shortened once more when the downstream's name is in
/// front.
pub(crate) fn naming(names: Names, downstream: &DownstreamName) -> Naming {
    let prefix = downstream.as_str().len() + NAMESPACE_SEPARATOR.len();
    Naming { max_length: names.max_length.saturating_sub(prefix).max(SHORTEST), collapse_underscores: true }
}

/// Names of tools are not cut to less, however long the downstream's is.
const SHORTEST: usize = 16;
