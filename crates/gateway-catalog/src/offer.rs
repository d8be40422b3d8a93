use std::sync::Arc;

use gateway_aggregate::{FitRules, Listing, fit};
use gateway_domain::{OfferedTool, Tool, ToolRef};
use gateway_protocol::param_headers;

use crate::{Source, definition};

/// What is offered of one downstream's list.
#[derive(Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Arc<OfferedTool>>,
    /// Exposed names that are not `downstream__original`, with the original name.
    pub(crate) aliases: Vec<(String, String)>,
    /// Tools that are left out, with the reason.
    pub(crate) dropped: Vec<(String, String)>,
}

impl Offer {
    /// Fits what the source's filter has admitted.
    pub(crate) fn of(source: &Source, tools: Vec<Tool>, rules: &FitRules) -> Self {
        let fitted = fit(Listing::new(source.name.as_str(), tools), rules);
        let exposed = |(alias, original): (&str, &str)| {
            (ToolRef::new(source.name.as_str(), alias).to_string(), original.to_owned())
        };
        let aliases = fitted.report.aliases().map(exposed).collect();
        let mut dropped: Vec<_> =
            fitted.report.dropped().map(|(tool, cause)| (tool.to_owned(), cause.to_string())).collect();
        let tools =
            fitted.listing.tools.into_iter().filter_map(|tool| offer(source, tool, &mut dropped)).collect();
        Self { tools, aliases, dropped }
    }
}

/// The tool with what calls to it need; `None` if clients could not read it or it cannot be called over this
/// transport.
fn offer(source: &Source, tool: Tool, dropped: &mut Vec<(String, String)>) -> Option<Arc<OfferedTool>> {
    if let Some(fault) = definition::fault(tool.definition()) {
        dropped.push((tool.original().to_string(), fault));
        return None;
    }
    let headers = match tool.input_schema().map(|schema| param_headers::find(&schema)) {
        None => Vec::new(),
        Some(Ok(headers)) => headers,
        Some(Err(error)) if source.mirrors_headers => {
            dropped.push((tool.original().to_string(), error.to_string()));
            return None;
        }
        Some(Err(_)) => Vec::new(),
    };
    Some(Arc::new(OfferedTool { downstream: source.name.clone(), tool, headers: headers.into() }))
}
