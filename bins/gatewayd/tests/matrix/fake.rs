//! The server at the far end, and what it saw.

use std::{path::PathBuf, time::Duration};

use gateway_testkit::{
    Era, Paging, Profile,
    http::HttpFake,
    stdio,
    transcript::{self, Line, Recording, Way},
};
use serde_json::Value;

use crate::cell::Wire;

pub(crate) enum Fake {
    Http(Box<HttpFake>),
    Stdio { argv: Vec<String>, record: PathBuf },
}

impl Fake {
    /// `page_size` cuts its lists, `ttl` is told in modern results.
    pub(crate) fn new(wire: Wire, era: Era, record: PathBuf, page_size: Option<usize>, ttl: u64) -> Self {
        if wire == Wire::Http {
            let paging = page_size.map_or(Paging::Whole, Paging::Size);
            let record = Recording::Kept;
            let profile = Profile { paging, record, ttl_ms: ttl, ..Profile::whole(era) };
            return Self::Http(Box::new(HttpFake::start(profile)));
        }
        let together = record.with_extension("happened").display().to_string();
        let (file, ttl) = (record.display().to_string(), ttl.to_string());
        let era = if era == Era::Modern { "modern" } else { "legacy" };
        let mut switches =
            vec!["--whole", "--era", era, "--record", &file, "--together", &together, "--ttl", &ttl];
        let size = page_size.unwrap_or_default().to_string();
        switches.extend(page_size.iter().flat_map(|_| ["--page-size", size.as_str()]));
        Self::Stdio { argv: stdio::command(switches), record }
    }

    /// Its table in the configuration.
    pub(crate) fn config(&self, name: &str) -> String {
        let how = match self {
            Self::Http(fake) => format!("url = \"{}\"", fake.url()),
            Self::Stdio { argv, .. } => format!("command = {argv:?}"),
        };
        format!("[downstreams.{name}]\n{how}\n")
    }

    pub(crate) fn record(&self) -> Vec<Line> {
        match self {
            Self::Http(fake) => fake.transcript(),
            Self::Stdio { record, .. } => transcript::read(record),
        }
    }

    /// Every message that came in.
    pub(crate) fn came(&self) -> Vec<Value> {
        let lines = self.record().into_iter().filter(|line| line.way == Way::In);
        lines.map(|line| serde_json::from_str(&line.text).unwrap()).collect()
    }

    /// Those with this method.
    pub(crate) fn saw(&self, method: &str) -> Vec<Value> {
        self.came().into_iter().filter(|message| message["method"] == method).collect()
    }

    /// Calls of this tool.
    pub(crate) fn calls(&self, tool: &str) -> Vec<Value> {
        self.saw("tools/call").into_iter().filter(|call| call["params"]["name"] == tool).collect()
    }

    /// Results it was given for its questions: responses, or `inputResponses`.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let came = self.came().into_iter();
        came.flat_map(|message| match message.get("method") {
            None => vec![message["result"].clone()],
            Some(_) => message["params"]["inputResponses"]
                .as_object()
                .map(|answers| answers.values().cloned().collect())
                .unwrap_or_default(),
        })
        .collect()
    }

    /// What it had to work on: no handshakes, lists and pings.
    pub(crate) fn work(&self) -> Vec<Value> {
        let own = |message: &Value| match message["method"].as_str() {
            None => true,
            Some(method) => {
                method.starts_with("tasks/")
                    || ["tools/call", "prompts/get", "resources/read"].contains(&method)
            }
        };
        self.came().into_iter().filter(own).collect()
    }

    /// Raw ids of the requests that were taken back.
    fn cancelled(&self) -> Vec<String> {
        let noted = self.saw("notifications/cancelled");
        let mut ids: Vec<String> = noted.iter().map(|note| note["params"]["requestId"].to_string()).collect();
        if let Self::Http(fake) = self {
            ids.extend(fake.cancelled());
        }
        ids
    }

    /// Waits until it knows that the request was taken back.
    pub(crate) async fn until_cancelled(&self, request: &Value) {
        let id = request["id"].to_string();
        self.until(&format!("{id} is cancelled"), |fake| fake.cancelled().contains(&id)).await;
    }

    /// Looks again and again.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..400 {
            if holds(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let came: Vec<String> = self.came().iter().map(Value::to_string).collect();
        panic!("the server never saw that {what}: {}", came.join("\n"));
    }
}
