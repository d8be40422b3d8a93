use crate::{InputRequired, RawJson, RawObject, State};

/// A page of the gateway's that a user has to visit (protocol.md §18.3 no. 11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Where it is.
    pub url: String,
    /// Names the visit, for the notice that it is over.
    pub id: String,
    /// What the user is told.
    pub message: String,
}

impl Visit {
    /// The question that sends the user there; the call is made afresh afterwards.
    pub fn question(&self) -> InputRequired {
        let [url, id, message] = [&self.url, &self.id, &self.message].map(|text| RawJson::string(text));
        let request = format!(
            r#"{{"visit":{{"method":"elicitation/create","params":{{"mode":"url","url":{url},"elicitationId":{id},"message":{message}}}}}}}"#
        );
        let requests = RawObject::parse(request).ok();
        InputRequired { asker: None, requests, state: State::Afresh }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Question;

    #[test]
    fn a_visit_is_asked_for_as_a_question_to_the_user() {
        let visit = Visit { url: "https://g/\"x".into(), id: "i".into(), message: "Go\nthere".into() };
        let InputRequired { requests, state, .. } = visit.question();
        assert!(matches!(state, State::Afresh));
        let question = Question::read(requests.unwrap().get("visit").unwrap()).unwrap();
        assert_eq!(question.url().as_deref(), Some("https://g/\"x"));
        assert_eq!(
            question.params().as_str(),
            r#"{"mode":"url","url":"https://g/\"x","elicitationId":"i","message":"Go\nthere"}"#
        );
    }
}
