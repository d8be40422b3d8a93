use gateway_domain::{OfferedTool, RawJson, RawObject};

use super::Pinned;
use crate::{definition::Annotations, plan::Workflow};

/// What the tools of a workflow allow to be said of it (C-20). That it may be repeated never follows from that its
/// steps may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Floor {
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) open_world: bool,
}

impl Floor {
    /// Of a tool that says nothing, or is not there.
    const UNKNOWN: Self = Self { read_only: false, destructive: true, open_world: true };

    /// `None`: there are no tools.
    pub(crate) fn of(workflow: &Workflow, tools: &Pinned) -> Option<Self> {
        let each = workflow.tools().map(|(_, tool)| Self::of_reference(tools, tool));
        each.reduce(|all, one| Self {
            read_only: all.read_only && one.read_only,
            destructive: all.destructive || one.destructive,
            open_world: all.open_world || one.open_world,
        })
    }

    fn of_reference(tools: &Pinned, written: &str) -> Self {
        tools.get(written).map_or(Self::UNKNOWN, |found| Self::of_tool(&found.offered))
    }

    /// A tool that only reads has said that it destroys nothing: the protocol gives `destructiveHint` no meaning
    /// for it.
    fn of_tool(offered: &OfferedTool) -> Self {
        let said = |hint| hint_of(offered, hint);
        let read_only = said("readOnlyHint").unwrap_or(Self::UNKNOWN.read_only);
        Self {
            read_only,
            destructive: said("destructiveHint").unwrap_or(!read_only),
            open_world: said("openWorldHint").unwrap_or(Self::UNKNOWN.open_world),
        }
    }
}

/// What a tool says of itself; `None` if it does not, or in a way that cannot be read.
fn hint_of(offered: &OfferedTool, hint: &str) -> Option<bool> {
    RawObject::try_from(offered.tool.annotations()?).ok()?.get(hint)?.to_bool()
}

/// Whether a tool is declared read-only or idempotent: calling it twice does no more than calling it once (C-W13).
pub(crate) fn is_repeatable(offered: &OfferedTool) -> bool {
    ["readOnlyHint", "idempotentHint"].iter().any(|hint| hint_of(offered, hint) == Some(true))
}

/// The annotations that clients are shown: the author's, and for the rest those of the tools (C-21).
pub(super) fn shown(explicit: Option<&Annotations>, floor: Option<Floor>) -> Option<RawObject> {
    let none = Annotations::default();
    let explicit = explicit.unwrap_or(&none);
    let hints = [
        ("readOnlyHint", explicit.read_only_hint.or_else(|| floor.map(|floor| floor.read_only))),
        ("destructiveHint", explicit.destructive_hint.or_else(|| floor.map(|floor| floor.destructive))),
        ("idempotentHint", explicit.idempotent_hint),
        ("openWorldHint", explicit.open_world_hint.or_else(|| floor.map(|floor| floor.open_world))),
    ];
    let title = explicit.title.as_deref().filter(|title| !title.is_empty()).map(RawJson::string);
    let title = title.into_iter().map(|title| ("title", title.to_string()));
    let hints = hints.into_iter().filter_map(|(name, hint)| Some((name, hint?.to_string())));
    let empty = RawObject::empty();
    let edit = title.chain(hints).fold(empty.edit(), |edit, (name, value)| edit.set(name, value));
    RawObject::try_from(edit.finish()).ok().filter(|shown| !shown.is_empty())
}

/// What a workflow says of itself that is safer than its tools are, as a sentence that names them (C-22).
pub(crate) fn contradiction(workflow: &Workflow, tools: &Pinned) -> Option<String> {
    let explicit = workflow.definition().annotations.as_ref()?;
    type IsUnsafe = fn(Floor) -> bool;
    let claims: [(bool, &str, IsUnsafe); 3] = [
        (explicit.read_only_hint == Some(true), "`readOnlyHint` is true", |floor| !floor.read_only),
        (explicit.destructive_hint == Some(false), "`destructiveHint` is false", |floor| floor.destructive),
        (explicit.open_world_hint == Some(false), "`openWorldHint` is false", |floor| floor.open_world),
    ];
    let claims = claims.into_iter().filter(|(is_made, ..)| *is_made);
    let refuted = claims.filter_map(|(_, claim, is_unsafe)| {
        let of = tools_that(workflow, |tool| is_unsafe(Floor::of_reference(tools, tool)));
        (!of.is_empty()).then(|| format!("{claim}, which does not hold for {}", of.join(", ")))
    });
    let refuted: Vec<_> = refuted.collect();
    (!refuted.is_empty()).then(|| refuted.join("; "))
}

/// The tools of a workflow as they are written and quoted, each once, in the order of the file.
fn tools_that(workflow: &Workflow, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let mut tools = Vec::new();
    for (_, tool) in workflow.tools().filter(|(_, tool)| is_meant(tool)) {
        let quoted = format!("`{tool}`");
        if !tools.contains(&quoted) {
            tools.push(quoted);
        }
    }
    tools
}
