//! Prompts, resources and templates, listed like tools.

use std::sync::Arc;

use gateway_catalog::{CatalogConfig, MemoryStore};
use gateway_domain::{
    Caller, CallerError, Directory, DownstreamFault, DownstreamObserver, DownstreamState, Error, Generations,
    ListKind, Page, View,
};
use tokio::time::Instant;

use crate::fake::{Scene, Script, config, exchange, ms, view};

const PROMPT: &str = r#"{ "name":"ask","n":1.0}"#;
const RESOURCE: &str = r#"{"uri":"x:1","name":"one", "n":1.0}"#;
const TEMPLATE: &str = r#"{"uriTemplate":"y:{id}","name":"any", "n":1.0}"#;

pub(crate) fn full() -> Script {
    Script::tools(&["t"])
        .and(ListKind::Prompts, &[PROMPT])
        .and(ListKind::Resources, &[RESOURCE])
        .and(ListKind::ResourceTemplates, &[TEMPLATE])
}

pub(crate) async fn page(scene: &Scene, list: ListKind, view: &View, cursor: Option<&str>) -> Page {
    let caller = Caller::anonymous();
    scene.catalog.list(list, view, &caller, &exchange(&caller), cursor).await.unwrap()
}

async fn text(scene: &Scene, list: ListKind, view: &View) -> String {
    page(scene, list, view, None).await.items.to_string()
}

#[tokio::test(start_paused = true)]
async fn every_list_is_shown_and_only_names_of_prompts_have_a_prefix() {
    let scene = Scene::start([("a", full()), ("b", Script::tools(&["t"]))]);
    let prefixed = PROMPT.replace("ask", "a__ask");
    for (list, on_all, on_own) in [
        (ListKind::Prompts, &*prefixed, PROMPT),
        (ListKind::Resources, RESOURCE, RESOURCE),
        (ListKind::ResourceTemplates, TEMPLATE, TEMPLATE),
    ] {
        assert_eq!(text(&scene, list, &View::All).await, format!("[{on_all}]"));
        assert_eq!(text(&scene, list, &view("a")).await, format!("[{on_own}]"));
        assert_eq!(text(&scene, list, &view("b")).await, "[]", "it has none, and is not asked");
        let first = page(&scene, list, &View::All, None).await.items.into_bytes();
        let again = page(&scene, list, &View::All, None).await.items.into_bytes();
        assert_eq!(first.as_ptr(), again.as_ptr(), "rendered once");
    }
    let status = scene.status("a");
    assert_eq!((status.tools, status.prompts, status.resources), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn each_list_has_pages_and_cursors_of_its_own() {
    let script = Script::tools(&[])
        .and(ListKind::Prompts, &[r#"{"name":"c"}"#, r#"{"name":"a"}"#, r#"{"name":"b"}"#])
        .and(ListKind::Resources, &[r#"{"uri":"x:2","name":"n"}"#, r#"{"uri":"x:1","name":"n"}"#]);
    let config = CatalogConfig { page_size: 2, ..config() };
    let scene = Scene::with(config, [("d", script)], |_| {});
    for (list, expected) in [
        (ListKind::Prompts, vec![r#"[{"name":"d__a"},{"name":"d__b"}]"#, r#"[{"name":"d__c"}]"#]),
        (ListKind::Resources, vec![r#"[{"uri":"x:1","name":"n"},{"uri":"x:2","name":"n"}]"#]),
        (ListKind::ResourceTemplates, vec!["[]"]),
    ] {
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let page = page(&scene, list, &View::All, cursor.as_deref()).await;
            pages.push(page.items.to_string());
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(pages, expected);
        let caller = Caller::anonymous();
        let foreign = scene.catalog.list(list, &View::All, &caller, &exchange(&caller), Some("!")).await;
        assert_eq!(foreign.unwrap_err(), Error::from(CallerError::InvalidCursor));
    }
}

#[tokio::test(start_paused = true)]
async fn names_of_prompts_are_fitted_and_bad_entries_cost_only_themselves() {
    let script = Script::tools(&["t"])
        .and(ListKind::Prompts, &[r#"{"name":"web query"}"#, r#"{"name":"p","arguments":5}"#, PROMPT])
        .and(ListKind::Resources, &[RESOURCE, RESOURCE, r#"{"uri":"x:2"}"#, r#"{"uri":"no","name":"n"}"#])
        .and(ListKind::ResourceTemplates, &[r#"{"name":"n"}"#, TEMPLATE]);
    let scene = Scene::start([("d", script)]);
    let prompts = text(&scene, ListKind::Prompts, &View::All).await;
    assert_eq!(prompts, r#"[{ "name":"d__ask","n":1.0},{"name":"d__web_query_mg6v98"}]"#);
    assert_eq!(text(&scene, ListKind::Resources, &View::All).await, format!("[{RESOURCE}]"));
    assert_eq!(text(&scene, ListKind::ResourceTemplates, &View::All).await, format!("[{TEMPLATE}]"));
    let status = scene.status("d");
    assert_eq!(status.state, DownstreamState::Ready);
    let pairs = |pairs: &[(&str, &str)]| -> Vec<_> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    assert_eq!(status.aliases, pairs(&[("d__web_query_mg6v98", "web query")]));
    assert_eq!(
        status.dropped,
        pairs(&[
            ("p", "a prompt: its `arguments` is no array"),
            ("x:2", "a resource: it has no string `name`"),
            ("x:1", "a resource: an earlier one is the same"),
            ("no", "a resource: its `uri` is no URI"),
            ("", "a resource template: it has no string `uriTemplate`"),
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_stays_as_it_was_and_is_tried_again() {
    let scene = Scene::start([("a", full()), ("b", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(100)).await;
    let mut failing = full().and(ListKind::Resources, &[r#"{"uri":"x:2","name":"two"}"#]);
    failing.others[0].1 = Err(DownstreamFault::Nonsense { reason: "no".into() });
    let a = scene.fake("a");
    a.follow(failing);
    tokio::time::sleep(ms(5_000)).await;
    a.signal.list_changed(ListKind::Prompts);
    tokio::time::sleep(ms(100)).await;
    assert_eq!(text(&scene, ListKind::Resources, &view("a")).await, r#"[{"uri":"x:2","name":"two"}]"#);
    assert_eq!(text(&scene, ListKind::Prompts, &view("a")).await, format!("[{PROMPT}]"));
    assert_eq!(scene.names(&view("a")).await, ["t"]);
    let status = scene.status("a");
    let reason = Some("prompts: gave no valid answer: no");
    assert_eq!((status.state, status.reason.as_deref()), (DownstreamState::Degraded, reason));

    a.follow(Script::tools(&["t"]).and(ListKind::Prompts, &[r#"{"name":"new"}"#]));
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(text(&scene, ListKind::Prompts, &view("a")).await, r#"[{"name":"new"}]"#);
    assert_eq!((scene.status("a").state, scene.status("a").reason), (DownstreamState::Ready, None));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_replaced_shows_its_lists_until_the_new_ones_are_read() {
    for (address, kept) in [("address of a", true), ("elsewhere", false)] {
        let scene = Scene::start([("a", full())]);
        scene.catalog.settled(ms(100)).await;
        let mut source = scene.add("a", Script::tools(&["t"]).after(300));
        source.address = address.into();
        scene.catalog.insert(source).await;
        let (views, seen) = ([View::All, view("a")], scene.catalog.generation(&View::All));
        for view in &views {
            let shown = page(&scene, ListKind::Resources, view, None);
            let shown = tokio::time::timeout(ms(1), shown).await.map(|page| page.items.to_string());
            let expected = kept.then(|| format!("[{RESOURCE}]"));
            assert_eq!(shown.ok(), expected, "at {address}");
        }
        scene.catalog.changed(&View::All, seen).await;
        assert_eq!(text(&scene, ListKind::Resources, &View::All).await, "[]");
        assert_eq!(scene.status("a").resources, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn without_its_tools_a_downstream_still_shows_its_other_lists() {
    let broken = Script {
        lists: crate::fake::Lists::Fails(DownstreamFault::Nonsense { reason: "no".into() }),
        ..full()
    };
    let scene = Scene::start([("a", broken)]);
    assert_eq!(text(&scene, ListKind::Resources, &View::All).await, format!("[{RESOURCE}]"));
    assert_eq!(scene.status("a").state, DownstreamState::Broken);
}

#[tokio::test(start_paused = true)]
async fn each_list_has_a_generation_of_its_own_that_grows_with_what_is_visible() {
    let scene = Scene::start([("a", full())]);
    scene.catalog.settled(ms(100)).await;
    let first = Generations { tools: 1, prompts: 1, resources: 2 };
    let fake = scene.fake("a");
    for (list, script, expected) in [
        (ListKind::Prompts, full(), first),
        (ListKind::Prompts, full().and(ListKind::Prompts, &[]), Generations { prompts: 2, ..first }),
        (
            ListKind::Resources,
            full().and(ListKind::Prompts, &[]).and(ListKind::ResourceTemplates, &[]),
            Generations { prompts: 2, resources: 3, tools: 1 },
        ),
    ] {
        tokio::time::sleep(ms(5_000)).await;
        fake.follow(script);
        fake.signal.list_changed(list);
        tokio::time::sleep(ms(100)).await;
        for view in [View::All, view("a")] {
            assert_eq!(scene.catalog.generations(&view), expected);
            let sum = expected.tools + expected.prompts + expected.resources;
            assert_eq!(scene.catalog.generation(&view), sum);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_that_follow_one_another_are_all_seen_soon_and_bursts_are_one() {
    let scene = Scene::start([("a", full())]);
    scene.catalog.settled(ms(100)).await;
    let fake = scene.fake("a");
    for number in 0..8 {
        // Whenever a client has seen a change and caused the next.
        tokio::time::sleep(ms(60)).await;
        let name = format!(r#"{{"name":"p{number}"}}"#);
        fake.follow(full().and(ListKind::Prompts, &[&name]));
        let (seen, begun) = (scene.catalog.generation(&View::All), Instant::now());
        for _ in 0..10 {
            fake.signal.list_changed(ListKind::Prompts);
        }
        scene.catalog.changed(&View::All, seen).await;
        assert!(begun.elapsed() <= ms(200), "change {number} took {:?}", begun.elapsed());
    }
    assert_eq!(fake.refreshes(), 9, "each burst is one refresh");
}

#[tokio::test(start_paused = true)]
async fn tools_are_shown_before_a_list_that_takes_long() {
    let mut slow = full();
    slow.others_delay = ms(3_000);
    let scene = Scene::start([("a", slow)]);
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    assert_eq!(begun.elapsed(), ms(500));
    assert_eq!(text(&scene, ListKind::Prompts, &View::All).await, "[]");
    tokio::time::sleep(ms(3_000)).await;
    assert_ne!(text(&scene, ListKind::Prompts, &View::All).await, "[]");
}

#[tokio::test(start_paused = true)]
async fn the_store_keeps_all_lists_together() {
    let store = Arc::new(MemoryStore::default());
    let start = |script| Scene::stored(config(), store.clone(), [("a", script)], |_| {});
    let first = start(full());
    first.catalog.settled(ms(100)).await;
    let second = start(full().after(3_000));
    for list in ListKind::ALL {
        assert_eq!(
            text(&second, list, &View::All).await,
            text(&first, list, &View::All).await,
            "{list:?} before it has been asked"
        );
    }
    assert_eq!(second.fake("a").pulls(), 0);
}

#[tokio::test(start_paused = true)]
async fn hints_are_the_least_of_all_who_contribute() {
    let hinted = |milliseconds| Script { ttls: vec![milliseconds], ..full() };
    for (scripts, after, list, expected) in [
        (vec![("a", hinted(90_000)), ("b", hinted(60_000))], 10_000, ListKind::Tools, 50_000),
        (vec![("a", hinted(90_000)), ("b", hinted(60_000))], 10_000, ListKind::Prompts, 50_000),
        (vec![("a", hinted(90_000)), ("b", full())], 10_000, ListKind::Resources, 0),
        (
            vec![("a", hinted(90_000)), ("b", Script::tools(&["t"]))],
            10_000,
            ListKind::ResourceTemplates,
            80_000,
        ),
        (vec![("a", hinted(90_000)), ("b", Script::failing("x"))], 10_000, ListKind::Prompts, 0),
        (vec![], 0, ListKind::Tools, 0),
    ] {
        let scene = Scene::start(scripts);
        scene.catalog.settled(ms(100)).await;
        tokio::time::sleep(ms(after)).await;
        let page = page(&scene, list, &View::All, None).await;
        assert_eq!((page.ttl.as_millis().div_ceil(1_000) * 1_000, page.is_private), (expected, false));
    }
    let private = Script { is_private: true, ..full() };
    let scene = Scene::start([("a", full()), ("b", private)]);
    for (view, expected) in [(View::All, true), (view("a"), false), (view("b"), true)] {
        assert_eq!(page(&scene, ListKind::Prompts, &view, None).await.is_private, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_private_downstream_is_listed_for_each_caller() {
    let scene = Scene::with(config(), [("p", full()), ("s", full())], |source| {
        source.is_public = source.name.as_str() == "s";
    });
    let prompts = page(&scene, ListKind::Prompts, &View::All, None).await;
    let expected = ["p", "s"].map(|name| PROMPT.replace("ask", &format!("{name}__ask"))).join(",");
    assert_eq!((prompts.items.to_string(), prompts.is_private), (format!("[{expected}]"), true));
    let resources = page(&scene, ListKind::Resources, &View::All, None).await;
    let marked = RESOURCE.replace("x:1", "x:p__1");
    assert_eq!(resources.items.to_string(), format!("[{RESOURCE},{marked}]"), "the shared one stays");
}

#[tokio::test(start_paused = true)]
async fn what_is_offered_is_the_union() {
    let resources = Script {
        declares_tools: false,
        capabilities:
            r#","resources":{"subscribe":true},"extensions":{"io.modelcontextprotocol/ui":{},"x/y":{}}"#
                .into(),
        instructions: Some("Read.".into()),
        ..Script::tools(&[])
    };
    let tools = Script { instructions: Some("Call.".into()), ..Script::tools(&["t"]) };
    let scene = Scene::start([("a", resources), ("b", tools)]);
    let offer = scene.catalog.offer(&View::All).await;
    assert_eq!(
        offer.capabilities.as_str(),
        r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"extensions":{"io.modelcontextprotocol/ui":{}}}"#
    );
    assert_eq!(offer.instructions.as_deref(), Some("# a\n\nRead.\n\n# b\n\nCall."));
    let own = scene.catalog.offer(&view("b")).await;
    assert_eq!(own.capabilities.as_str(), r#"{"tools":{"listChanged":true}}"#);
    assert_eq!(own.instructions.as_deref(), Some("Call."));

    let scene = Scene::start([("never", Script::hanging())]);
    let begun = Instant::now();
    let offer = scene.catalog.offer(&View::All).await;
    assert_eq!(begun.elapsed(), ms(5_000), "bounded");
    for hoped in ["tools", "prompts", "resources", "completions", "logging", "extensions"] {
        assert!(offer.capabilities.contains(hoped), "{hoped}");
    }
}
