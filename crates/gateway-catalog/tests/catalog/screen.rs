//! What is looked at before anybody is shown it.

use std::sync::{Arc, Mutex};

use gateway_catalog::{Screen, Source};
use gateway_domain::{Directory, DownstreamName, ListKind, RawJson, RawObject, Tool, View};

use crate::{
    fake::{Scene, ms, name, names_on, view},
    rules::{script, user},
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
            let exchange = crate::fake::exchange(&caller);
            scene.catalog.list(list, &View::All, &caller, &exchange, None).await.unwrap().items
        };
        assert_eq!(names_on(&page(ListKind::Tools).await), ["d__inner", "d__open"]);
        for list in ListKind::ALL {
            assert!(page(list).await.as_str().contains(r#""description":"clean""#), "{list:?}");
        }
        let session = crate::fake::exchange(&user()).session;
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
