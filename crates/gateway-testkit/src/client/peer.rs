//! A client of the whole protocol: it answers questions by a script, hears notifications, keeps streams open, and
//! records every message it sends and gets.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use gateway_testkit::{Era, Profile, client::{Speaks, peer::{Manner, Peer}}, http::HttpFake, schema};
//! let fake = HttpFake::start(Profile::whole(Era::Modern));
//! let peer = Peer::http(&fake.url(), Manner::willing(Speaks::modern())).await?;
//! let answer = peer.call("tools/call", r#"{"name":"ask_form"}"#).await?;
//! assert!(answer.text.contains("Ada"));
//! assert_eq!(peer.asked().len(), 1);
//! assert!(schema::audit(&peer.transcript(), schema::Writer::Server, &peer.revision()).is_empty());
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

mod core;
mod link;
mod script;

use std::{io, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{process::Command, sync::oneshot, task::AbortHandle};

pub use self::script::{Asked, Manner, Said, Script};
use self::{core::Core, link::Link};
use super::{Answer, HttpClient, Speaks, closed, initialize_params, request_text};
use crate::{engine::locked, message::quote, profile::MODERN, transcript::Line, transcript::Way};

/// The client. Dropping it closes its streams, or kills its process.
#[derive(Debug)]
pub struct Peer {
    core: Arc<Core>,
    link: Link,
}

/// A request on its way. Dropping it leaves it alone, except that a modern stream over HTTP is closed.
#[derive(Debug)]
pub struct Begun {
    /// Raw id.
    pub id: String,
    answer: oneshot::Receiver<Answer>,
    reading: Option<AbortHandle>,
    closes: bool,
}

impl Begun {
    /// Waits for the answer.
    pub async fn finish(mut self) -> io::Result<Answer> {
        self.closes = false;
        (&mut self.answer).await.map_err(|_| closed("the stream ended before the answer"))
    }

    /// Whether it was answered, or can be no more.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.answer.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    }

    fn close(&self) {
        if let Some(reading) = &self.reading {
            reading.abort();
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.closes {
            self.close();
        }
    }
}

impl Peer {
    /// A client over HTTP; in the legacy era it shakes hands.
    pub async fn http(url: &str, manner: Manner) -> io::Result<Self> {
        let speaks = manner.speaks_declaring();
        let client = HttpClient::new(url, speaks.clone())?.declaring(&manner.capabilities);
        Self::over(Arc::new(client), manner).await
    }

    /// The same over a client made by hand, which has not shaken hands.
    pub async fn over(client: Arc<HttpClient>, manner: Manner) -> io::Result<Self> {
        let core = Arc::new(Core::new(manner));
        if let Speaks::Legacy(revision) = &core.manner.speaks {
            let params = initialize_params(revision, &core.manner.capabilities);
            core.note(Way::Out, &request_text("\"init\"", "initialize", &params));
            let answer = client.shake_hands().await?;
            core.note(Way::In, &answer.text);
            *locked(&core.greeting) = Some(answer);
            *locked(&core.revision) = client.revision();
        }
        Ok(Self { core, link: Link::http(client) })
    }

    /// A client over the stdin and stdout of a process it starts; stderr is left as the command has it.
    pub async fn stdio(command: Command, manner: Manner) -> io::Result<Self> {
        let core = Arc::new(Core::new(manner));
        let link = Link::start(command, &core)?;
        let peer = Self { core, link };
        if let Speaks::Legacy(revision) = peer.core.manner.speaks.clone() {
            let params = initialize_params(&revision, &peer.core.manner.capabilities);
            let answer = peer.begin("initialize", &params).await?.finish().await?;
            let agreed = answer.result_member("protocolVersion");
            *locked(&peer.core.revision) = agreed.map(|agreed| agreed.replace('"', ""));
            *locked(&peer.core.greeting) = Some(answer);
            peer.notify("notifications/initialized", "{}").await?;
        }
        Ok(peer)
    }

    /// Whether it speaks the modern era.
    pub fn is_modern(&self) -> bool {
        matches!(self.core.manner.speaks, Speaks::Modern(_))
    }

    /// What it speaks: what a legacy handshake agreed on.
    pub fn revision(&self) -> String {
        locked(&self.core.revision).clone().unwrap_or_else(|| MODERN.to_owned())
    }

    /// What `initialize` was answered; in the modern era asks `server/discover`.
    pub async fn greeting(&self) -> io::Result<Answer> {
        match locked(&self.core.greeting).clone() {
            Some(answer) => return Ok(answer),
            None if !self.is_modern() => return Err(closed("not greeted")),
            None => {}
        }
        self.call("server/discover", "{}").await
    }

    /// Sends a request and does not wait for its answer. Its id is fresh.
    pub async fn begin(&self, method: &str, params: &str) -> io::Result<Begun> {
        let id = self.core.next_id();
        self.begin_as(&id, method, params).await
    }

    /// As [`begin`](Self::begin), with this raw id.
    pub async fn begin_as(&self, id: &str, method: &str, params: &str) -> io::Result<Begun> {
        let (sender, answer) = oneshot::channel();
        let text = request_text(id, method, &self.core.manner.speaks_declaring().params(params));
        self.core.expect(id, sender);
        self.core.note(Way::Out, &text);
        let reading = self.link.request(&self.core, id, method, params, &text).await?;
        let closes = self.is_modern() && reading.is_some();
        Ok(Begun { id: id.to_owned(), answer, reading, closes })
    }

    /// Sends a request, answers what is asked meanwhile (in the modern era: comes again with the answers, at most
    /// twelve times), and gives the last answer.
    pub async fn call(&self, method: &str, params: &str) -> io::Result<Answer> {
        let mut answer = self.begin(method, params).await?.finish().await?;
        for _ in 0..ROUNDS {
            let Some(retry) = self.core.retry(params, &answer).filter(|_| self.is_modern()) else {
                return Ok(answer);
            };
            answer = self.begin(method, &retry).await?.finish().await?;
        }
        Err(io::Error::other("asked again and again"))
    }

    /// `tools/call` with raw arguments.
    pub async fn tool(&self, name: &str, arguments: &str) -> io::Result<Answer> {
        self.call("tools/call", &format!(r#"{{"name":{},"arguments":{arguments}}}"#, quote(name))).await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: &str) -> io::Result<()> {
        self.link.notify(&self.core, method, params).await
    }

    /// Takes a request back, in the way of era and transport.
    pub async fn cancel(&self, begun: &Begun) -> io::Result<()> {
        if self.is_modern() && matches!(self.link, Link::Http(..)) {
            begun.close();
            return Ok(());
        }
        let params = format!(r#"{{"requestId":{},"reason":"no longer wanted"}}"#, begun.id);
        self.notify("notifications/cancelled", &params).await
    }

    /// Opens the legacy GET stream; nothing over stdio. Returns once it is open.
    pub async fn open_stream(&self) -> io::Result<()> {
        self.link.open_stream(&self.core).await
    }

    /// Modern: listens with this raw filter, and returns once that is acknowledged.
    pub async fn listen(&self, filter: &str) -> io::Result<Begun> {
        let begun = self.begin("subscriptions/listen", &format!(r#"{{"notifications":{filter}}}"#)).await?;
        let id: Value = serde_json::from_str(&begun.id).unwrap_or_default();
        self.heard("notifications/subscriptions/acknowledged", WAIT, move |params| {
            params["_meta"]["io.modelcontextprotocol/subscriptionId"] == id
        })
        .await?;
        Ok(begun)
    }

    /// Parameters of the notifications with this method so far, oldest first.
    pub fn notifications(&self, method: &str) -> Vec<Value> {
        self.core.notifications(method)
    }

    /// Waits for a notification whose parameters are as wanted, and returns them.
    pub async fn heard(
        &self,
        method: &str,
        at_most: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> io::Result<Value> {
        self.core.heard(method, at_most, wanted).await
    }

    /// What was asked so far, in either era's way.
    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.core.asked).clone()
    }

    /// Waits until so much was asked.
    pub async fn was_asked(&self, count: usize, at_most: Duration) -> io::Result<()> {
        self.core.until(at_most, || (locked(&self.core.asked).len() >= count).then_some(())).await
    }

    /// Everything it sent and got.
    pub fn transcript(&self) -> Vec<Line> {
        locked(&self.core.lines).clone()
    }

    /// What went wrong by the way: answers of ours that were refused, lines that are no JSON.
    pub fn faults(&self) -> Vec<String> {
        locked(&self.core.faults).clone()
    }

    /// The client beneath, if it goes over HTTP.
    pub fn as_http(&self) -> Option<&Arc<HttpClient>> {
        match &self.link {
            Link::Http(client, _) => Some(client),
            Link::Stdio(_) => None,
        }
    }
}

/// How often a modern client comes again.
const ROUNDS: usize = 12;

/// How long an acknowledgement is waited for.
const WAIT: Duration = Duration::from_secs(10);
