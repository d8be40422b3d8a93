//! What can be asked of a client during a call (protocol.md §13).

use gateway_domain::{
    Asker, ClientCapabilities, DownstreamName, InputRequired, PeerError, RawJson, RawObject, State,
};

use crate::run::members::Members;

/// How much a call may ask at once.
pub(super) const MOST_QUESTIONS: usize = 16;
/// The method of a question to the user.
pub(super) const ELICIT: &str = "elicitation/create";
/// JSON-RPC's code of a call that fails for want of a visit to a URL (2025-11-25).
const URL_REQUIRED: i64 = -32042;

/// The visits that a downstream fails a call for want of, as one that asks for them (protocol.md §20.6); `None`: it
/// fails for another reason.
pub(super) fn visits(downstream: &DownstreamName, error: &PeerError) -> Option<InputRequired> {
    if error.code != URL_REQUIRED {
        return None;
    }
    let listed = error.raw.get_object("data")?.get("elicitations")?.elements(MOST_QUESTIONS)?;
    let mut requests = Members::new();
    for (place, params) in listed.into_iter().enumerate() {
        let params = RawObject::try_from(params).ok()?.edit().set("mode", br#""url""#).finish();
        let request = Members::new().with("method", &RawJson::string(ELICIT)).with("params", &params);
        requests.add(&format!("url{}", place + 1), request.finish().ok()?.raw());
    }
    let requests = requests.finish().ok().filter(|requests| !requests.is_empty())?;
    let asker = Some(Asker::Downstream(downstream.clone()));
    Some(InputRequired { asker, requests: Some(requests), state: State::Afresh })
}

/// A question to the user with its asker in front of what is read, since to the client the workflow asks; `None`: it
/// is no such question.
pub(super) fn labelled(asker: &Asker, request: &RawObject) -> Option<RawJson> {
    let params =
        request.get_object("params").filter(|_| request.get_text("method").as_deref() == Some(ELICIT))?;
    let message = RawJson::string(&format!("[{asker}] {}", params.get_text("message")?));
    let params = params.edit().set("message", message.as_bytes()).finish();
    Some(request.edit().set("params", params.as_bytes()).finish())
}

/// Where a question sends the user.
pub(super) fn url(request: RawJson) -> Option<String> {
    let params = RawObject::try_from(request).ok()?.get_object("params")?;
    (params.get_text("mode").as_deref() == Some("url")).then(|| params.get_text("url"))?
}

/// Why a client cannot be asked this; `None`: it can.
pub(super) fn obstacle(can: &ClientCapabilities, request: &RawObject) -> Option<&'static str> {
    let params = request.get_object("params").unwrap_or_default();
    let (can, reason) = match request.get_text("method").as_deref() {
        Some(ELICIT) if params.get_text("mode").as_deref() == Some("url") => {
            (can.elicits_urls(), "sends the user to a URL, and the client has not declared that it can")
        }
        Some(ELICIT) => (can.elicits_forms(), "asks the user, and the client has not declared that it can"),
        Some("sampling/createMessage") if params.contains("tools") || params.contains("toolChoice") => {
            (can.samples_with_tools(), "asks for sampling with tools, which the client has not declared")
        }
        Some("sampling/createMessage") => {
            (can.samples(), "asks for sampling, which the client has not declared")
        }
        Some("roots/list") => (can.has_roots(), "asks for roots, which the client has not declared"),
        _ => (false, "asks what no client is asked"),
    };
    (!can).then_some(reason)
}

/// Whether nobody said no.
pub(super) fn is_accepted(responses: &RawObject) -> bool {
    responses.iter().all(|(_, answer)| {
        let action = RawObject::try_from(answer).ok().and_then(|answer| answer.get_text("action"));
        action.is_none_or(|action| action == "accept")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RawObject {
        RawObject::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn a_client_is_only_asked_what_it_has_declared() {
        let all = r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#;
        // A question; what has to be declared for it.
        let rows = [
            (r#"{"method":"roots/list"}"#, r#"{"roots":{}}"#),
            (r#"{"method":"sampling/createMessage","params":{}}"#, r#"{"sampling":{}}"#),
            (r#"{"method":"sampling/createMessage","params":{"tools":[]}}"#, r#"{"sampling":{"tools":{}}}"#),
            (
                r#"{"method":"sampling/createMessage","params":{"toolChoice":{}}}"#,
                r#"{"sampling":{"tools":{}}}"#,
            ),
            (r#"{"method":"elicitation/create","params":{}}"#, r#"{"elicitation":{}}"#),
            (r#"{"method":"elicitation/create","params":{"mode":"form"}}"#, r#"{"elicitation":{"form":{}}}"#),
            (r#"{"method":"elicitation/create","params":{"mode":"url"}}"#, r#"{"elicitation":{"url":{}}}"#),
        ];
        for (question, declared) in rows {
            let question = object(question);
            assert_eq!(obstacle(&ClientCapabilities::from(object(all)), &question), None);
            assert_eq!(
                obstacle(&ClientCapabilities::from(object(declared)), &question),
                None,
                "{question:?}"
            );
            assert!(obstacle(&ClientCapabilities::none(), &question).is_some(), "{question:?}");
        }
        let (all, strange) = (ClientCapabilities::from(object(all)), object(r#"{"method":"tools/list"}"#));
        assert_eq!(obstacle(&all, &strange), Some("asks what no client is asked"));
        let (modest, greedy) = (object(r#"{"sampling":{}}"#), object(rows[2].0));
        assert!(obstacle(&ClientCapabilities::from(modest), &greedy).is_some());
    }

    #[test]
    fn a_failure_for_want_of_visits_asks_for_them() {
        let of = |error: &str| {
            let error = PeerError::new(object(error)).unwrap();
            visits(&DownstreamName::parse("d").unwrap(), &error)
        };
        let required = of(
            r#"{"code":-32042,"data":{"elicitations":[{"url":"a:b","elicitationId":"1"},{"url":"a:c"}]}}"#,
        );
        let requests = required.unwrap().requests.unwrap();
        assert_eq!(
            requests.as_str(),
            r#"{"url1":{"method":"elicitation/create","params":{"url":"a:b","elicitationId":"1","mode":"url"}},"url2":{"method":"elicitation/create","params":{"url":"a:c","mode":"url"}}}"#
        );
        for other in [
            r#"{"code":-32042}"#,
            r#"{"code":-32042,"data":{"elicitations":[]}}"#,
            r#"{"code":-32042,"data":{"elicitations":[7]}}"#,
            r#"{"code":-32603,"data":{"elicitations":[{"url":"a:b"}]}}"#,
        ] {
            assert!(of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn only_questions_to_the_user_are_labelled() {
        let asker = Asker::Workflow("w".into());
        let label = |text: &str| labelled(&asker, &object(text)).map(|request| request.to_string());
        assert_eq!(
            label(r#"{"method":"elicitation/create","params":{"message":"a\"b","x":1.0}}"#).as_deref(),
            Some(r#"{"method":"elicitation/create","params":{"message":"[w] a\"b","x":1.0}}"#)
        );
        assert_eq!(label(r#"{"method":"sampling/createMessage","params":{"message":"m"}}"#), None);
        assert_eq!(label(r#"{"method":"elicitation/create"}"#), None);
    }
}
