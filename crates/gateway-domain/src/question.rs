use std::fmt;

use crate::{Asker, ClientCapabilities, PeerError, RawJson, RawObject};

/// One question to a client during a call: a value of `inputRequests` (protocol.md §13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    request: RawObject,
    params: RawObject,
    needs: Ability,
}

/// What a client has to have declared to be asked something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// To say which folders it works in.
    Roots,
    /// To ask its model.
    Sampling,
    /// The same with tools that the model may call.
    SamplingWithTools,
    /// To show its user a form.
    Forms,
    /// To send its user to a URL.
    Urls,
}

impl Ability {
    /// Whether a client has declared it.
    pub fn is_of(self, client: &ClientCapabilities) -> bool {
        match self {
            Self::Roots => client.has_roots(),
            Self::Sampling => client.samples(),
            Self::SamplingWithTools => client.samples_with_tools(),
            Self::Forms => client.elicits_forms(),
            Self::Urls => client.elicits_urls(),
        }
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Roots => "roots",
            Self::Sampling => "sampling",
            Self::SamplingWithTools => "sampling with tools",
            Self::Forms => "elicitation",
            Self::Urls => "elicitation by URL",
        })
    }
}

impl Question {
    /// The method that asks the user.
    pub const ELICIT: &'static str = "elicitation/create";
    /// The method that asks the model.
    pub const SAMPLE: &'static str = "sampling/createMessage";
    /// The method that asks for the folders.
    pub const ROOTS: &'static str = "roots/list";

    /// Reads a request; `None` if it is none, or of a method that no client is asked.
    pub fn read(request: RawJson) -> Option<Self> {
        let request = RawObject::try_from(request).ok()?;
        let params = request.get_object("params").unwrap_or_default();
        let needs = match &*request.get_text("method")? {
            Self::ROOTS => Ability::Roots,
            Self::SAMPLE if params.contains("tools") || params.contains("toolChoice") => {
                Ability::SamplingWithTools
            }
            Self::SAMPLE => Ability::Sampling,
            Self::ELICIT if params.get_text("mode").as_deref() == Some("url") => Ability::Urls,
            Self::ELICIT => Ability::Forms,
            _ => return None,
        };
        Some(Self { request, params, needs })
    }

    /// Its method.
    pub fn method(&self) -> &'static str {
        match self.needs {
            Ability::Roots => Self::ROOTS,
            Ability::Sampling | Ability::SamplingWithTools => Self::SAMPLE,
            Ability::Forms | Ability::Urls => Self::ELICIT,
        }
    }

    /// The whole request.
    pub fn request(&self) -> &RawObject {
        &self.request
    }

    /// Its params; no members if it has none.
    pub fn params(&self) -> &RawObject {
        &self.params
    }

    /// Whether it is for the user.
    pub fn is_elicitation(&self) -> bool {
        matches!(self.needs, Ability::Forms | Ability::Urls)
    }

    /// Where it sends the user.
    pub fn url(&self) -> Option<String> {
        (self.needs == Ability::Urls).then(|| self.params.get_text("url"))?
    }

    /// What a client has not declared that it would have to, to be asked this.
    pub fn lacking(&self, client: &ClientCapabilities) -> Option<Ability> {
        (!self.needs.is_of(client)).then_some(self.needs)
    }

    /// The same with other params.
    #[must_use]
    pub fn with_params(&self, params: &RawJson) -> Self {
        let request = self.request.edit().set("params", params.as_bytes()).finish();
        Self::read(request).unwrap_or_else(|| self.clone())
    }

    /// The same with who asks in front of what the user reads. Of others nothing is read by anybody.
    #[must_use]
    pub fn labelled(&self, asker: &Asker) -> Self {
        match self.params.get_text("message").filter(|_| self.is_elicitation()) {
            Some(message) => {
                let message = RawJson::string(&format!("[{asker}] {message}"));
                self.with_params(&self.params.edit().set("message", message.as_bytes()).finish())
            }
            None => self.clone(),
        }
    }

    /// What stands in the place of an answer that nobody gave. To a question to the user it is what a user says who
    /// dismisses it; to any other it is no answer, which [`Self::is_refused`] tells.
    pub fn refusal() -> RawObject {
        // Both names and values are plain.
        RawObject::parse(r#"{"action":"cancel"}"#).unwrap_or_default()
    }

    /// Whether this stands in the place of a model's or a host's answer, which cannot be made up.
    pub fn is_refused(&self, answer: &RawJson) -> bool {
        !self.is_elicitation() && answer == Self::refusal().raw()
    }
}

impl PeerError {
    /// The code of a call that fails for want of a visit to a URL (2025-11-25).
    pub const URL_REQUIRED: i64 = -32042;
    /// The most visits that one error may ask for.
    const MOST_VISITS: usize = 16;

    /// The questions of a 2025-11-25 server that fails a call for want of visits to URLs (protocol.md §20.6), as one
    /// that asks them: each keyed, and as that server wrote it but for its `mode`. `None`: it fails for another
    /// reason, or names none.
    pub fn visits(&self) -> Option<RawObject> {
        if self.code != Self::URL_REQUIRED {
            return None;
        }
        let listed = self.raw.get_object("data")?.get("elicitations")?.elements(Self::MOST_VISITS)?;
        let mut questions = Vec::new();
        for (place, params) in listed.into_iter().enumerate() {
            let params = RawObject::try_from(params).ok()?.edit().set("mode", br#""url""#).finish();
            let (key, method) = (place + 1, Question::ELICIT);
            questions.push(format!(r#""url{key}":{{"method":"{method}","params":{params}}}"#));
        }
        let questions = RawObject::parse(format!("{{{}}}", questions.join(","))).ok()?;
        (!questions.is_empty()).then_some(questions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RawObject {
        RawObject::parse(text.to_owned()).unwrap()
    }

    fn question(text: &str) -> Option<Question> {
        Question::read(object(text).raw().clone())
    }

    #[test]
    fn a_client_is_only_asked_what_it_has_declared() {
        let all = r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#;
        // A question; what has to be declared for it; and what is said of who has not.
        let rows = [
            (r#"{"method":"roots/list"}"#, r#"{"roots":{}}"#, "roots"),
            (r#"{"method":"sampling/createMessage","params":{}}"#, r#"{"sampling":{}}"#, "sampling"),
            (
                r#"{"method":"sampling/createMessage","params":{"tools":[]}}"#,
                r#"{"sampling":{"tools":{}}}"#,
                "sampling with tools",
            ),
            (
                r#"{"method":"sampling/createMessage","params":{"toolChoice":{}}}"#,
                r#"{"sampling":{"tools":{}}}"#,
                "sampling with tools",
            ),
            (r#"{"method":"elicitation/create","params":{}}"#, r#"{"elicitation":{}}"#, "elicitation"),
            (
                r#"{"method":"elicitation/create","params":{"mode":"url"}}"#,
                r#"{"elicitation":{"url":{}}}"#,
                "elicitation by URL",
            ),
        ];
        for (text, declared, words) in rows {
            let question = question(text).unwrap();
            for able in [all, declared] {
                assert_eq!(question.lacking(&ClientCapabilities::from(object(able))), None, "{text}");
            }
            let lacking = question.lacking(&ClientCapabilities::none()).unwrap();
            assert_eq!(lacking.to_string(), words, "{text}");
            assert_eq!(object(text).get_text("method").as_deref(), Some(question.method()));
        }
        let modest = ClientCapabilities::from(object(r#"{"sampling":{},"elicitation":{"form":{}}}"#));
        for (text, ..) in [rows[2], rows[3], rows[5]] {
            assert!(question(text).unwrap().lacking(&modest).is_some(), "{text}");
        }
    }

    #[test]
    fn what_no_client_is_asked_is_no_question() {
        for text in ["{}", r#"{"method":7}"#, r#"{"method":"tools/list"}"#] {
            assert_eq!(question(text), None, "{text}");
        }
        assert_eq!(Question::read(RawJson::string("roots/list")), None);
    }

    #[test]
    fn only_questions_to_the_user_are_labelled() {
        let label = |text: &str| {
            let labelled = question(text).unwrap().labelled(&Asker::Workflow("w".into()));
            labelled.request().as_str().to_owned()
        };
        assert_eq!(
            label(r#"{"method":"elicitation/create","params":{"message":"a\"b","x":1.0}}"#),
            r#"{"method":"elicitation/create","params":{"message":"[w] a\"b","x":1.0}}"#
        );
        for same in [
            r#"{"method":"sampling/createMessage","params":{"message":"m"}}"#,
            r#"{"method":"elicitation/create"}"#,
        ] {
            assert_eq!(label(same), same);
        }
    }

    #[test]
    fn a_refusal_is_an_answer_of_users_only() {
        let (refusal, other) = (Question::refusal(), object(r#"{"action":"accept"}"#));
        for (text, is_refused) in [
            (r#"{"method":"elicitation/create","params":{}}"#, false),
            (r#"{"method":"sampling/createMessage"}"#, true),
            (r#"{"method":"roots/list"}"#, true),
        ] {
            let question = question(text).unwrap();
            assert_eq!(question.is_refused(refusal.raw()), is_refused, "{text}");
            assert!(!question.is_refused(other.raw()), "{text}");
        }
    }

    #[test]
    fn a_failure_for_want_of_visits_asks_for_them() {
        let of = |error: &str| {
            let visits = PeerError::new(object(error)).unwrap().visits();
            visits.map(|visits| visits.as_str().to_owned())
        };
        assert_eq!(
            of(
                r#"{"code":-32042,"data":{"elicitations":[{"url":"a:b","elicitationId":"1"},{"url":"a:c"}]}}"#
            )
            .as_deref(),
            Some(
                r#"{"url1":{"method":"elicitation/create","params":{"url":"a:b","elicitationId":"1","mode":"url"}},"url2":{"method":"elicitation/create","params":{"url":"a:c","mode":"url"}}}"#
            )
        );
        let many = format!(r#"{{"code":-32042,"data":{{"elicitations":[{}]}}}}"#, ["{}"; 17].join(","));
        for other in [
            r#"{"code":-32042}"#,
            r#"{"code":-32042,"data":{"elicitations":[]}}"#,
            r#"{"code":-32042,"data":{"elicitations":[7]}}"#,
            r#"{"code":-32603,"data":{"elicitations":[{"url":"a:b"}]}}"#,
            &many,
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
