//! Pages and caching hints.

use serde_json::Value;

use crate::{
    cell::Cell,
    world::{Setup, World, result},
};

features!(pagination, caching_hints);

const LISTS: [(&str, &str, usize); 4] = [
    ("tools/list", "tools", 25),
    ("prompts/list", "prompts", 3),
    ("resources/list", "resources", 4),
    ("resources/templates/list", "resourceTemplates", 1),
];

async fn pagination(cell: Cell) {
    let setup = Setup::willing().pages(3).config("[lists]\npage_size = 2");
    let w = World::start(cell, setup).await;
    for (method, member, least) in LISTS {
        let all = w.list(method, member).await;
        assert!(all.len() >= least, "{method} lists {} only", all.len());
        let key = if member == "resourceTemplates" { "uriTemplate" } else { "name" };
        let mut names: Vec<String> = all.iter().map(|item| item[key].to_string()).collect();
        let listed = names.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), listed.len(), "{method} lists something twice");
        let again: Vec<String> =
            w.list(method, member).await.iter().map(|item| item[key].to_string()).collect();
        assert_eq!(listed, again, "{method}: the order changes");
        if !cell.is_direct() {
            let first = result(&w.call(method, "{}").await);
            assert!(first[member].as_array().unwrap().len() <= 2, "{method}: {first}");
        }
        let bad = w.call(method, r#"{"cursor":"no such page"}"#).await;
        assert_eq!(bad.error_code(), Some(-32602), "{method}: {}", bad.text);
    }
    w.judge();
}

async fn caching_hints(cell: Cell) {
    let w = World::start(cell, Setup::willing().ttl(60_000)).await;
    let mut answers = Vec::new();
    for (method, ..) in LISTS {
        answers.push(w.call(method, "{}").await);
    }
    answers.push(w.call("resources/read", r#"{"uri":"note://one"}"#).await);
    answers.push(w.peer.greeting().await.unwrap());
    for answer in answers {
        let result = result(&answer);
        let hints = (result["ttlMs"].as_i64(), result["cacheScope"].as_str());
        match (cell.modern_client(), hints) {
            (true, (Some(ttl), Some("public" | "private"))) => assert!(ttl >= 0, "{}", answer.text),
            (false, (None, None)) => assert_eq!(result["resultType"], Value::Null),
            _ => panic!("{hints:?}: {}", answer.text),
        }
        if !cell.modern_server() && cell.modern_client() {
            assert!(hints.0 <= Some(60_000), "more than anybody promised: {}", answer.text);
        }
    }
    w.judge();
}
