//! Who is shown and finds what, whoever decides (T22): what is hidden is as what does not exist.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
};

use gateway_catalog::{CatalogConfig, Profile, Resolve, ToolFilter};
use gateway_domain::{
    Access, Call, Caller, CallerError, Decider, Decision, Directory, Dispatcher, Era, Error, FollowUp,
    ListKind, Origin, Reference, State, Subject, Subscriptions, Target, TaskAct, View,
};
use tokio::time::Instant;
use wildmatch::WildMatch;

use crate::{
    fake::{Opening, Scene, Script, config, exchange, exchange_in, ms, name, names_on, view},
    uris::{Told, World, call_of, completion, failed, prompt, resource},
};

/// Rules of three words: `allow` or `deny`, a method or `*` or `composites`, a pattern over names. They are everybody's
/// but `root`'s, who may do everything.
#[derive(Default)]
pub(crate) struct Words {
    rules: Mutex<Vec<&'static str>>,
    number: AtomicU64,
    asked: AtomicUsize,
}

impl Words {
    pub(crate) fn of(rules: &[&'static str]) -> Arc<Self> {
        let words = Self::default();
        words.say(rules);
        Arc::new(words)
    }

    pub(crate) fn say(&self, rules: &[&'static str]) {
        *self.rules.lock().unwrap() = rules.to_vec();
        self.number.fetch_add(1, SeqCst);
    }
}

impl Decider for Words {
    fn decide(&self, _: &Caller, access: &Access<'_>) -> Decision {
        self.asked.fetch_add(1, SeqCst);
        let applies = |rule: &&str| {
            let [_, method, pattern] = rule.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let is_meant = match method {
                "*" => true,
                "composites" => access.origin.is_some(),
                method => method == access.act.method(),
            };
            is_meant && WildMatch::new(pattern).matches(access.name)
        };
        let rules = self.rules.lock().unwrap();
        let applying: Vec<_> = rules.iter().filter(|rule| applies(rule)).collect();
        match applying.iter().any(|rule| rule.starts_with("deny")) {
            true => Decision::Denied,
            false if applying.is_empty() => Decision::DeniedByDefault,
            false => Decision::Allowed,
        }
    }

    fn class(&self, caller: &Caller) -> Option<u64> {
        (caller.client_name() != Some("root")).then(|| self.number.load(SeqCst))
    }
}

pub(crate) fn user() -> Caller {
    Caller::client("user")
}

pub(crate) fn root() -> Caller {
    Caller::client("root")
}

/// A downstream with an open and a shut one of everything, and a tool that only workflows see.
pub(crate) fn script() -> Script {
    let mut script = Script::tools(&["open", "shut", "inner"])
        .and(ListKind::Prompts, &[r#"{"name":"open"}"#, r#"{"name":"shut"}"#])
        .and(ListKind::Resources, &[r#"{"uri":"x:open","name":"n"}"#, r#"{"uri":"x:shut","name":"n"}"#])
        .and(
            ListKind::ResourceTemplates,
            &[r#"{"uriTemplate":"x:open/{a}","name":"n"}"#, r#"{"uriTemplate":"x:shut/{a}","name":"n"}"#],
        );
    script.capabilities.push_str(r#","completions":{}"#);
    script.capabilities =
        script.capabilities.replace(r#""resources":{}"#, r#""resources":{"subscribe":true}"#);
    script.instructions = Some("Read.".into());
    script
}

fn desk() -> Profile {
    Profile {
        name: name("desk"),
        downstreams: Vec::new(),
        tools: ToolFilter::default(),
        renames: [("d__open".to_owned(), "opened".to_owned())].into(),
        workflows: vec!["w*".to_owned()],
        instructions: None,
    }
}

fn scene(rules: &Arc<Words>, is_public: bool) -> Scene {
    let configure = |source: &mut gateway_catalog::Source| {
        source.is_public = is_public;
        source.filter = ToolFilter::default().with_workflows(&["inner".into()]);
    };
    Scene::built([("d", script())], configure, |builder| {
        builder.with_decider(rules.clone()).with_profiles(vec![desk()])
    })
}

async fn listed(scene: &Scene, list: ListKind, view: &View, caller: &Caller) -> String {
    let exchange = exchange(caller);
    let page = scene.catalog.list(list, view, caller, &exchange, None).await.unwrap();
    assert!(page.is_private || *caller == root());
    page.items.to_string()
}

async fn subscribe(scene: &Scene, world: &World, view: View, uri: &str) -> Result<(), Error> {
    subscribe_noting(scene, world, view, uri).await.0
}

async fn subscribe_noting(
    scene: &Scene,
    world: &World,
    view: View,
    uri: &str,
) -> (Result<(), Error>, Option<Decision>) {
    let (caller, updates) = (user(), Arc::new(Told::default()));
    let target = Target::Exposed { view, subject: resource(uri) };
    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
    let exchange = exchange(&caller);
    let result = resolve.subscribe(target, &caller, &exchange, updates).await.map(drop);
    (result, exchange.notes.decision())
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_watched_is_on_record() {
    let rules = Words::of(&["allow * *", "deny * x:shut", "deny * free:none"]);
    let watched = |uri: &str| {
        let mut script =
            Script::tools(&[]).and(ListKind::Resources, &[&format!(r#"{{"uri":"{uri}","name":"n"}}"#)]);
        script.capabilities =
            script.capabilities.replace(r#""resources":{}"#, r#""resources":{"subscribe":true}"#);
        script
    };
    let scripts = || [("d", watched("x:shut")), ("e", watched("x:1"))];
    let scene = Scene::built(scripts(), |_| {}, |builder| builder.with_decider(rules.clone()));
    scene.catalog.settled(ms(100)).await;
    for (on, uri, decision, is_granted) in [
        (View::All, "x:shut", Decision::Denied, false),
        (view("d"), "x:shut", Decision::Denied, false),
        (View::All, "free:none", Decision::Denied, false),
        (View::All, "x:1", Decision::Allowed, true),
        (view("e"), "x:1", Decision::Allowed, true),
    ] {
        // Nobody else has it.
        let world = World::answering(vec![("d", failed(-32602)), ("e", failed(-32602))]);
        let (result, noted) = subscribe_noting(&scene, &world, on.clone(), uri).await;
        assert_eq!((result.is_ok(), noted), (is_granted, Some(decision)), "{uri} on {on:?}");
    }
    let scene = Scene::built(scripts(), |_| {}, |builder| builder.with_decider(Arc::new(OnlyE)));
    scene.catalog.settled(ms(100)).await;
    let world = World::answering(vec![("e", failed(-32602))]);
    let (result, noted) = subscribe_noting(&scene, &world, View::All, "x:shut").await;
    assert_eq!((result.is_ok(), noted), (false, Some(Decision::Denied)), "though another was asked for it");
    assert_eq!(world.heard().len(), 1);
}

/// All that is of `e`, and nothing else, may be used.
struct OnlyE;

impl Decider for OnlyE {
    fn decide(&self, _: &Caller, access: &Access<'_>) -> Decision {
        match access.downstream.is_some_and(|downstream| downstream.as_str() == "e") {
            true => Decision::Allowed,
            false => Decision::Denied,
        }
    }

    fn class(&self, _: &Caller) -> Option<u64> {
        Some(1)
    }
}

fn prompt_completion(name: &str) -> Subject {
    Subject::Completion(Reference::Prompt(name.into()))
}

/// What a name is of: how it is asked for, what is said if there is none, and the list it is on.
type Row = (fn(&str) -> Subject, fn(String) -> CallerError, ListKind);

const ROWS: [Row; 5] = [
    (Subject::tool, |name| CallerError::UnknownTool { name }, ListKind::Tools),
    (prompt, |name| CallerError::UnknownPrompt { name }, ListKind::Prompts),
    (prompt_completion, |name| CallerError::UnknownPrompt { name }, ListKind::Prompts),
    (resource, |uri| CallerError::UnknownResource { uri }, ListKind::Resources),
    (completion, |uri| CallerError::UnknownResource { uri }, ListKind::ResourceTemplates),
];

/// The open, the shut and a missing one of a row, as a view calls them.
fn names(list: ListKind, view: &View) -> [String; 3] {
    ["open", "shut", "none"].map(|one| match (list, view) {
        (ListKind::Resources, _) => format!("x:{one}"),
        (ListKind::ResourceTemplates, _) => format!("x:{one}/{{a}}"),
        (_, View::Downstream(_)) => one.to_owned(),
        (ListKind::Tools, View::Profile(_)) if one == "open" => "opened".to_owned(),
        _ => format!("d__{one}"),
    })
}

#[tokio::test(start_paused = true)]
async fn t22_lists_and_every_way_to_find_something_agree_and_hidden_is_as_missing() {
    for (rules, decision) in [
        (&["allow * d__open", "allow * x:open*"][..], Decision::DeniedByDefault),
        (&["allow * d__*", "allow * x:*", "deny * *shut*", "deny * *none*"], Decision::Denied),
    ] {
        for is_public in [true, false] {
            let rules = Words::of(rules);
            let scene = scene(&rules, is_public);
            scene.catalog.settled(ms(100)).await;
            for view in [View::All, view("d"), View::Profile(name("desk"))] {
                for (subject, unknown, list) in ROWS {
                    let [open, shut, none] = names(list, &view);
                    let row = format!("{list:?} {:?} on {view:?}, public: {is_public}", subject(&open));
                    let shown = listed(&scene, list, &view, &user()).await;
                    let has = |name: &str, page: &str| page.contains(&format!("\"{name}\""));
                    assert!(has(&open, &shown) && !has(&shut, &shown), "{row}: {shown}");
                    assert!(has(&shut, &listed(&scene, list, &view, &root()).await), "{row}: there it is");
                    let world = World::answering(vec![("d", failed(-32602))]);
                    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
                    for name in [&shut, &none] {
                        let (call, begun) = (call_of(&user(), view.clone(), subject(name)), Instant::now());
                        let notes = call.exchange.notes.clone();
                        let expected = Err(unknown(name.clone()).into());
                        assert_eq!(resolve.dispatch(call).await.map(drop), expected, "{row}");
                        assert_eq!((world.heard().len(), begun.elapsed()), (0, ms(0)), "{row}");
                        let found = notes.found();
                        if name == &shut {
                            assert_eq!(found.decision, Some(decision), "{row}: on record");
                            assert_eq!(found.downstream, Some(crate::fake::name("d")), "{row}");
                        }
                    }
                    let call = call_of(&user(), view.clone(), subject(&open));
                    let notes = call.exchange.notes.clone();
                    resolve.dispatch(call).await.unwrap();
                    assert_eq!(world.heard().len(), 1, "{row}");
                    assert_eq!(notes.found().decision, Some(Decision::Allowed), "{row}");
                    resolve.dispatch(call_of(&root(), view.clone(), subject(&shut))).await.unwrap();
                    world.heard();
                }
                let world = World::default();
                for uri in ["x:shut", "x:none"] {
                    let unknown = Err(CallerError::UnknownResource { uri: uri.into() }.into());
                    assert_eq!(subscribe(&scene, &world, view.clone(), uri).await, unknown);
                }
                assert_eq!(world.heard().len(), 0);
                assert_eq!(subscribe(&scene, &world, view.clone(), "x:open").await, Ok(()));
                assert_eq!(world.heard().len(), 1);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_mark_hides_nothing_from_a_rule_that_denies() {
    let rules = Words::of(&["allow * *", "deny * x:shut"]);
    let two = [("d", script()), ("e", script())];
    let scene = Scene::built(two, |_| {}, |builder| builder.with_decider(rules.clone()));
    let shown = listed(&scene, ListKind::Resources, &View::All, &user()).await;
    assert!(shown.contains("x:d__open") && !shown.contains("shut"), "{shown}");
    let world = World::default();
    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
    for uri in ["x:shut", "x:d__shut", "x:e__shut"] {
        let unknown = Err(CallerError::UnknownResource { uri: uri.into() }.into());
        let call = call_of(&user(), View::All, resource(uri));
        assert_eq!(resolve.dispatch(call).await.map(drop), unknown, "{uri}");
    }
    assert!(world.heard().is_empty());
    resolve.dispatch(call_of(&user(), View::All, resource("x:e__open"))).await.unwrap();
    assert_eq!(world.heard(), [("e".to_owned(), resource("x:open"))]);
}

#[tokio::test(start_paused = true)]
async fn what_is_allowed_by_its_own_uri_stays_so_when_another_has_the_same() {
    for (words, shown, hidden) in [
        (&["allow * x:open*"][..], &["d", "e"][..], &[][..]),
        (&["allow * x:d__open*"], &["d"], &["e"]),
        // A rule that denies comes first, whichever of both it names.
        (&["allow * x:open*", "deny * x:d__open*"], &["e"], &["d"]),
        (&["allow * x:d__open*", "deny * x:open*"], &[], &["d", "e"]),
        (&["allow * nothing"], &[], &["d", "e"]),
    ] {
        let rules = Words::of(words);
        let two = [("d", script()), ("e", script())];
        let scene = Scene::built(two, |_| {}, |builder| builder.with_decider(rules.clone()));
        let uris = listed(&scene, ListKind::Resources, &View::All, &user()).await;
        let templates = listed(&scene, ListKind::ResourceTemplates, &View::All, &user()).await;
        assert!(!uris.contains("shut") && !templates.contains("shut"), "{words:?}: {uris} {templates}");
        for (names, is_shown) in [(shown, true), (hidden, false)] {
            for name in names {
                let (uri, template) = (format!("x:{name}__open"), format!("x:{name}__open/{{a}}"));
                assert_eq!(uris.contains(&format!("\"{uri}\"")), is_shown, "{words:?}: {uri} in {uris}");
                assert_eq!(templates.contains(&template), is_shown, "{words:?}: {template} in {templates}");
                for subject in [resource(&uri), completion(&template)] {
                    let resolve = Resolve::new(scene.catalog.clone(), World::default());
                    let outcome = resolve.dispatch(call_of(&user(), View::All, subject.clone())).await;
                    assert_eq!(outcome.is_ok(), is_shown, "{words:?}: {subject:?}");
                }
                let watched = subscribe(&scene, &World::default(), View::All, &uri).await;
                assert_eq!(watched.is_ok(), is_shown, "{words:?}: {uri}");
            }
        }
    }
}

/// A rule that names a downstream is about what that one has.
#[tokio::test(start_paused = true)]
async fn whose_a_resource_is_counts_under_both_of_its_names() {
    let two = [("d", script()), ("e", script())];
    let scene = Scene::built(two, |_| {}, |builder| builder.with_decider(Arc::new(OpenOfE)));
    let uris = listed(&scene, ListKind::Resources, &View::All, &user()).await;
    assert!(uris.contains("\"x:e__open\"") && !uris.contains("x:d__open"), "{uris}");
}

/// `x:open` of `e` may be used, and nothing else.
struct OpenOfE;

impl Decider for OpenOfE {
    fn decide(&self, _: &Caller, access: &Access<'_>) -> Decision {
        let is_of_e = access.downstream.is_some_and(|downstream| downstream.as_str() == "e");
        match is_of_e && access.name == "x:open" {
            true => Decision::Allowed,
            false => Decision::DeniedByDefault,
        }
    }

    fn class(&self, _: &Caller) -> Option<u64> {
        Some(1)
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_shown_is_not_completed_or_watched_either() {
    let rules = Words::of(&["allow completion/complete *", "allow resources/subscribe *"]);
    let scene = scene(&rules, true);
    scene.catalog.settled(ms(100)).await;
    let world = World::default();
    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
    let row: [(Subject, CallerError); 2] = [
        (prompt_completion("d__open"), CallerError::UnknownPrompt { name: "d__open".into() }),
        (completion("x:open/{a}"), CallerError::UnknownResource { uri: "x:open/{a}".into() }),
    ];
    for (subject, unknown) in row {
        let outcome = resolve.dispatch(call_of(&user(), View::All, subject)).await.map(drop);
        assert_eq!(outcome, Err(unknown.into()));
    }
    assert!(subscribe(&scene, &world, View::All, "x:open").await.is_err());
    rules.say(&["allow prompts/get *", "allow resources/read *"]);
    for subject in [prompt_completion("d__open"), completion("x:open/{a}")] {
        assert!(resolve.dispatch(call_of(&user(), View::All, subject)).await.is_err(), "nor the other way");
    }
    assert!(subscribe(&scene, &world, View::All, "x:open").await.is_err());
    assert!(world.heard().is_empty());
    resolve.dispatch(call_of(&user(), View::All, prompt("d__open"))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_step_finds_what_its_caller_may_reach_through_workflows_alone() {
    let rules = Words::of(&["allow * w*", "allow composites d__*", "deny * d__shut"]);
    for is_public in [true, false] {
        let scene = scene(&rules, is_public);
        listed(&scene, ListKind::Tools, &View::All, &user()).await;
        let (caller, origin) = (user(), Origin::before(&"w".into()));
        let session = exchange(&caller).session;
        for (tool, for_steps) in [("d__open", true), ("d__inner", true), ("d__shut", false)] {
            let found = scene.catalog.inner_tool(&View::All, &caller, &session, &origin, tool);
            assert_eq!(found.is_some(), for_steps, "{tool}");
            assert!(scene.catalog.tool(&View::All, &caller, &session, tool).is_none(), "{tool}");
            for origin in [None, Some(origin.clone())] {
                let is_step = origin.is_some();
                let call = Call { origin, ..call_of(&caller, View::All, Subject::tool(tool)) };
                let outcome = Resolve::new(scene.catalog.clone(), World::default()).dispatch(call).await;
                assert_eq!(outcome.is_ok(), for_steps && is_step, "{tool}");
            }
        }
        let workflow = |view: &View, caller: &Caller, name| scene.catalog.workflow(view, caller, name);
        assert_eq!(workflow(&View::All, &caller, "w"), Some(Decision::Allowed));
        assert_eq!(workflow(&View::All, &caller, "v"), Some(Decision::DeniedByDefault));
        assert_eq!(workflow(&View::All, &root(), "v"), Some(Decision::Allowed));
        assert_eq!(workflow(&View::Profile(name("desk")), &caller, "w"), Some(Decision::Allowed));
        assert_eq!(workflow(&View::Profile(name("desk")), &root(), "v"), None, "it is not selected");
        assert_eq!(workflow(&view("d"), &root(), "w"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_and_unknown_methods_are_theirs_who_may_have_them() {
    let task_of =
        |tool: Option<&str>| Subject::Task { id: "t".into(), act: TaskAct::Get, tool: tool.map(Into::into) };
    let task = || task_of(Some("d__open"));
    let other = || Subject::Other { method: "x/y".into() };
    for is_public in [true, false] {
        let rules = Words::of(&["allow other x/*", "allow tools/call d__open"]);
        let scene = scene(&rules, is_public);
        scene.catalog.settled(ms(100)).await;
        let world = World::default();
        let resolve = Resolve::new(scene.catalog.clone(), world.clone());
        let given = Target::Downstream { downstream: name("d"), subject: task() };
        let calls = || {
            let given = Call { target: given.clone(), ..call_of(&user(), View::All, task()) };
            [call_of(&user(), view("d"), task()), call_of(&user(), view("d"), other()), given]
        };
        let going_on = |caller: &Caller, tool| {
            let target = Target::Downstream { downstream: name("d"), subject: task_of(tool) };
            resolve.dispatch(Call { target, ..call_of(caller, View::All, task_of(tool)) })
        };
        for call in calls() {
            resolve.dispatch(call).await.unwrap();
        }
        assert_eq!(world.heard().len(), 3);
        // Another tool of the same downstream is another matter, as is one that nobody knows.
        for tool in [Some("d__shut"), Some("d__gone"), None] {
            let refused = going_on(&user(), tool).await.map(drop);
            assert_eq!(refused, Err(CallerError::UnknownTask.into()), "{tool:?}");
            assert!(going_on(&root(), tool).await.is_ok(), "{tool:?}");
        }
        assert_eq!(world.heard().len(), 3);
        // One that is not listed any more goes by its name, and the rules are those of now.
        rules.say(&["allow tools/call d__gone", "deny tools/call d__open"]);
        assert!(going_on(&user(), Some("d__gone")).await.is_ok());
        let denied = going_on(&user(), Some("d__open")).await.map(drop);
        assert_eq!(denied, Err(CallerError::UnknownTask.into()));
        world.heard();
        rules.say(&["allow tools/call e__*", "allow prompts/get *"]);
        let unknown_method = CallerError::UnknownMethod { method: "x/y".into() };
        let errors = [CallerError::UnknownTask, unknown_method, CallerError::UnknownTask];
        for (call, error) in calls().into_iter().zip(errors) {
            assert_eq!(resolve.dispatch(call).await.map(drop), Err(error.into()));
        }
        assert!(world.heard().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_is_asked_about_again() {
    let rules = Words::of(&["allow * d__open", "allow * x:open"]);
    let scene = scene(&rules, true);
    scene.catalog.settled(ms(100)).await;
    let world = World::default();
    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
    for (subject, is_allowed) in [
        (Subject::tool("d__open"), true),
        (resource("x:open"), true),
        (Subject::tool("d__shut"), false),
        (resource("x:shut"), false),
        (prompt("d__shut"), false),
    ] {
        let asker = gateway_domain::Asker::Downstream(name("d"));
        let follow_up =
            FollowUp { asker, state: State::Afresh, responses: gateway_domain::RawObject::empty() };
        let call = Call { follow_up: Some(follow_up), ..call_of(&user(), View::All, subject.clone()) };
        assert_eq!(resolve.dispatch(call).await.is_ok(), is_allowed, "{subject:?}");
        assert_eq!(world.heard().len(), usize::from(is_allowed));
    }
}

#[tokio::test(start_paused = true)]
async fn pages_of_what_is_left_are_full_and_worked_out_once() {
    let tools: Vec<String> =
        (0..40).map(|n| format!("{}{n:02}", if n % 4 == 0 { "open" } else { "shut" })).collect();
    let tools: Vec<_> = tools.iter().map(String::as_str).collect();
    let rules = Words::of(&["allow * d__open*"]);
    let script = Script::tools(&tools);
    let scene = Scene::built_with(
        CatalogConfig { page_size: 4, ..config() },
        [("d", script)],
        |_| {},
        |builder| builder.with_decider(rules.clone()),
    );
    scene.catalog.settled(ms(100)).await;
    let walk = async |caller: &Caller, era: Era| {
        let (mut sizes, mut cursor, exchange) = (Vec::new(), None, exchange_in(era, caller));
        loop {
            let page = scene.catalog.list(ListKind::Tools, &View::All, caller, &exchange, cursor.as_deref());
            let page = page.await.unwrap();
            assert!(page.is_private);
            let names = names_on(&page.items);
            assert!(names.iter().all(|name| name.starts_with("d__open")), "{names:?}");
            sizes.push(names.len());
            cursor = page.next_cursor;
            if cursor.is_none() {
                return sizes;
            }
        }
    };
    for caller in ["a", "b", "c"] {
        for era in [Era::Modern, Era::Legacy] {
            assert_eq!(walk(&Caller::client(caller), era).await, [4, 4, 2]);
        }
    }
    assert_eq!(rules.asked.load(SeqCst), 40, "once for each tool");
    let page = scene.first_for(&View::All, &root()).await.unwrap();
    assert!(!page.is_private && page.next_cursor.is_some());
    assert_eq!(rules.asked.load(SeqCst), 40, "nothing is asked about who may do everything");
}

#[tokio::test(start_paused = true)]
async fn other_rules_hold_at_once_and_are_told_of() {
    let rules = Words::of(&["allow * d__open"]);
    for is_public in [true, false] {
        rules.say(&["allow * d__open"]);
        let scene = scene(&rules, is_public);
        scene.catalog.settled(ms(100)).await;
        let shown = async || names_on(&scene.first_for(&View::All, &user()).await.unwrap().items);
        assert_eq!(shown().await, ["d__open"]);
        rules.say(&["allow * d__shut"]);
        assert_eq!(shown().await, ["d__shut"]);
        let views = [View::All, view("d"), View::Profile(name("desk"))];
        let before = views.clone().map(|view| (scene.catalog.generations(&view), view));
        scene.catalog.rules_changed();
        for (seen, view) in before {
            let now = scene.catalog.generations(&view);
            assert!(now.tools > seen.tools && now.prompts > seen.prompts && now.resources > seen.resources);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_a_caller_is_shown_is_a_change_to_it() {
    let rules = Words::of(&["allow * d__open*", "allow * x:open*"]);
    for is_public in [true, false] {
        rules.say(&["allow * d__open*", "allow * x:open*"]);
        let scene = scene(&rules, is_public);
        scene.catalog.settled(ms(100)).await;
        for view in [View::All, view("d")] {
            scene.fake("d").follow(script());
            let becomes = async |script: Script| {
                let seen = scene.catalog.generation(&view);
                scene.fake("d").follow(script);
                scene.catalog.flush(None);
                scene.catalog.changed(&view, seen).await;
            };
            let numbers = |caller: &Caller| scene.catalog.generations_to(&view, caller);
            let whole = Script::tools(&["open", "shut", "inner", "shut2"])
                .and(ListKind::Prompts, &[r#"{"name":"open"}"#, r#"{"name":"shut2"}"#])
                .and(
                    ListKind::Resources,
                    &[r#"{"uri":"x:open","name":"n"}"#, r#"{"uri":"x:shut2","name":"n"}"#],
                )
                .and(ListKind::ResourceTemplates, &[r#"{"uriTemplate":"x:open/{a}","name":"n"}"#]);
            let before = [user(), root()].map(|caller| numbers(&caller));
            becomes(whole.clone()).await;
            let after = [user(), root()].map(|caller| numbers(&caller));
            assert_eq!(before[0] == after[0], is_public, "{view:?}: of what is not known all are told");
            assert_ne!(before[1].tools, after[1].tools, "{view:?}");
            if !is_public {
                continue;
            }
            assert_ne!(before[1].prompts, after[1].prompts);
            assert_ne!(before[1].resources, after[1].resources);
            // One list of those that are shown, then the same as before, which may have been seen as another.
            becomes(Script { ..Script::tools(&["open", "open2"]) }).await;
            let other = numbers(&user());
            assert!(other.tools != after[0].tools && other.prompts != after[0].prompts, "{view:?}");
            assert_ne!(other.resources, after[0].resources, "{view:?}");
            becomes(script()).await;
            let again = numbers(&user());
            assert!(![after[0].tools, other.tools].contains(&again.tools), "{view:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_rules_are_a_change_to_whom_they_show_others() {
    let rules = Words::of(&["allow * d__open"]);
    let scene = scene(&rules, true);
    scene.catalog.settled(ms(100)).await;
    let numbers = || scene.catalog.generations_to(&View::All, &user());
    let before = numbers();
    rules.say(&["allow * d__open", "allow * nothing"]);
    scene.catalog.rules_changed();
    assert_eq!(numbers(), before, "it is shown the same");
    rules.say(&["allow tools/call d__*", "allow prompts/get d__open"]);
    scene.catalog.rules_changed();
    let after = numbers();
    assert!(after.tools != before.tools && after.prompts == before.prompts, "{before:?} {after:?}");
}

#[tokio::test(start_paused = true)]
async fn of_downstreams_that_are_none_of_a_callers_business_nothing_is_said() {
    let rules = Words::of(&["allow * d__open"]);
    let secret = Script { opening: Opening::Fails("no"), ..script() };
    let scripts = || [("d", script()), ("s", secret.clone()), ("talks", script())];
    let scene = Scene::built(scripts(), |_| {}, |builder| builder.with_decider(rules.clone()));
    scene.catalog.settled(ms(100)).await;
    let page = scene.first_for(&View::All, &user()).await.unwrap();
    assert!(page.remarks.is_empty(), "{:?}", page.remarks);
    assert_eq!(scene.first_for(&View::All, &root()).await.unwrap().remarks.len(), 1);
    let said = scene.catalog.offer_to(&View::All, &user()).await.instructions;
    assert_eq!(said.as_deref(), Some("# d\n\nRead."));
    let said = scene.catalog.offer_to(&View::All, &root()).await.instructions.unwrap();
    assert!(said.contains("# talks"), "{said}");
    // Why a list cannot be read is told to whom what would be on it is allowed.
    let call = async |caller: &Caller, name: &str| {
        let call = call_of(caller, View::All, Subject::tool(name));
        Resolve::new(scene.catalog.clone(), World::default()).dispatch(call).await.map(drop)
    };
    let unknown = Err(CallerError::UnknownTool { name: "s__open".into() }.into());
    assert_eq!(call(&user(), "s__open").await, unknown);
    assert!(matches!(call(&root(), "s__open").await, Err(Error::Downstream(_))));
    rules.say(&["allow * s__*"]);
    assert!(matches!(call(&user(), "s__open").await, Err(Error::Downstream(_))));
    assert_eq!(scene.first_for(&View::All, &user()).await.unwrap().remarks.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_lists_of_so_many_classes_are_kept_and_no_more() {
    let rules = Words::of(&["allow * d__open"]);
    let scene = scene(&rules, true);
    scene.catalog.settled(ms(100)).await;
    for _ in 0..70 {
        rules.say(&["allow * d__open"]);
        scene.first_for(&View::All, &user()).await.unwrap();
    }
    let asked = rules.asked.load(SeqCst);
    scene.first_for(&View::All, &user()).await.unwrap();
    assert_eq!(rules.asked.load(SeqCst), asked);
}
