use std::time::Duration;

use gateway_domain::{Asker, JsonKind, Question, RawJson, RawObject, printable};
use tokio::time::timeout_at;

use super::{Ending, Time, failed};
use crate::{
    definition::Handler,
    error::StepError,
    plan::{PlannedQuestion, PlannedStep},
    run::{members::Members, shared::Shared},
    template::Context,
};

/// The bound of what the user is asked, in bytes of JSON.
const MESSAGE_LIMIT: usize = 64 << 10;
/// The bounds of what a user may give (C-66).
const CONTENT_LIMIT: usize = 1 << 20;
const CONTENT_DEPTH: usize = 10;
/// How often a question is asked again because the answer does not fit.
const MOST_REPETITIONS: u32 = 3;
/// How much of why it does not is in front of the question then, in characters.
const REASON_LIMIT: usize = 500;
/// How much of an unknown action is shown.
const ACTION_LIMIT: usize = 100;

/// Asks the user, and again if the answer does not fit (C-65 to C-69).
pub(super) async fn ask(
    shared: &Shared,
    step: &PlannedStep,
    question: &PlannedQuestion,
    context: &Context,
    time: Time,
) -> Ending {
    // Of a question this is 10 minutes at most: its definition was checked for that.
    let said = timeout_at(time.until, said(shared, step, question, context)).await;
    let said = said.unwrap_or(Ok(Said::Nothing { after: time.after }));
    match said {
        Ok(said) => said.ending(question),
        Err(error) => error.into(),
    }
}

async fn said(
    shared: &Shared,
    step: &PlannedStep,
    question: &PlannedQuestion,
    context: &Context,
) -> Result<Said, StepError> {
    can_ask(shared)?;
    let message = message(shared, question, context).await?;
    let (mut shown, mut times) = (message.clone(), 1);
    loop {
        // A late copy of an answer is not taken for one to the question that came after it.
        let key = if times == 1 { KEY.to_owned() } else { format!("{KEY}{times}") };
        let requests = requests(shared, question, &key, &shown)?;
        let _held = shared.hold_bytes(requests.as_str().len())?;
        let responses = shared.ask(&step.id, &requests).await?;
        match read(shared, question, &responses.get_object(&key).unwrap_or_default()) {
            Err(StepError::InvalidContent { reason }) if times <= MOST_REPETITIONS => {
                // Its circumstances are those of whoever answered.
                can_ask(shared)?;
                shown = format!("The answer does not fit: {}\n\n{message}", printable(&reason, REASON_LIMIT));
                times += 1;
            }
            said => return said,
        }
    }
}

fn can_ask(shared: &Shared) -> Result<(), StepError> {
    match shared.config.can_ask && shared.exchange().here().elicits_forms() {
        true => Ok(()),
        false => Err(StepError::ElicitationNotConfigured),
    }
}

async fn message(
    shared: &Shared,
    question: &PlannedQuestion,
    context: &Context,
) -> Result<String, StepError> {
    let template = question.message.clone();
    let message = shared.evaluate(context, move |context| template.text_within(context, MESSAGE_LIMIT));
    message.await.map_err(|error| failed("message", error))
}

/// The one question, under the key that its answer has.
fn requests(
    shared: &Shared,
    question: &PlannedQuestion,
    key: &str,
    message: &str,
) -> Result<RawObject, StepError> {
    let params = Members::new()
        .with("mode", &RawJson::string("form"))
        .with("message", &RawJson::string(message))
        .with("requestedSchema", question.requested.raw());
    let method = RawJson::string(Question::ELICIT);
    let request = Members::new().with("method", &method).with("params", params.finish()?.raw()).finish()?;
    let asker = Asker::Workflow(shared.workflow.definition().name.clone());
    let shown = Question::read(request.raw().clone()).filter(|_| shared.config.label_questions);
    let shown = shown.map_or(request, |question| question.labelled(&asker).request().clone());
    Members::new().with(key, shown.raw()).finish()
}

const KEY: &str = "question";

/// What came of a question.
#[derive(Debug)]
enum Said {
    Accept(RawObject),
    Decline,
    Cancel,
    /// Nobody answered in time.
    Nothing {
        after: Duration,
    },
}

fn read(shared: &Shared, question: &PlannedQuestion, answer: &RawObject) -> Result<Said, StepError> {
    match answer.get_text("action").as_deref() {
        Some("accept") => {
            let content = content(question, answer.get("content"))?;
            shared.charge_bytes(content.raw().as_bytes().len())?;
            Ok(Said::Accept(content))
        }
        Some("decline") => Ok(Said::Decline),
        Some("cancel") => Ok(Said::Cancel),
        other => Err(StepError::UnknownAction { action: printable(other.unwrap_or_default(), ACTION_LIMIT) }),
    }
}

/// What the user gave, with the form's defaults for what is missing, if it is what was asked for (C-W8).
fn content(question: &PlannedQuestion, given: Option<RawJson>) -> Result<RawObject, StepError> {
    let invalid = |reason: String| StepError::InvalidContent { reason };
    let given = given.unwrap_or_else(|| RawObject::empty().raw().clone());
    if given.as_bytes().len() > CONTENT_LIMIT {
        return Err(invalid(format!("it has more than {CONTENT_LIMIT} bytes")));
    }
    if given.kind() != JsonKind::Object {
        return Err(invalid("it is no object".to_owned()));
    }
    if given.depth() > CONTENT_DEPTH {
        return Err(invalid(format!("it is nested deeper than {CONTENT_DEPTH} levels")));
    }
    let given = RawObject::try_from(given).map_err(|error| invalid(error.to_string()))?;
    let content = question.schema.complete(&given);
    question.schema.check(content.raw()).map_err(invalid)?;
    Ok(content)
}

impl Said {
    fn ending(self, question: &PlannedQuestion) -> Ending {
        let (action, handler, error) = match self {
            Self::Accept(content) => return completed("accept", Some(&content), false),
            Self::Decline => ("decline", question.on_decline, StepError::Declined),
            Self::Cancel => ("cancel", question.on_cancel, StepError::Dismissed),
            Self::Nothing { after } => ("cancel", question.on_cancel, StepError::Unanswered { after }),
        };
        match handler {
            Handler::Abort => error.into(),
            Handler::Continue => completed(action, None, false),
            Handler::SkipRemaining => completed(action, None, true),
        }
    }
}

fn completed(action: &str, content: Option<&RawObject>, skips_remaining: bool) -> Ending {
    let mut output = Members::new().with("action", &RawJson::string(action));
    if let Some(content) = content {
        output.add("content", content.raw());
    }
    match output.finish() {
        Ok(output) => Ending::Completed { output, content: None, skips_remaining },
        Err(error) => error.into(),
    }
}
