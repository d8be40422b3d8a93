use gateway_domain::{Catalog, CatalogEntry, RawJson, RawObject, Tool};

use super::*;
use crate::definition::WorkflowDefinition;
use crate::plan::Workflow;

fn catalog(tools: &[(&str, &str, &str, &str)]) -> Catalog {
    let entry = |(downstream, original, name, annotations): &(&str, &str, &str, &str)| {
        let tool = Tool::new(original).offered_as(name);
        let tool = match *annotations {
            "" => tool,
            text => tool.with("annotations", &RawJson::parse(text.to_owned()).expect("JSON")),
        };
        CatalogEntry::new(downstream, tool)
    };
    Catalog::new(tools.iter().map(entry).collect()).expect("names are unique")
}

fn workflow(tools: &[&str], annotations: &str) -> Workflow {
    let step = |(at, tool): (usize, &&str)| match at % 2 {
        0 => format!(r#"{{"id":"s{at}","tool":"{tool}"}}"#),
        _ => format!(r#"{{"id":"s{at}","type":"forEach","collection":[1],"step":{{"tool":"{tool}"}}}}"#),
    };
    let mut steps: Vec<_> = tools.iter().enumerate().map(step).collect();
    if steps.is_empty() {
        let schema = r#"{"type":"object","properties":{"sure":{"type":"boolean"}}}"#;
        steps.push(format!(r#"{{"id":"ask","type":"elicitation","message":"?","schema":{schema}}}"#));
    }
    let text = format!(
        r#"{{"name":"w","description":"d","steps":[{}],"annotations":{annotations}}}"#,
        steps.join(",")
    );
    let definition = RawObject::parse(text).expect("an object");
    Workflow::compile(WorkflowDefinition::read(&definition, None).expect("well formed")).expect("valid")
}

#[test]
fn a_reference_is_an_exact_name_or_a_downstream_and_its_own_name_for_the_tool() {
    let catalog = catalog(&[
        ("files", "read", "read", ""),
        ("files", "a.b", "a_b_x1", ""),
        ("files", "twice", "twice_1", ""),
        ("files", "twice", "twice_2", ""),
        ("no such name!", "read", "read", ""),
    ]);
    for (written, found) in [
        ("files__read", Some("files__read")),
        ("files.read", Some("files__read")),
        // Called by its own name, whatever clients call it.
        ("files.a.b", Some("files__a_b_x1")),
        ("files__a_b_x1", Some("files__a_b_x1")),
        ("files.a_b_x1", None),
        ("files__a.b", None),
        // Two could be meant (C-W22).
        ("files.twice", None),
        ("files__twice_2", Some("files__twice_2")),
        (".read", None),
        ("files.", None),
        (".", None),
        ("", None),
        ("read", None),
        ("other.read", None),
        ("no such name!.read", None),
    ] {
        let tool = find(&catalog, written);
        assert_eq!(tool.map(|tool| tool.exposed.to_string()).as_deref(), found, "of {written:?}");
    }
}

#[test]
fn an_exact_name_comes_before_a_reference_with_a_dot() {
    let catalog = catalog(&[("a", "b.c", "b.c", ""), ("a__b", "c", "c", "")]);
    assert_eq!(find(&catalog, "a__b.c").expect("it is there").offered.tool.name(), "b.c");
}

const SAFE: &str = r#"{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}"#;

fn annotated() -> Catalog {
    catalog(&[
        ("d", "safe", "safe", SAFE),
        ("d", "reads", "reads", r#"{"readOnlyHint":true}"#),
        ("d", "adds", "adds", r#"{"destructiveHint":false,"openWorldHint":false}"#),
        ("d", "deletes", "deletes", r#"{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":false}"#),
        ("d", "odd", "odd", r#"{"readOnlyHint":"true","destructiveHint":0,"openWorldHint":null}"#),
        ("d", "none", "none", ""),
        ("d", "list", "list", "[]"),
        ("d", "doubled", "doubled", r#"{"readOnlyHint":true,"readOnlyHint":true}"#),
    ])
}

fn floor_of(workflow: &Workflow) -> Option<Floor> {
    Floor::of(workflow, &Pinned::of(workflow, &annotated()))
}

#[test]
fn a_workflow_is_as_safe_as_the_least_safe_of_its_tools() {
    let unsafe_in_all = (false, true, true);
    for (tools, expected) in [
        (&["d__safe"][..], (true, false, false)),
        (&["d__safe", "d.safe"], (true, false, false)),
        (&["d__reads"], (true, false, true)),
        (&["d__adds"], (false, false, false)),
        (&["d__safe", "d__adds"], (false, false, false)),
        (&["d__safe", "d__deletes"], (false, true, false)),
        (&["d__safe", "d__none"], unsafe_in_all),
        (&["d__odd"], unsafe_in_all),
        (&["d__list"], unsafe_in_all),
        (&["d__doubled"], unsafe_in_all),
        (&["d__safe", "d__unknown"], unsafe_in_all),
    ] {
        let floor = floor_of(&workflow(tools, "{}")).expect("it has tools");
        assert_eq!((floor.read_only, floor.destructive, floor.open_world), expected, "of {tools:?}");
    }
    assert_eq!(floor_of(&workflow(&[], "{}")), None);
}

#[test]
fn what_its_author_says_wins_for_each_hint() {
    let floor = Some(Floor { read_only: false, destructive: true, open_world: true });
    for (explicit, floor, expected) in [
        ("{}", floor, r#"{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}"#),
        (
            r#"{"destructiveHint":false}"#,
            floor,
            r#"{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":true}"#,
        ),
        (
            r#"{"title":"T \"1\"","idempotentHint":true,"readOnlyHint":true}"#,
            floor,
            r#"{"title":"T \"1\"","readOnlyHint":true,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}"#,
        ),
        (r#"{"title":""}"#, floor, r#"{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}"#),
        (r#"{"openWorldHint":false}"#, None, r#"{"openWorldHint":false}"#),
    ] {
        let tool = tool_of(&workflow(&["d__none"], explicit), floor);
        assert_eq!(tool.annotations().expect("there are some").as_str(), expected);
    }
    assert_eq!(tool_of(&workflow(&[], "{}"), None).annotations(), None);
    assert_eq!(tool_of(&workflow(&[], r#"{"title":""}"#), None).annotations(), None);
}

#[test]
fn a_claim_to_be_safer_than_the_tools_is_a_contradiction_that_names_them() {
    for (tools, annotations, expected) in [
        (&["d__deletes"][..], "{}", None),
        (&["d__safe"], SAFE, None),
        (&["d__reads"], r#"{"readOnlyHint":true,"destructiveHint":false}"#, None),
        // Less safe than the tools is no contradiction.
        (&["d__safe"], r#"{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}"#, None),
        (&["d__none"], r#"{"idempotentHint":true,"title":"x"}"#, None),
        (&[], SAFE, None),
        (
            &["d__safe", "d__adds", "d.deletes", "d__adds"],
            r#"{"readOnlyHint":true}"#,
            Some("`readOnlyHint` is true, which does not hold for `d__adds`, `d.deletes`"),
        ),
        (
            &["d__adds", "d__deletes"],
            r#"{"destructiveHint":false}"#,
            Some("`destructiveHint` is false, which does not hold for `d__deletes`"),
        ),
        (&["d__reads"], SAFE, Some("`openWorldHint` is false, which does not hold for `d__reads`")),
        (
            &["d__unknown"],
            r#"{"readOnlyHint":true,"openWorldHint":false}"#,
            Some(
                "`readOnlyHint` is true, which does not hold for `d__unknown`; `openWorldHint` is false, which \
                 does not hold for `d__unknown`",
            ),
        ),
    ] {
        let workflow = workflow(tools, annotations);
        let found = contradiction(&workflow, &Pinned::of(&workflow, &annotated()));
        assert_eq!(found.as_deref(), expected, "of {tools:?}");
    }
}
