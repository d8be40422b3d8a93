//! What can go wrong at the HTTP fake.

use std::time::Duration;

use bytes::Bytes;

/// In which form a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// JSON, but a stream where there are notifications to send.
    #[default]
    Auto,
    /// JSON always; notifications are lost.
    Json,
    /// A stream always.
    Sse,
}

/// How lines of a stream end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEnd {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    Crlf,
    /// `\r`
    Cr,
}

impl LineEnd {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Crlf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// Switches of the HTTP fake; the default is a server without fault. They count from the next request on.
#[derive(Debug, Clone)]
pub struct Faults {
    /// The faults of answers hit only requests of this JSON-RPC method. `None`: all requests, GET included.
    pub only: Option<String>,
    /// JSON or a stream.
    pub shape: Shape,
    /// Legacy: `initialize` starts a session that all else must name.
    pub sessions: bool,
    /// Refuses requests whose `Accept`, `Content-Type`, version or mirrored headers are wrong.
    pub check_headers: bool,
    /// GET opens a stream; otherwise 405.
    pub get_stream: bool,
    /// DELETE is answered by 405.
    pub refuse_delete: bool,
    /// Requests with none of these bearer tokens are answered by 401. `None`: nobody needs one.
    pub tokens: Option<Vec<String>>,
    /// `WWW-Authenticate` of that 401.
    pub challenge: String,
    /// Paths whose GET is answered by this JSON, with or without token.
    pub documents: Vec<(String, String)>,

    /// Answers with this status and [`body`](Self::body) instead of working.
    pub status: Option<u16>,
    /// Answers 302 to this URL instead of working.
    pub redirect: Option<String>,
    /// Headers added to every answer (`Retry-After`, `WWW-Authenticate`, `Content-Encoding`).
    pub headers: Vec<(String, String)>,
    /// This many more headers, `x-filler-N`.
    pub filler_headers: usize,
    /// Sent instead of the true body.
    pub body: Option<Bytes>,
    /// Sent instead of the true content type.
    pub content_type: Option<String>,

    /// Reads the request and never answers.
    pub hang: bool,
    /// Waits before the answer begins.
    pub delay: Duration,
    /// Drops the connection before any answer.
    pub drop_before: bool,
    /// Drops the connection after half of the answer.
    pub drop_mid_answer: bool,
    /// Sends the answer in chunks of so many bytes, waiting so long before each.
    pub drip: Option<(usize, Duration)>,
    /// Says `Connection: close` and does so.
    pub close: bool,

    /// JSON bodies are printed over many lines.
    pub pretty: bool,
    /// The answer begins well and never ends: a JSON string, or one line of a stream.
    pub endless_body: bool,
    /// A stream of comments and nothing else.
    pub endless_comments: bool,
    /// Ends of lines in streams.
    pub line_end: LineEnd,
    /// Events are spread over several `data:` lines.
    pub multi_line_data: bool,
    /// Streams begin with a byte order mark.
    pub bom: bool,
    /// Streams begin with an event that has an id, a `retry` of so many milliseconds and empty data.
    pub prime: Option<u64>,
    /// Events name their type, `event: message`, and come with a comment and an event of another type.
    pub named_events: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            only: None,
            shape: Shape::Auto,
            sessions: true,
            check_headers: true,
            get_stream: true,
            refuse_delete: false,
            tokens: None,
            challenge: "Bearer".to_owned(),
            documents: Vec::new(),
            status: None,
            redirect: None,
            headers: Vec::new(),
            filler_headers: 0,
            body: None,
            content_type: None,
            hang: false,
            delay: Duration::ZERO,
            drop_before: false,
            drop_mid_answer: false,
            drip: None,
            close: false,
            pretty: false,
            endless_body: false,
            endless_comments: false,
            line_end: LineEnd::Lf,
            multi_line_data: false,
            bom: false,
            prime: None,
            named_events: false,
        }
    }
}

impl Faults {
    /// These switches as they bear on a request: without the faults of answers if it is not the one meant.
    pub(crate) fn bearing_on(&self, method: Option<&str>) -> Self {
        if self.only.is_none() || self.only.as_deref() == method {
            return self.clone();
        }
        Self {
            sessions: self.sessions,
            check_headers: self.check_headers,
            get_stream: self.get_stream,
            refuse_delete: self.refuse_delete,
            tokens: self.tokens.clone(),
            challenge: self.challenge.clone(),
            documents: self.documents.clone(),
            ..Self::default()
        }
    }
}
