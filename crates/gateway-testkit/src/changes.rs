//! What open streams are told, and who wants to hear it.

use serde_json::Value;

use crate::{
    engine::Conversation,
    message::{Message, notification, quote},
};

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// A list changed; holds the method.
    List(&'static str),
    /// The resource with this URI changed.
    Updated(String),
}

pub(crate) const TOOLS: Change = Change::List("notifications/tools/list_changed");
pub(crate) const PROMPTS: Change = Change::List("notifications/prompts/list_changed");
pub(crate) const RESOURCES: Change = Change::List("notifications/resources/list_changed");

impl Change {
    fn method(&self) -> &str {
        match self {
            Self::List(method) => method,
            Self::Updated(_) => "notifications/resources/updated",
        }
    }

    /// For the streams of a legacy session, if it is to hear of it.
    pub(crate) fn legacy(&self, conversation: &Conversation) -> Option<String> {
        match self {
            Self::Updated(uri) => conversation
                .watches(uri)
                .then(|| notification(self.method(), &format!(r#"{{"uri":{}}}"#, quote(uri)))),
            Self::List(method) => Some(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)),
        }
    }

    /// For a listen stream, if its filter lets it through. `meta` names the subscription.
    pub(crate) fn modern(&self, filter: &Filter, meta: &str) -> Option<String> {
        let wanted = match self {
            Self::List(method) => filter.lists.contains(method),
            Self::Updated(uri) => filter.uris.contains(uri),
        };
        let uri = match self {
            Self::Updated(uri) => format!(r#","uri":{}"#, quote(uri)),
            Self::List(_) => String::new(),
        };
        wanted.then(|| notification(self.method(), &format!(r#"{{"_meta":{meta}{uri}}}"#)))
    }
}

/// What a listen request asked for.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    lists: Vec<&'static str>,
    uris: Vec<String>,
}

impl Filter {
    pub(crate) fn of(message: &Message) -> Self {
        let wanted = message.params.get("notifications").map_or("{}", |filter| filter.get());
        let wanted: Value = serde_json::from_str(wanted).unwrap_or_default();
        let lists = LISTS.iter().filter(|(name, _)| wanted[*name] == true).map(|(_, method)| *method);
        let uris = wanted["resourceSubscriptions"].as_array().into_iter().flatten();
        Self {
            lists: lists.collect(),
            uris: uris.filter_map(|uri| uri.as_str().map(str::to_owned)).collect(),
        }
    }
}

const LISTS: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
];
