//! What came of a run, as the result of a `tools/call` (C-15, C-W24).

use gateway_domain::{RawJson, RawObject, printable};

use crate::{
    error::WorkflowError,
    run::WorkflowResult,
    state::{StepRecord, StepStatus},
};

/// The text of a run that took too long, always the same (C-15, C-W7).
const TIMED_OUT: &str = "the workflow timed out: it took longer than it may, and was ended";
const NOTHING: &str = "the workflow gave no result";
const TOO_DEEP: &str = "the workflow's output is nested too deep for a result to hold it";
/// The longest text of a failure, in characters: what a tool says of its failure may be long.
const FAILURE_LENGTH: usize = 4_000;
/// The longest text of the failure of one step, of which there may be a hundred.
const STEP_FAILURE_LENGTH: usize = 300;

/// The result for a run that has ended.
pub(super) fn of(ended: Option<&WorkflowResult>) -> RawObject {
    let Some(result) = ended else { return failed(NOTHING, None) };
    match &result.outcome {
        Err(WorkflowError::TimedOut { .. }) => failed(TIMED_OUT, ended),
        Err(error) => failed(&error.to_string(), ended),
        Ok(output) => succeeded(output, result).unwrap_or_else(|| failed(TOO_DEEP, ended)),
    }
}

/// A result that says why there is none.
pub(super) fn failed(reason: &str, ended: Option<&WorkflowResult>) -> RawObject {
    let content = RawJson::array([text(&cut(reason, FAILURE_LENGTH))]);
    let meta = ended.map(|result| format!(r#","_meta":{}"#, meta(result))).unwrap_or_default();
    let result = format!(r#"{{"content":{content},"isError":true{meta}}}"#);
    RawObject::parse(result).unwrap_or_default()
}

/// The output twice, as the protocol wants it. `None`: it is as deeply nested as a value may be and so cannot stand in
/// another.
fn succeeded(output: &RawObject, result: &WorkflowResult) -> Option<RawObject> {
    let remarks = remarks(&result.steps);
    let remarks = (!remarks.is_empty()).then(|| text(&remarks));
    let content = RawJson::array([text(output.as_str())].into_iter().chain(remarks));
    let meta = meta(result);
    let result = format!(r#"{{"content":{content},"structuredContent":{},"_meta":{meta}}}"#, output.raw());
    RawObject::parse(result).ok()
}

/// One line for each step that did not do what it was there for, though the workflow has its output (C-W24).
fn remarks(steps: &[StepRecord]) -> String {
    let lines = steps.iter().filter_map(|step| match step.status {
        StepStatus::Failed => Some(format!("step `{}` failed: {}", step.id, reason(step))),
        StepStatus::Skipped => Some(format!("step `{}` was skipped", step.id)),
        StepStatus::Pending | StepStatus::Running | StepStatus::Completed => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The same for programs, and the run's id for those who look for it in logs and audit records.
fn meta(result: &WorkflowResult) -> String {
    let with = |status| result.steps.iter().filter(move |step| step.status == status);
    let failed = with(StepStatus::Failed)
        .map(|step| format!(r#"{{"step":{},"error":{}}}"#, string(&step.id), string(&reason(step))));
    let failed = failed.collect::<Vec<_>>().join(",");
    let skipped = RawJson::array(with(StepStatus::Skipped).map(|step| RawJson::string(&step.id)));
    let error = result.outcome.as_ref().err().map(|error| format!(r#""error":"{}","#, error.kind()));
    format!(
        r#"{{"gatewayd/workflow":{{"run":{},"status":"{}",{}"failed":[{failed}],"skipped":{skipped}}}}}"#,
        string(&result.run),
        result.status().as_str(),
        error.unwrap_or_default(),
    )
}

fn reason(step: &StepRecord) -> String {
    printable(step.error.as_deref().unwrap_or("no reason is known"), STEP_FAILURE_LENGTH)
}

fn text(text: &str) -> RawJson {
    RawObject::empty().edit().set("type", r#""text""#).set("text", string(text)).finish()
}

fn string(text: &str) -> String {
    RawJson::string(text).to_string()
}

/// At most so many characters; what is cut off is marked by `…`.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
