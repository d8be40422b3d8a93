use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{NAMESPACE_SEPARATOR, RawJson, ToolRef, build, resolve};

fn listing(downstream: &str, names: &[impl AsRef<str>]) -> Listing {
    Listing::new(downstream, names.iter().map(|name| Tool::new(name.as_ref())))
}

fn offered(fitted: &Fitted) -> Vec<(&str, &str)> {
    fitted.listing.tools.iter().map(|tool| (&**tool.original(), tool.name())).collect()
}

fn short(max_length: usize) -> FitRules {
    FitRules { max_length, ..FitRules::default() }
}

#[test]
fn names_that_fit_stay() {
    #[track_caller]
    fn check(rules: &FitRules, name: &str) {
        let fitted = fit(listing("d", &[name]), rules);
        assert_eq!(offered(&fitted), [(name, name)]);
        assert!(fitted.report.is_empty(), "{}", fitted.report);
    }
    let portable = FitRules::default();
    for name in ["a", "get_user", "getUser", "-", "a-", "a_", "0", &"x".repeat(61)] {
        check(&portable, name);
    }
    let protocol = FitRules { characters: Characters::Protocol, max_length: 128, ..portable };
    for name in ["a.b", ".", &"x".repeat(125)] {
        check(&protocol, name);
    }
}

#[test]
fn names_that_do_not_fit_get_a_readable_alias_for_ever() {
    #[track_caller]
    fn check(rules: FitRules, name: &str, alias: &str, why: &str) {
        let fitted = fit(listing("files", &[name]), &rules);
        assert_eq!(offered(&fitted), [(name, alias)]);
        let [Change::Aliased { misfit, .. }] = &fitted.report.changes[..] else {
            panic!("not one alias: {:?}", fitted.report)
        };
        assert_eq!(misfit.to_string(), why);
    }
    let portable = FitRules::default();
    let protocol = FitRules { characters: Characters::Protocol, ..portable };
    let odd = |c: &str| format!("has a character '{c}' other than letters, digits, `-` and `_`");
    check(portable, "", "tool_q41mnm", "is empty");
    check(portable, "a__b", "a_b_af81km", "contains `__`, which separates downstream and tool");
    check(portable, "____", "tool_2hyc6k", "contains `__`, which separates downstream and tool");
    check(
        portable,
        "_a",
        "a_2qzyc7",
        "begins with `_`, which cannot be told from the separator `__` before it",
    );
    check(portable, "web query", "web_query_mg6v98", &odd(" "));
    check(portable, "fs/read.file", "fs_read_file_dvvek4", &odd("/"));
    check(
        protocol,
        "fs/read.file",
        "fs_read.file_dvvek4",
        "has a character '/' other than letters, digits, `-`, `_` and `.`",
    );
    check(portable, "re\u{200b}ad", "re_ad_f3j19y", &odd("\\u{200b}"));
    check(portable, "\u{1b}[31mread", "31mread_0vbgz1", &odd("\\u{1b}"));
    // Cyrillic, and without a single usable character.
    check(portable, "reаd", "re_d_ytw5gk", &odd("\\u{430}"));
    check(portable, "日本語", "tool_4j78ba", &odd("\\u{65e5}"));
    let long = format!("campaign_management_{}create_campaign", "of_everything_".repeat(4));
    check(
        portable,
        &long,
        "campaign_management_of_create_campaign_xvgbsg",
        "makes an exposed name of 98 characters, more than max_length = 64",
    );
    check(
        short(24),
        "create_campaign_in_account",
        "create_cam_jqrc1c",
        "makes an exposed name of 33 characters, more than max_length = 24",
    );
    check(
        short(14),
        "create_campaign",
        "3443wr",
        "makes an exposed name of 22 characters, more than max_length = 14",
    );
    check(
        short(13),
        "create_campaign",
        "3443wr",
        "makes an exposed name of 22 characters, more than max_length = 13",
    );
}

#[test]
fn an_alias_does_not_depend_on_the_other_tools() {
    let alias = |names: &[&str]| {
        let fitted = fit(listing("d", names), &FitRules::default());
        offered(&fitted).into_iter().find(|(name, _)| *name == "a b").map(|(_, alias)| alias.to_owned())
    };
    let alone = alias(&["a b"]);
    for names in [&["a_b", "a b"][..], &["a b", "a.b", "a/b", "a__b"], &["a\u{301}b", "a b", "a b", "ab"]] {
        assert_eq!(alias(names), alone, "among {names:?}");
    }
}

#[test]
fn a_real_name_wins_over_an_alias() {
    let rules = FitRules::default();
    let mut names = vec!["a b".to_owned()];
    for digits in [6, 8, 10, 12] {
        let fitted = fit(listing("d", &names), &rules);
        let alias = fitted.listing.tools[0].name().to_owned();
        assert_eq!(alias.len(), "a_b_".len() + digits);
        // The downstream now has a tool that really is called that, before or after the other.
        names.push(alias);
    }
    let fitted = fit(listing("d", &names), &rules);
    assert_eq!(offered(&fitted), names[1..].iter().map(|name| (&**name, &**name)).collect::<Vec<_>>());
    let misfit = Misfit::Character { character: ' ', allowed: Characters::Portable };
    assert_eq!(fitted.report.dropped().collect::<Vec<_>>(), [("a b", DropCause::NoAlias { misfit })]);
}

#[test]
fn where_there_is_no_room_for_more_digits_others_are_tried() {
    let rules = short("d__".len() + 6);
    let alias_of = |names: &[&str]| fit(listing("d", names), &rules).listing.tools[0].name().to_owned();
    let first = alias_of(&["create_campaign"]);
    let second = alias_of(&["create_campaign", &first]);
    assert_eq!((first.len(), second.len()), (6, 6));
    assert_ne!(first, second);
}

#[test]
fn names_with_the_same_digits_are_told_apart_in_any_order() {
    let (one, other) = ("乵书", "五乘");
    for names in [[one, other], [other, one]] {
        let fitted = fit(listing("d", &names), &FitRules::default());
        let aliases: BTreeMap<_, _> = offered(&fitted).into_iter().collect();
        assert_eq!(aliases[one], "tool_t6fth1");
        assert!(aliases[other].starts_with("tool_") && aliases[other].len() == "tool_".len() + 8);
    }
    assert_eq!(offered(&fit(listing("d", &[other]), &FitRules::default())), [(other, "tool_t6fth1")]);
}

#[test]
fn what_nobody_could_use_is_dropped_and_the_rest_stays() {
    #[track_caller]
    fn check(rules: FitRules, input: &[(&str, usize)], stay: &[&str], dropped: &[(&str, DropCause)]) {
        let tool = |(name, padding): &(&str, usize)| {
            Tool::new(name).with("description", &RawJson::string(&"x".repeat(*padding)))
        };
        let fitted = fit(Listing::new("d", input.iter().map(tool)), &rules);
        assert_eq!(fitted.listing.tools.iter().map(Tool::name).collect::<Vec<_>>(), stay);
        assert_eq!(fitted.report.dropped().collect::<Vec<_>>(), dropped);
    }
    let rules = FitRules { max_tools: 2, max_definition_bytes: 100, ..FitRules::default() };
    let (duplicate, many) = (DropCause::Duplicate, DropCause::TooMany { limit: 2 });
    // `{"name":"a","description":""}` has 29 bytes.
    let large = DropCause::TooLarge { bytes: 101, limit: 100 };
    check(rules, &[("a", 71), ("b", 72), ("c", 0)], &["a", "c"], &[("b", large)]);
    check(
        rules,
        &[("b", 0), ("a", 0), ("b", 1), ("b", 2)],
        &["b", "a"],
        &[("b", duplicate), ("b", duplicate)],
    );
    // A definition that is dropped does not stand in the way of one that can be used.
    check(rules, &[("a", 72), ("a", 0)], &["a"], &[("a", large)]);
    check(rules, &[("c", 0), ("b", 0), ("a", 0)], &["b", "a"], &[("c", many)]);
    check(rules, &[("b", 0), ("c", 72), ("a", 0), ("a", 0)], &["b", "a"], &[("c", large), ("a", duplicate)]);
    let misfit = Misfit::TooLong { length: 9, limit: 8 };
    check(short(8), &[("abcdef", 0), ("abcde", 0)], &["abcde"], &[("abcdef", DropCause::NoAlias { misfit })]);
    check(
        short(0),
        &[("a", 0)],
        &[],
        &[("a", DropCause::NoAlias { misfit: Misfit::TooLong { length: 4, limit: 0 } })],
    );
    check(FitRules { max_tools: 0, ..rules }, &[("a", 0)], &[], &[("a", DropCause::TooMany { limit: 0 })]);
}

#[test]
fn the_report_is_for_operators_and_safe_to_print() {
    let long = "\u{202e}".repeat(101);
    let names = ["ok", "a__b", "x", "x", "\u{1b}]8;;\r\n", &long];
    let fitted = fit(listing("files", &names), &FitRules::default());
    let text = fitted.report.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "downstream \"files\": tool \"a__b\" is offered as \"a_b_af81km\": its name contains `__`, which separates downstream and tool",
            "downstream \"files\": tool \"x\" is not offered: the downstream reports this name more than once, and the first one stays",
        ]
    );
    assert!(lines[2].contains(r#"tool "\u{1b}]8;;\r\n" is offered as "8_"#), "{}", lines[2]);
    assert!(lines[3].contains(r#"\u{202e}…" is offered as "tool_"#), "{}", lines[3]);
    assert_eq!(lines.len(), 4);
    assert!(text.chars().all(|c| c == '\n' || c == '…' || c.is_ascii_graphic() || c == ' '));
    assert_eq!(fitted.report.aliases().count(), 3);
}

/// Arbitrary names, with many that are close to one another.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ab_./ -]{0,5}",
        1 => "[a-z_]{40,80}",
        1 => any::<String>(),
        1 => "[a\u{200b}\u{202e}\u{e0041}\u{7}\u{9b}é]{0,4}",
    ]
}

fn downstream() -> impl Strategy<Value = String> {
    "[a-z0-9-]{1,10}(_[a-z0-9-]{1,10}){0,2}"
}

fn rules() -> impl Strategy<Value = FitRules> {
    let characters = prop_oneof![Just(Characters::Portable), Just(Characters::Protocol)];
    let length = prop_oneof![Just(64), Just(128), 0_usize..64];
    (characters, length, prop_oneof![Just(2_000), 0_usize..9]).prop_map(
        |(characters, max_length, max_tools)| FitRules {
            max_length,
            characters,
            max_tools,
            ..FitRules::default()
        },
    )
}

proptest! {
    #[test]
    fn build_accepts_what_was_fitted(downstream in downstream(), names in vec(name(), 0..24), rules in rules()) {
        let fitted = fit(listing(&downstream, &names), &rules);
        let catalog = build(std::slice::from_ref(&fitted.listing)).expect("fitted");

        let known = HashMap::from([(downstream.clone(), true)]);
        let mut originals = BTreeSet::new();
        for entry in catalog.entries() {
            let (exposed, tool) = (entry.name(), entry.tool());
            prop_assert!(exposed.len() <= rules.max_length, "{:?} is too long", exposed);
            prop_assert!(exposed.chars().all(|c| rules.characters.contains(c)), "{:?}", exposed);
            prop_assert_eq!(resolve(exposed, Some(&known)), Ok(ToolRef::new(downstream.as_str(), tool.name())));
            prop_assert!(names.iter().any(|name| **name == **tool.original()));
            prop_assert!(originals.insert(tool.original().clone()), "{:?} twice", tool.original());
            let reported = format!(r#"{{"name":{}}}"#, RawJson::string(tool.original()));
            prop_assert_eq!(tool.definition().as_str(), reported);
        }

        // Nothing vanishes silently.
        let dropped: Vec<_> = fitted.report.dropped().collect();
        prop_assert_eq!(catalog.len() + dropped.len(), names.len());
        prop_assert!(catalog.len() <= rules.max_tools);
        for (alias, original) in fitted.report.aliases() {
            let entry = catalog.find(&format!("{downstream}{NAMESPACE_SEPARATOR}{alias}")).expect("offered");
            prop_assert_eq!(&**entry.tool().original(), original);
        }
        for entry in catalog.entries().iter().filter(|entry| entry.tool().name() == &**entry.tool().original()) {
            prop_assert!(fitted.report.aliases().all(|(alias, _)| alias != entry.tool().name()));
        }
        // A name that fits and has its place is never renamed.
        for name in names.iter().filter(|name| rules.misfit(&downstream, name).is_none()) {
            prop_assert!(fitted.report.aliases().all(|(_, original)| original != name));
        }
    }

    #[test]
    fn order_does_not_matter(
        downstream in downstream(),
        (names, shuffled) in vec(name(), 0..24).prop_flat_map(|names| (Just(names.clone()), Just(names).prop_shuffle())),
        rules in rules(),
    ) {
        let as_map = |names: &[String]| {
            let fitted = fit(listing(&downstream, names), &rules);
            offered(&fitted).into_iter().map(|(name, alias)| (name.to_owned(), alias.to_owned())).collect::<BTreeMap<_, _>>()
        };
        prop_assert_eq!(as_map(&names), as_map(&shuffled));
    }

    /// Short of a coincidence of 30 bits, or of a tool that has just that name.
    #[test]
    fn other_tools_do_not_matter(names in vec(name(), 1..24)) {
        let rules = FitRules::default();
        let together = fit(listing("d", &names), &rules);
        for (original, name) in offered(&together) {
            let alone = fit(listing("d", &[original]), &rules);
            prop_assert_eq!(offered(&alone), [(original, name)]);
        }
    }

    #[test]
    fn fitting_again_changes_nothing(downstream in downstream(), names in vec(name(), 0..24), rules in rules()) {
        let once = fit(listing(&downstream, &names), &rules);
        let twice = fit(once.listing.clone(), &rules);
        prop_assert_eq!(twice.listing, once.listing);
        prop_assert!(twice.report.is_empty());
    }

    /// Whatever the downstream is called; what is left to refuse is its own name.
    #[test]
    fn fitting_is_total(downstream in prop_oneof!["[a_]{0,4}", any::<String>()], names in vec(name(), 0..8), rules in rules()) {
        let fitted = fit(listing(&downstream, &names), &rules);
        prop_assert_eq!(&fitted.listing.downstream, &downstream);
        let sound = !downstream.is_empty() && !downstream.contains(NAMESPACE_SEPARATOR) && !downstream.ends_with('_');
        prop_assert_eq!(build(&[fitted.listing]).is_ok(), sound);
    }
}
