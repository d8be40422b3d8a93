//! Prompts, resources and completions: from the words of clients to those of downstreams, and back.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_catalog::{CatalogConfig, Resolve};
use gateway_domain::{
    Call, Caller, CallerError, Directory, Dispatcher, DownstreamFault, Error, Exchange, FollowUp,
    InputRequired, ListKind, Outcome, Params, ParkId, PeerError, RawObject, Reference, SessionKey, Sessions,
    State, Subject, Subscription, Subscriptions, Target, TaskAct, TaskSupport, Updates, View,
};

use crate::{
    fake::{Lists, Scene, Script, config, define, exchange, ms, name, view},
    lists::page,
};

type Heard = Arc<Mutex<Vec<(String, Subject)>>>;
type Watched = Arc<Mutex<Vec<Arc<dyn Updates>>>>;

/// Answers what it is told to, by downstream, and keeps what it was asked.
#[derive(Clone, Default)]
pub(crate) struct World {
    answers: Vec<(&'static str, Result<Outcome, Error>)>,
    heard: Heard,
    watched: Watched,
    abandoned: Arc<Mutex<Vec<ParkId>>>,
    /// Those that do not grant subscriptions.
    refusing: Vec<&'static str>,
    /// How long a subscription takes to be granted.
    takes: Duration,
}

impl World {
    pub(crate) fn answering(answers: Vec<(&'static str, Result<Outcome, Error>)>) -> Self {
        Self { answers, ..Self::default() }
    }

    fn take(&self, target: Target) -> String {
        let Target::Downstream { downstream, subject } = target else { panic!("not resolved: {target:?}") };
        self.heard.lock().unwrap().push((downstream.to_string(), subject));
        downstream.to_string()
    }

    pub(crate) fn heard(&self) -> Vec<(String, Subject)> {
        let mut heard = std::mem::take(&mut *self.heard.lock().unwrap());
        heard.sort_by(|a, b| a.0.cmp(&b.0));
        heard
    }
}

#[async_trait]
impl Dispatcher for World {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let downstream = self.take(call.target);
        let answer = self.answers.iter().find(|(name, _)| *name == downstream);
        answer.map_or_else(|| complete("{}"), |(_, answer)| answer.clone())
    }
}

#[async_trait]
impl Sessions for World {
    async fn end(&self, _: &SessionKey) {}

    fn abandon(&self, park: &ParkId) {
        self.abandoned.lock().unwrap().push(park.clone());
    }
}

#[async_trait]
impl Subscriptions for World {
    async fn subscribe(
        &self,
        target: Target,
        _: &Caller,
        _: &Exchange,
        updates: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        let downstream = self.take(target);
        tokio::time::sleep(self.takes).await;
        if self.refusing.iter().any(|name| *name == downstream) {
            return Err(CallerError::UnknownResource { uri: "x:1".into() }.into());
        }
        self.watched.lock().unwrap().push(updates);
        Ok(Subscription::new(()))
    }
}

#[derive(Default)]
pub(crate) struct Told(Mutex<Vec<String>>);

impl Updates for Told {
    fn updated(&self, params: RawObject) {
        self.0.lock().unwrap().push(params.as_str().to_owned());
    }
}

pub(crate) fn complete(result: &str) -> Result<Outcome, Error> {
    Ok(Outcome::Complete(RawObject::parse(result.to_owned()).unwrap()))
}

pub(crate) fn failed(code: i64) -> Result<Outcome, Error> {
    let raw = format!(r#"{{"code":{code},"message":"m","data":{{"uri":"x:1"}}}}"#);
    Ok(Outcome::Failed(PeerError::new(RawObject::parse(raw).unwrap()).unwrap()))
}

fn call(view: View, subject: Subject) -> Call {
    call_of(&Caller::anonymous(), view, subject)
}

pub(crate) fn call_of(caller: &Caller, view: View, subject: Subject) -> Call {
    Call {
        target: Target::Exposed { view, subject },
        params: Params::empty(),
        follow_up: None,
        origin: None,
        caller: caller.clone(),
        exchange: exchange(caller),
    }
}

pub(crate) fn resource(uri: &str) -> Subject {
    Subject::Resource { uri: uri.into() }
}

pub(crate) fn prompt(name: &str) -> Subject {
    Subject::Prompt { name: name.into() }
}

pub(crate) fn completion(uri: &str) -> Subject {
    Subject::Completion(Reference::Resource(uri.into()))
}

async fn dispatch(scene: &Scene, world: &World, call: Call) -> Result<String, Error> {
    scene.catalog.settled(ms(100)).await;
    match Resolve::new(scene.catalog.clone(), world.clone()).dispatch(call).await? {
        Outcome::Complete(result) => Ok(result.as_str().to_owned()),
        Outcome::Failed(error) => Ok(error.raw.as_str().to_owned()),
        other => panic!("{other:?}"),
    }
}

fn resources(uris: &[&str], templates: &[&str]) -> Script {
    let uris: Vec<_> = uris.iter().map(|uri| format!(r#"{{"uri":"{uri}","name":"n"}}"#)).collect();
    let templates: Vec<_> =
        templates.iter().map(|one| format!(r#"{{"uriTemplate":"{one}","name":"n"}}"#)).collect();
    let [uris, templates] = [&uris, &templates].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    Script::tools(&["t"]).and(ListKind::Resources, &uris).and(ListKind::ResourceTemplates, &templates)
}

/// `ui://v` and `n://{..}` are of both.
fn two() -> Scene {
    Scene::start([
        ("a", resources(&["x:1", "ui://v"], &["n://{id}", "q:{+p}"])),
        ("b", resources(&["x:2", "ui://v"], &["n://{name}"])),
        ("c", Script::tools(&["t"])),
    ])
}

#[tokio::test(start_paused = true)]
async fn what_several_have_is_marked_on_the_lists_and_nothing_else() {
    let scene = two();
    let all = page(&scene, ListKind::Resources, &View::All, None).await.items;
    let uris: Vec<_> =
        all.elements(9).unwrap().into_iter().map(|one| RawObject::try_from(one).unwrap()).collect();
    let uris: Vec<_> = uris.iter().map(|one| one.get_text("uri").unwrap()).collect();
    assert_eq!(uris, ["ui://a__v", "ui://b__v", "x:1", "x:2"]);
    let templates = page(&scene, ListKind::ResourceTemplates, &View::All, None).await.items.to_string();
    for shown in ["n://a__{id}", "n://b__{name}", "q:{+p}"] {
        assert!(templates.contains(&format!("\"{shown}\"")), "{shown} in {templates}");
    }
    assert!(!page(&scene, ListKind::Resources, &view("a"), None).await.items.as_str().contains("__"));
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_read_where_it_is() {
    let scene = two();
    for (uri, expected) in [
        ("x:1", &[("a", "x:1")][..]),
        ("x:2", &[("b", "x:2")]),
        ("ui://a__v", &[("a", "ui://v")]),
        ("ui://b__v", &[("b", "ui://v")]),
        ("n://b__7", &[("b", "n://7")]),
        ("q:/some/where", &[("a", "q:/some/where")]),
        // Of both, as far as anybody can tell; the first to have it answers.
        ("ui://v", &[("a", "ui://v"), ("b", "ui://v")]),
        ("free:1", &[("a", "free:1"), ("b", "free:1")]),
    ] {
        for subject in [resource, completion] {
            let world = World::answering(vec![("a", failed(-32602)), ("b", failed(-32002))]);
            let answer = dispatch(&scene, &world, call(View::All, subject(uri))).await;
            let expected: Vec<_> = match subject("") {
                Subject::Completion(_) if uri == "free:1" => Vec::new(),
                _ => expected.iter().map(|(name, uri)| ((*name).to_owned(), subject(uri))).collect(),
            };
            let is_unknown = answer == Err(CallerError::UnknownResource { uri: uri.to_owned() }.into());
            assert_eq!(is_unknown, expected.len() != 1, "{uri}: {answer:?}");
            assert_eq!(world.heard(), expected, "for {uri}");
        }
        let world = World::default();
        dispatch(&scene, &world, call(view("c"), resource(uri))).await.unwrap();
        assert_eq!(world.heard(), [("c".to_owned(), resource(uri))], "on its own path all is its own");
    }
}

#[tokio::test(start_paused = true)]
async fn of_those_that_are_asked_the_first_that_has_it_answers() {
    let found = r#"{"contents":[{"uri":"free:1","text":"x"}]}"#;
    let empty = r#"{"contents":[]}"#;
    let down = || Err(DownstreamFault::Closed.before(&name("a")));
    let unknown = Err(CallerError::UnknownResource { uri: "free:1".into() }.into());
    for (of_a, of_b, expected) in [
        (failed(-32602), complete(found), Ok(found)),
        (complete(found), failed(-32603), Ok(found)),
        (down(), complete(found), Ok(found)),
        (complete(empty), complete(found), Ok(found)),
        (complete(empty), failed(-32602), Ok(empty)),
        (failed(-32002), failed(-32601), unknown),
        (down(), failed(-32602), Err(DownstreamFault::Closed.before(&name("a")))),
        (failed(-32602), failed(7), Ok(r#"{"code":7,"message":"m","data":{"uri":"x:1"}}"#)),
    ] {
        let world = World::answering(vec![("a", of_a), ("b", of_b)]);
        let answer = dispatch(&two(), &world, call(View::All, resource("free:1"))).await;
        assert_eq!(answer, expected.map(str::to_owned));
        assert_eq!(world.heard().len(), 2, "c has no resources");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_caller_was_shown_leads_back_and_only_for_that_caller() {
    let scene = two();
    let link = r#"{"content":[{"type":"resource_link","uri":"free:1","name":"n"}]}"#;
    let world = World::answering(vec![("c", complete(link)), ("b", failed(-32602)), ("a", failed(-32602))]);
    let (me, you) = (Caller::client("me"), Caller::client("you"));
    let shown = dispatch(&scene, &world, call_of(&me, View::All, Subject::tool("c__t"))).await;
    assert_eq!(shown.as_deref(), Ok(link), "nobody else is known to have it");
    world.heard();
    drop(dispatch(&scene, &world, call_of(&me, View::All, resource("free:1"))).await);
    assert_eq!(world.heard(), [("c".to_owned(), resource("free:1"))]);
    drop(dispatch(&scene, &world, call_of(&you, View::All, resource("free:1"))).await);
    assert_eq!(world.heard().len(), 2, "who may have it is asked");
    // Another downstream that shows the same caller the same URI means another resource.
    let world = World::answering(vec![("a", complete(link))]);
    let shown = dispatch(&scene, &world, call_of(&me, View::All, Subject::tool("a__t"))).await.unwrap();
    assert_eq!(shown, link.replace("free:1", "free:a__1"));
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_is_in_the_words_of_the_view() {
    let own = r#"{"contents":[{"uri":"ui://v","text":"x"},{"uri":"x:2","text":"y"}],"content":[{"type":"resource_link","uri":"x:2"}],"messages":[{"content":{"type":"resource","resource":{"uri":"ui://v"}}}]}"#;
    let marked = |from: &str, to: &str| own.replace(from, to);
    let scene = Scene::start([
        ("a", resources(&["x:1", "ui://v"], &[]).and(ListKind::Prompts, &[r#"{"name":"p"}"#])),
        ("b", resources(&["x:2", "ui://v"], &[])),
    ]);
    let world = World::answering(vec![("a", complete(own))]);
    for (view, subject, expected) in [
        (
            View::All,
            Subject::tool("a__t"),
            marked(r#""resource_link","uri":"x:2""#, r#""resource_link","uri":"x:a__2""#),
        ),
        (View::All, prompt("a__p"), marked(r#"{"uri":"ui://v"}"#, r#"{"uri":"ui://a__v"}"#)),
        (
            View::All,
            resource("ui://a__v"),
            marked(r#""uri":"ui://v","#, r#""uri":"ui://a__v","#)
                .replace(r#""uri":"x:2","text""#, r#""uri":"x:a__2","text""#),
        ),
        (view("a"), Subject::tool("t"), own.to_owned()),
        (view("a"), prompt("p"), own.to_owned()),
        (view("a"), resource("ui://v"), own.to_owned()),
    ] {
        let answer = dispatch(&scene, &world, call(view, subject.clone())).await.unwrap();
        assert_eq!(answer, expected, "for {subject:?}");
    }
    let refusing = World::answering(vec![("a", failed(-32002))]);
    let unchanged = dispatch(&scene, &refusing, call(View::All, resource("x:1"))).await.unwrap();
    assert!(unchanged.contains(r#""uri":"x:1""#));
    let mapped = dispatch(&scene, &refusing, call(View::All, resource("x:a__1"))).await.unwrap();
    assert!(mapped.contains(r#""uri":"x:a__1""#), "{mapped}");
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_much_effort_to_tell_is_left_as_it_is() {
    // Each of these could match, and costs all there is to look at.
    let templates: Vec<_> = (0..100).map(|n| format!("x:{}{n}", "{+a}a".repeat(30))).collect();
    let scene = Scene::start([
        ("a", resources(&["y:1"], &templates.iter().map(String::as_str).collect::<Vec<_>>())),
        ("b", Script::tools(&["t"])),
    ]);
    let links = |uris: &[&str]| {
        let links = uris.iter().map(|uri| format!(r#"{{"type":"resource_link","uri":"{uri}"}}"#));
        format!(r#"{{"content":[{}]}}"#, links.collect::<Vec<_>>().join(","))
    };
    let costly = format!("x:{}b", "a".repeat(8_000));
    for (own, shown) in [
        (links(&["y:1", "z:1"]), links(&["y:b__1", "z:1"])),
        (links(&["y:1", &costly, "y:1"]), links(&["y:b__1", &costly, "y:1"])),
    ] {
        let world = World::answering(vec![("b", complete(&own))]);
        let answer = dispatch(&scene, &world, call(View::All, Subject::tool("b__t"))).await.unwrap();
        assert!(answer == shown, "{}", answer.replace(&costly, "costly"));
    }
}

#[tokio::test(start_paused = true)]
async fn views_of_tools_need_not_be_listed_to_be_told_apart() {
    let tool = r#"{"name":"t","_meta":{"ui":{"resourceUri":"ui://v"},"ui/resourceUri":"ui://v"},"inputSchema":{"type":"object"}}"#;
    let script = || Script::lists(Lists::Pages(vec![vec![define(tool)]]));
    let scene = Scene::start([("a", script()), ("b", script()), ("c", Script::tools(&["t"]))]);
    let shown = |name: &str| {
        tool.replace(r#""name":"t""#, &format!(r#""name":"{name}__t""#))
            .replace("//v", &format!("//{name}__v"))
    };
    let plain = r#"{"name":"c__t","inputSchema":{"type":"object"}}"#;
    assert_eq!(scene.page(&View::All).await, format!("[{},{},{plain}]", shown("a"), shown("b")));
    assert_eq!(scene.page(&view("a")).await, format!("[{tool}]"));
    let alone = Scene::start([("a", script()), ("c", Script::tools(&["t"]))]);
    assert!(alone.page(&View::All).await.contains(r#""ui://v""#));
    let world = World::default();
    dispatch(&alone, &world, call(View::All, resource("ui://v"))).await.unwrap();
    assert_eq!(world.heard(), [("a".to_owned(), resource("ui://v"))]);
}

#[tokio::test(start_paused = true)]
async fn prompts_are_found_by_the_name_they_are_shown_by() {
    let script = Script::tools(&["t"]).and(ListKind::Prompts, &[r#"{"name":"web query"}"#]);
    for is_public in [true, false] {
        let scene = Scene::with(config(), [("d", script.clone())], |source| source.is_public = is_public);
        let reference = |name: &str| Subject::Completion(Reference::Prompt(name.into()));
        for (view, shown) in [(View::All, "d__web_query_mg6v98"), (view("d"), "web query")] {
            for subject in [prompt, reference] {
                let world = World::default();
                dispatch(&scene, &world, call(view.clone(), subject(shown))).await.unwrap();
                assert_eq!(world.heard(), [("d".to_owned(), subject("web query"))]);
            }
        }
        for (view, unknown) in
            [(View::All, "web query"), (View::All, "d__no"), (view("d"), "no"), (view("gone"), "p")]
        {
            let answer = dispatch(&scene, &World::default(), call(view, prompt(unknown))).await;
            assert_eq!(answer, Err(CallerError::UnknownPrompt { name: unknown.into() }.into()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_on_a_list_that_cannot_be_read_is_the_downstreams_to_know() {
    let mut script = Script::tools(&["t"]).and(ListKind::Prompts, &[]);
    script.others[0].1 = Err(DownstreamFault::Nonsense { reason: "no".into() });
    let scene = Scene::start([("d", script)]);
    let world = World::default();
    dispatch(&scene, &world, call(view("d"), prompt("p"))).await.unwrap();
    assert_eq!(world.heard(), [("d".to_owned(), prompt("p"))]);
    let answer = dispatch(&scene, &world, call(View::All, prompt("d__p"))).await;
    assert_eq!(answer, Err(CallerError::UnknownPrompt { name: "d__p".into() }.into()));
}

#[tokio::test(start_paused = true)]
async fn what_is_the_downstreams_own_goes_there_by_its_own_path_only() {
    let scene = Scene::start([("d", Script::tools(&["t"]))]);
    let task = Subject::Task { id: "1".into(), act: TaskAct::Get, tool: None };
    let other = Subject::Other { method: "x/y".into() };
    for (subject, refused) in
        [(task, CallerError::UnknownTask), (other, CallerError::UnknownMethod { method: "x/y".into() })]
    {
        let world = World::default();
        dispatch(&scene, &world, call(view("d"), subject.clone())).await.unwrap();
        assert_eq!(world.heard(), [("d".to_owned(), subject.clone())]);
        let answer = dispatch(&scene, &world, call(View::All, subject.clone())).await;
        assert_eq!(answer, Err(refused.into()));
        let answer = dispatch(&scene, &world, call(view("gone"), subject)).await;
        assert_eq!(answer, Err(CallerError::UnknownDownstream { name: "gone".into() }.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_goes_to_whom_asked_or_nowhere() {
    let scene = two();
    for (subject, asker, expected) in [
        (Subject::tool("a__t"), "a", Some(Subject::tool("t"))),
        (Subject::tool("a__t"), "b", None),
        (resource("free:1"), "b", Some(resource("free:1"))),
        (resource("ui://v"), "b", Some(resource("ui://v"))),
        (resource("ui://b__v"), "b", Some(resource("ui://v"))),
        (resource("ui://b__v"), "a", None),
    ] {
        let mut call = call(View::All, subject.clone());
        let responses = RawObject::empty();
        call.follow_up = Some(FollowUp {
            asker: gateway_domain::Asker::Downstream(name(asker)),
            state: State::None,
            responses,
        });
        let world = World::default();
        let answer = dispatch(&scene, &world, call).await;
        match expected {
            Some(own) => assert_eq!(world.heard(), [(asker.to_owned(), own)]),
            None => assert_eq!(answer, Err(CallerError::UnknownState.into()), "{subject:?} of {asker}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_says_how_it_takes_tasks() {
    let tool = |name: &str, execution: &str| define(format!(r#"{{"name":"{name}"{execution}}}"#));
    let all = vec![
        tool("r", r#","execution":{"taskSupport":"required"}"#),
        tool("o", r#","execution":{"taskSupport":"optional"}"#),
        tool("f", r#","execution":{"taskSupport":"forbidden"}"#),
        tool("n", ""),
    ];
    let scene = Scene::start([("d", Script::lists(Lists::Pages(vec![all])))]);
    for (name, expected) in [
        ("r", TaskSupport::Required),
        ("o", TaskSupport::Optional),
        ("f", TaskSupport::Forbidden),
        ("n", TaskSupport::Forbidden),
    ] {
        let world = World::default();
        dispatch(&scene, &world, call(view("d"), Subject::tool(name))).await.unwrap();
        let (_, subject) = world.heard().remove(0);
        assert!(matches!(subject, Subject::Tool { task, .. } if task == expected), "{subject:?}");
    }
    assert!(!scene.page(&View::All).await.contains("execution"));
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_told_of_in_the_words_of_the_client() {
    let scene = two();
    scene.catalog.settled(ms(100)).await;
    let caller = Caller::anonymous();
    for (view, uri, downstream, own, updated, told) in [
        (View::All, "x:1", "a", "x:1", "x:1", "x:1"),
        (View::All, "ui://b__v", "b", "ui://v", "ui://v", "ui://b__v"),
        (View::All, "ui://b__v", "b", "ui://v", "x:1", "x:b__1"),
        (View::All, "n://b__7", "b", "n://7", "n://7/sub", "n://b__7/sub"),
        (view("b"), "ui://v", "b", "ui://v", "ui://v", "ui://v"),
    ] {
        let world = World::default();
        let updates = Arc::new(Told::default());
        let target = Target::Exposed { view, subject: resource(uri) };
        let resolve = Resolve::new(scene.catalog.clone(), world.clone());
        let _kept = resolve.subscribe(target, &caller, &exchange(&caller), updates.clone()).await.unwrap();
        assert_eq!(world.heard(), [(downstream.to_owned(), resource(own))]);
        let params = format!(r#"{{"uri":"{updated}","x":1.0}}"#);
        world.watched.lock().unwrap()[0].updated(RawObject::parse(params).unwrap());
        assert_eq!(*updates.0.lock().unwrap(), [format!(r#"{{"uri":"{told}","x":1.0}}"#)]);
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_a_resource_watches_it_and_nobody_else() {
    let watching = |script: Script| {
        let capabilities =
            script.capabilities.replace(r#""resources":{}"#, r#""resources":{"subscribe":true}"#);
        Script { capabilities, ..script }
    };
    let scene = Scene::start([
        ("a", watching(resources(&["ui://v"], &[]))),
        ("b", watching(resources(&["ui://v"], &[]))),
        ("c", resources(&["ui://v"], &[])),
    ]);
    scene.catalog.settled(ms(100)).await;
    let (caller, found) = (Caller::anonymous(), complete(r#"{"contents":[{"uri":"x","text":"x"}]}"#));
    let asks = Ok(Outcome::InputRequired(InputRequired {
        asker: None,
        requests: None,
        state: State::Parked(ParkId("p".into())),
    }));
    let subscribe = async |world: &World, uri: &str| {
        let resolve = Resolve::new(scene.catalog.clone(), world.clone());
        let target = Target::Exposed { view: View::All, subject: resource(uri) };
        resolve.subscribe(target, &caller, &exchange(&caller), Arc::new(Told::default())).await.map(drop)
    };
    let unknown = |uri: &str| Err(CallerError::UnknownResource { uri: uri.into() }.into());
    for (uri, of_a, of_b, refusing, takes, expected, heard) in [
        // Of several; one does not say that it can be watched.
        ("ui://v", failed(1), failed(1), vec![], 0, Ok(()), vec!["a"]),
        ("ui://v", failed(1), failed(1), vec!["a"], 0, Ok(()), vec!["a", "b"]),
        ("ui://v", failed(1), failed(1), vec!["a", "b"], 6_000, unknown("x:1"), vec!["a", "b"]),
        // Nobody is known to have it: who can be read.
        ("free:1", failed(-32602), found.clone(), vec![], 0, Ok(()), vec!["a", "b", "b"]),
        ("free:2", failed(-32602), failed(-32002), vec![], 0, unknown("free:2"), vec!["a", "b"]),
        (
            "free:3",
            complete(r#"{"contents":[]}"#),
            failed(-32602),
            vec![],
            0,
            unknown("free:3"),
            vec!["a", "b"],
        ),
        ("free:4", failed(-32602), asks, vec![], 0, unknown("free:4"), vec!["a", "b"]),
    ] {
        let answers = vec![("a", of_a), ("b", of_b)];
        let world = World { refusing, takes: ms(takes), ..World::answering(answers) };
        let result = subscribe(&world, uri).await;
        assert_eq!(result, expected, "{uri}");
        let asked: Vec<_> = world.heard().into_iter().map(|(name, _)| name).collect();
        assert_eq!(asked, heard, "{uri}");
        assert_eq!(world.abandoned.lock().unwrap().len(), usize::from(uri == "free:4"));
    }
    let slow = World { takes: ms(60_000), ..World::default() };
    let begun = tokio::time::Instant::now();
    assert!(matches!(subscribe(&slow, "ui://v").await, Err(Error::Downstream(_))));
    assert_eq!(begun.elapsed(), ms(10_000));
}

/// Answers like a stack of stages around what resolves.
struct Staged(Resolve<World>, Arc<Mutex<Vec<Call>>>);

#[async_trait]
impl Dispatcher for Staged {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.1.lock().unwrap().push(call.clone());
        self.0.dispatch(call).await
    }
}

#[tokio::test(start_paused = true)]
async fn to_find_out_who_has_a_resource_it_is_read_like_a_client_reads_it() {
    let found = complete(r#"{"contents":[{"uri":"free:1"}]}"#);
    for (of_b, expected, heard) in [
        (found, Ok(()), vec!["a", "b", "b"]),
        (failed(-32602), Err(CallerError::UnknownResource { uri: "free:1".into() }.into()), vec!["a", "b"]),
    ] {
        let mut watched = resources(&[], &[]);
        watched.capabilities =
            watched.capabilities.replace(r#""resources":{}"#, r#""resources":{"subscribe":true}"#);
        let scene = Scene::start([("a", watched.clone()), ("b", watched)]);
        scene.catalog.settled(ms(100)).await;
        let world = World::answering(vec![("a", failed(-32602)), ("b", of_b)]);
        let reads = Arc::new(Mutex::new(Vec::new()));
        let reader = Staged(Resolve::new(scene.catalog.clone(), world.clone()), reads.clone());
        let resolve = Resolve::new(scene.catalog.clone(), world.clone()).with_reader(Arc::new(reader));
        let target = Target::Exposed { view: View::All, subject: resource("free:1") };
        let (caller, exchange) = (Caller::anonymous(), exchange(&Caller::anonymous()));
        let result = resolve.subscribe(target, &caller, &exchange, Arc::new(Told::default())).await;
        assert_eq!(result.map(drop), expected);
        let asked: Vec<_> = world.heard().into_iter().map(|(name, _)| name).collect();
        assert_eq!(asked, heard);
        let reads = reads.lock().unwrap();
        let [read] = &reads[..] else { panic!("read once: {reads:?}") };
        assert!(
            matches!(&read.target, Target::Exposed { view: View::All, subject } if *subject == resource("free:1"))
        );
        assert!(!Arc::ptr_eq(&read.exchange.notes, &exchange.notes), "it is a call of its own");
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_with_one_that_nobody_listens_to_is_given_up() {
    let asks = |park: &str| {
        let state = State::Parked(ParkId(park.into()));
        Ok(Outcome::InputRequired(InputRequired { asker: None, requests: None, state }))
    };
    let world = World::answering(vec![("a", asks("a")), ("b", asks("b"))]);
    let scene = two();
    scene.catalog.settled(ms(100)).await;
    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
    let Outcome::InputRequired(InputRequired { state: State::Parked(won), .. }) =
        resolve.dispatch(call(View::All, resource("free:1"))).await.unwrap()
    else {
        panic!("the first to ask")
    };
    tokio::time::sleep(ms(1)).await;
    let lost = if won == ParkId("a".into()) { "b" } else { "a" };
    assert_eq!(world.heard().len(), 2);
    assert_eq!(*world.abandoned.lock().unwrap(), [ParkId(lost.into())]);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_are_asked_at_the_same_time() {
    let names = ["a", "b", "c", "d", "e"];
    let scripts = names.map(|name| (name, resources(&[], &[])));
    let scene = Scene::with(CatalogConfig { asked_at_once: 2, ..config() }, scripts, |_| {});
    let world = World::answering(names.iter().map(|name| (*name, failed(-32602))).collect());
    let answer = dispatch(&scene, &world, call(View::All, resource("free:1"))).await;
    assert_eq!(answer, Err(CallerError::UnknownResource { uri: "free:1".into() }.into()));
    assert_eq!(world.heard().len(), 5, "all in the end");
    assert!(scene.catalog.has_view(&View::All));
}

#[tokio::test(start_paused = true)]
async fn a_task_says_which_tool_began_it_by_its_name_on_mcp() {
    let scene = Scene::start([("d", Script::tools(&["t"]))]);
    let object = RawObject::parse(r#"{"taskId":"1"}"#).unwrap();
    let task = gateway_domain::TaskHandle { downstream: None, tool: None, object };
    for (on, tool) in [(View::All, "d__t"), (view("d"), "t")] {
        let world = World { answers: vec![("d", Ok(Outcome::Task(task.clone())))], ..World::default() };
        let resolve = Resolve::new(scene.catalog.clone(), world);
        let answer = resolve.dispatch(call(on, Subject::tool(tool))).await;
        let Ok(Outcome::Task(begun)) = answer else { panic!("{answer:?}") };
        assert_eq!(begun.tool.as_deref(), Some("d__t"), "{tool}");
    }
}
