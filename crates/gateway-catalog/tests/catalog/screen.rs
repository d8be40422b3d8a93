//! What is looked at before anybody is shown it.

use std::sync::{Arc, Mutex};

use gateway_catalog::{Hygiene, Lock, PinMode, Pins, Screen, Screening, Source};
use gateway_domain::{Directory, DownstreamName, ListKind, RawJson, RawObject, Tool, View};

use crate::{
    fake::{Scene, Script, exchange, ms, name, names_on, tools, view},
    rules::{root, script, user},
};

/// Keeps back what is named, and takes descriptions for its own.
#[derive(Default)]
struct Keeper {
    kept: Mutex<Vec<&'static str>>,
    asked: Mutex<Vec<String>>,
}

impl Screen for Keeper {
    fn tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Option<Tool> {
        assert_eq!(exposed, format!("{downstream}__{}", tool.name()));
        self.asked.lock().unwrap().push(exposed.to_owned());
        let is_kept = self.kept.lock().unwrap().contains(&exposed);
        (!is_kept).then(|| tool.with("description", &RawJson::string("clean")))
    }

    fn entry(&self, _: &DownstreamName, list: ListKind, entry: RawObject) -> Option<RawObject> {
        let is_kept = self.kept.lock().unwrap().contains(&list.member());
        let clean = entry.edit().set("description", RawJson::string("clean").as_bytes()).finish();
        (!is_kept).then(|| RawObject::try_from(clean).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_back_is_not_there_and_the_rest_is_as_it_was_left() {
    for is_public in [true, false] {
        let keeper = Arc::new(Keeper::default());
        keeper.kept.lock().unwrap().push("d__shut");
        let configure = |source: &mut Source| source.is_public = is_public;
        let scene = Scene::built([("d", script())], configure, |builder| builder.with_screen(keeper.clone()));
        scene.catalog.settled(ms(100)).await;
        let page = async |list: ListKind| {
            let caller = user();
            let exchange = exchange(&caller);
            scene.catalog.list(list, &View::All, &caller, &exchange, None).await.unwrap().items
        };
        assert_eq!(names_on(&page(ListKind::Tools).await), ["d__inner", "d__open"]);
        for list in ListKind::ALL {
            assert!(page(list).await.as_str().contains(r#""description":"clean""#), "{list:?}");
        }
        let session = exchange(&user()).session;
        let find = |view: &View, name: &str| scene.catalog.tool(view, &user(), &session, name);
        assert!(find(&View::All, "d__shut").is_none() && find(&view("d"), "shut").is_none());
        assert_eq!(find(&view("d"), "open").unwrap().tool.description().as_deref(), Some("clean"));
        if is_public {
            assert_eq!(scene.status("d").tools, 2);
            let asked = keeper.asked.lock().unwrap().len();
            scene.catalog.insert(scene.add("e", script())).await;
            scene.catalog.settled(ms(100)).await;
            let of_d = |asked: &Vec<String>| asked.iter().filter(|name| name.starts_with("d__")).count();
            assert_eq!(of_d(&keeper.asked.lock().unwrap()), asked, "once for each list");
            scene.catalog.remove(&name("e")).await;
        }
        let seen = scene.catalog.generations(&View::All);
        *keeper.kept.lock().unwrap() = vec!["d__open", "prompts"];
        scene.catalog.rescreen();
        let now = scene.catalog.generations(&View::All);
        assert!(now.tools > seen.tools && now.prompts > seen.prompts, "clients are told");
        assert_eq!(now.resources > seen.resources, !is_public, "of what has changed, where that is known");
        assert_eq!(names_on(&page(ListKind::Tools).await), ["d__inner", "d__shut"]);
        assert_eq!(page(ListKind::Prompts).await.as_str(), "[]");
        assert!(find(&View::All, "d__open").is_none() && find(&View::All, "d__shut").is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn tools_that_not_everybody_is_shown_are_accepted_as_the_gateway_is_shown_them() {
    for is_per_caller in [false, true] {
        let pins = Pins::new(PinMode::Quarantine, Lock::default());
        let screening = Arc::new(Screening::new(pins.clone(), Hygiene::Off));
        let own = Script { privileged: vec![(root(), tools(&["drop", "t"]))], ..Script::tools(&["t"]) };
        let configure = |source: &mut Source| {
            source.is_public = source.name.as_str() == "s";
            source.is_per_caller = is_per_caller && !source.is_public;
        };
        let scripts = [("f", Script::failing("no")), ("p", own), ("s", Script::tools(&["t"]))];
        let scene = Scene::built(scripts, configure, |builder| builder.with_screen(screening));
        scene.catalog.settled(ms(100)).await;
        let shown = async || names_on(&scene.first_for(&View::All, &root()).await.unwrap().items);
        let nothing: &[&str] = if is_per_caller { &["p__drop", "p__t"] } else { &[] };
        assert_eq!(shown().await, nothing, "what the operator cannot have seen is shown all the same");
        assert_eq!(scene.catalog.lock().len(), 1);
        let (lock, missing) = scene.catalog.whole_lock().await;
        let locked: Vec<_> = lock.iter().map(|(name, _)| name.to_owned()).collect();
        let missing: Vec<_> = missing.iter().map(DownstreamName::as_str).collect();
        match is_per_caller {
            true => assert_eq!((locked, missing), (vec!["s__t".to_owned()], vec!["f", "p"])),
            false => assert_eq!((locked, missing), (vec!["p__t".to_owned(), "s__t".to_owned()], vec!["f"])),
        }
        pins.replace(PinMode::Quarantine, lock);
        scene.catalog.rescreen();
        let drop: &[&str] = if is_per_caller { &["p__drop"] } else { &[] };
        assert_eq!(shown().await, [drop, &["p__t", "s__t"]].concat());
    }
}
