//! The stdio face: the same endpoint for one client, a message a line, both eras in one process
//! (protocol.md §3, §7.1).

use std::{fmt, future::Future, io, pin::pin, sync::Arc};

use bytes::Bytes;
use gateway_domain::{Caller, Era, Incoming as CameAlong, View};
use gateway_protocol::{
    EnvelopeError, Incoming, Message, Notification, Request, Response,
    era::{Facts, Kind, Verdict, classify, envelope_version},
    method,
    ndjson::{Line, LineDecoder},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter},
    sync::{mpsc, watch},
    task::{JoinError, JoinHandle, JoinSet},
    time::{sleep, timeout},
};

use crate::{
    auth::Principal,
    config::ServerConfig,
    edge::{Edge, FAREWELL, Phase, Ports},
    endpoint::{Answer, Payload, Reply, Visit, ask_again, legacy, modern},
    in_flight::Calls,
    listen,
    rescue::Refusal,
    rules::Rules,
    session::Session,
    settings::Rulings,
};

/// How many messages may wait for a client that reads slowly before their makers do.
const WAITING: usize = 64;
/// Requests that are refused for being too many wait to be told so; this many may.
const REFUSED: usize = 64;
/// How much is read at a time.
const READ: usize = 16 << 10;

/// The face before it serves.
pub struct Face {
    edge: Arc<Edge>,
}

impl Face {
    /// Of the configuration, clients, tokens, TLS, hosts, origins, addresses and the version of HTTP have no meaning here.
    pub fn new(config: ServerConfig, ports: Ports) -> Self {
        Self { edge: Edge::new(Rules::of_one_client(config), ports) }
    }

    /// Tells it of rules that have changed, while it serves.
    pub fn rulings(&self) -> Rulings {
        Rulings::of(self.edge.clone())
    }

    /// As [`serve`], which has made it.
    ///
    /// # Errors
    /// As there.
    pub async fn serve<R, W>(
        self,
        caller: Caller,
        reader: R,
        writer: W,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let Self { edge } = self;
        let rules = edge.rules();
        // One client at the other end, to whom the limits for one caller apply.
        let principal = Principal::new(caller);
        let (mouth, messages) = mpsc::channel(WAITING);
        let mut writing = JoinSet::new();
        writing.spawn(write(messages, writer));
        let drain = rules.config.limits.drain;
        let caller = principal.caller.clone();
        let incoming = rules.config.passes_incoming.then(|| Arc::new(CameAlong::from(caller.clone())));
        let (view, peer, trace) = (View::All, None, None);
        let visit = Visit {
            edge: edge.clone(),
            rules,
            principal,
            caller,
            peer,
            view,
            streams: true,
            incoming,
            trace,
        };
        let mut client =
            Client { visit, mouth, calls: Arc::default(), session: None, running: JoinSet::new() };

        let mut shutdown = pin!(shutdown);
        let mut stopped = false;
        let ended = tokio::select! {
            ended = client.read(reader) => ended,
            () = &mut shutdown => {
                stopped = true;
                Ok(())
            }
            written = writing.join_next() => outcome(written),
        };
        edge.advance(Phase::Draining);
        let rest = async {
            tokio::select! {
                () = client.finish() => {}
                // Nobody hears the answers any more.
                written = writing.join_next() => return outcome(written),
            }
            client.close();
            outcome(writing.join_next().await)
        };
        let mut rest = pin!(rest);
        let written = tokio::select! {
            written = &mut rest => written,
            () = sleep(drain) => farewell(&edge, rest).await,
            () = shutdown, if !stopped => farewell(&edge, rest).await,
        };
        edge.advance(Phase::Closed);
        ended.and(written)
    }
}

impl fmt::Debug for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Face").finish_non_exhaustive()
    }
}

/// Serves one client, which is `caller`, until `reader` ends or `shutdown` is ready; then streams end and requests in flight
/// are answered, at most for the drain time or, after the end of `reader`, until `shutdown` is ready. Those
/// that are not are told that the gateway shuts down, within a second. Of the configuration, clients, tokens, TLS,
/// hosts, origins, addresses and the version of HTTP have no meaning here.
///
/// What the client held downstream may still be ending when this returns: whoever closes the downstreams waits
/// for that. Dropping the future cancels everything.
///
/// # Errors
/// What reading or writing fails with; a client that has closed its end of `writer` is an error too.
pub async fn serve<R, W>(
    config: ServerConfig,
    ports: Ports,
    caller: Caller,
    reader: R,
    writer: W,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    Face::new(config, ports).serve(caller, reader, writer, shutdown).await
}

/// Lets `rest` say what can be said at once.
async fn farewell(edge: &Edge, rest: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    edge.advance(Phase::Ending);
    timeout(FAREWELL, rest).await.unwrap_or(Ok(()))
}

/// What the writer ended with, if it has not been asked before.
fn outcome(written: Option<Result<io::Result<()>, JoinError>>) -> io::Result<()> {
    written.and_then(Result::ok).unwrap_or(Ok(()))
}

/// What is known about the one client.
struct Client {
    visit: Visit,
    mouth: mpsc::Sender<Payload>,
    /// Modern requests in flight. Legacy ones are their session's.
    calls: Arc<Calls>,
    session: Option<Opened>,
    running: JoinSet<()>,
}

struct Opened {
    session: Arc<Session>,
    /// Tells the client about changes.
    news: AbortOnDrop,
    /// Asks again for what it watches whenever the rules have changed: the session is in no table.
    asking: AbortOnDrop,
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Client {
    /// Takes messages until there are no more.
    async fn read(&mut self, reader: impl AsyncRead + Unpin) -> io::Result<()> {
        let limits = &self.visit.rules.config.limits;
        let most = limits.in_flight_per_caller + limits.listens_per_caller + REFUSED;
        let mut decoder = LineDecoder::new(limits.body_bytes);
        let mut reader = pin!(reader);
        loop {
            while let Some(line) = decoder.next_line() {
                self.take(line).await;
                while self.running.len() >= most {
                    self.running.join_next().await;
                }
            }
            while self.running.try_join_next().is_some() {}
            decoder.buffer().reserve(READ);
            if reader.read_buf(decoder.buffer()).await? == 0 {
                if let Some(line) = decoder.finish() {
                    self.take(line).await;
                }
                return Ok(());
            }
        }
    }

    /// Waits for what is in flight.
    async fn finish(&mut self) {
        while self.running.join_next().await.is_some() {}
    }

    /// Lets go of what is held downstream, and of the writer. That ends beside whatever else ends now: two
    /// servers in a row would take twice as long.
    fn close(self) {
        let edge = self.visit.edge;
        if let Some(opened) = self.session {
            drop((opened.news, opened.asking));
            drop(edge.let_go(opened.session));
        }
        let (sessions, caller) = (edge.ports.sessions.clone(), self.visit.principal.caller.clone());
        tokio::spawn(async move { sessions.end_caller(&caller).await });
    }

    async fn take(&mut self, line: Line) {
        let limit = self.visit.rules.config.limits.body_bytes;
        match line {
            Line::TooLong => self.refuse(&Refusal::BodyTooLarge { limit }).await,
            Line::Text(text) => self.message(text).await,
        }
    }

    async fn message(&mut self, text: Bytes) {
        match Incoming::parse(text) {
            Ok(Incoming::Single(Message::Request(request))) => self.request(request).await,
            Ok(Incoming::Single(Message::Notification(notification))) => self.notification(&notification),
            Ok(Incoming::Single(Message::Response(response))) => self.response(response),
            Ok(Incoming::Batch(messages)) => self.batch(messages).await,
            Err(error) => {
                let id = error.id.clone();
                let answer = Refusal::Envelope(error).answer(Era::Modern, id.as_ref());
                self.visit.edge.metrics.refused(answer.kind);
                self.visit.turned_away(None, answer.kind);
                self.say(answer.payload).await;
            }
        }
    }

    async fn request(&mut self, request: Request) {
        let envelope = envelope_version(request.params.meta.as_ref());
        let verdict = classify(Facts {
            kind: Kind::Request(&request.method),
            envelope_version: envelope.as_deref(),
            header_version: None,
            has_session: self.session.is_some(),
        });
        let (era, refusal) = match (verdict, &self.session) {
            (Verdict::Modern, _) => {
                // Entered before the next message is looked at, which may cancel it. This is refused only
                // after an end, and these have none.
                let (visit, entry) = (self.visit.clone(), self.calls.enter(&request.id).ok());
                return self.spawn(async move { modern::answer(&visit, request, None, entry).await });
            }
            (Verdict::Handshake, _) => return self.handshake(&request).await,
            (Verdict::Legacy, Some(Opened { session, .. })) => {
                let answer = legacy::answer(self.visit.clone(), session.clone(), request, false);
                return self.spawn(answer);
            }
            (Verdict::Legacy, None) if request.method == method::PING => {
                return self.say(Answer::result(&request.id, b"{}").payload).await;
            }
            (Verdict::Legacy, None) => (Era::Legacy, Refusal::NotInitialized),
            (Verdict::EnvelopeMissing, _) => (Era::Modern, Refusal::EnvelopeMissing),
            (Verdict::HeaderMismatch, _) => (Era::Modern, Refusal::VersionMismatch),
            (Verdict::EnvelopeUnusable, _) => {
                (Era::Modern, Refusal::UnsupportedVersion { requested: envelope.unwrap_or_default() })
            }
        };
        let answer = refusal.answer(era, Some(&request.id));
        self.visit.edge.answered(&request.method, era, &answer);
        self.visit.refused(&request, answer.kind);
        self.say(answer.payload).await;
    }

    /// Selects legacy semantics for messages without an envelope. A second handshake begins anew; what is in
    /// flight of the session before is answered that it has ended.
    async fn handshake(&mut self, request: &Request) {
        let client = match legacy::negotiate(&self.visit, request) {
            Ok(client) => client,
            Err(answer) => return self.say(answer.payload).await,
        };
        let Visit { edge, principal, view, .. } = &self.visit;
        let opened = edge.sessions.apart(principal, view, client).and_then(|session| {
            session.begins_with(edge.ports.directory.generations_to(view, &self.visit.caller));
            let stream = listen::legacy(&self.visit, &session, None)?;
            Ok((session, stream))
        });
        let (session, stream) = match opened {
            Ok(opened) => opened,
            Err(refusal) => {
                let answer = refusal.answer(Era::Legacy, Some(&request.id));
                self.visit.refused(request, answer.kind);
                return self.say(answer.payload).await;
            }
        };
        let welcome = legacy::welcome(&self.visit, &request.id, session.revision()).await;
        // Behind the welcome, so that nothing of the session comes before it.
        self.say(welcome.payload).await;
        let news = AbortOnDrop(tokio::spawn(speak(stream, self.mouth.downgrade())));
        // From now on, before anything can be watched.
        let rulings = edge.rulings.subscribe();
        let asking = AbortOnDrop(tokio::spawn(follow(rulings, edge.clone(), session.clone())));
        if let Some(earlier) = self.session.replace(Opened { session, news, asking }) {
            drop(self.visit.edge.let_go(earlier.session));
        }
    }

    fn notification(&self, notification: &Notification) {
        if notification.method == method::CANCELLED
            && let Some(id) = legacy::cancelled(notification)
        {
            self.calls.cancel(&id);
        }
        if let Some(Opened { session, .. }) = &self.session {
            legacy::notice(&self.visit, session, notification);
        }
    }

    fn response(&self, response: Response) {
        // Only in a session is a client asked anything.
        if let Some(Opened { session, .. }) = &self.session {
            session.questions().answer(response);
        }
    }

    async fn batch(&mut self, messages: Vec<Result<Message, EnvelopeError>>) {
        let session = self.session.as_ref().map(|opened| opened.session.clone());
        let Some(session) = session.filter(|session| session.revision().has_batches()) else {
            return self.refuse(&Refusal::Batch("an array, where one message is expected")).await;
        };
        let mouth = self.mouth.clone();
        let answering = legacy::batch(&self.visit, &session, messages, false);
        self.running.spawn(async move {
            if let Some(answers) = answering.await {
                let _ = mouth.send(answers).await;
            }
        });
    }

    fn spawn(&mut self, answer: impl Future<Output = Reply> + Send + 'static) {
        let mouth = self.mouth.clone();
        self.running.spawn(async move {
            match answer.await {
                Reply::Message(answer) if answer.is_cancelled() => {}
                Reply::Message(answer) => drop(mouth.send(answer.payload).await),
                Reply::Conversation(mut conversation) => {
                    while let Some(message) = conversation.next().await {
                        if mouth.send(message).await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
    }

    async fn refuse(&self, refusal: &Refusal) {
        let answer = refusal.answer(Era::Legacy, None);
        self.visit.edge.metrics.refused(answer.kind);
        self.visit.turned_away(None, answer.kind);
        self.say(answer.payload).await;
    }

    async fn say(&self, message: Payload) {
        // Without a writer there is nobody to tell; the writer's own error ends the face.
        let _ = self.mouth.send(message).await;
    }
}

/// Says what is said outside any request.
async fn speak(mut stream: listen::Opened, mouth: mpsc::WeakSender<Payload>) {
    while let Some(message) = stream.reader.next().await {
        let Some(mouth) = mouth.upgrade() else { return };
        if mouth.send(message).await.is_err() {
            return;
        }
    }
}

/// Keeps what a session watches to the rules, for ever. Dropping the future leaves what is not asked for yet as it is.
async fn follow(mut rulings: watch::Receiver<u64>, edge: Arc<Edge>, session: Arc<Session>) {
    while rulings.changed().await.is_ok() {
        ask_again(edge.clone(), session.clone()).await;
    }
}

/// Writes until nobody has anything to say.
async fn write(messages: mpsc::Receiver<Payload>, writer: impl AsyncWrite + Unpin) -> io::Result<()> {
    write_all(messages, writer).await.map_err(|error| match error.kind() {
        kind @ io::ErrorKind::BrokenPipe => io::Error::new(kind, "the client has closed our standard output"),
        _ => error,
    })
}

async fn write_all(mut messages: mpsc::Receiver<Payload>, writer: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    while let Some(Payload(parts)) = messages.recv().await {
        for part in &parts {
            writer.write_all(part).await?;
        }
        writer.write_all(b"\n").await?;
        if messages.is_empty() {
            writer.flush().await?;
        }
    }
    writer.flush().await
}
