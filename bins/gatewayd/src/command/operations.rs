//! What `check` says of the operations of an API: which are offered as what, which are not, and why.

use std::borrow::Cow;

use gateway_catalog::{Exposure, ToolFilter};
use gateway_domain::{DownstreamStatus, NAMESPACE_SEPARATOR, RawJson, printable};
use gateway_openapi::{
    downstream::{Report, Taken},
    ir::Skipped,
};

use crate::{config::Downstream, downstream};

/// The operations of one downstream that is an API.
pub(super) struct Operations<'a> {
    report: &'a Report,
    status: &'a DownstreamStatus,
    filter: ToolFilter,
}

impl<'a> Operations<'a> {
    pub(super) fn new(report: &'a Report, status: &'a DownstreamStatus, config: &Downstream) -> Self {
        let filter = downstream::filter(&config.tools);
        Self { report, status, filter }
    }

    /// A line for each, indented below that of the downstream.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for note in &self.report.notes {
            lines += &format!("\n\tnote: {}", shown(note));
        }
        for operation in &self.report.taken {
            lines += &self.taken_line(operation);
        }
        for Skipped { method, path, id, reason } in &self.report.skipped {
            let id = id.as_ref().map(|id| format!(" {}", shown(id))).unwrap_or_default();
            lines += &format!("\n\tskipped {} {}{id}: {}", shown(method), shown(path), shown(reason));
        }
        lines
    }

    fn taken_line(&self, operation: &Taken) -> String {
        let Taken { id, method, path, .. } = operation;
        let (tool, notes) = self.offered(operation);
        let tool = tool.map(|tool| format!(" as {tool}")).unwrap_or_default();
        let mut line = format!("\n\ttaken {} {method} {}{tool}", shown(id), shown(path));
        for note in notes {
            line += &format!("\n\t\t{}", shown(&note));
        }
        line
    }

    /// The member `operations` of the downstream's object.
    pub(super) fn json(&self) -> String {
        let taken: Vec<_> = self.report.taken.iter().map(|operation| self.taken_json(operation)).collect();
        let skipped: Vec<_> = self.report.skipped.iter().map(skipped_json).collect();
        let notes = strings(&self.report.notes);
        format!(r#"{{"taken":[{}],"skipped":[{}],"notes":{notes}}}"#, taken.join(","), skipped.join(","))
    }

    fn taken_json(&self, operation: &Taken) -> String {
        let Taken { id, method, path, .. } = operation;
        let (tool, notes) = self.offered(operation);
        let [id, path] = [id, path].map(|text| RawJson::string(text));
        let (tool, notes) = (text_or_null(tool.as_deref()), strings(&notes));
        format!(r#"{{"id":{id},"method":"{method}","path":{path},"tool":{tool},"notes":{notes}}}"#)
    }

    /// The name under which the tool is offered, if it is, and what is to be said of it.
    fn offered(&self, operation: &Taken) -> (Option<String>, Vec<String>) {
        let (tool, mut notes) = (&operation.tool, operation.notes.clone());
        match self.filter.exposure(tool) {
            Some(Exposure::Shown) => {}
            Some(Exposure::Hidden) => notes.push("kept for workflows".to_owned()),
            None => {
                notes.push("not offered: `tools` leaves it out".to_owned());
                return (None, notes);
            }
        }
        if let Some((_, reason)) = self.status.dropped.iter().find(|(name, _)| name == tool) {
            notes.push(format!("not offered: {reason}"));
            return (None, notes);
        }
        let alias = self.status.aliases.iter().find(|(_, original)| original == tool);
        let exposed = alias.map_or_else(
            || format!("{}{NAMESPACE_SEPARATOR}{tool}", self.status.name),
            |(alias, _)| alias.clone(),
        );
        (Some(exposed), notes)
    }
}

fn skipped_json(operation: &Skipped) -> String {
    let Skipped { method, path, id, reason } = operation;
    let [method, path, reason] = [method, path, reason].map(|text| RawJson::string(text));
    let id = text_or_null(id.as_deref());
    format!(r#"{{"id":{id},"method":{method},"path":{path},"reason":{reason}}}"#)
}

fn text_or_null(text: Option<&str>) -> Cow<'static, str> {
    text.map_or(Cow::Borrowed("null"), |text| Cow::Owned(RawJson::string(text).to_string()))
}

fn strings(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| RawJson::string(text).to_string()).collect();
    format!("[{}]", texts.join(","))
}

/// A document may say anything.
fn shown(text: &str) -> String {
    printable(text, 500)
}
