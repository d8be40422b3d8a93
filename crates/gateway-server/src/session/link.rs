//! A session as the downstream sessions that belong to it see it.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gateway_domain::{ClientLink, DownstreamName, LogLevel, Notice, RawJson, RawObject};
use gateway_protocol::{Answer, Revision, method, write};

use tokio::time::Instant;

use super::{Session, locked, questions::Voice};

/// However long whoever asks would wait.
const ROOTS_TIME: Duration = Duration::from_secs(60);

/// Questions by URL, and bytes of their ids, that a session remembers until they are over.
const VISITS: usize = 16;
const VISIT_ID: usize = 256;

/// The roots of a client, as it last said.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    known: Mutex<Known>,
    /// Held by the one that asks.
    asking: tokio::sync::Mutex<()>,
    /// How often they have become others since downstreams were told; somebody tells them unless it is 0.
    untold: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    roots: Option<RawObject>,
    /// How often they have become others.
    changes: u64,
}

impl Roots {
    /// What is known, and of which change on.
    fn known(&self) -> (Option<RawObject>, u64) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        (known.roots.clone(), known.changes)
    }

    /// They are others now.
    pub(crate) fn forget(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Known { roots: None, changes: known.changes + 1 };
    }

    /// Remembers what was asked for at that change.
    fn learn(&self, roots: &RawObject, changes: u64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.changes == changes {
            known.roots = Some(roots.clone());
        }
    }
}

impl ClientLink for Session {
    fn tell(&self, downstream: &DownstreamName, notice: Notice) {
        let message = match notice {
            Notice::Log(params) if !self.wants(&params) => return,
            Notice::Log(params) => {
                let params = self.labelled(downstream, &self.notices().shown(params));
                write::notification(method::MESSAGE, params.as_bytes())
            }
            // Nobody was asked by URL.
            Notice::ElicitationComplete(_) if self.revision() < Revision::V2025_11_25 => return,
            Notice::ElicitationComplete(params) => {
                let params = self.notices().shown(params);
                write::notification(method::ELICITATION_COMPLETE, params.as_str().as_bytes())
            }
        };
        self.tell_client(message.into());
    }

    fn roots<'a, 'b>(&'a self) -> Pin<Box<dyn Future<Output = Option<RawObject>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.own_roots())
    }
}

impl Session {
    /// Whether the client says when its roots are others.
    pub(crate) fn tells_of_roots(&self) -> bool {
        let roots = self.capabilities().raw().get_object("roots");
        roots.and_then(|roots| roots.get("listChanged")?.to_bool()) == Some(true)
    }

    /// The client's roots are others now. Whether it is for whoever asks to tell downstreams; somebody who tells
    /// them already tells them again.
    pub(crate) fn forget_roots(&self) -> bool {
        self.roots.forget();
        self.roots.untold.fetch_add(1, Ordering::AcqRel) == 0
    }

    /// What [`Self::roots_told`] wants to hear later.
    pub(crate) fn roots_untold(&self) -> u64 {
        self.roots.untold.load(Ordering::Acquire)
    }

    /// Downstreams have been told since this many changes. Whether that were all.
    pub(crate) fn roots_told(&self, seen: u64) -> bool {
        self.roots.untold.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The client is about to be asked something by URL under this id.
    pub(crate) fn sends_to_visit(&self, id: String) {
        if id.len() > VISIT_ID {
            return;
        }
        let mut visits = locked(&self.visits);
        if visits.len() == VISITS {
            visits.pop_front();
        }
        visits.push_back(id);
    }

    /// What the client was asked under this id is over.
    pub(crate) fn tell_of_visit(&self, id: &str) {
        let place = |visits: &VecDeque<String>| visits.iter().position(|known| known == id);
        let asked = {
            let mut visits = locked(&self.visits);
            place(&visits).and_then(|at| visits.remove(at))
        };
        if asked.is_some() {
            let params = format!(r#"{{"elicitationId":{}}}"#, RawJson::string(id));
            self.tell_client(write::notification(method::ELICITATION_COMPLETE, params.as_bytes()).into());
        }
    }

    async fn own_roots(&self) -> Option<RawObject> {
        if !self.capabilities().has_roots() {
            return None;
        }
        let _one_at_a_time = self.roots.asking.lock().await;
        let (known, changes) = self.roots.known();
        if known.is_some() {
            return known;
        }
        if !self.is_initialized() || !self.outbox().is_read() {
            return None;
        }
        let voice = Voice::Session(self.outbox().clone());
        match self.questions().ask(&voice, method::ROOTS_LIST, b"{}", Instant::now() + ROOTS_TIME).await {
            Ok(Answer::Result(roots)) => {
                self.roots.learn(&roots, changes);
                Some(roots)
            }
            Ok(Answer::Error(_)) | Err(_) => None,
        }
    }

    /// Whether the client is to be shown this message: one that set no level leaves that to the server.
    fn wants(&self, params: &RawObject) -> bool {
        let Some(level) = params.get_text("level").and_then(|name| LogLevel::parse(&name)) else {
            return false;
        };
        self.log_level().is_none_or(|lowest| level >= lowest)
    }

    /// Where many servers are one, the logger says which of them speaks.
    fn labelled(&self, downstream: &DownstreamName, params: &RawObject) -> RawJson {
        if self.view().downstream().is_some() {
            return params.raw().clone();
        }
        let logger = match params.get_text("logger") {
            Some(own) => format!("{downstream}/{own}"),
            None => downstream.to_string(),
        };
        params.edit().set("logger", RawJson::string(&logger).as_bytes()).finish()
    }
}
