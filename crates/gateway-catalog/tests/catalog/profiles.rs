//! Parts of `/mcp` under names of their own.

use std::collections::BTreeMap;

use gateway_catalog::{Profile, Resolve, ToolFilter};
use gateway_domain::{
    Act, Caller, CallerError, Directory, Dispatcher, ListKind, Outcome, Subject, Subscriptions, Target, View,
};

use crate::{
    fake::{Scene, Script, exchange, ms, name, names_on},
    rules::{root, script},
    uris::{Told, World, call_of, complete, completion, prompt, resource},
};

fn profile(downstreams: &[&str], renames: &[(&str, &str)]) -> Profile {
    let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    Profile {
        name: name("desk"),
        downstreams: downstreams.iter().map(|one| name(one)).collect(),
        tools: ToolFilter::new(&[], &["*__shut".into()]),
        renames: renames.iter().map(own).collect::<BTreeMap<_, _>>(),
        workflows: Vec::new(),
        instructions: Some("Be kind.".to_owned()),
    }
}

fn desk() -> View {
    View::Profile(name("desk"))
}

fn scene(is_public: bool, profiles: Vec<Profile>) -> Scene {
    let scripts = ["a", "b", "c"].map(|name| (name, script()));
    let configure = |source: &mut gateway_catalog::Source| source.is_public = is_public;
    Scene::built(scripts, configure, |builder| builder.with_profiles(profiles))
}

#[tokio::test(start_paused = true)]
async fn a_profile_shows_and_finds_its_part_under_its_names() {
    for is_public in [true, false] {
        let scene = scene(is_public, vec![profile(&["a", "b"], &[("a__open", "read"), ("c__open", "no")])]);
        scene.catalog.settled(ms(100)).await;
        let names = names_on(&scene.first_for(&desk(), &root()).await.unwrap().items);
        assert_eq!(names, ["a__inner", "b__inner", "b__open", "read"]);
        let page = async |list: ListKind| {
            let exchange = exchange(&root());
            scene.catalog.list(list, &desk(), &root(), &exchange, None).await.unwrap().items.to_string()
        };
        let prompts = page(ListKind::Prompts).await;
        assert!(
            prompts.contains("a__shut") && prompts.contains("b__open") && !prompts.contains("c__"),
            "{prompts}"
        );
        let uris = page(ListKind::Resources).await;
        assert!(uris.contains("x:b__open") && !uris.contains("c__"), "as on /mcp: {uris}");
        let world = World::default();
        let resolve = Resolve::new(scene.catalog.clone(), world.clone());
        for (subject, reaches) in [
            (Subject::tool("read"), Some(("a", Subject::tool("open")))),
            (Subject::tool("b__open"), Some(("b", Subject::tool("open")))),
            (prompt("b__open"), Some(("b", prompt("open")))),
            (resource("x:b__open"), Some(("b", resource("x:open")))),
            (completion("x:a__open/{a}"), Some(("a", completion("x:open/{a}")))),
            (Subject::tool("a__open"), None),
            (Subject::tool("a__shut"), None),
            (Subject::tool("no"), None),
            (Subject::tool("c__open"), None),
            (Subject::tool("c__inner"), None),
            (prompt("c__open"), None),
            (resource("x:c__open"), None),
            (completion("x:c__open/{a}"), None),
        ] {
            // Whose those are that are not for everybody depends on what was shown.
            if !is_public && !matches!(subject, Subject::Tool { .. } | Subject::Prompt { .. }) {
                continue;
            }
            let outcome = resolve.dispatch(call_of(&root(), desk(), subject.clone())).await;
            let heard = world.heard();
            match reaches {
                Some((downstream, own)) => {
                    outcome.unwrap();
                    assert_eq!(heard, [(downstream.to_owned(), own)], "{subject:?}");
                }
                // Of resources nobody is known to have on it, whoever is on it is asked.
                None => {
                    assert!(heard.iter().all(|(name, _)| name != "c"), "{subject:?} {outcome:?} {heard:?}")
                }
            }
        }
        if !is_public {
            continue;
        }
        let updates = std::sync::Arc::new(Told::default());
        let target = Target::Exposed { view: desk(), subject: resource("x:a__open") };
        resolve.subscribe(target, &root(), &exchange(&root()), updates).await.unwrap();
        assert_eq!(world.heard(), [("a".to_owned(), resource("x:open"))]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_another_name_on_a_path_is_known_by_that_on_mcp_too() {
    let scene = scene(true, vec![profile(&["a"], &[("a__open", "read")])]);
    scene.catalog.settled(ms(100)).await;
    let own = View::Downstream(name("a"));
    for (view, act, called, others) in [
        (desk(), Act::Call, "read", &["a__open"][..]),
        (desk(), Act::Call, "a__inner", &[]),
        (desk(), Act::Call, "a__open", &[]),
        (desk(), Act::Get, "read", &[]),
        (View::All, Act::Call, "read", &[]),
        (View::Profile(name("none")), Act::Call, "read", &[]),
        (View::All, Act::Read, "x:a__open", &["x:open"]),
        (desk(), Act::Subscribe, "x:a__open", &["x:open"]),
        (desk(), Act::Complete, "x:a__open/{a}", &["x:open/{a}"]),
        (View::All, Act::Read, "y:other", &[]),
        (own.clone(), Act::Read, "x:open", &["x:a__open"]),
        (own.clone(), Act::Complete, "x:open/{a}", &["x:a__open/{a}"]),
        (own, Act::Get, "x:open", &[]),
    ] {
        assert_eq!(scene.catalog.also_called(&view, act, called), others, "{act:?} {called} on {view:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_is_in_the_words_of_mcp() {
    let scene = scene(true, vec![profile(&["a"], &[("a__open", "read")])]);
    scene.catalog.settled(ms(100)).await;
    let linked = r#"{"content":[{"type":"resource_link","uri":"x:open","name":"n"}]}"#;
    let world = World::answering(vec![("a", complete(linked))]);
    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
    let outcome = resolve.dispatch(call_of(&root(), desk(), Subject::tool("read"))).await.unwrap();
    let Outcome::Complete(result) = outcome else { panic!("{outcome:?}") };
    assert!(result.as_str().contains("x:a__open"), "{}", result.as_str());
}

#[tokio::test(start_paused = true)]
async fn profiles_come_go_and_change_and_clients_are_told() {
    let scene = scene(true, Vec::new());
    scene.catalog.settled(ms(100)).await;
    assert!(!scene.catalog.has_view(&desk()));
    let path = View::Downstream(name("desk"));
    assert_eq!(scene.catalog.profiled(path.clone()), path);
    let call = async || {
        let call = call_of(&root(), desk(), Subject::tool("read"));
        Resolve::new(scene.catalog.clone(), World::default()).dispatch(call).await.map(drop)
    };
    let unknown = Err(CallerError::UnknownTool { name: "read".into() }.into());
    assert_eq!(call().await, unknown);
    assert!(scene.first_for(&desk(), &root()).await.is_err());

    scene.catalog.set_profiles(vec![profile(&["a"], &[("a__open", "read")])]).unwrap();
    assert!(scene.catalog.has_view(&desk()));
    assert_eq!(scene.catalog.profiled(path.clone()), desk());
    assert_eq!(scene.catalog.profiled(View::Downstream(name("a"))), View::Downstream(name("a")));
    assert_eq!(call().await, Ok(()));
    let first = scene.catalog.generation(&desk());
    scene.catalog.set_profiles(vec![profile(&["a"], &[("a__open", "read")])]).unwrap();
    assert_eq!(scene.catalog.generation(&desk()), first, "nothing is another");
    scene.catalog.set_profiles(vec![profile(&["a", "b"], &[("a__open", "read")])]).unwrap();
    assert!(scene.catalog.generation(&desk()) > first);
    assert!(scene.catalog.set_profiles(vec![profile(&[], &[("a__open", "")])]).is_err());
    assert_eq!(call().await, Ok(()), "those before stay");

    let before = scene.catalog.generation(&desk());
    scene.catalog.set_profiles(Vec::new()).unwrap();
    assert_eq!(call().await, unknown);
    scene.catalog.set_profiles(vec![profile(&[], &[])]).unwrap();
    assert!(scene.catalog.generation(&desk()) > before, "who missed that it was gone sees a change");

    scene.catalog.insert(scene.add("desk", Script::tools(&["t"]))).await;
    assert!(!scene.catalog.has_view(&desk()), "a downstream has the path");
    assert_eq!(scene.catalog.profiled(path.clone()), path);
}

#[tokio::test(start_paused = true)]
async fn a_profile_says_what_it_is_told_or_what_its_own_say() {
    let own = profile(&["a"], &[]);
    let theirs = Profile { instructions: None, ..own.clone() };
    for (profile, said) in [(own, "Be kind."), (theirs, "# a\n\nRead.")] {
        let scene = scene(true, vec![profile]);
        let offer = scene.catalog.offer_to(&desk(), &Caller::anonymous()).await;
        assert_eq!(offer.instructions.as_deref(), Some(said));
        assert!(offer.capabilities.contains("prompts"));
    }
}
