//! Clients with keys, and what they are shown.

use std::path::PathBuf;

use gateway_testkit::client::{Answer, HttpClient, Speaks};
use serde_json::Value;

use crate::support::{Folder, Serving};

/// Files beside a configuration.
pub(crate) trait Files {
    fn file(&self, name: &str) -> PathBuf;
}

impl Files for Folder {
    fn file(&self, name: &str) -> PathBuf {
        self.config().with_file_name(name)
    }
}

/// The key of a client of this name.
pub(crate) fn key(client: &str) -> String {
    format!("key-of-{client}-0123456789")
}

/// `[clients.NAME]`, with its key and these members.
pub(crate) fn client(name: &str, members: &str) -> String {
    format!("[clients.{name}]\nkey = \"{}\"\n{members}\n", key(name))
}

pub(crate) fn eras() -> [Speaks; 2] {
    [Speaks::modern(), Speaks::legacy()]
}

/// Connects as a client of the configuration; as nobody if `name` is empty.
pub(crate) async fn connect(url: &str, name: &str, speaks: Speaks) -> HttpClient {
    let client = HttpClient::new(url, speaks).unwrap();
    let client = match name {
        "" => client,
        _ => client.with_header("authorization", &format!("Bearer {}", key(name))),
    };
    client.shake_hands().await.unwrap();
    client
}

/// Connects to `/mcp`.
pub(crate) async fn at(serving: &Serving, name: &str, speaks: Speaks) -> HttpClient {
    connect(&serving.url, name, speaks).await
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// This member of every entry of a list, over all its pages.
pub(crate) async fn listed(client: &HttpClient, method: &str, list: &str, member: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut params = "{}".to_owned();
    loop {
        let page = client.request(&client.next_id(), method, &params).await.unwrap();
        let result = json(&page.result().unwrap_or_else(|| panic!("{method}: {}", page.text)));
        let entries = result[list].as_array().unwrap();
        all.extend(entries.iter().map(|entry| entry[member].as_str().unwrap().to_owned()));
        let Some(cursor) = result.get("nextCursor") else { return all };
        params = format!(r#"{{"cursor":{cursor}}}"#);
    }
}

pub(crate) async fn tools(client: &HttpClient) -> Vec<String> {
    listed(client, "tools/list", "tools", "name").await
}

/// Calls a tool with arguments.
pub(crate) async fn call(client: &HttpClient, tool: &str, arguments: &str) -> Answer {
    client.call(&client.next_id(), tool, arguments).await.unwrap()
}

/// Fails unless the call has a result that is no error.
#[track_caller]
pub(crate) fn good(answer: &Answer) {
    let result = answer.result().unwrap_or_else(|| panic!("{}", answer.text));
    assert!(!result.contains(r#""isError":true"#), "{}", answer.text);
}

/// `error.data.kind`, or what stands for it.
pub(crate) fn kind(answer: &Answer) -> String {
    let answer = json(&answer.text);
    let data = &answer["error"]["data"];
    data["gatewayd"]["kind"].as_str().or_else(|| data["kind"].as_str()).unwrap_or_default().to_owned()
}
