use std::sync::Arc;

use gateway_aggregate::{FitRules, Listing, fit};
use gateway_domain::{Era, OfferedTool, Tool, ToolRef};
use gateway_protocol::param_headers;

use crate::{Exposure, Source, definition, schema, uris};

/// Who looks for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seeker {
    /// A client, which finds what is shown.
    Client,
    /// A step of a workflow, which finds what is hidden as well (C-79).
    Step,
}

/// Tools that are offered, by who can use them. Names are unique among all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfferedTools {
    pub(crate) shown: Vec<Arc<OfferedTool>>,
    /// Those that are kept for workflows (C-79).
    pub(crate) hidden: Vec<Arc<OfferedTool>>,
}

impl OfferedTools {
    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty() && self.hidden.is_empty()
    }

    /// All that somebody finds.
    pub(crate) fn of(&self, seeker: Seeker) -> impl Iterator<Item = &Arc<OfferedTool>> {
        let hidden = match seeker {
            Seeker::Client => &[],
            Seeker::Step => self.hidden.as_slice(),
        };
        self.shown.iter().chain(hidden)
    }
}

/// What is offered of one downstream's tools.
#[derive(Default)]
pub(crate) struct Offer {
    pub(crate) tools: OfferedTools,
    /// The URIs of views that the tools have; they need not be on any list (protocol.md §16.1).
    pub(crate) views: Vec<String>,
    /// Exposed names that are not `downstream__original`, with the original name.
    pub(crate) aliases: Vec<(String, String)>,
    /// Tools that are left out, with the reason.
    pub(crate) dropped: Vec<(String, String)>,
}

impl Offer {
    /// Fits what the source's filter has admitted. The era in which the downstream was listed may not be known.
    pub(crate) fn of(source: &Source, era: Option<Era>, tools: Vec<Tool>, rules: &FitRules) -> Self {
        let fitted = fit(Listing::new(source.name.as_str(), tools), rules);
        let exposed = |(alias, original): (&str, &str)| {
            (ToolRef::new(source.name.as_str(), alias).to_string(), original.to_owned())
        };
        let aliases = fitted.report.aliases().map(exposed).collect();
        let mut dropped: Vec<_> =
            fitted.report.dropped().map(|(tool, cause)| (tool.to_owned(), cause.to_string())).collect();
        let mirrors = source.mirrors_headers && era != Some(Era::Legacy);
        let offer = |tool| offer(source, tool, mirrors, &mut dropped);
        let is_shown = |offered: &Arc<OfferedTool>| {
            source.filter.exposure(offered.tool.original()) == Some(Exposure::Shown)
        };
        let (shown, hidden): (Vec<_>, _) =
            fitted.listing.tools.into_iter().filter_map(offer).partition(is_shown);
        let mut views: Vec<_> = shown.iter().flat_map(|offered| uris::of_tool(&offered.tool)).collect();
        views.sort_unstable();
        views.dedup();
        Self { tools: OfferedTools { shown, hidden }, views, aliases, dropped }
    }
}

/// The tool with what calls to it need; `None` if clients could not read it or it cannot be called over this
/// transport.
fn offer(
    source: &Source,
    tool: Tool,
    mirrors_headers: bool,
    dropped: &mut Vec<(String, String)>,
) -> Option<Arc<OfferedTool>> {
    if let Some(fault) = definition::fault(tool.definition()) {
        dropped.push((tool.original().to_string(), fault));
        return None;
    }
    let offered = |tool, headers: Vec<_>| {
        Some(Arc::new(OfferedTool { downstream: source.name.clone(), tool, headers: headers.into() }))
    };
    let Some(schema) = tool.input_schema() else { return offered(tool, Vec::new()) };
    match param_headers::find(&schema) {
        Ok(headers) => offered(tool, headers),
        Err(error) if mirrors_headers => {
            dropped.push((tool.original().to_string(), error.to_string()));
            None
        }
        // Nobody reads them here, and clients would drop the tool for them.
        Err(_) => offered(tool.with("inputSchema", &schema::without_headers(&schema)), Vec::new()),
    }
}
