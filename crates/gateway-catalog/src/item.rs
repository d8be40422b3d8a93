//! Entries of the lists other than that of tools.

use std::{collections::HashSet, sync::Arc};

use gateway_aggregate::{FitRules, Listing, fit, has_scheme};
use gateway_domain::{DownstreamName, ListKind, NAMESPACE_SEPARATOR, RawObject, Tool, ToolRef};

use crate::definition;

/// A prompt, a resource or a resource template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// What the downstream calls it by: its name, URI or template.
    pub(crate) own: Arc<str>,
    /// What it is offered under on `/mcp`, before a prefix or mark: of a prompt the fitted name.
    pub(crate) name: Arc<str>,
    pub(crate) definition: RawObject,
}

/// Entries of one list of one downstream.
pub(crate) type Items = Arc<[Arc<Item>]>;

/// All lists of one downstream but that of its tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct Others {
    prompts: Items,
    resources: Items,
    templates: Items,
}

impl Others {
    /// The lists there are.
    pub(crate) const KINDS: [ListKind; 3] =
        [ListKind::Prompts, ListKind::Resources, ListKind::ResourceTemplates];

    /// Of tools there are none here.
    pub(crate) fn of(&self, list: ListKind) -> &[Arc<Item>] {
        match list {
            ListKind::Tools => &[],
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::ResourceTemplates => &self.templates,
        }
    }

    pub(crate) fn set(&mut self, list: ListKind, items: Items) {
        match list {
            ListKind::Tools => {}
            ListKind::Prompts => self.prompts = items,
            ListKind::Resources => self.resources = items,
            ListKind::ResourceTemplates => self.templates = items,
        }
    }
}

/// What becomes of a list when it is fitted.
#[derive(Debug, Clone, Default)]
pub(crate) struct FittedItems {
    pub(crate) items: Vec<Arc<Item>>,
    /// As those of tools.
    pub(crate) aliases: Vec<(String, String)>,
    pub(crate) dropped: Vec<(String, String)>,
}

/// The member by which an entry of a list is known.
pub(crate) fn key(list: ListKind) -> &'static str {
    match list {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::ResourceTemplates => "uriTemplate",
    }
}

/// Makes a list acceptable to clients. One bad entry never hides another.
pub(crate) fn fit_items(
    downstream: &DownstreamName,
    list: ListKind,
    definitions: Vec<RawObject>,
    rules: &FitRules,
) -> FittedItems {
    let mut fitted = FittedItems::default();
    let mut good = Vec::with_capacity(definitions.len());
    for definition in definitions {
        match definition::fault_in(list, &definition) {
            None => good.push(definition),
            Some(fault) => fitted.drop(list, definition.get_text(key(list)).unwrap_or_default(), &fault),
        }
    }
    match list {
        ListKind::Prompts => fitted.take_prompts(downstream, good, rules),
        _ => fitted.take_uris(list, good, rules),
    }
    fitted
}

impl FittedItems {
    fn drop(&mut self, list: ListKind, own: String, why: &str) {
        let what = match list {
            ListKind::Tools => "tool",
            ListKind::Prompts => "prompt",
            ListKind::Resources => "resource",
            ListKind::ResourceTemplates => "resource template",
        };
        self.dropped.push((own, format!("a {what}: {why}")));
    }

    /// The rules for names are those for tools'.
    fn take_prompts(&mut self, downstream: &DownstreamName, good: Vec<RawObject>, rules: &FitRules) {
        let named = good.into_iter().filter_map(Tool::from_definition);
        let fitted = fit(Listing::new(downstream.as_str(), named), rules);
        for (alias, original) in fitted.report.aliases() {
            let exposed = ToolRef::new(downstream.as_str(), alias).to_string();
            self.aliases.push((exposed, original.to_owned()));
        }
        for (name, cause) in fitted.report.dropped() {
            self.drop(ListKind::Prompts, name.to_owned(), &cause.to_string());
        }
        self.items = { fitted.listing.tools.into_iter() }
            .map(|prompt| {
                let (own, name) = (prompt.original().clone(), prompt.name().into());
                Arc::new(Item { own, name, definition: prompt.definition().clone() })
            })
            .collect();
    }

    fn take_uris(&mut self, list: ListKind, good: Vec<RawObject>, rules: &FitRules) {
        let mut seen = HashSet::with_capacity(good.len());
        for definition in good {
            let own: Arc<str> = definition.get_text(key(list)).unwrap_or_default().into();
            let bytes = definition.as_str().len();
            let why = match () {
                () if list == ListKind::Resources && !has_scheme(&own) => "its `uri` is no URI".to_owned(),
                () if bytes > rules.max_definition_bytes => {
                    format!("its definition has {bytes} bytes, more than {}", rules.max_definition_bytes)
                }
                () if !seen.insert(own.clone()) => "an earlier one is the same".to_owned(),
                () if self.items.len() >= rules.max_tools => {
                    format!("the downstream has more than {}", rules.max_tools)
                }
                () => {
                    self.items.push(Arc::new(Item { name: own.clone(), own, definition }));
                    continue;
                }
            };
            self.drop(list, own.to_string(), &why);
        }
    }
}

/// The name of a prompt on `/mcp`.
pub(crate) fn prefixed(downstream: &DownstreamName, name: &str) -> String {
    format!("{downstream}{NAMESPACE_SEPARATOR}{name}")
}
