//! Pages as clients read them.

use gateway_catalog::CatalogConfig;
use gateway_domain::{CallerError, Directory, DownstreamObserver, Era, Error, ListKind, RawJson, View};

use crate::fake::{Lists, Scene, Script, define, ms, names_on, tools, view};

fn paged(page_size: usize, scripts: impl IntoIterator<Item = (&'static str, Script)>) -> Scene {
    Scene::with(CatalogConfig { page_size, ..CatalogConfig::default() }, scripts, |_| {})
}

/// All pages of a view.
async fn walk(scene: &Scene, view: &View) -> Vec<RawJson> {
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let page = scene.page_at(view, Era::Modern, cursor.as_deref()).await.unwrap();
        pages.push(page.items);
        assert!(pages.len() < 100, "the walk has no end");
        cursor = page.next_cursor;
        if cursor.is_none() {
            return pages;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_walk_gives_every_tool_once_and_every_page_is_rendered_once() {
    let ten = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let scene = paged(3, [("a", Script::tools(&ten)), ("b", Script::tools(&ten))]);
    let pages = walk(&scene, &View::All).await;
    let sizes: Vec<_> = pages.iter().map(|page| names_on(page).len()).collect();
    assert_eq!(sizes, [3, 3, 3, 3, 3, 3, 2]);
    let names: Vec<_> = pages.iter().flat_map(names_on).collect();
    let expected: Vec<_> = ["a", "b"].iter().flat_map(|d| ten.map(|t| format!("{d}__{t}"))).collect();
    assert_eq!(names, expected);
    let addresses = |pages: Vec<RawJson>| -> Vec<_> {
        pages.into_iter().map(|page| page.into_bytes().as_ptr().addr()).collect()
    };
    let again = walk(&scene, &View::All).await;
    assert_eq!(addresses(again), addresses(pages), "the same bytes, not equal ones");
    assert_eq!(walk(&scene, &view("b")).await.iter().flat_map(names_on).collect::<Vec<_>>(), ten);
    let exact = paged(5, [("a", Script::tools(&ten))]);
    assert_eq!(walk(&exact, &View::All).await.len(), 2, "a full last page has no cursor");
}

#[tokio::test(start_paused = true)]
async fn cursors_are_ours_or_refused() {
    let scene = paged(1, [("a", Script::tools(&["a", "c", "d"]))]);
    for foreign in ["!", "1", "a__a", "YV9fYQ==", "eyJvZmZzZXQiOjF9=", "\u{0}", "page 2"] {
        let error = scene.page_at(&View::All, Era::Modern, Some(foreign)).await.unwrap_err();
        assert_eq!(error, Error::from(CallerError::InvalidCursor), "for {foreign:?}");
    }
    // Each of these is a cursor of some list; the first is of no page that this list has.
    for (cursor, expected) in
        [("YV9fYg", &["a__c"][..]), ("YV9fYQ", &["a__c"]), ("YV9fZA", &[]), ("", &["a__a"])]
    {
        let page = scene.page_at(&View::All, Era::Modern, Some(cursor)).await.unwrap();
        assert_eq!(names_on(&page.items), expected, "for {cursor:?}");
        assert_eq!(page.next_cursor.is_some(), !expected.is_empty(), "for {cursor:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_walk_goes_on_when_the_list_changes_under_it() {
    let scene = paged(2, [("a", Script::tools(&["a", "b", "c", "d"]))]);
    let first = scene.first(&View::All).await.unwrap();
    assert_eq!(names_on(&first.items), ["a__a", "a__b"]);
    tokio::time::sleep(ms(5_000)).await;
    scene.fake("a").follow(Script::tools(&["a", "aa", "c", "d"]));
    scene.fake("a").signal.list_changed(ListKind::Tools);
    scene.catalog.changed(&View::All, scene.catalog.generation(&View::All)).await;
    let cursor = first.next_cursor.as_deref();
    let second = scene.page_at(&View::All, Era::Modern, cursor).await.unwrap();
    assert_eq!(names_on(&second.items), ["a__c", "a__d"], "nothing twice, nothing that stayed left out");
}

#[tokio::test(start_paused = true)]
async fn definitions_come_out_as_they_went_in() {
    let odd = r#"{ "x-new" : [1.0,1e400,9007199254740993],"name":"re\u0061d" ,"inputSchema":{"type":"object","$ref":"%/a","b":1,"a":2},"_meta":{"k/v":null}}"#;
    let named = odd.replace(r#""re\u0061d""#, r#""read""#);
    let own = Script::lists(Lists::Pages(vec![vec![define(odd), define(r#"{"name":"bare"}"#)]]));
    let scene = Scene::start([("a", own.clone()), ("b", own)]);
    let bare = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    assert_eq!(
        scene.page(&view("a")).await,
        format!("[{},{odd}]", bare("bare")),
        "not even the name is touched"
    );
    let exposed = |downstream: &str| named.replace(r#""read""#, &format!(r#""{downstream}__read""#));
    assert_eq!(
        scene.page(&View::All).await,
        format!("[{},{},{},{}]", bare("a__bare"), exposed("a"), bare("b__bare"), exposed("b")),
        "and two downstreams may have the same tools"
    );
}

#[tokio::test(start_paused = true)]
async fn the_view_of_one_has_its_own_names() {
    let scene = Scene::start([("a", Script::tools(&["x__y", "b__t", "t"])), ("b", Script::tools(&["t"]))]);
    assert_eq!(scene.names(&view("a")).await, ["b__t", "t", "x__y"]);
    let tool = |view: &View, name: &str| {
        let offered = scene.tool(view, name)?;
        Some((offered.downstream.to_string(), offered.tool.original().to_string()))
    };
    let known = |downstream: &str, name: &str| Some((downstream.to_owned(), name.to_owned()));
    assert_eq!(tool(&view("a"), "x__y"), known("a", "x__y"));
    assert_eq!(tool(&view("a"), "b__t"), known("a", "b__t"), "a name that looks like another's");
    assert_eq!(tool(&View::All, "b__t"), known("b", "t"));
    assert_eq!(tool(&View::All, "a__t"), known("a", "t"));
    for (view, unknown) in
        [(View::All, "t"), (View::All, "a__x__y"), (view("a"), "a__t"), (view("b"), "x__y")]
    {
        assert_eq!(tool(&view, unknown), None, "{unknown}");
    }
    assert_eq!(tools(&["x__y"])[0].name(), "x__y");
}

#[tokio::test(start_paused = true)]
async fn eras_share_a_page_unless_one_cannot_read_it() {
    let list = |schema: &str| {
        let tool =
            define(format!(r#"{{"name":"t","outputSchema":{schema},"inputSchema":{{"type":"object"}}}}"#));
        Script::lists(Lists::Pages(vec![vec![tool]]))
    };
    let scene =
        Scene::start([("array", list(r#"{"type":"array"}"#)), ("object", list(r#"{"type":"object"}"#))]);
    for (name, shared) in [("array", false), ("object", true)] {
        let mut pages = Vec::new();
        for era in [Era::Modern, Era::Legacy] {
            pages.push(scene.page_at(&view(name), era, None).await.unwrap().items);
        }
        assert!(pages[0].as_str().contains("outputSchema"));
        assert_eq!(pages[1].as_str().contains("outputSchema"), shared, "for {name}");
        assert_eq!(pages[0].as_bytes().as_ptr() == pages[1].as_bytes().as_ptr(), shared, "for {name}");
    }
}
