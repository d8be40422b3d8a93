//! What can be asked of a client during a call (protocol.md §13).

use gateway_domain::{
    Ability, Asker, ClientCapabilities, DownstreamName, InputRequired, PeerError, Question, RawJson,
    RawObject, State,
};

/// How much a call may ask at once.
pub(super) const MOST_QUESTIONS: usize = 16;

/// The visits that a downstream fails a call for want of, as one that asks for them (protocol.md §20.6); `None`: it
/// fails for another reason.
pub(super) fn visits(downstream: &DownstreamName, error: &PeerError) -> Option<InputRequired> {
    let asker = Some(Asker::Downstream(downstream.clone()));
    Some(InputRequired { asker, requests: Some(error.visits()?), state: State::Afresh })
}

/// Where a question sends the user.
pub(super) fn url(request: RawJson) -> Option<String> {
    Question::read(request)?.url()
}

/// Why a client cannot be asked this; `None`: it can.
pub(super) fn obstacle(can: &ClientCapabilities, question: &Question) -> Option<&'static str> {
    Some(match question.lacking(can)? {
        Ability::Urls => "sends the user to a URL, and the client has not declared that it can",
        Ability::Forms => "asks the user, and the client has not declared that it can",
        Ability::SamplingWithTools => "asks for sampling with tools, which the client has not declared",
        Ability::Sampling => "asks for sampling, which the client has not declared",
        Ability::Roots => "asks for roots, which the client has not declared",
    })
}

/// Whether nobody said no.
pub(super) fn is_accepted(responses: &RawObject) -> bool {
    responses.iter().all(|(_, answer)| {
        let action = RawObject::try_from(answer).ok().and_then(|answer| answer.get_text("action"));
        action.is_none_or(|action| action == "accept")
    })
}
