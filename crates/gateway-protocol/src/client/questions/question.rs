use gateway_domain::{ClientCapabilities, RawJson, RawObject};

use crate::{Request, RequestId, client::answer_server, code, method, write};

/// What a request of a legacy server's becomes.
#[derive(Debug)]
pub enum Asked {
    /// Nobody needs to be asked: this message goes back.
    Reply(Vec<u8>),
    /// A client is to be asked.
    Question(Question),
}

impl Asked {
    /// Reads a request in a session that declared these capabilities: a ping is answered, what was not declared is
    /// refused.
    pub fn read(request: &Request, declared: &ClientCapabilities) -> Self {
        let Some(kind) = Kind::of(request) else { return Self::Reply(answer_server(request)) };
        let question = match kind.and_then(|kind| Question::new(request, kind)) {
            Ok(question) => question,
            Err(reason) => return Self::Reply(refusal(&request.id, code::INVALID_PARAMS, reason)),
        };
        match question.refused_by(declared) {
            Some(refusal) => Self::Reply(refusal),
            None => Self::Question(question),
        }
    }
}

/// Something that a server asks of a client.
#[derive(Debug, Clone)]
pub struct Question {
    id: RequestId,
    kind: Kind,
    /// `{method, params}` without what belongs to the hop.
    request: RawJson,
    guessed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Form,
    Url,
    Sampling { tools: bool },
    Roots,
}

impl Kind {
    /// `None` for what is no question; the error says why it is none that can be asked.
    fn of(request: &Request) -> Option<Result<Self, &'static str>> {
        let params = &request.params.object;
        Some(Ok(match request.method.as_str() {
            method::ELICIT => {
                match params.get("mode").map(|mode| mode.to_text().unwrap_or_default().into_owned()) {
                    None => Self::Form,
                    Some(mode) if mode == "form" => Self::Form,
                    Some(mode) if mode == "url" => Self::Url,
                    Some(_) => return Some(Err("this elicitation mode is not supported")),
                }
            }
            method::SAMPLE => {
                Self::Sampling { tools: params.contains("tools") || params.contains("toolChoice") }
            }
            method::ROOTS_LIST => Self::Roots,
            _ => return None,
        }))
    }
}

impl Question {
    fn new(request: &Request, kind: Kind) -> Result<Self, &'static str> {
        let params = request.params.object.edit().remove("_meta").remove("task").finish();
        let method = RawJson::string(&request.method);
        let text = format!(r#"{{"method":{method},"params":{params}}}"#);
        // On the way to the client it stands deeper than it came.
        let deepest = RawJson::parse(format!("[[[{text}]]]")).and_then(|_| RawJson::parse(text));
        let request_id = request.id.clone();
        deepest
            .map(|request| Self { id: request_id, kind, request, guessed: false })
            .map_err(|_| "the params are nested too deep")
    }

    /// The same, given to a call that it may not be about.
    pub fn guessed(self) -> Self {
        Self { guessed: true, ..self }
    }

    /// Whether the call it was given to need not be the one it is about, so that it may outlive it.
    pub fn is_guessed(&self) -> bool {
        self.guessed
    }

    /// The id of the server's request.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Whether the client's roots are asked for: those can be known without a call.
    pub fn is_roots(&self) -> bool {
        self.kind == Kind::Roots
    }

    /// `{method, params}`, as a value of `inputRequests`.
    pub fn request(&self) -> &RawJson {
        &self.request
    }

    /// The message that refuses it, if a client with these capabilities cannot be asked this.
    pub fn refused_by(&self, capabilities: &ClientCapabilities) -> Option<Vec<u8>> {
        let elicits = capabilities.elicits_forms() || capabilities.elicits_urls();
        let (known, refined, reason) = match self.kind {
            Kind::Form => (elicits, capabilities.elicits_forms(), "form elicitation is not supported"),
            Kind::Url => (elicits, capabilities.elicits_urls(), "url elicitation is not supported"),
            Kind::Sampling { tools } => {
                let refined = !tools || capabilities.samples_with_tools();
                (capabilities.samples(), refined, "sampling with tools is not supported")
            }
            Kind::Roots => (capabilities.has_roots(), true, ""),
        };
        match (known, refined) {
            (false, _) => Some(self.unsupported()),
            (true, false) => Some(refusal(&self.id, code::INVALID_PARAMS, reason)),
            (true, true) => None,
        }
    }

    /// The message that says that there is nobody to ask.
    pub fn unsupported(&self) -> Vec<u8> {
        refusal(&self.id, code::METHOD_NOT_FOUND, "not supported by this client")
    }

    /// The message that answers it.
    pub fn answered(&self, result: &RawObject) -> Vec<u8> {
        write::result(&self.id, result.as_str().as_bytes())
    }

    /// The message that says that nobody will answer it.
    pub fn abandoned(&self) -> Vec<u8> {
        match self.kind {
            Kind::Form | Kind::Url => write::result(&self.id, br#"{"action":"cancel"}"#),
            Kind::Sampling { .. } | Kind::Roots => refusal(&self.id, NOT_ANSWERED, "not answered"),
        }
    }
}

fn refusal(id: &RequestId, code: i64, message: &str) -> Vec<u8> {
    write::error(Some(id), write::error_object(code, message, None).as_bytes())
}

/// What clients answer whose user refuses to (2025-11-25, sampling).
const NOT_ANSWERED: i64 = -1;
