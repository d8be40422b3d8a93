use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use gateway_domain::{
    DownstreamFault, DownstreamName, DownstreamObserver, DownstreamSession, Era, Error, Factory, Incoming,
    OperatorError, PeerInfo, SessionProfile,
};
use gateway_protocol::{
    RequestId, Revision,
    client::{Knowledge, Opening, OpeningConfig, Reply, Step, Wait},
    headers::METHOD,
    method, write,
};
use http::HeaderValue;
use tokio::time::timeout;

use crate::{
    HttpConfig, HttpSession,
    deadline::Deadline,
    endpoint::Endpoint,
    failure::Failure,
    hub::Hub,
    inquiry::{Answered, Inquiry},
    link::{Link, version_header},
    sse::Door,
};

/// How long a session that may be asked something waits for the stream that its server may ask on.
const STREAM_WAIT: Duration = Duration::from_millis(250);

/// Opens sessions to one remote server. They share its connections and what is known of its era.
pub struct HttpFactory {
    endpoint: Arc<Endpoint>,
    /// Whether its sessions listen for changes.
    change_stream: bool,
}

impl HttpFactory {
    /// A factory for the server that `config` describes. Nothing is connected yet; for `https` the trusted
    /// certificates are read.
    ///
    /// # Errors
    /// [`OperatorError`]: an unusable URL, header or certificate, named without its value.
    pub fn new(
        name: DownstreamName,
        config: HttpConfig,
        observer: Arc<dyn DownstreamObserver>,
    ) -> Result<Self, OperatorError> {
        let change_stream = config.change_stream;
        Ok(Self { endpoint: Arc::new(Endpoint::new(name, config, observer)?), change_stream })
    }

    /// A factory for the same server whose sessions do not listen for changes: for the sessions of clients,
    /// where one of the gateway's own listens already. Connections and what is known are shared.
    #[must_use]
    pub fn without_change_stream(&self) -> Self {
        Self { endpoint: Arc::clone(&self.endpoint), change_stream: false }
    }

    /// Opens a session (protocol.md §7.3). Cancel-safe: a session that the server has begun is ended.
    ///
    /// # Errors
    /// [`DownstreamFault`]: unreachable, refused, in no known revision, or not within
    /// [`HttpConfig::startup_timeout`].
    pub async fn open(&self, profile: &SessionProfile) -> Result<HttpSession, Error> {
        let limit = self.endpoint.config.startup_timeout;
        let opened = match timeout(limit, self.attempt(profile)).await {
            Ok(opened) => opened,
            Err(_) => Err(DownstreamFault::TimedOut { after: limit }),
        };
        opened.map_err(|fault| fault.before(&self.endpoint.name))
    }

    async fn attempt(&self, profile: &SessionProfile) -> Result<HttpSession, DownstreamFault> {
        let memory = &self.endpoint.memory;
        if memory.recall_sse()
            && let Ok(session) = self.attempt_sse(profile).await
        {
            return Ok(session);
        }
        memory.learn_sse(false);
        let refused = match self.negotiate(profile, memory.recall(), &mut Way::Streamable).await {
            Ok(opened) => return self.finish(opened, profile, None).await,
            Err(refused) => refused,
        };
        let is_legacy_allowed =
            self.endpoint.config.protocol.is_none_or(|revision| revision.era() == Era::Legacy);
        if is_legacy_allowed && matches!(refused.status, Some(400 | 404 | 405)) {
            match self.attempt_sse(profile).await {
                Err(failure) => {
                    let (downstream, fault) = (&self.endpoint.name, failure);
                    tracing::debug!(%downstream, %fault, "no HTTP+SSE either");
                }
                opened => return opened,
            }
        }
        // What it said to begin with tells more.
        Err(refused.fault)
    }

    /// Opens a session over HTTP+SSE (protocol.md §6).
    async fn attempt_sse(&self, profile: &SessionProfile) -> Result<HttpSession, DownstreamFault> {
        let limit = self.endpoint.config.request_timeout;
        let door = timeout(limit, Door::open(&self.endpoint, profile.incoming.clone())).await;
        let mut door = match door {
            Ok(door) => door.map_err(|failure| failure.fault)?,
            Err(_) => return Err(DownstreamFault::TimedOut { after: limit }),
        };
        let known = Knowledge { modern: Some(false), legacy: None };
        let opened = self.negotiate(profile, known, &mut Way::Sse(&mut door)).await;
        let session = self.finish(opened.map_err(|refused| refused.fault)?, profile, Some(door)).await?;
        self.endpoint.memory.learn_sse(true);
        Ok(session)
    }

    /// Finds a revision that both sides speak.
    async fn negotiate(
        &self,
        profile: &SessionProfile,
        known: Knowledge,
        way: &mut Way<'_>,
    ) -> Result<Opened, Refused> {
        let endpoint = &self.endpoint;
        let config = OpeningConfig {
            want: if way.is_sse() { Era::Legacy } else { profile.era },
            only: endpoint.config.protocol,
            client: endpoint.config.client.clone(),
            capabilities: profile.capabilities.clone(),
        };
        let (mut opening, mut step) = Opening::start(config, known);
        let (mut id, mut session, mut status) = (0, None, None);
        loop {
            step = match step {
                Step::Send { method, params, wait, revision } => {
                    id += 1;
                    let message = write::request(&RequestId::from(id), method, &params);
                    let (reply, named) = match way {
                        Way::Streamable => {
                            let request = Request { id, method, message, wait, revision };
                            self.try_opening(request, profile.incoming.as_deref()).await?
                        }
                        Way::Sse(door) => {
                            let answered = door.ask(endpoint, id, message).await;
                            (Reply::Answer(answered.map_err(|failure| failure.fault)?), None)
                        }
                    };
                    if let (Wait::Handshake, Reply::Status(given)) = (wait, &reply) {
                        status = Some(*given);
                    }
                    session = named;
                    let step = opening.reply(wait, reply);
                    if !way.is_sse() {
                        endpoint.memory.learn(opening.knowledge());
                    }
                    step
                }
                // Over HTTP every request has one reply, and nothing is ever respawned.
                Step::Continue => return Err(refused("it gave no usable answer").into()),
                Step::Respawn => opening.respawned(),
                Step::Done(peer) => return Ok(Opened { peer: *peer, id, session }),
                Step::Fail(reason) => {
                    return Err(Refused { fault: DownstreamFault::Handshake { reason }, status });
                }
            };
        }
    }

    /// Sends a request of the opening and says what came of it.
    async fn try_opening(
        &self,
        request: Request,
        incoming: Option<&Incoming>,
    ) -> Result<(Reply, Option<HeaderValue>), DownstreamFault> {
        let Request { id, method, message, wait, revision } = request;
        let mut headers = self.endpoint.headers.clone();
        if wait == Wait::Probe {
            headers.extend(version_header(revision));
            headers.insert(METHOD, HeaderValue::from_static(method));
        }
        let deadline = Deadline::fixed(self.endpoint.config.startup_timeout);
        match Inquiry::new(&self.endpoint, id, incoming, deadline).ask(headers, message).await {
            Ok(Answered { response, session }) => {
                Ok((Reply::Answer(response), session.map(checked).transpose()?))
            }
            // Busy or early, which says nothing about the era and passes.
            Err(Failure { fault: fault @ DownstreamFault::Status { status: 408 | 425 | 429 }, .. }) => {
                Err(fault)
            }
            Err(Failure { fault: DownstreamFault::Status { status: status @ 400..=499 }, .. }) => {
                Ok((Reply::Status(status), None))
            }
            // Whatever it is, it is no modern server's answer.
            Err(Failure { fault: DownstreamFault::Nonsense { .. }, .. }) if wait == Wait::Probe => {
                Ok((Reply::Status(200), None))
            }
            Err(failure) => Err(failure.fault),
        }
    }

    /// Completes a legacy handshake and begins to listen.
    async fn finish(
        &self,
        opened: Opened,
        profile: &SessionProfile,
        door: Option<Door>,
    ) -> Result<HttpSession, DownstreamFault> {
        let Opened { peer, id, session } = opened;
        let revision = Revision::parse(&peer.protocol).ok_or_else(|| refused("an unknown revision"))?;
        let session = session.filter(|_| peer.era == Era::Legacy);
        let (channel, stream) = door.map(Door::pass).unzip();
        let incoming = profile.incoming.clone();
        let endpoint = Arc::clone(&self.endpoint);
        let link =
            Link::new(endpoint, revision, session, id + 1, Hub::new(peer, profile), (channel, incoming));
        // From here on dropping the session ends it on the server.
        let session = HttpSession::new(link);
        if let Some(stream) = stream {
            session.read(stream);
        }
        if revision.era() == Era::Legacy {
            self.initialized(session.link()).await?;
        }
        self.listen(&session).await;
        Ok(session)
    }

    async fn initialized(&self, link: &Link) -> Result<(), DownstreamFault> {
        let message = write::notification(method::INITIALIZED, b"{}");
        let status = link.post(message).await.map_err(|failure| failure.fault)?;
        match status.as_u16() {
            200..=299 => Ok(()),
            status @ (401 | 403) => Err(DownstreamFault::Unauthorized { status }),
            status => {
                let reason = format!("HTTP status {status} for `{}`", method::INITIALIZED);
                Err(DownstreamFault::Handshake { reason })
            }
        }
    }

    /// Begins to listen, where there is something to hear. Servers may ask on a stream that belongs to no request, so
    /// that a session that can be asked something waits a moment for it.
    async fn listen(&self, session: &HttpSession) {
        let hub = &session.link().hub;
        let lists = if self.change_stream { hub.announced() } else { Vec::new() };
        let may_be_asked = hub.declared.is_interactive();
        if !lists.is_empty() || may_be_asked {
            session.listen(lists);
        }
        if may_be_asked && session.link().sse.is_none() {
            let mut tried = hub.tried_stream.subscribe();
            // Without a stream there is less to hear, no more.
            let _ = timeout(STREAM_WAIT, tried.wait_for(|tried| *tried)).await;
        }
    }
}

/// A request of an opening.
struct Request {
    id: u64,
    method: &'static str,
    message: Vec<u8>,
    wait: Wait,
    revision: Revision,
}

/// Where the requests of an opening go.
enum Way<'a> {
    Streamable,
    Sse(&'a mut Door),
}

impl Way<'_> {
    fn is_sse(&self) -> bool {
        matches!(self, Self::Sse(_))
    }
}

/// What an opening has come to.
struct Opened {
    peer: PeerInfo,
    /// The last id that was used.
    id: u64,
    session: Option<HeaderValue>,
}

/// Why one has come to nothing.
struct Refused {
    fault: DownstreamFault,
    /// The status that `initialize` was refused with.
    status: Option<u16>,
}

impl From<DownstreamFault> for Refused {
    fn from(fault: DownstreamFault) -> Self {
        Self { fault, status: None }
    }
}

#[async_trait]
impl Factory for HttpFactory {
    type Session = Arc<dyn DownstreamSession>;

    async fn create(&self, profile: &SessionProfile) -> Result<Self::Session, Error> {
        Ok(Arc::new(self.open(profile).await?))
    }
}

/// Session ids are visible ASCII (protocol.md §4.4).
fn checked(session: HeaderValue) -> Result<HeaderValue, DownstreamFault> {
    if !session.is_empty() && session.as_bytes().iter().all(u8::is_ascii_graphic) {
        return Ok(session);
    }
    Err(DownstreamFault::Nonsense { reason: "a session id that is not visible ASCII".into() })
}

fn refused(reason: &str) -> DownstreamFault {
    DownstreamFault::Handshake { reason: reason.to_owned() }
}

impl fmt::Debug for HttpFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFactory")
            .field("downstream", &self.endpoint.name.as_str())
            .field("config", &self.endpoint.config)
            .finish_non_exhaustive()
    }
}
