//! Workflows as tools (C-1 to C-10, C-16, C-17, C-W9).

use std::{borrow::Cow, sync::Arc};

use gateway_composite::{
    Definitions, RoutingTable, ToolNameConflict, Workflow, WorkflowDefinition,
    convert_workflow_defs_to_tools, filter_workflow_defs_for_session, validate_no_tool_conflicts,
};
use gateway_domain::{Catalog, CatalogEntry, RawObject, Tool};

/// The contract's signatures: whoever uses this crate alone calls just these.
const _: fn(&Definitions) -> Vec<Tool> = convert_workflow_defs_to_tools;
const _: for<'a> fn(&'a Definitions, Option<&dyn RoutingTable>) -> Cow<'a, Definitions> =
    filter_workflow_defs_for_session;
const _: fn(&[Tool], &[Tool]) -> Result<(), ToolNameConflict> = validate_no_tool_conflicts;

fn load(text: &str) -> Arc<Workflow> {
    let definition = RawObject::parse(text.to_owned()).expect("an object");
    let definition = WorkflowDefinition::read(&definition, None).expect("well formed");
    Arc::new(Workflow::compile(definition).expect("valid"))
}

fn definitions(texts: &[&str]) -> Definitions {
    Definitions::of(texts.iter().map(|text| load(text))).expect("each name is one workflow's")
}

fn names(definitions: &Definitions) -> Vec<&str> {
    definitions.names().map(|name| &**name).collect()
}

fn calling(name: &str, tools: &[&str]) -> String {
    let steps = tools.iter().enumerate().map(|(at, tool)| format!(r#"{{"id":"s{at}","tool":"{tool}"}}"#));
    let steps: Vec<_> = steps.collect();
    format!(r#"{{"name":"{name}","description":"d","steps":[{}]}}"#, steps.join(","))
}

const ASKS: &str = r#"{"name":"asks","description":"d","steps":[
    {"id":"ask","type":"elicitation","message":"?","schema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}]}"#;
const LOOPS: &str = r#"{"name":"loops","description":"d","steps":[
    {"id":"each","type":"forEach","collection":[1],"step":{"tool":"files__write"}}]}"#;

#[track_caller]
fn check_tool(definition: &str, expected: &str) {
    let tools = convert_workflow_defs_to_tools(&definitions(&[definition]));
    let shown: Vec<_> = tools.iter().map(|tool| tool.definition().as_str()).collect();
    assert_eq!(shown, [expected]);
}

#[test]
fn a_workflow_is_a_tool_with_its_name_description_and_parameters() {
    check_tool(
        r#"{"name":"w","description":"Does \"it\".","steps":[{"id":"a","tool":"d__t"}]}"#,
        r#"{"name":"w","description":"Does \"it\".","inputSchema":{"type":"object"}}"#,
    );
    // Parameters as they are written, numbers and unknown members included.
    check_tool(
        r#"{"name":"w","description":"d","parameters":{"type":"object", "properties":{"n":{"type":"number","default":1.0}},"x-y":9007199254740993},
            "steps":[{"id":"a","tool":"d__t"}],"metadata":{"secret":"s"}}"#,
        r#"{"name":"w","description":"d","inputSchema":{"type":"object","properties":{"n":{"type":"number","default":1.0}},"x-y":9007199254740993}}"#,
    );
}

#[test]
fn an_output_schema_never_shows_where_values_come_from() {
    check_tool(
        r#"{"name":"w","description":"d","steps":[{"id":"a","tool":"d__t"}],"output":{"properties":{
            "z":{"type":"string","description":"Z.","value":"{{ steps.a.output.z }}","default":"hidden"},
            "a":{"type":"object","description":"A.","properties":{
                "n":{"type":"integer","description":"N.","value":"{{ steps.a.output.n }}"},
                "o":{"type":"object","description":"O.","properties":{
                    "b":{"type":"boolean","description":"B.","value":"{{ true }}"}}}}},
            "l":{"type":"array","description":"L.","value":"{{ [] }}"}},
          "required":["z","a"]}}"#,
        concat!(
            r#"{"name":"w","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"#,
            r#""z":{"type":"string","description":"Z."},"#,
            r#""a":{"type":"object","description":"A.","properties":{"n":{"type":"integer","description":"N."},"#,
            r#""o":{"type":"object","description":"O.","properties":{"b":{"type":"boolean","description":"B."}}}}},"#,
            r#""l":{"type":"array","description":"L."}},"required":["z","a"]}}"#,
        ),
    );
    // `required` only if something is.
    check_tool(
        r#"{"name":"w","description":"d","steps":[{"id":"a","tool":"d__t"}],"output":{"properties":{
            "n":{"type":"number","description":"N.","value":"{{ 1.5 }}"}},"required":[]}}"#,
        r#"{"name":"w","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"number","description":"N."}}}}"#,
    );
}

#[test]
fn tools_stand_in_the_order_of_their_names() {
    let texts = ["b", "a-1", "c", "a"].map(|name| calling(name, &["d__t"]));
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let tools = convert_workflow_defs_to_tools(&definitions(&texts));
    assert_eq!(tools.iter().map(Tool::name).collect::<Vec<_>>(), ["a", "a-1", "b", "c"]);
    assert!(convert_workflow_defs_to_tools(&Definitions::default()).is_empty());
}

fn table() -> Catalog {
    let tools = [("files", "read", "read"), ("files", "write", "write"), ("web", "get.all", "get_all_x1")];
    let entry = |(downstream, original, name): (&str, &str, &str)| {
        CatalogEntry::new(downstream, Tool::new(original).offered_as(name))
    };
    Catalog::new(tools.map(entry).into()).expect("names are unique")
}

#[test]
fn a_session_has_the_workflows_whose_every_tool_it_has() {
    let table = table();
    for (tools, is_kept) in [
        (&["files__read"][..], true),
        (&["files__read", "files.write"], true),
        (&["web.get.all", "web__get_all_x1"], true),
        (&["files__read", "files__delete"], false),
        (&["files__delete"], false),
        (&["read"], false),
        (&["web__get.all"], false),
        (&["other.read"], false),
        // A workflow is no tool of the table.
        (&["w"], false),
    ] {
        let all = definitions(&[&calling("w", tools)]);
        let kept = filter_workflow_defs_for_session(&all, Some(&table));
        assert_eq!(!kept.is_empty(), is_kept, "of {tools:?}");
    }
}

#[test]
fn inner_steps_count_and_questions_do_not() {
    let all = definitions(&[ASKS, LOOPS, &calling("reads", &["files__read"])]);
    let without = |name: &str| {
        let entries = table().entries().iter().filter(|entry| entry.name() != name).cloned().collect();
        Catalog::new(entries).expect("names are unique")
    };
    for (missing, kept) in [
        ("files__write", &["asks", "reads"][..]),
        ("files__read", &["asks", "loops"]),
        ("", &["asks", "loops", "reads"]),
    ] {
        let table = without(missing);
        assert_eq!(names(&filter_workflow_defs_for_session(&all, Some(&table))), kept);
    }
    assert_eq!(names(&filter_workflow_defs_for_session(&all, None)), ["asks"]);
    assert_eq!(names(&all), ["asks", "loops", "reads"], "what was given is as it was");
}

#[test]
fn where_nothing_is_left_out_the_same_is_given_back() {
    let table = table();
    for texts in [&[][..], &[ASKS], &[ASKS, LOOPS]] {
        let all = definitions(texts);
        assert!(
            matches!(filter_workflow_defs_for_session(&all, Some(&table)), Cow::Borrowed(same) if std::ptr::eq(same, &all))
        );
    }
    let none = Definitions::default();
    assert!(matches!(filter_workflow_defs_for_session(&none, None), Cow::Borrowed(_)));
}

#[test]
fn all_names_that_stand_on_both_sides_are_told() {
    let tools = |names: &[&str]| names.iter().map(|name| Tool::new(name)).collect::<Vec<_>>();
    for (backend, composite, conflicts) in [
        (&[][..], &[][..], &[][..]),
        (&["a", "b"], &["c"], &[]),
        (&["a"], &["A"], &[]),
        (&["c", "a", "b"], &["b", "x", "a", "b"], &["a", "b"]),
    ] {
        let found = validate_no_tool_conflicts(&tools(backend), &tools(composite));
        let names = found.as_ref().map_or_else(|conflict| conflict.names.clone(), |()| Vec::new());
        assert_eq!(names, conflicts);
        assert_eq!(found.is_err(), !conflicts.is_empty());
    }
    // What clients would call counts, not what the downstream calls it.
    let aliased = [Tool::new("own").offered_as("shown")];
    assert!(validate_no_tool_conflicts(&aliased, &tools(&["own"])).is_ok());
    let conflict = validate_no_tool_conflicts(&aliased, &tools(&["shown"])).expect_err("both are `shown`");
    assert_eq!(conflict.to_string(), "workflows have the names of tools: shown");
}

#[test]
fn two_workflows_of_one_name_are_an_error() {
    let twice = [load(&calling("w", &["files__read"])), load(&calling("w", &["files__write"]))];
    let error = Definitions::of(twice).expect_err("the name stands twice");
    assert_eq!(error.to_string(), "there are two workflows `w`; give one of them another name");
}
