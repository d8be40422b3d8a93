//! Envelopes: what a message is, and the members that are routed on, as raw values.

use std::fmt;

use bytes::Bytes;
use gateway_domain::{JsonError, JsonKind, Params, PeerError, RawJson, RawObject, Scanner};

/// The longest id, in bytes of JSON text (security.md §3.3).
const ID_LIMIT: usize = 256;
/// The longest method, in bytes.
const METHOD_LIMIT: usize = 128;
/// The most messages in an array (requirements.md §7b).
const BATCH_LIMIT: usize = 50;

/// The id of a request: a string or an integer, kept with its JSON type (protocol.md §2.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(RawJson);

impl RequestId {
    /// Checks that a value can be an id.
    pub fn new(raw: RawJson) -> Option<Self> {
        let integer = || raw.as_bytes().iter().skip(1).all(u8::is_ascii_digit) && raw.as_str() != "-";
        let fits = match raw.kind() {
            JsonKind::String => true,
            JsonKind::Number => integer(),
            _ => false,
        };
        (fits && raw.as_bytes().len() <= ID_LIMIT).then_some(Self(raw))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The number, if this is one that fits: ids that the gateway makes are.
    pub fn to_number(&self) -> Option<u64> {
        self.0.to_integer().and_then(|number| number.try_into().ok())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        // Digits are JSON.
        Self(RawJson::parse(number.to_string()).unwrap_or_else(|_| RawJson::string("")))
    }
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// To be repeated in the answer, byte for byte.
    pub id: RequestId,
    /// What is asked.
    pub method: String,
    /// With what; empty if absent.
    pub params: Params,
}

/// A notification.
#[derive(Debug, Clone)]
pub struct Notification {
    /// What happened.
    pub method: String,
    /// The circumstances; empty if absent.
    pub params: Params,
}

/// The content of a response.
#[derive(Debug, Clone)]
pub enum Answer {
    /// `result`.
    Result(RawObject),
    /// `error`.
    Error(PeerError),
}

/// A response.
#[derive(Debug, Clone)]
pub struct Response {
    /// Absent (or `null`) when the request could not be read.
    pub id: Option<RequestId>,
    /// The content.
    pub answer: Answer,
}

/// One JSON-RPC message.
#[derive(Debug, Clone)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// Is one.
    Response(Response),
}

/// What a body, line or event holds.
#[derive(Debug)]
pub enum Incoming {
    /// One message.
    Single(Message),
    /// An array of them, each read by itself (2025-03-26 only).
    Batch(Vec<Result<Message, EnvelopeError>>),
}

/// What kind of envelope error it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvelopeFault {
    /// Not JSON: -32700.
    NotJson(JsonError),
    /// JSON, but not a message: -32600.
    NotAMessage(&'static str),
    /// JSON that breaks a limit or repeats a member: -32600.
    NotAcceptable(JsonError),
}

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeError {
    /// What is wrong.
    pub fault: EnvelopeFault,
    /// The id, if it could be read all the same.
    pub id: Option<RequestId>,
}

impl std::error::Error for EnvelopeError {}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            EnvelopeFault::NotJson(error) => write!(f, "{error}"),
            EnvelopeFault::NotAMessage(reason) => write!(f, "not a JSON-RPC message: {reason}"),
            EnvelopeFault::NotAcceptable(error) => write!(f, "not an acceptable message: {error}"),
        }
    }
}

impl From<JsonError> for EnvelopeError {
    fn from(error: JsonError) -> Self {
        let fault = match error {
            JsonError::Duplicate { .. } | JsonError::Members { .. } | JsonError::NotAnObject { .. } => {
                EnvelopeFault::NotAcceptable(error)
            }
            _ => EnvelopeFault::NotJson(error),
        };
        Self { fault, id: None }
    }
}

impl Incoming {
    /// Reads a whole body, line or event in one pass. Line breaks between tokens are taken out first.
    ///
    /// # Errors
    /// [`EnvelopeError`]; an element of an array fails by itself.
    pub fn parse(text: Bytes) -> Result<Self, EnvelopeError> {
        RawObject::read_message(text, |bytes, scanner| match scanner.peek() {
            Some(b'{') => Envelope::scan(bytes, scanner)?.read().map(Self::Single),
            Some(b'[') => batch(bytes, scanner).map(Self::Batch),
            _ => {
                scanner.value()?;
                Err(not_a_message("neither an object nor an array"))
            }
        })
    }
}

impl Message {
    /// Reads text that may hold one message only, as everywhere but in 2025-03-26.
    ///
    /// # Errors
    /// [`EnvelopeError`], also for an array.
    pub fn parse(text: Bytes) -> Result<Self, EnvelopeError> {
        match Incoming::parse(text)? {
            Incoming::Single(message) => Ok(message),
            Incoming::Batch(_) => Err(not_a_message("an array, which this revision does not have")),
        }
    }
}

/// The members of an envelope, indexed with what is looked into.
struct Envelope {
    object: RawObject,
    params: Option<RawObject>,
    meta: Option<RawObject>,
    result: Option<RawObject>,
}

impl Envelope {
    fn scan(bytes: &Bytes, scanner: &mut Scanner<'_>) -> Result<Self, EnvelopeError> {
        let (mut params, mut meta, mut result) = (None, None, None);
        let limit = RawObject::MEMBER_LIMIT;
        let object = RawObject::scan(bytes, scanner, limit, |scanner, key| {
            let object = scanner.peek() == Some(b'{');
            if object && key.is("params") {
                params = Some(RawObject::scan(bytes, scanner, limit, |scanner, key| {
                    if key.is("_meta") && scanner.peek() == Some(b'{') {
                        meta = Some(RawObject::scan(bytes, scanner, limit, |_, _| Ok::<_, JsonError>(()))?);
                    }
                    Ok::<_, JsonError>(())
                })?);
            } else if object && key.is("result") {
                result = Some(RawObject::scan(bytes, scanner, usize::MAX, |_, _| Ok::<_, JsonError>(()))?);
            }
            Ok::<_, EnvelopeError>(())
        })?;
        Ok(Self { object, params, meta, result })
    }

    fn read(self) -> Result<Message, EnvelopeError> {
        let raw_id = self.object.get("id");
        let id = raw_id.clone().and_then(RequestId::new);
        let fail = |reason| Err(EnvelopeError { id: id.clone(), ..not_a_message(reason) });
        if self.object.get("jsonrpc").is_none_or(|version| version.as_str() != "\"2.0\"") {
            return fail("`jsonrpc` is not \"2.0\"");
        }
        let Some(method) = self.object.get("method") else { return self.response(raw_id, id) };
        let Some(method) = method.to_text().filter(|method| method.len() <= METHOD_LIMIT) else {
            return fail("`method` is not a string of at most 128 bytes");
        };
        if self.object.contains("result") || self.object.contains("error") {
            return fail("both a request and a response");
        }
        if self.params.is_none() && self.object.contains("params") {
            return fail("`params` is not an object");
        }
        let method = method.into_owned();
        let params = Params { object: self.params.unwrap_or_else(RawObject::empty), meta: self.meta };
        match (raw_id, id) {
            (None, _) => Ok(Message::Notification(Notification { method, params })),
            (Some(_), Some(id)) => Ok(Message::Request(Request { id, method, params })),
            (Some(_), None) => Err(not_a_message("`id` is not a string or integer of at most 256 bytes")),
        }
    }

    fn response(self, raw_id: Option<RawJson>, id: Option<RequestId>) -> Result<Message, EnvelopeError> {
        let fail = |reason| Err(EnvelopeError { id: id.clone(), ..not_a_message(reason) });
        if raw_id.is_some_and(|raw| raw.kind() != JsonKind::Null) && id.is_none() {
            return fail("`id` is not a string or integer of at most 256 bytes");
        }
        let answer = match (self.result, self.object.get("error")) {
            (Some(result), None) => Answer::Result(result),
            (None, Some(error)) => match RawObject::try_from(error).ok().and_then(PeerError::new) {
                Some(error) => Answer::Error(error),
                None => return fail("`error` is not an object with an integer `code`"),
            },
            (Some(_), Some(_)) => return fail("both a result and an error"),
            (None, None) if self.object.contains("result") => return fail("`result` is not an object"),
            (None, None) => return fail("neither `method` nor `result` nor `error`"),
        };
        Ok(Message::Response(Response { id, answer }))
    }
}

fn batch(
    bytes: &Bytes,
    scanner: &mut Scanner<'_>,
) -> Result<Vec<Result<Message, EnvelopeError>>, EnvelopeError> {
    let range = scanner.value()?;
    let array = RawJson::parse(bytes.slice(range))?;
    let elements =
        array.elements(BATCH_LIMIT).ok_or_else(|| not_a_message("an array of more than 50 messages"))?;
    if elements.is_empty() {
        return Err(not_a_message("an empty array"));
    }
    let read = |element: RawJson| match Incoming::parse(element.into_bytes())? {
        Incoming::Single(message) => Ok(message),
        Incoming::Batch(_) => Err(not_a_message("an array in an array")),
    };
    Ok(elements.into_iter().map(read).collect())
}

fn not_a_message(reason: &'static str) -> EnvelopeError {
    EnvelopeError { fault: EnvelopeFault::NotAMessage(reason), id: None }
}

#[cfg(test)]
mod tests;
