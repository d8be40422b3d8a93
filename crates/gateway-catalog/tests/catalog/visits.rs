//! Which paths there are for whom.

use std::sync::{Arc, Mutex};

use gateway_catalog::{Profile, ToolFilter};
use gateway_domain::{Access, Caller, Decider, Decision, Directory, DownstreamName, ListKind, View};

use crate::{
    fake::{Scene, Script, ms, name, view},
    rules::{root, user},
};

/// Who may use these downstreams, and of them all of these names. Root may do everything.
struct Only(Mutex<Vec<&'static str>>, &'static [&'static str]);

impl Decider for Only {
    fn decide(&self, _: &Caller, access: &Access<'_>) -> Decision {
        if self.1.contains(&access.name) { Decision::Allowed } else { Decision::DeniedByDefault }
    }

    fn class(&self, caller: &Caller) -> Option<u64> {
        (caller.client_name() != Some("root")).then_some(1)
    }

    fn may_use(&self, _: &Caller, downstream: &DownstreamName) -> bool {
        self.0.lock().unwrap().contains(&downstream.as_str())
    }
}

fn profile(text: &str, downstreams: &[&str]) -> Profile {
    Profile {
        name: name(text),
        downstreams: downstreams.iter().map(|text| name(text)).collect(),
        tools: ToolFilter::default(),
        renames: Default::default(),
        workflows: Vec::new(),
        instructions: None,
    }
}

fn may_visit(scene: &Scene, caller: &Caller) -> Vec<&'static str> {
    let views = ["a", "b", "c", "d", "e", "none"].map(|text| (text, view(text)));
    let profiles = ["ab", "only-b"].map(|text| (text, View::Profile(name(text))));
    let all = views.into_iter().chain(profiles).chain([("all", View::All)]);
    all.filter(|(_, view)| scene.catalog.may_visit(view, caller)).map(|(text, _)| text).collect()
}

#[tokio::test(start_paused = true)]
async fn a_path_of_which_a_caller_may_use_nothing_is_not_there() {
    let only = Arc::new(Only(Mutex::new(vec!["a", "c", "d", "e"]), &["a__t"]));
    let with_prompts = || Script::tools(&["t"]).and(ListKind::Prompts, &[r#"{"name":"p"}"#]);
    let resources = Script::tools(&["t"]).and(ListKind::Resources, &[]);
    let scripts = [
        ("a", with_prompts()),
        ("b", resources.clone()),
        ("c", with_prompts().after(1_000)),
        ("d", resources),
        ("e", with_prompts()),
    ];
    let scene = Scene::built(
        scripts,
        |source| source.is_public = source.name.as_str() != "e",
        |builder| {
            builder
                .with_decider(only.clone())
                .with_profiles(vec![profile("ab", &["a", "b"]), profile("only-b", &["b"])])
        },
    );
    // Nothing is known yet.
    assert_eq!(may_visit(&scene, &user()), ["a", "c", "d", "e", "ab", "all"]);
    scene.catalog.settled(ms(100)).await;
    // `c` is late; of `d` there may be resources that are on no list; whose `e` is depends on who asks.
    assert_eq!(may_visit(&scene, &user()), ["a", "c", "d", "e", "ab", "all"]);
    scene.catalog.settled(ms(5_000)).await;
    assert_eq!(may_visit(&scene, &user()), ["a", "d", "e", "ab", "all"], "nothing of `c` is the user's");
    assert_eq!(may_visit(&scene, &root()), ["a", "b", "c", "d", "e", "ab", "only-b", "all"]);
    only.0.lock().unwrap().clear();
    assert_eq!(may_visit(&scene, &user()), ["all"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_caller_may_not_use_is_not_offered() {
    let only = Arc::new(Only(Mutex::new(vec!["a"]), &["a__t"]));
    let mut logs = Script::tools(&["t"]);
    logs.capabilities = r#","logging":{}"#.to_owned();
    let scripts = [("a", logs), ("b", Script::tools(&["t"]).and(ListKind::Prompts, &[]))];
    let scene = Scene::built(scripts, |_| {}, |builder| builder.with_decider(only.clone()));
    scene.catalog.settled(ms(100)).await;
    let offered =
        async |view: View, caller: &Caller| scene.catalog.offer_to(&view, caller).await.capabilities;
    let members = |capabilities: &gateway_domain::RawObject| {
        ["prompts", "logging"].map(|member| capabilities.contains(member))
    };
    assert_eq!(members(&offered(View::All, &user()).await), [false, true]);
    assert_eq!(members(&offered(View::All, &root()).await), [true, true]);
    assert_eq!(members(&scene.catalog.offer(&View::All).await.capabilities), [true, true]);
    assert_eq!(members(&offered(view("b"), &user()).await), [false, false]);
}
