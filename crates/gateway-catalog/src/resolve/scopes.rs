use gateway_aggregate::mark_uri;
use gateway_domain::{Act, CallerError, DownstreamName, Error, NAMESPACE_SEPARATOR, Reference, Subject};

use super::Resolve;
use crate::{item::prefixed, private::For};

/// Asks which scopes something needs once it is known what it is: no name of it leads past that. What the caller may not
/// know of is not found before.
impl<D> Resolve<D> {
    /// Whether the caller's token has the scopes for something that these downstreams may have by their own name, and
    /// that may have another name on `/mcp`. What a workflow's steps do needs those of the workflow alone.
    pub(super) fn check_scopes(
        &self,
        whose: For<'_>,
        act: Act,
        (downstreams, own): (&[DownstreamName], &Subject),
        exposed: Option<&str>,
    ) -> Result<(), Error> {
        if whose.origin.is_some() {
            return Ok(());
        }
        let mut names: Vec<_> = exposed.map(str::to_owned).into_iter().collect();
        names.extend(downstreams.iter().flat_map(|downstream| names_of(downstream, own)));
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        match self.catalog.shared.rules.missing_scopes(whose.caller, act, &names) {
            Some(scopes) => Err(CallerError::InsufficientScope { scopes }.into()),
            None => Ok(()),
        }
    }
}

/// What is done with it.
pub(super) fn act_of(subject: &Subject) -> Act {
    match subject {
        Subject::Tool { .. } | Subject::Task { .. } => Act::Call,
        Subject::Prompt { .. } => Act::Get,
        Subject::Resource { .. } => Act::Read,
        Subject::Completion(_) => Act::Complete,
        Subject::Other { .. } => Act::Other,
    }
}

/// By which names a rule may know it. A task needs what the tool that began it does; if nobody knows which that was, what
/// all of the downstream does.
fn names_of(downstream: &DownstreamName, own: &Subject) -> Vec<String> {
    match own {
        Subject::Tool { name, .. }
        | Subject::Prompt { name }
        | Subject::Completion(Reference::Prompt(name)) => vec![prefixed(downstream, name)],
        Subject::Resource { uri } | Subject::Completion(Reference::Resource(uri)) => {
            let marked = mark_uri(downstream.as_str(), uri);
            [uri.to_string(), prefixed(downstream, uri)].into_iter().chain(marked).collect()
        }
        Subject::Task { tool: Some(tool), .. } => vec![tool.to_string()],
        Subject::Task { tool: None, .. } => vec![format!("{downstream}{NAMESPACE_SEPARATOR}")],
        Subject::Other { method } => vec![method.to_string(), prefixed(downstream, method)],
    }
}
