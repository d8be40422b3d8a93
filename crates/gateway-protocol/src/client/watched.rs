use gateway_domain::RawObject;

use crate::{client::granted_resources, meta};

/// What a modern server grants to a listener (protocol.md §14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// The id of the request that listens.
    pub listener: u64,
    /// The resources whose changes will be told.
    pub resources: Vec<String>,
}

impl Granted {
    /// Reads the `params` of `notifications/subscriptions/acknowledged`; `None` if they name no request of ours.
    pub fn read(params: &RawObject) -> Option<Self> {
        let meta = params.get_object("_meta")?;
        let listener = meta.get(meta::SUBSCRIPTION_ID)?.to_integer()?.try_into().ok()?;
        Some(Self { listener, resources: granted_resources(params) })
    }
}

/// Whether who watches one resource is to hear of a change of another: of itself, and of what lies below it
/// (protocol.md §20.6).
pub fn covers(watched: &str, changed: &str) -> bool {
    let below = changed.strip_prefix(watched);
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || watched.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_names_its_listener_and_what_it_grants() {
        for (params, expected) in [
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a","b"]}}"#,
                Some((7, vec!["a", "b"])),
            ),
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{}}"#,
                Some((7, vec![])),
            ),
            (r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#, Some((7, vec![]))),
            (r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"7"}}"#, None),
            (r#"{"notifications":{}}"#, None),
        ] {
            let granted = Granted::read(&RawObject::parse(params.to_owned()).unwrap());
            let expected = expected.map(|(listener, uris)| Granted {
                listener,
                resources: uris.into_iter().map(str::to_owned).collect(),
            });
            assert_eq!(granted, expected, "for {params}");
        }
    }

    #[test]
    fn a_change_below_a_watched_resource_is_one_of_it() {
        for (watched, changed, covered) in [
            ("file:///a", "file:///a", true),
            ("file:///a", "file:///a/b", true),
            ("file:///a/", "file:///a/b", true),
            ("file:///a", "file:///ab", false),
            ("file:///a/b", "file:///a", false),
        ] {
            assert_eq!(covers(watched, changed), covered, "of {changed} for {watched}");
        }
    }
}
