use std::time::Duration;

use gateway_domain::{JsonKind, RawJson, RawObject, printable};
use tokio::time::timeout;

use super::{Ending, failed, inquiry::ELICIT};
use crate::{
    definition::Handler,
    error::StepError,
    plan::{PlannedQuestion, PlannedStep},
    run::{members::Members, shared::Shared},
    template::Scope,
};

/// How long anybody is waited for, whatever the step says (C-65).
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// The bounds of what a user may give (C-66).
const CONTENT_LIMIT: usize = 1 << 20;
const CONTENT_DEPTH: usize = 10;
/// How much of an unknown action is shown.
const ACTION_LIMIT: usize = 100;

/// Asks the user, once (C-65 to C-69).
pub(super) async fn ask(
    shared: &Shared,
    step: &PlannedStep,
    question: &PlannedQuestion,
    scope: &Scope,
) -> Ending {
    let after = step.timeout.min(LONGEST);
    let said = match timeout(after, said(shared, step, question, scope)).await {
        Ok(said) => said,
        Err(_) => Ok(Said::Nothing { after }),
    };
    match said {
        Ok(said) => said.ending(question),
        Err(error) => error.into(),
    }
}

async fn said(
    shared: &Shared,
    step: &PlannedStep,
    question: &PlannedQuestion,
    scope: &Scope,
) -> Result<Said, StepError> {
    let requests = requests(shared, question, scope)?;
    let responses = shared.ask(&step.id, &requests).await?;
    read(shared, question, &responses)
}

/// The one question, under the key that its answer has.
fn requests(shared: &Shared, question: &PlannedQuestion, scope: &Scope) -> Result<RawObject, StepError> {
    let can = shared.config.can_ask && shared.exchange().here().elicits_forms();
    if !can {
        return Err(StepError::ElicitationNotConfigured);
    }
    let message = question.message.text(scope).map_err(|error| failed("message", error))?;
    let params = Members::new()
        .with("mode", &RawJson::string("form"))
        .with("message", &RawJson::string(&message))
        .with("requestedSchema", question.requested.raw());
    let method = RawJson::string(ELICIT);
    let request = Members::new().with("method", &method).with("params", params.finish()?.raw());
    Members::new().with(KEY, request.finish()?.raw()).finish()
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

fn read(shared: &Shared, question: &PlannedQuestion, responses: &RawObject) -> Result<Said, StepError> {
    let answer = responses.get_object(KEY).unwrap_or_default();
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
    if depth(&given) > CONTENT_DEPTH {
        return Err(invalid(format!("it is nested deeper than {CONTENT_DEPTH} levels")));
    }
    let given = RawObject::try_from(given).map_err(|error| invalid(error.to_string()))?;
    let content = question.schema.complete(&given);
    question.schema.check(content.raw()).map_err(invalid)?;
    Ok(content)
}

/// How deep arrays and objects are nested.
fn depth(value: &RawJson) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for byte in value.as_bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'{' | b'[' if !is_quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_outside_of_texts() {
        for (text, levels) in [
            ("7", 0),
            (r#""[{""#, 0),
            ("{}", 1),
            (r#"{"a":[{"b":1},[]]}"#, 3),
            (r#"{"a":"\"[[[","b\\":[]}"#, 2),
        ] {
            assert_eq!(depth(&RawJson::parse(text).unwrap()), levels, "{text}");
        }
    }
}
