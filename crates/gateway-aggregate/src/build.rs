use std::collections::HashSet;

use gateway_domain::{Catalog, CatalogEntry, DuplicateName, NAMESPACE_SEPARATOR, Tool};

use crate::Listing;

/// Puts every tool under `downstream__tool` and merges the listings into one catalogue, sorted by that name
/// in byte order. Permuting listings, or tools in a listing, changes nothing.
///
/// Strict: every name in the catalogue resolves back to its own downstream and tool, and to no other
/// (A-W1). To make a listing acceptable first, see [`fit`](crate::fit). Costs O(n log n).
///
/// # Errors
/// The first violation in listing order, then in tool order; see [`BuildError`].
pub fn build(listings: &[Listing]) -> Result<Catalog, BuildError> {
    let mut downstreams = HashSet::with_capacity(listings.len());
    let mut entries = Vec::with_capacity(listings.iter().map(|listing| listing.tools.len()).sum());
    for (position, listing) in listings.iter().enumerate() {
        let downstream = listing.downstream.as_str();
        check_downstream(downstream, position)?;
        if !downstreams.insert(downstream) {
            return Err(BuildError::DuplicateDownstream { downstream: downstream.to_owned() });
        }
        let mut names = HashSet::with_capacity(listing.tools.len());
        for (position, tool) in listing.tools.iter().enumerate() {
            check_tool(downstream, tool, position)?;
            if !names.insert(tool.name()) {
                return Err(BuildError::DuplicateTool {
                    downstream: downstream.to_owned(),
                    tool: tool.name().to_owned(),
                });
            }
            entries.push(CatalogEntry::new(downstream, tool.clone()));
        }
    }
    // Each name splits in one way only, so two that are equal would have been a duplicate tool above.
    Catalog::new(entries).map_err(BuildError::DuplicateName)
}

fn check_downstream(name: &str, listing: usize) -> Result<(), BuildError> {
    let downstream = || name.to_owned();
    match name {
        "" => Err(BuildError::EmptyDownstream { listing }),
        _ if name.contains(NAMESPACE_SEPARATOR) => {
            Err(BuildError::DownstreamSeparator { downstream: downstream() })
        }
        _ if name.ends_with('_') => Err(BuildError::AmbiguousDownstream { downstream: downstream() }),
        _ => Ok(()),
    }
}

fn check_tool(downstream: &str, tool: &Tool, position: usize) -> Result<(), BuildError> {
    let downstream = || downstream.to_owned();
    match tool.name() {
        "" => Err(BuildError::EmptyTool { downstream: downstream(), position }),
        name if name.contains(NAMESPACE_SEPARATOR) => {
            Err(BuildError::ToolSeparator { downstream: downstream(), tool: name.to_owned() })
        }
        name if name.starts_with('_') => {
            Err(BuildError::AmbiguousTool { downstream: downstream(), tool: name.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Why listings do not make a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A downstream without a name.
    #[error("listing {listing} (counted from 0) has an empty downstream name")]
    EmptyDownstream {
        /// Its position among the listings.
        listing: usize,
    },
    /// A downstream's name contains the separator.
    #[error(
        "downstream name {downstream:?} contains {NAMESPACE_SEPARATOR:?}, which separates downstream and tool"
    )]
    DownstreamSeparator {
        /// The name.
        downstream: String,
    },
    /// A downstream's name ends with `_`, so that no name made with it can be taken apart: `a_` with `x` and
    /// `a` with `_x` would both be `a___x` (A-W1, A-W2).
    #[error(
        "downstream name {downstream:?} ends with \"_\", which cannot be told from the separator \
         {NAMESPACE_SEPARATOR:?} after it"
    )]
    AmbiguousDownstream {
        /// The name.
        downstream: String,
    },
    /// Two listings have the same downstream.
    #[error("downstream {downstream:?} has two listings")]
    DuplicateDownstream {
        /// The name.
        downstream: String,
    },
    /// A tool without a name.
    #[error("downstream {downstream:?}: tool {position} (counted from 0) has an empty name")]
    EmptyTool {
        /// Whose tool.
        downstream: String,
        /// Its position in the listing.
        position: usize,
    },
    /// A tool's name contains the separator.
    #[error(
        "downstream {downstream:?}: tool name {tool:?} contains {NAMESPACE_SEPARATOR:?}, which separates \
         downstream and tool"
    )]
    ToolSeparator {
        /// Whose tool.
        downstream: String,
        /// The tool's name.
        tool: String,
    },
    /// A tool's name begins with `_`, so that the name made with it cannot be taken apart (A-W1).
    #[error(
        "downstream {downstream:?}: tool name {tool:?} begins with \"_\", which cannot be told from the \
         separator {NAMESPACE_SEPARATOR:?} before it"
    )]
    AmbiguousTool {
        /// Whose tool.
        downstream: String,
        /// The tool's name.
        tool: String,
    },
    /// A downstream has two tools of one name.
    #[error("downstream {downstream:?} reports tool {tool:?} twice")]
    DuplicateTool {
        /// Whose tools.
        downstream: String,
        /// The name.
        tool: String,
    },
    /// Two exposed names are equal although every name passed the checks: a bug of this crate, reported
    /// rather than misrouted.
    #[error(transparent)]
    DuplicateName(DuplicateName),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listings(listings: &[(&str, &[&str])]) -> Vec<Listing> {
        listings.iter().map(|(name, tools)| Listing::new(*name, tools.iter().map(|t| Tool::new(t)))).collect()
    }

    #[test]
    fn every_fault_has_its_own_error_that_names_the_place() {
        #[track_caller]
        fn check(input: &[(&str, &[&str])], expected: BuildError, words: &[&str]) {
            let error = build(&listings(input)).expect_err("these listings are faulty");
            assert_eq!(error, expected);
            let text = error.to_string();
            for word in words {
                assert!(text.contains(word), "{text:?} does not say {word:?}");
            }
        }
        let downstream = || "a".to_owned();
        let tool = |name: &str| name.to_owned();
        check(&[("ok", &[]), ("", &["x"])], BuildError::EmptyDownstream { listing: 1 }, &["listing 1"]);
        check(
            &[("a__b", &["x"])],
            BuildError::DownstreamSeparator { downstream: "a__b".into() },
            &["\"a__b\"", "\"__\""],
        );
        for bad in ["a_", "_"] {
            check(
                &[(bad, &["x"])],
                BuildError::AmbiguousDownstream { downstream: bad.into() },
                &[&format!("{bad:?}"), "\"__\""],
            );
        }
        check(
            &[("a", &[]), ("b", &["x"]), ("a", &["y"])],
            BuildError::DuplicateDownstream { downstream: downstream() },
            &["\"a\""],
        );
        check(
            &[("a", &["x", ""])],
            BuildError::EmptyTool { downstream: downstream(), position: 1 },
            &["\"a\"", "tool 1"],
        );
        for bad in ["x__y", "__x", "x__", "__"] {
            check(
                &[("a", &[bad])],
                BuildError::ToolSeparator { downstream: downstream(), tool: tool(bad) },
                &["\"a\"", &format!("{bad:?}"), "\"__\""],
            );
        }
        for bad in ["_x", "_"] {
            check(
                &[("a", &[bad])],
                BuildError::AmbiguousTool { downstream: downstream(), tool: tool(bad) },
                &["\"a\"", &format!("{bad:?}"), "\"__\""],
            );
        }
        check(
            &[("a", &["x", "y", "x"])],
            BuildError::DuplicateTool { downstream: downstream(), tool: tool("x") },
            &["\"a\"", "\"x\""],
        );
    }

    #[test]
    fn the_first_violation_in_listing_then_tool_order_is_reported() {
        #[track_caller]
        fn check(input: &[(&str, &[&str])], expected: &str) {
            let error = build(&listings(input)).expect_err("these listings are faulty");
            assert!(format!("{error:?}").starts_with(expected), "{error:?} is not {expected}");
        }
        check(&[("a", &["x", "", "x__y"]), ("", &[])], "EmptyTool");
        check(&[("a", &["x", "x", ""]), ("a", &[])], "DuplicateTool");
        check(&[("a", &["x"]), ("a", &["", "x__y"])], "DuplicateDownstream");
        check(&[("b__", &[""]), ("", &[])], "DownstreamSeparator");
        check(&[("a", &["__x"]), ("a", &[])], "ToolSeparator");
        // Either would be `a___x`: refused whichever comes first, and alone.
        check(&[("a_", &["x"]), ("a", &["_x"])], "AmbiguousDownstream");
        check(&[("a", &["_x"]), ("a_", &["x"])], "AmbiguousTool");
    }

    #[test]
    fn good_listings_are_merged_in_byte_order() {
        #[track_caller]
        fn check(input: &[(&str, &[&str])], expected: &[&str]) {
            let catalog = build(&listings(input)).expect("these listings are good");
            let names: Vec<_> = catalog.entries().iter().map(CatalogEntry::name).collect();
            assert_eq!(names, expected);
        }
        check(&[], &[]);
        check(&[("a", &[]), ("b", &[])], &[]);
        check(&[("b", &["x"]), ("a", &["x"])], &["a__x", "b__x"]);
        check(
            &[("a", &["b", "B", "é", "a-", "a.b", "a_"])],
            &["a__B", "a__a-", "a__a.b", "a__a_", "a__b", "a__é"],
        );
        // `-` sorts before `_`: the order is that of whole names, not of (downstream, tool).
        check(&[("a", &["z"]), ("a-b", &["a"])], &["a-b__a", "a__z"]);
        check(&[("_a", &["x"])], &["_a__x"]);
    }
}
