//! How a session begins: the probe for the modern era and the legacy handshake (protocol.md §7.2, §7.3).
//!
//! The machine says what to send; the transport sends it and reports what came of it. It holds no clock:
//! how long to wait for which reply is the transport's to know.

use gateway_domain::{ClientCapabilities, Era, PeerError, PeerInfo, RawJson, RawObject};

use crate::{Answer, Implementation, Response, Revision, client::request, code, meta, method};

/// What a session is opened with.
#[derive(Debug, Clone)]
pub struct OpeningConfig {
    /// The era to speak if the server has both.
    pub want: Era,
    /// The only revision to speak; `None` for any.
    pub only: Option<Revision>,
    /// Who we are.
    pub client: Implementation,
    /// What is declared in a legacy handshake, as far as its revision has it. Modern requests declare what their
    /// own client can do, and the probe is on nobody's behalf.
    pub capabilities: ClientCapabilities,
}

/// What earlier openings have taught about a server. `None` is "not tried".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Whether it speaks a modern revision.
    pub modern: Option<bool>,
    /// Whether it takes `initialize`.
    pub legacy: Option<bool>,
}

/// Which of the two openings a request belongs to, and so how long to wait for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// `server/discover`: silence is an answer too, on stdio.
    Probe,
    /// `initialize`.
    Handshake,
}

/// What came of a request.
#[derive(Debug)]
pub enum Reply {
    /// A JSON-RPC answer.
    Answer(Response),
    /// Nothing in time. Never reported over HTTP, where it says nothing about the era.
    Silence,
    /// The process ended; with its last words.
    Ended(String),
    /// An HTTP status of 4xx without a JSON-RPC answer; never 401 or 403, nor one that passes: 408, 425, 429.
    Status(u16),
}

/// What to do next.
#[derive(Debug)]
pub enum Step {
    /// Send this request and report what comes of it. Answers to earlier requests still count.
    Send {
        /// Its method.
        method: &'static str,
        /// Its params, a JSON object.
        params: Vec<u8>,
        /// What it is.
        wait: Wait,
        /// The revision it is made in.
        revision: Revision,
    },
    /// Go on waiting.
    Continue,
    /// Start the process again, then call [`Opening::respawned`].
    Respawn,
    /// The session is open. After a legacy handshake `notifications/initialized` is due.
    Done(Box<PeerInfo>),
    /// There will be no session; the reason is for the operator.
    Fail(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Probing(Revision),
    Initializing(Revision),
    Ended,
}

/// One attempt to open a session.
#[derive(Debug)]
pub struct Opening {
    config: OpeningConfig,
    knowledge: Knowledge,
    state: State,
    /// What this opening has asked itself. What is only remembered may be wrong by now (protocol.md §7.3): the
    /// era it rules out is tried before the opening fails, once.
    probed: bool,
    handshake_refused: bool,
    /// Each of these happens once at most, so that no pair of odd servers can make us loop.
    probe_retried: bool,
    handshake_retried: bool,
    respawned: bool,
    probe_silent: bool,
}

impl Opening {
    /// Begins with what is known and wanted.
    pub fn start(config: OpeningConfig, knowledge: Knowledge) -> (Self, Step) {
        let mut opening = Self {
            config,
            knowledge,
            state: State::Ended,
            probed: false,
            handshake_refused: false,
            probe_retried: false,
            handshake_retried: false,
            respawned: false,
            probe_silent: false,
        };
        let step = match (opening.config.want, opening.may(Era::Modern), opening.may(Era::Legacy)) {
            (Era::Legacy, _, true) | (_, false, true) => opening.initialize(None),
            (_, true, _) => opening.probe(None),
            (_, false, false) => {
                // Both were refused before; servers change.
                opening.knowledge = Knowledge::default();
                if opening.config.only.is_some_and(|only| only.era() == Era::Legacy) {
                    opening.initialize(None)
                } else {
                    opening.probe(None)
                }
            }
        };
        (opening, step)
    }

    /// What has been learnt; to be kept for the next opening.
    pub fn knowledge(&self) -> Knowledge {
        self.knowledge
    }

    /// Takes what came of the request that `wait` names.
    pub fn reply(&mut self, wait: Wait, reply: Reply) -> Step {
        match (self.state, wait) {
            (State::Ended, _) => Step::Continue,
            (State::Probing(tried), Wait::Probe) => self.probed(tried, reply),
            (State::Initializing(asked), Wait::Handshake) => self.answered(asked, reply),
            // The probe was slow, not refused (protocol.md §7.3, traps).
            (State::Initializing(_), Wait::Probe) => self.probed_late(reply),
            (State::Probing(_), Wait::Handshake) => Step::Continue,
        }
    }

    /// Goes on after [`Step::Respawn`].
    pub fn respawned(&mut self) -> Step {
        self.respawned = true;
        match self.state {
            State::Probing(_) => self.initialize(None),
            _ => self.probe(None),
        }
    }

    fn probe(&mut self, version: Option<Revision>) -> Step {
        let Some(revision) = version.or_else(|| self.allowed(Era::Modern).next()) else {
            return self.fail("it takes no legacy handshake, and `protocol` allows nothing else".into());
        };
        self.state = State::Probing(revision);
        self.probed = true;
        let params = request::discover(revision, &self.config.client, &ClientCapabilities::none());
        Step::Send { method: method::DISCOVER, params, wait: Wait::Probe, revision }
    }

    fn initialize(&mut self, version: Option<Revision>) -> Step {
        let Some(revision) = version.or_else(|| self.allowed(Era::Legacy).next()) else {
            return self
                .fail("it does not answer `server/discover`, and `protocol` allows nothing else".into());
        };
        self.state = State::Initializing(revision);
        let params = request::initialize(revision, &self.config.client, &self.config.capabilities);
        Step::Send { method: method::INITIALIZE, params, wait: Wait::Handshake, revision }
    }

    /// The verdict on a probe, by the tables of protocol.md §7.3.
    fn probed(&mut self, tried: Revision, reply: Reply) -> Step {
        match reply {
            Reply::Answer(Response { answer: Answer::Result(result), .. }) => match supported(&result) {
                Some(versions) => self.discovered(&versions, &result),
                None => self.not_modern(),
            },
            Reply::Answer(Response { answer: Answer::Error(error), .. }) => self.probe_refused(tried, &error),
            Reply::Status(_) => self.not_modern(),
            Reply::Silence => {
                self.probe_silent = true;
                self.initialize(None)
            }
            Reply::Ended(_) if !self.respawned => {
                self.knowledge.modern = Some(false);
                Step::Respawn
            }
            Reply::Ended(reason) => self.fail(reason),
        }
    }

    fn discovered(&mut self, versions: &[String], result: &RawObject) -> Step {
        if let Some(revision) = self.common(Era::Modern, versions) {
            self.knowledge.modern = Some(true);
            return self.done(modern_peer(revision, result));
        }
        self.knowledge.modern = Some(false);
        match self.common(Era::Legacy, versions) {
            Some(revision) => self.initialize(Some(revision)),
            None => self.fail(self.nothing_in_common(versions)),
        }
    }

    fn probe_refused(&mut self, tried: Revision, error: &PeerError) -> Step {
        let versions = error.raw.get_object("data").as_ref().and_then(|data| list(data, "supported"));
        match (error.code, versions) {
            (code::UNSUPPORTED_VERSION, Some(versions)) => {
                match (self.common(Era::Modern, &versions), self.common(Era::Legacy, &versions)) {
                    // It may name the very one that was tried; once more is asked all the same (protocol.md §7.3).
                    (Some(revision), _) if !self.probe_retried => {
                        self.probe_retried = true;
                        self.probe(Some(revision))
                    }
                    (Some(_), _) => {
                        self.fail(format!("it refuses {tried}, which it says it speaks: {}", error.message()))
                    }
                    (None, Some(revision)) => self.initialize(Some(revision)),
                    _ => self.fail(self.nothing_in_common(&versions)),
                }
            }
            (code, _) if code::proves_modern(code) => {
                self.fail(format!("it refuses `server/discover` with {code}: {}", error.message()))
            }
            _ => self.not_modern(),
        }
    }

    fn not_modern(&mut self) -> Step {
        self.knowledge.modern = Some(false);
        if self.handshake_refused {
            return self.fail("it takes neither `server/discover` nor `initialize`".into());
        }
        self.initialize(None)
    }

    fn probed_late(&mut self, reply: Reply) -> Step {
        match reply {
            Reply::Answer(Response { answer: Answer::Result(result), .. }) => match supported(&result) {
                Some(versions) if self.common(Era::Modern, &versions).is_some() => {
                    self.discovered(&versions, &result)
                }
                _ => Step::Continue,
            },
            Reply::Answer(_) => {
                self.knowledge.modern = Some(false);
                Step::Continue
            }
            _ => Step::Continue,
        }
    }

    fn answered(&mut self, asked: Revision, reply: Reply) -> Step {
        match reply {
            Reply::Answer(Response { answer: Answer::Result(result), .. }) => self.initialized(&result),
            Reply::Answer(Response { answer: Answer::Error(error), .. }) => {
                let versions = error.raw.get_object("data").as_ref().and_then(|data| list(data, "supported"));
                match versions.and_then(|versions| self.common(Era::Legacy, &versions)) {
                    Some(revision) if revision != asked && !self.handshake_retried => {
                        self.handshake_retried = true;
                        self.initialize(Some(revision))
                    }
                    _ => self.not_legacy(format!("error {}: {}", error.code, error.message())),
                }
            }
            Reply::Status(status) => self.not_legacy(format!("HTTP status {status}")),
            Reply::Silence if self.probe_silent && !self.probe_retried => {
                // It may have been starting all along.
                self.probe_retried = true;
                self.probe(None)
            }
            Reply::Silence => self.fail("it does not answer `initialize`".into()),
            Reply::Ended(_) if !self.respawned && self.may_probe() => {
                self.refused_handshake();
                Step::Respawn
            }
            Reply::Ended(reason) => self.fail(reason),
        }
    }

    fn initialized(&mut self, result: &RawObject) -> Step {
        let version = result.get_text("protocolVersion").unwrap_or_default();
        match self.common(Era::Legacy, std::slice::from_ref(&version)) {
            Some(revision) => {
                self.knowledge.legacy = Some(true);
                if self.probe_silent {
                    // It answers, only not to the probe: that need not be waited for again.
                    self.knowledge.modern = Some(false);
                }
                self.done(legacy_peer(revision, result))
            }
            None => self.fail(self.nothing_in_common(&[version])),
        }
    }

    fn not_legacy(&mut self, reason: String) -> Step {
        self.refused_handshake();
        if self.may_probe() {
            return self.probe(None);
        }
        self.fail(format!("it refuses `initialize`: {reason}"))
    }

    fn refused_handshake(&mut self) {
        self.knowledge.legacy = Some(false);
        self.handshake_refused = true;
    }

    /// Whether a refused handshake leaves the other era to be tried.
    fn may_probe(&self) -> bool {
        !self.probed && self.allowed(Era::Modern).next().is_some()
    }

    fn done(&mut self, peer: PeerInfo) -> Step {
        self.state = State::Ended;
        Step::Done(Box::new(peer))
    }

    fn fail(&mut self, reason: String) -> Step {
        self.state = State::Ended;
        Step::Fail(reason)
    }

    /// Whether an era is allowed and not known to be refused.
    fn may(&self, era: Era) -> bool {
        let known = match era {
            Era::Modern => self.knowledge.modern,
            Era::Legacy => self.knowledge.legacy,
        };
        known != Some(false) && self.allowed(era).next().is_some()
    }

    fn allowed(&self, era: Era) -> impl Iterator<Item = Revision> + use<> {
        let only = self.config.only;
        Revision::of(era).filter(move |revision| only.is_none_or(|only| only == *revision))
    }

    fn common(&self, era: Era, theirs: &[String]) -> Option<Revision> {
        self.allowed(era).find(|revision| theirs.iter().any(|version| version == revision.as_str()))
    }

    fn nothing_in_common(&self, theirs: &[String]) -> String {
        let ours: Vec<_> =
            self.allowed(Era::Modern).chain(self.allowed(Era::Legacy)).map(Revision::as_str).collect();
        format!("no protocol revision in common: it speaks {}, we {}", theirs.join(", "), ours.join(", "))
    }
}

fn supported(result: &RawObject) -> Option<Vec<String>> {
    list(result, "supportedVersions")
}

fn list(object: &RawObject, member: &str) -> Option<Vec<String>> {
    let elements = object.get(member)?.elements(100)?;
    Some(elements.iter().filter_map(|version| Some(version.to_text()?.into_owned())).collect())
}

fn modern_peer(revision: Revision, result: &RawObject) -> PeerInfo {
    let stamped = result.get_object("_meta").and_then(|meta| meta.get(meta::SERVER_INFO));
    peer(revision, result, stamped.or_else(|| result.get("serverInfo")))
}

fn legacy_peer(revision: Revision, result: &RawObject) -> PeerInfo {
    peer(revision, result, result.get("serverInfo"))
}

fn peer(revision: Revision, result: &RawObject, server: Option<RawJson>) -> PeerInfo {
    PeerInfo {
        era: revision.era(),
        protocol: revision.as_str().to_owned(),
        server,
        capabilities: result.get_object("capabilities").unwrap_or_else(RawObject::empty),
        instructions: result.get_text("instructions"),
    }
}

#[cfg(test)]
mod tests;
