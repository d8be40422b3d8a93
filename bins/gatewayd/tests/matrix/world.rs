//! Client, gateway and server of one cell.

use gateway_testkit::{
    LEGACY, MODERN,
    client::{
        Answer, Speaks,
        peer::{Manner, Peer},
    },
    schema::{Writer, audit},
};
use serde_json::Value;

use crate::{
    cell::{Cell, Wire},
    fake::Fake,
    gateway::Gateway,
};

/// What differs from the usual.
pub(crate) struct Setup {
    manner: Box<dyn Fn(Speaks) -> Manner + Send>,
    /// Of a legacy client.
    revision: &'static str,
    /// More of the configuration, before the downstreams.
    config: &'static str,
    page_size: Option<usize>,
    ttl: u64,
    view: &'static str,
}

impl Setup {
    /// The client declares every kind of question and agrees to all.
    pub(crate) fn willing() -> Self {
        Self::with(Manner::willing)
    }

    /// The client declares nothing.
    pub(crate) fn mute() -> Self {
        Self::with(Manner::mute)
    }

    pub(crate) fn with(manner: impl Fn(Speaks) -> Manner + Send + 'static) -> Self {
        Self { manner: Box::new(manner), revision: LEGACY[3], config: "", page_size: None, ttl: 0, view: "" }
    }

    /// A legacy client of this revision.
    pub(crate) fn revision(self, revision: &'static str) -> Self {
        Self { revision, ..self }
    }

    pub(crate) fn config(self, config: &'static str) -> Self {
        Self { config, ..self }
    }

    /// The server cuts its lists into pages of this size.
    pub(crate) fn pages(self, size: usize) -> Self {
        Self { page_size: Some(size), ..self }
    }

    pub(crate) fn ttl(self, ttl: u64) -> Self {
        Self { ttl, ..self }
    }

    /// The endpoint of the one server, where there is one.
    pub(crate) fn view(self) -> Self {
        Self { view: "/d", ..self }
    }
}

pub(crate) struct World {
    pub(crate) cell: Cell,
    pub(crate) peer: Peer,
    pub(crate) fake: Fake,
    pub(crate) gateway: Option<Gateway>,
    prefix: &'static str,
    _folder: tempfile::TempDir,
}

impl World {
    /// Everything is up, and the client has seen the server's tools.
    pub(crate) async fn start(cell: Cell, setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("record");
        let fake = Fake::new(cell.downstream, cell.server, record, setup.page_size, setup.ttl);
        let manner = (setup.manner)(cell.speaks(setup.revision));
        let (peer, gateway) = match cell.face {
            None => (direct(&fake, manner).await, None),
            Some(face) => {
                let downstream = fake.config("d");
                let config = format!("{}\n{downstream}", setup.config);
                std::fs::write(folder.path().join("gateway.toml"), config).unwrap();
                let gateway = Gateway::start(face, folder.path()).await;
                let view = if face == Wire::Http { setup.view } else { "" };
                (gateway.connect(manner, view).await, Some(gateway))
            }
        };
        let viewed = setup.view == "/d" && cell.face == Some(Wire::Http);
        let prefix = if gateway.is_none() || viewed { "" } else { "d__" };
        let world = Self { cell, peer, fake, gateway, prefix, _folder: folder };
        world.wait_for_tools().await;
        world
    }

    async fn wait_for_tools(&self) {
        // The first in the order of names, which is on the first page however small that is.
        let wanted = format!("\"{}add\"", self.prefix);
        for _ in 0..20 {
            let listed = self.peer.call("tools/list", "{}").await.unwrap();
            if listed.text.contains(&wanted) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the server's tools are not listed");
    }

    /// The name as the client has to say it.
    pub(crate) fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub(crate) async fn tool(&self, name: &str, arguments: &str) -> Answer {
        self.peer.tool(&self.name(name), arguments).await.unwrap()
    }

    /// `tools/call` with more raw members in `params`.
    pub(crate) async fn tool_with(&self, name: &str, arguments: &str, more: &str) -> Answer {
        let name = self.name(name);
        let params = format!(r#"{{"name":"{name}","arguments":{arguments},{more}}}"#);
        self.peer.call("tools/call", &params).await.unwrap()
    }

    pub(crate) async fn call(&self, method: &str, params: &str) -> Answer {
        self.peer.call(method, params).await.unwrap()
    }

    /// All pages of a list.
    pub(crate) async fn list(&self, method: &str, member: &str) -> Vec<Value> {
        let (mut all, mut params) = (Vec::new(), "{}".to_owned());
        for _ in 0..100 {
            let page = result(&self.call(method, &params).await);
            all.extend(page[member].as_array().unwrap_or_else(|| panic!("{method}: {page}")).clone());
            let Some(cursor) = page.get("nextCursor") else { return all };
            params = format!(r#"{{"cursor":{cursor}}}"#);
        }
        panic!("{method} never ends");
    }

    /// Hears of everything: a legacy stream and subscriptions, or a modern listen.
    pub(crate) async fn watch(&self, uris: &[&str]) -> Option<gateway_testkit::client::peer::Begun> {
        if self.cell.modern_client() {
            let filter = format!(
                r#"{{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":{uris:?}}}"#
            );
            return Some(self.peer.listen(&filter).await.unwrap());
        }
        self.peer.open_stream().await.unwrap();
        for uri in uris {
            let subscribed = self.call("resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#)).await;
            assert!(subscribed.error().is_none(), "{}", subscribed.text);
        }
        None
    }

    /// Every message keeps to the schema of its hop.
    pub(crate) fn judge(&self) {
        let written = audit(&self.peer.transcript(), Writer::Server, &self.peer.revision());
        assert!(written.is_empty(), "written to the client: {written:#?}");
        let server = if self.cell.modern_server() { MODERN } else { LEGACY[3] };
        let written = audit(&self.fake.record(), Writer::Client, server);
        assert!(written.is_empty(), "written to the server: {written:#?}");
        assert!(self.peer.faults().is_empty(), "{:?}", self.peer.faults());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(gateway) = &self.gateway
        {
            let lines = self.peer.transcript();
            let lines: Vec<String> = lines.iter().map(|l| format!("{:?} {}", l.way, cut(&l.text))).collect();
            let came = self.fake.record();
            let came: Vec<String> = came.iter().map(|l| format!("{:?} {}", l.way, cut(&l.text))).collect();
            eprintln!(
                "{}\n-- client\n{}\n-- server\n{}\n-- log\n{}",
                self.cell,
                lines.join("\n"),
                came.join("\n"),
                gateway.log()
            );
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(400).collect()
}

async fn direct(fake: &Fake, manner: Manner) -> Peer {
    match fake {
        Fake::Http(fake) => Peer::http(&fake.url(), manner).await.unwrap(),
        Fake::Stdio { argv, .. } => {
            let mut command = tokio::process::Command::new(&argv[0]);
            command.args(&argv[1..]);
            Peer::stdio(command, manner).await.unwrap()
        }
    }
}

/// The result of an answer.
pub(crate) fn result(answer: &Answer) -> Value {
    let mut message: Value = serde_json::from_str(&answer.text).unwrap();
    let result = message["result"].take();
    assert!(result.is_object(), "no result: {}", answer.text);
    result
}

/// The error of an answer.
pub(crate) fn error(answer: &Answer) -> Value {
    let mut message: Value = serde_json::from_str(&answer.text).unwrap();
    let error = message["error"].take();
    assert!(error.is_object(), "no error: {}", answer.text);
    error
}

/// Whether it says no: an error, or a tool's result that says so.
pub(crate) fn is_refusal(answer: &Answer) -> bool {
    let message: Value = serde_json::from_str(&answer.text).unwrap();
    message["error"].is_object() || message["result"]["isError"] == true
}

/// Whether a value is what this raw text says.
pub(crate) fn is_raw(value: &Value, raw: &str) -> bool {
    serde_json::from_str::<Value>(raw).is_ok_and(|raw| raw == *value)
}
