//! A downstream's pages, cut where they do not end, and what is offered of them.

use std::sync::Arc;

use gateway_aggregate::FitRules;
use gateway_catalog::{CatalogConfig, ToolFilter};
use gateway_domain::{DownstreamState, Era, ParamKind, View};
use tokio::time::Instant;

use crate::fake::{Lists, Scene, Script, define, ms, tools, view};

fn small() -> CatalogConfig {
    let rules = FitRules { max_tools: 3, ..FitRules::default() };
    CatalogConfig { rules, max_pages: 5, ..CatalogConfig::default() }
}

/// What becomes of these lists: state, names on `/mcp`, reason.
async fn check(lists: Lists, state: DownstreamState, names: &[&str], reason: Option<&str>) {
    let scene = Scene::with(small(), [("d", Script::lists(lists))], |_| {});
    scene.catalog.settled(ms(100)).await;
    let status = scene.status("d");
    assert_eq!((status.state, status.reason.as_deref()), (state, reason), "with {names:?}");
    assert_eq!(scene.names(&View::All).await, names);
    assert_eq!(status.tools, names.len());
}

#[tokio::test(start_paused = true)]
async fn lists_are_followed_to_their_end_or_cut_with_a_remark() {
    use DownstreamState::{Broken, Degraded, Ready};
    check(
        Lists::Pages(vec![tools(&["b"]), vec![], tools(&["a", "c"])]),
        Ready,
        &["d__a", "d__b", "d__c"],
        None,
    )
    .await;
    check(Lists::Pages(vec![vec![]]), Ready, &[], None).await;
    check(
        Lists::Circle(tools(&["a"])),
        Degraded,
        &["d__a"],
        Some("the list is cut: the downstream gave the same cursor twice"),
    )
    .await;
    check(
        Lists::Pages(vec![tools(&["d", "c"]), tools(&["b", "a"]), tools(&["e"])]),
        Degraded,
        &["d__a", "d__b", "d__c"],
        Some("the list is cut after 3 tools"),
    )
    .await;
    check(
        Lists::Pages(vec![tools(&["a"]), vec![], vec![], vec![], vec![], tools(&["f"])]),
        Degraded,
        &["d__a"],
        Some("the list is cut after 5 pages"),
    )
    .await;
    check(
        Lists::Endless { with_tools: true },
        Degraded,
        &["d__tool-000", "d__tool-001", "d__tool-002"],
        Some("the list is cut after 3 tools"),
    )
    .await;
    check(
        Lists::Endless { with_tools: false },
        Broken,
        &[],
        Some("gave no valid answer: 5 pages of tools without any"),
    )
    .await;
    check(Lists::Skipped(vec!["x".into(), "y".into(), "x".into()]), Degraded, &[], Some("x; y")).await;
    let crowd = (0..10_000).map(|n| n.to_string()).collect();
    check(Lists::Skipped(crowd), Degraded, &[], Some("0; 1; 2; 3; 4; 5; 6; 7; and 9992 more")).await;
}

#[tokio::test(start_paused = true)]
async fn a_list_has_one_deadline_for_all_its_pages() {
    let slow = Script { page_delay: ms(4_000), ..Script::lists(Lists::Endless { with_tools: true }) };
    let stuck = Script::lists(Lists::HangAfterOne(tools(&["t"])));
    // Opening a session has its own bound.
    let scripts = [("slow", slow), ("stuck", stuck.after(700))];
    let scene = Scene::with(CatalogConfig::default(), scripts, |source| {
        if source.name.as_str() == "slow" {
            source.list_timeout = ms(9_000);
        }
    });
    let begun = Instant::now();
    scene.catalog.settled(ms(60_000)).await;
    assert_eq!(begun.elapsed(), ms(10_700));
    for (name, bound) in [("slow", "9s"), ("stuck", "10s")] {
        let status = scene.status(name);
        assert_eq!(status.state, DownstreamState::Broken);
        assert_eq!(status.reason, Some(format!("did not answer within {bound}")), "each has its own");
    }
}

#[tokio::test(start_paused = true)]
async fn a_filtered_tool_is_neither_listed_nor_known() {
    let filter = ToolFilter::new(&["read*".into(), "web query".into()], &["read_secret".into()]);
    let lists = Lists::Pages(vec![tools(&["read", "read_secret", "write"]), tools(&["web query", "x", "y"])]);
    let scene = Scene::with(small(), [("d", Script::lists(lists))], |source| source.filter = filter.clone());
    assert_eq!(scene.names(&View::All).await, ["d__read", "d__web_query_mg6v98"]);
    assert_eq!(scene.names(&view("d")).await, ["read", "web query"], "patterns are over a tool's own name");
    for (view, denied) in [(View::All, "d__read_secret"), (view("d"), "read_secret"), (view("d"), "write")] {
        assert!(scene.tool(&view, denied).is_none(), "{denied}");
    }
    let status = scene.status("d");
    // Six are listed, three are allowed, two are admitted: what is filtered out is not counted.
    assert_eq!((status.state, status.tools, status.dropped), (DownstreamState::Ready, 2, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn names_that_do_not_fit_have_aliases_and_bad_tools_hide_no_other() {
    let long = "n".repeat(90);
    let crowd = tools(&["a__b", "_x", "ok", "ok", "web query", &long]);
    let scene = Scene::start([("d", Script::lists(Lists::Pages(vec![crowd])))]);
    let names = scene.names(&View::All).await;
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 64 && name.matches("__").count() == 1), "{names:?}");
    let status = scene.status("d");
    assert_eq!(status.aliases.len(), 4);
    assert!(status.aliases.iter().all(|(alias, _)| names.contains(alias)), "{:?}", status.aliases);
    for (alias, original) in &status.aliases {
        let offered = scene.tool(&View::All, alias).unwrap();
        assert_eq!(&**offered.tool.original(), original);
    }
    assert_eq!(status.dropped.len(), 1);
    assert_eq!((status.dropped[0].0.as_str(), status.state), ("ok", DownstreamState::Ready));
    assert_eq!(scene.names(&view("d")).await, ["_x", "a__b", &long, "ok", "web query"], "all its own");
}

#[tokio::test(start_paused = true)]
async fn mirrored_arguments_are_found_and_bad_annotations_cost_a_tool_only_where_they_matter() {
    let annotated = |name: &str, header: &str| {
        define(format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"region":{{"type":"string","x-mcp-header":"{header}"}}}}}}}}"#
        ))
    };
    let crowd = || Lists::Pages(vec![vec![annotated("good", "Region"), annotated("not good", "a b")]]);
    let legacy = Script { era: Era::Legacy, ..Script::lists(crowd()) };
    let scripts = [("http", Script::lists(crowd())), ("pipe", Script::lists(crowd())), ("legacy", legacy)];
    let scene = Scene::with(CatalogConfig::default(), scripts, |source| {
        source.mirrors_headers = source.name.as_str() != "pipe";
    });
    assert_eq!(scene.names(&view("http")).await, ["good"]);
    for downstream in ["pipe", "legacy"] {
        assert_eq!(scene.names(&view(downstream)).await, ["good", "not good"]);
        let page = scene.page(&view(downstream)).await;
        assert!(page.contains(r#""Region""#) && !page.contains("a b"), "clients would drop it: {page}");
    }
    for downstream in ["http", "pipe", "legacy"] {
        let offered = scene.tool(&view(downstream), "good").unwrap();
        let headers: Vec<_> = offered.headers.iter().map(|h| (&*h.name, h.path.join("."), h.kind)).collect();
        assert_eq!(headers, [("Region", "region".to_owned(), ParamKind::String)]);
    }
    let kept = scene.tool(&view("pipe"), "not good").unwrap();
    assert_eq!(kept.headers, Arc::from([]));
    let dropped = [("not good".to_owned(), r#"x-mcp-header "a b" is not a header name"#.to_owned())];
    assert_eq!(scene.status("http").dropped, dropped);
    assert_eq!((scene.status("pipe").dropped, scene.status("http").tools), (Vec::new(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_would_make_clients_refuse_the_list_costs_only_itself() {
    let bad = [
        (r#""inputSchema":null"#, "its `inputSchema` is no object"),
        (r#""inputSchema":true"#, "its `inputSchema` is no object"),
        (r#""description":5"#, "its `description` is no string"),
        (r#""title":{}"#, "its `title` is no string"),
        (r#""outputSchema":[]"#, "its `outputSchema` is no object"),
        (r#""annotations":"x""#, "its `annotations` is no object"),
        (r#""icons":{}"#, "its `icons` is no array"),
        (r#""_meta":null"#, "its `_meta` is no object"),
    ];
    for (member, reason) in bad {
        let tools = [r#"{"name":"bad",MEMBER}"#, r#"{"name":"good","unknown":null}"#];
        let tools = tools.map(|tool| define(tool.replace("MEMBER", member)));
        let scene = Scene::start([("d", Script::lists(Lists::Pages(vec![tools.to_vec()])))]);
        assert_eq!(scene.names(&view("d")).await, ["good"], "for {member}");
        assert_eq!(scene.status("d").dropped, [("bad".to_owned(), reason.to_owned())]);
    }
}
