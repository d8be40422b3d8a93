use std::{fmt, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{
    DownstreamFault, DownstreamName, DownstreamObserver, DownstreamSession, Era, Error, Factory,
    OperatorError, PeerInfo, SessionProfile,
};
use gateway_protocol::{
    RequestId, Revision,
    client::{Opening, OpeningConfig, Reply, Step, Wait},
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
    inquiry::{Answered, Inquiry},
    link::{Link, version_header},
};

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
        let endpoint = &self.endpoint;
        let config = OpeningConfig {
            want: profile.era,
            only: endpoint.config.protocol,
            client: endpoint.config.client.clone(),
            capabilities: profile.capabilities.clone(),
        };
        let (mut opening, mut step) = Opening::start(config, endpoint.memory.recall());
        let (mut id, mut session) = (0, None);
        let peer = loop {
            step = match step {
                Step::Send { method, params, wait, revision } => {
                    id += 1;
                    let (reply, named) = self.try_opening(id, method, &params, wait, revision).await?;
                    session = named;
                    let step = opening.reply(wait, reply);
                    endpoint.memory.learn(opening.knowledge());
                    step
                }
                // Over HTTP every request has one reply, and nothing is ever respawned.
                Step::Continue => return Err(refused("it gave no usable answer")),
                Step::Respawn => opening.respawned(),
                Step::Done(peer) => break *peer,
                Step::Fail(reason) => return Err(DownstreamFault::Handshake { reason }),
            };
        };
        let revision = Revision::parse(&peer.protocol).ok_or_else(|| refused("an unknown revision"))?;
        let session = session.filter(|_| peer.era == Era::Legacy);
        let link = Link::new(Arc::clone(endpoint), revision, session, id + 1);
        self.finish(link, peer).await
    }

    /// Sends a request of the opening and says what came of it.
    async fn try_opening(
        &self,
        id: u64,
        method: &'static str,
        params: &[u8],
        wait: Wait,
        revision: Revision,
    ) -> Result<(Reply, Option<HeaderValue>), DownstreamFault> {
        let mut headers = self.endpoint.headers.clone();
        if wait == Wait::Probe {
            headers.extend(version_header(revision));
            headers.insert(METHOD, HeaderValue::from_static(method));
        }
        let message = write::request(&RequestId::from(id), method, params);
        let deadline = Deadline::fixed(self.endpoint.config.startup_timeout);
        match Inquiry::new(&self.endpoint, id, deadline).ask(headers, message).await {
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
    async fn finish(&self, link: Link, peer: PeerInfo) -> Result<HttpSession, DownstreamFault> {
        // From here on dropping the session ends it on the server.
        let session = HttpSession::new(link, peer);
        if session.link().era() == Era::Legacy {
            let message = write::notification(method::INITIALIZED, b"{}");
            let status = session.link().post(message).await.map_err(|failure| failure.fault)?;
            match status.as_u16() {
                200..=299 => {}
                status @ (401 | 403) => return Err(DownstreamFault::Unauthorized { status }),
                status => {
                    let reason = format!("HTTP status {status} for `{}`", method::INITIALIZED);
                    return Err(DownstreamFault::Handshake { reason });
                }
            }
        }
        if self.change_stream {
            session.listen();
        }
        Ok(session)
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
