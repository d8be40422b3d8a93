use std::time::Duration;

use gateway_domain::{
    Caller, CallerError, Directory, DownstreamName, Error, Generations, ListKind, OfferedTool, Origin, Tool,
    View,
};
use proptest::prelude::*;

use super::{fakes::*, log::Log};

const SAFE: &str = r#"{"readOnlyHint":true,"openWorldHint":false}"#;

#[tokio::test]
async fn workflows_stand_among_the_tools_in_the_order_of_names() {
    let tools = [("b__x", ""), ("d__y", "")];
    let world = World::new(
        &tools,
        &[&calling("e", &["b__x"]), &calling("c", &["d.y"]), &calling("a", &["b.x", "d__y"]), &asking("b")],
    );
    assert_eq!(world.listed().await, ["a", "b", "b__x", "c", "d__y", "e"]);
    assert_eq!(world.listed().await, ["a", "b", "b__x", "c", "d__y", "e"], "each time the same");
    let none = World::new(&[], &[&asking("q"), &asking("p")]);
    assert_eq!(none.listed().await, ["p", "q"]);
}

#[tokio::test]
async fn a_workflow_is_shown_with_what_its_tools_allow_to_be_said() {
    let workflow = r#"{"name":"w","description":"D.","steps":[{"id":"a","tool":"d__safe"},{"id":"b","tool":"d__none"}],
        "annotations":{"title":"W","openWorldHint":true},
        "output":{"properties":{"x":{"type":"string","description":"X.","value":"{{ steps.a.output.x }}"}}}}"#;
    let world = World::new(&[("d__safe", SAFE), ("d__none", "")], &[workflow]);
    let page = world.page(None).await;
    assert_eq!(
        items(&page)[2].as_str(),
        concat!(
            r#"{"name":"w","description":"D.","inputSchema":{"type":"object"},"#,
            r#""outputSchema":{"type":"object","properties":{"x":{"type":"string","description":"X."}}},"#,
            r#""annotations":{"title":"W","readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}"#,
        )
    );
    // As its tools are now.
    world.shelves.change(|state| state.shown[1] = entry("d__none", SAFE));
    let annotations = items(&world.page(None).await)[2].get("annotations").expect("there are some");
    assert_eq!(
        annotations.as_str(),
        r#"{"title":"W","readOnlyHint":true,"destructiveHint":false,"openWorldHint":true}"#
    );
}

proptest! {
    /// However large a page is, each name stands once and in order, workflows included, and the same cursors lead
    /// through the list.
    #[test]
    fn every_name_is_on_one_page(
        tools in proptest::collection::btree_set("[a-c]__[a-c]{1,2}", 0..8),
        workflows in proptest::collection::btree_set("[a-d]{1,3}", 0..8),
        page_size in 1_usize..5,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let shown: Vec<_> = tools.iter().map(|name| (name.as_str(), "")).collect();
            let texts: Vec<_> = workflows.iter().map(|name| asking(name)).collect();
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let world = World::new(&shown, &texts);
            world.shelves.change(|state| state.page_size = page_size);
            let mut expected: Vec<_> = tools.iter().chain(&workflows).cloned().collect();
            expected.sort();
            prop_assert_eq!(world.listed().await, expected);
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_workflow_stands_on_the_page_between_whose_cursors_its_name_is() {
    let texts = ["a", "b", "c", "z"].map(asking);
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let world = World::new(&[("a__1", ""), ("b__1", ""), ("b__2", "")], &texts);
    world.shelves.change(|state| (state.page_size, state.is_private) = (1, true));
    let mut cursor = None;
    for expected in [&["a", "a__1"][..], &["b", "b__1"], &["b__2", "c", "z"]] {
        let page = world.page(cursor.as_deref()).await;
        let names: Vec<_> = items(&page).iter().filter_map(|item| item.get_text("name")).collect();
        assert_eq!(names, expected);
        assert_eq!((page.ttl, page.is_private), (Duration::from_secs(7), true), "as the catalogue says");
        cursor = page.next_cursor;
    }
    assert_eq!(cursor, None);
    // An empty cursor is none.
    assert_eq!(world.page(Some("")).await.items, world.page(None).await.items);
}

#[tokio::test]
async fn a_cursor_that_nobody_gave_is_refused() {
    let world = World::new(&[], &[&asking("a")]);
    let (caller, exchange) = (caller(), modern(&caller(), FORMS));
    let page = world.live.list(ListKind::Tools, &View::All, &caller, &exchange, Some("!")).await;
    assert_eq!(page.expect_err("it is refused"), Error::from(CallerError::InvalidCursor));
}

#[tokio::test]
async fn pages_without_workflows_are_the_catalogues_own() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__missing"]), &asking("zz")]);
    let (caller, exchange) = (caller(), modern(&caller(), FORMS));
    let list = |list, view| {
        let (live, caller, exchange) = (&world.live, &caller, &exchange);
        async move { live.list(list, &view, caller, exchange, None).await.expect("a page").items }
    };
    let single = || View::Downstream(DownstreamName::parse("d").expect("a name"));
    assert_eq!(list(ListKind::Prompts, View::All).await.as_str(), r#"["prompts"]"#);
    let own = list(ListKind::Tools, single()).await;
    assert_eq!(own.as_str(), r#"[{"name":"d__t","inputSchema":{"type":"object"}}]"#);
    // The very bytes, not a copy, where no workflow can be used.
    world.live.replace(definitions(&[&calling("w", &["d__missing"])])).expect("it can be");
    assert!(std::ptr::eq(list(ListKind::Tools, View::All).await.as_bytes(), own.as_bytes()));
}

#[tokio::test]
async fn a_page_is_merged_once_until_something_on_it_changes() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"])]);
    let first = world.page(None).await.items;
    assert!(std::ptr::eq(first.as_bytes(), world.page(None).await.items.as_bytes()));
    world.shelves.change(|state| state.hidden.push(entry("d__u", "")));
    let second = world.page(None).await.items;
    assert_eq!(first, second);
    assert!(!std::ptr::eq(first.as_bytes(), second.as_bytes()), "another page of the catalogue");
    world.live.replace(definitions(&[&calling("v", &["d__t"])])).expect("it can be");
    assert_eq!(world.listed().await, ["d__t", "v"]);
}

#[tokio::test]
async fn what_is_not_for_everybody_is_not_kept() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"])]);
    world.shelves.change(|state| state.is_private = true);
    let (first, second) = (world.page(None).await.items, world.page(None).await.items);
    assert_eq!(first, second);
    assert!(!std::ptr::eq(first.as_bytes(), second.as_bytes()));
}

#[tokio::test]
async fn a_conflict_leaves_out_the_workflow_alone_and_the_tool_keeps_its_name() {
    let world = World::new(&[("d__t", "")], &[&calling("same", &["d__t"]), &calling("other", &["d__t"])]);
    assert_eq!(world.listed().await, ["d__t", "other", "same"]);
    world.shelves.change(|state| {
        let downstream = DownstreamName::parse("d").expect("a name");
        let odd = OfferedTool { downstream, tool: Tool::new("same"), headers: [].into() };
        state.odd.push(odd.into());
    });
    let mut listed = world.listed().await;
    listed.sort();
    assert_eq!(listed, ["d__t", "other", "same"]);
    let result = completed(world.call("same").await);
    assert_eq!(result.get("structuredContent").expect("there is one").as_str(), r#"{"by":"same"}"#);
    assert_eq!(world.calls.called(), [("same".to_owned(), None)], "the tool itself was called");
    world.shelves.change(|state| state.odd.clear());
    completed(world.call("same").await);
    assert_eq!(world.calls.called()[1], ("d__t".to_owned(), Some("same".to_owned())));
}

/// C-22, C-23: what is listed is what can be called.
#[tokio::test]
async fn what_is_listed_is_what_can_be_called() {
    let claims = |name: &str, tool: &str| {
        let plain = calling(name, &[tool]);
        plain.replace(r#""steps""#, r#""annotations":{"readOnlyHint":true},"steps""#)
    };
    let texts = [
        calling("plain", &["d__t"]),
        calling("missing", &["d__t", "d__no"]),
        calling("nested", &["plain"]),
        calling("kept", &["d__kept"]),
        claims("honest", "d__safe"),
        claims("lies", "d__t"),
    ];
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let world = World::new(&[("d__t", ""), ("d__safe", SAFE)], &texts);
    world.shelves.change(|state| state.hidden.push(entry("d__kept", "")));
    let listed = world.listed().await;
    assert_eq!(listed, ["d__safe", "d__t", "honest", "kept", "plain"]);
    for name in ["plain", "missing", "nested", "kept", "honest", "lies"] {
        let outcome = world.call(name).await;
        match listed.iter().any(|listed| listed == name) {
            true => assert!(!completed(outcome).contains("isError"), "{name}"),
            false => refused(outcome, &unknown(name)),
        }
    }
}

#[tokio::test]
async fn a_change_of_workflows_is_a_change_of_the_tools_on_mcp() {
    let world = World::new(&[("d__t", "")], &[&asking("a")]);
    let single = View::Downstream(DownstreamName::parse("d").expect("a name"));
    let numbers = || {
        let live = &world.live;
        (live.generation(&View::All), live.generations(&View::All).tools, live.generation(&single))
    };
    assert_eq!(numbers(), (0, 0, 0));
    let seen = world.live.generation(&View::All);
    let wait = tokio::spawn({
        let live = world.live.clone();
        async move { live.changed(&View::All, seen).await }
    });
    tokio::task::yield_now().await;
    assert!(!wait.is_finished());
    world.live.replace(definitions(&[&asking("b")])).expect("it can be");
    assert_eq!(wait.await.expect("no panic"), 1);
    world.shelves.change(|_| {});
    assert_eq!(numbers(), (2, 2, 0));
    assert_eq!(world.live.changed(&View::All, 1).await, 2, "it has changed before");
    let wait = tokio::spawn({
        let live = world.live.clone();
        async move { live.changed(&View::All, 2).await }
    });
    tokio::task::yield_now().await;
    world.shelves.change(|_| {});
    assert_eq!(wait.await.expect("no panic"), 3);
    assert_eq!(
        world.live.generations(&View::All),
        Generations { tools: 3, prompts: 5, resources: 6 },
        "other lists are not concerned"
    );
}

#[tokio::test]
async fn where_there_are_workflows_all_are_told_of_other_tools() {
    let single = View::Downstream(DownstreamName::parse("d").expect("a name"));
    let world = World::new(&[("d__t", "")], &[]);
    let tools = |view: &View| world.live.generations_to(view, &Caller::anonymous()).tools;
    assert_eq!((tools(&View::All), tools(&single)), (70, 70));
    world.live.replace(definitions(&[&asking("a")])).expect("it can be");
    world.shelves.change(|_| {});
    let all = world.live.generations(&View::All).tools;
    assert_eq!((tools(&View::All), tools(&single)), (all, 70));
    world.live.replace(definitions(&[])).expect("it can be");
    assert_eq!(tools(&View::All), 72, "they were others twice");
    let others = world.live.generations_to(&View::All, &Caller::anonymous());
    assert_eq!((others.prompts, others.resources), (80, 90));
}

/// What is told of a replacement, by the number of the list of tools.
#[track_caller]
fn check_replaced(before: &str, after: &str, number: u64) {
    let world = World::new(&[("d__t", ""), ("d__u", "")], &[before]);
    world.live.replace(definitions(&[after])).expect("it can be");
    assert_eq!(world.live.generation(&View::All), number, "{before} becomes {after}");
}

#[tokio::test]
async fn clients_are_told_of_others_only_if_they_may_be_shown_others() {
    let workflow = calling("w", &["d__t"]);
    check_replaced(&workflow, &workflow, 0);
    check_replaced(&workflow, &workflow.replace("s0", "other"), 0);
    check_replaced(&workflow, &workflow.replace(r#""description":"d""#, r#""description":"e""#), 1);
    check_replaced(&workflow, &calling("v", &["d__t"]), 1);
    check_replaced(&workflow, &calling("w", &["d__u"]), 1);
}

#[tokio::test]
async fn a_workflow_that_is_replaced_by_one_that_looks_the_same_runs_as_the_other() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"])]);
    let with = r#""tool":"d__t","arguments":{"n":1}"#;
    world
        .live
        .replace(definitions(&[&calling("w", &["d__t"]).replace(r#""tool":"d__t""#, with)]))
        .expect("it can be");
    completed(world.call("w").await);
    assert!(world.calls.params()[0].contains(r#"{"n":1}"#), "{:?}", world.calls.params());
}

#[tokio::test]
async fn a_gateway_with_workflows_has_tools_whose_list_changes() {
    let world = World::new(&[], &[&asking("a")]);
    let offer = world.live.offer(&View::All).await;
    assert_eq!(offer.capabilities.as_str(), r#"{"prompts":{},"tools":{"x":1.0,"listChanged":true}}"#);
    assert_eq!(offer.instructions.as_deref(), Some("Read this."));
    let single = View::Downstream(DownstreamName::parse("d").expect("a name"));
    assert_eq!(world.live.offer(&single).await.capabilities.as_str(), r#"{"prompts":{},"tools":{"x":1.0}}"#);
    world.live.replace(definitions(&[])).expect("it can be");
    let offer = world.live.offer(&View::All).await;
    assert_eq!(offer.capabilities.as_str(), r#"{"prompts":{},"tools":{"x":1.0}}"#);
}

#[tokio::test]
async fn whatever_else_a_catalogue_is_asked_it_answers_itself() {
    let world = World::new(&[("d__t", "")], &[&asking("a")]);
    world.shelves.change(|state| state.hidden.push(entry("d__kept", "")));
    let session = modern(&caller(), FORMS).session;
    let tool =
        |name| world.live.tool(&View::All, &caller(), &session, name).map(|tool| tool.tool.name().to_owned());
    assert_eq!(tool("d__t").as_deref(), Some("t"));
    assert_eq!((tool("a"), tool("d__kept")), (None, None));
    let (anybody, origin) = (Caller::anonymous(), Origin::before(&"w".into()));
    let inner = |name| world.live.inner_tool(&View::All, &anybody, &session, &origin, name).is_some();
    assert!(inner("d__kept") && !inner("a"));
    assert_eq!(world.live.flush(None), 3);
    assert!(!world.live.has_view(&View::Downstream(DownstreamName::parse("nowhere").expect("a name"))));
    assert_eq!(world.live.downstreams().len(), 2);
}

#[tokio::test]
async fn what_the_author_has_to_mend_is_warned_of_once() {
    let (log, _recording) = Log::start();
    let lies =
        calling("lies", &["d__t"]).replace(r#""steps""#, r#""annotations":{"readOnlyHint":true},"steps""#);
    let missing = calling("missing", &["d__no"]);
    let world = World::new(&[("d__t", "")], &[&lies, &missing]);
    let warning = "message: a workflow is left out. workflow: lies. \
                   reason: `readOnlyHint` is true, which does not hold for `d__t`. ";
    for _ in 0..3 {
        world.listed().await;
    }
    assert_eq!(log.take(), [warning], "that a caller lacks a tool is nothing to warn of");
    world.shelves.change(|state| state.shown[0] = entry("d__t", r#"{"readOnlyHint":false}"#));
    world.listed().await;
    assert!(log.take().is_empty(), "the same for the same reason");
    world.live.replace(definitions(&[&lies])).expect("it can be");
    world.listed().await;
    assert_eq!(log.take(), [warning], "of other definitions anew");
}
