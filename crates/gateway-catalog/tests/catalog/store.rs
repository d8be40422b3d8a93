//! Lists that are kept so that they need not be read again.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_catalog::{CatalogConfig, ListKey, ListStore, MemoryStore, StoreError, StoredList, ToolFilter};
use gateway_domain::{DownstreamObserver, DownstreamState, ListKind, RawJson, View};
use tokio::time::Instant;

use crate::{
    fake::{Lists, Scene, Script, config, ms, name, tools, wall_clock},
    log::Log,
};

/// A store that tells what was done with it, and does not always work.
#[derive(Default)]
struct Recorder {
    inner: MemoryStore,
    said: Mutex<Vec<String>>,
    fails: AtomicBool,
    hangs: AtomicBool,
    asked: AtomicUsize,
}

impl Recorder {
    async fn work(&self) -> Result<(), StoreError> {
        self.asked.fetch_add(1, SeqCst);
        if self.hangs.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        match self.fails.load(SeqCst) {
            true => Err(StoreError { reason: "no route".into() }),
            false => Ok(()),
        }
    }

    fn say(&self, what: &str, key: &ListKey) {
        self.said.lock().unwrap().push(format!("{what} {}", key.downstream));
    }

    fn take_said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().unwrap())
    }
}

#[async_trait]
impl ListStore for Recorder {
    async fn get(&self, key: &ListKey) -> Result<Option<StoredList>, StoreError> {
        self.work().await?;
        self.inner.get(key).await
    }

    async fn put(&self, key: &ListKey, list: StoredList) -> Result<(), StoreError> {
        self.say(&format!("put {} of", list.definitions.len()), key);
        self.work().await?;
        self.inner.put(key, list).await
    }

    async fn remove(&self, key: &ListKey) -> Result<(), StoreError> {
        self.say("remove", key);
        self.work().await?;
        self.inner.remove(key).await
    }
}

fn key(downstream: &str) -> ListKey {
    ListKey { downstream: name(downstream), address: format!("address of {downstream}") }
}

fn list(definitions: &[&str], fresh_for: Duration) -> StoredList {
    let definitions = definitions.iter().map(|text| RawJson::parse((*text).to_owned()).unwrap()).collect();
    StoredList {
        definitions,
        prompts: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
        read_at: wall_clock(),
        fresh_until: wall_clock() + fresh_for,
    }
}

fn scene(store: &Arc<Recorder>, script: Script) -> Scene {
    Scene::stored(config(), store.clone(), [("a", script)], |_| {})
}

#[tokio::test(start_paused = true)]
async fn g5_a_fresh_list_is_shown_and_the_downstream_not_asked_for_it() {
    let store = Arc::new(Recorder::default());
    let first = scene(&store, Script::tools(&["t"]));
    assert_eq!(first.names(&View::All).await, ["a__t"]);
    drop(first);
    tokio::time::sleep(ms(100_000)).await;

    let scene = scene(&store, Script::tools(&["new"]).after(3_000));
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    assert_eq!(begun.elapsed(), ms(0), "nobody waits for the session");
    let status = scene.status("a");
    assert_eq!((status.state, status.list_age), (DownstreamState::Starting, Some(ms(100_000))));
    tokio::time::sleep(ms(3_001)).await;
    let status = scene.status("a");
    assert_eq!((status.state, status.tools, status.is_stale), (DownstreamState::Ready, 1, false));
    assert_eq!((scene.fake("a").refreshes(), scene.fake("a").pulls()), (1, 0), "a session, but no list");
    assert_eq!(scene.remarks(&View::All).await, []);

    tokio::time::sleep_until(begun + ms(799_999)).await;
    assert_eq!(scene.fake("a").pulls(), 0, "G-4: it is fresh for 900 s from when it was read");
    tokio::time::sleep(ms(3_010)).await;
    assert_eq!(scene.names(&View::All).await, ["a__new"]);
}

#[tokio::test(start_paused = true)]
async fn g6_g9_what_is_no_fresh_list_with_tools_is_none() {
    let t = r#"{"name":"kept"}"#;
    for (why, key, list) in [
        ("G-9: empty", key("a"), list(&[], ms(60_000))),
        ("its time is over", key("a"), list(&[t], ms(0))),
        (
            "no tools at all",
            key("a"),
            list(&["7", "{}", r#"{"name":1}"#, r#"{"name":"x","name":"y"}"#], ms(60_000)),
        ),
        ("another downstream's", key("b"), list(&[t], ms(60_000))),
        (
            "G-W13: from another address",
            ListKey { address: "elsewhere".into(), ..key("a") },
            list(&[t], ms(60_000)),
        ),
    ] {
        let store = Arc::new(Recorder::default());
        store.inner.put(&key, list).await.unwrap();
        let scene = scene(&store, Script::tools(&["live"]));
        assert_eq!(scene.names(&View::All).await, ["a__live"], "{why}");
        assert_eq!(scene.fake("a").pulls(), 1, "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn g16_a_malformed_entry_of_a_stored_list_costs_only_itself_and_the_filter_is_that_of_today() {
    let store = Arc::new(Recorder::default());
    let definitions = [r#"{"name":"good"}"#, "7", r#"{"name":"denied"}"#];
    store.inner.put(&key("a"), list(&definitions, ms(60_000))).await.unwrap();
    let scene = Scene::stored(config(), store, [("a", Script::tools(&[]))], |source| {
        source.filter = ToolFilter::new(&[], &["denied".into()]);
    });
    assert_eq!(scene.names(&View::All).await, ["a__good"]);
}

#[tokio::test(start_paused = true)]
async fn a_stored_list_is_never_fresh_for_longer_than_configured() {
    let store = Arc::new(Recorder::default());
    store.inner.put(&key("a"), list(&[r#"{"name":"kept"}"#], ms(1_000_000_000))).await.unwrap();
    let scene = scene(&store, Script::tools(&["live"]));
    assert_eq!(scene.names(&View::All).await, ["a__kept"]);
    tokio::time::sleep(ms(900_001)).await;
    assert_eq!(scene.names(&View::All).await, ["a__live"]);
}

#[tokio::test(start_paused = true)]
async fn g3_g8_only_whole_lists_with_tools_are_kept_each_downstream_by_itself() {
    let store = Arc::new(Recorder::default());
    let scripts = [
        ("cut", Script::lists(Lists::Circle(tools(&["t"])))),
        ("dead", Script::failing("x")),
        ("empty", Script::tools(&[])),
        ("good", Script::tools(&["t", "u"])),
        ("hidden", Script::tools(&["t", "denied"])),
    ];
    let scene = Scene::stored(config(), store.clone(), scripts, |source| {
        source.filter = ToolFilter::new(&[], &["denied".into()]);
    });
    scene.catalog.settled(ms(100)).await;
    let mut said = store.take_said();
    said.sort();
    assert_eq!(said, ["put 2 of good", "put 2 of hidden"], "with what another configuration may offer");

    // A failed and an empty pull leave what is kept.
    let good = scene.fake("good");
    tokio::time::sleep(ms(5_000)).await;
    for script in [Script::failing("x"), Script::tools(&[])] {
        good.follow(script);
        good.signal.session_lost("gone");
        tokio::time::sleep(ms(20_000)).await;
        assert_eq!(store.inner.get(&key("good")).await.unwrap().unwrap().definitions.len(), 2);
    }
    assert_eq!(store.take_said(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_or_hangs_costs_half_a_second_and_one_line() {
    for (hangs, waited) in [(false, 0), (true, 500)] {
        let (log, _recording) = Log::start();
        let store = Arc::new(Recorder::default());
        (if hangs { &store.hangs } else { &store.fails }).store(true, SeqCst);
        let scene = scene(&store, Script::tools(&["t"]));
        let begun = Instant::now();
        assert_eq!(scene.names(&View::All).await, ["a__t"]);
        assert_eq!(begun.elapsed(), ms(waited));
        tokio::time::sleep(ms(2_000_000)).await;
        assert!(store.asked.load(SeqCst) >= 4, "it is asked again");
        assert_eq!(log.warnings(), 1, "and complained of once");
        assert_eq!(
            (scene.status("a").state, scene.names(&View::All).await),
            (DownstreamState::Ready, vec!["a__t".to_owned()])
        );
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_many_replicas_reads_the_list_for_all() {
    let store = Arc::new(MemoryStore::default());
    let config = CatalogConfig { ttl: ms(120_000), ..config() };
    let scene = |script| Scene::stored(config.clone(), store.clone(), [("b", script)], |_| {});
    let reader = scene(Script::tools(&["t"]));
    reader.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(60_000)).await;
    let other = scene(Script::tools(&["t"]));
    other.catalog.settled(ms(10)).await;
    reader.fake("b").follow(Script::tools(&["u"]));
    reader.catalog.flush(None);
    tokio::time::sleep(ms(60_100)).await;
    assert_eq!((other.names(&View::All).await, other.fake("b").pulls()), (vec!["b__u".to_owned()], 0));
}

#[tokio::test(start_paused = true)]
async fn a_memory_store_is_bounded() {
    let store = MemoryStore::new(2);
    for downstream in ["a", "b", "c"] {
        store.put(&key(downstream), list(&["{}"], ms(1))).await.unwrap();
        tokio::time::sleep(ms(10)).await;
    }
    let kept = async |downstream| store.get(&key(downstream)).await.unwrap().is_some();
    assert_eq!([kept("a").await, kept("b").await, kept("c").await], [false, true, true]);
    store.put(&key("b"), list(&["{}"], ms(1))).await.unwrap();
    assert!(kept("c").await, "one that is there already takes no place");
    store.remove(&key("b")).await.unwrap();
    assert!(!kept("b").await);
    let none = MemoryStore::new(0);
    none.put(&key("a"), list(&["{}"], ms(1))).await.unwrap();
    assert_eq!(none.get(&key("a")).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn g11_g46_a_flush_and_an_announced_change_take_the_list_out_of_the_store() {
    let store = Arc::new(Recorder::default());
    let scripts = ["a", "b"].map(|name| (name, Script::tools(&["t"])));
    let scene = Scene::stored(config(), store.clone(), scripts, |_| {});
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    store.take_said();
    scene.catalog.flush(Some(&name("a")));
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(store.take_said(), ["remove a", "put 1 of a"], "and the one of b stays");
    scene.fake("b").signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(store.take_said(), ["remove b", "put 1 of b"]);
}

#[tokio::test(start_paused = true)]
async fn g10_the_list_of_one_that_becomes_private_is_forgotten() {
    let store = Arc::new(Recorder::default());
    let scene = scene(&store, Script::tools(&["t"]));
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(10)).await;
    assert!(store.inner.get(&key("a")).await.unwrap().is_some());
    let mut source = scene.add("a", Script::tools(&["t"]));
    source.is_public = false;
    scene.catalog.insert(source).await;
    assert_eq!(store.inner.get(&key("a")).await.unwrap(), None);
}
