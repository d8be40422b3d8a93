use gateway_domain::{RawJson, RawObject};

use super::{
    content::{Content, Reading},
    default_shape,
    fields::Fields,
    fit::fit,
};
use crate::engine::{CallError, Response, ShapeFunc, arguments::Checker, executor::MAX_BODY_BYTES};

/// Makes `CallToolResult`s of how the calls of one tool ended.
pub(crate) struct Presenter {
    /// In place of [`default_shape`].
    pub(crate) shape: Option<ShapeFunc>,
    /// See [`crate::engine::BuildConfig::max_response_bytes`].
    pub(crate) max_bytes: usize,
    pub(crate) fields: Fields,
    /// What the tool's output schema says.
    pub(crate) output: Option<Checker>,
    /// What answers that are no text are called.
    pub(crate) uri: String,
}

impl Presenter {
    /// How many bytes of an answer are of use.
    pub(crate) fn keep(&self) -> usize {
        // A shape makes something else of the answer, which need not be as long.
        let is_all_needed = self.max_bytes == 0 || !self.fields.is_all() || self.shape.is_some();
        if is_all_needed { MAX_BODY_BYTES } else { self.max_bytes.min(MAX_BODY_BYTES) }
    }

    /// A call that has no answer (E-27, E-29).
    pub(crate) fn refusal(&self, error: &CallError) -> RawObject {
        self.error(error.to_string())
    }

    fn error(&self, text: String) -> RawObject {
        let total = Some(text.len() as u64);
        result(&text_block(&fit(text, total, self.max_bytes)), None, true).unwrap_or_default()
    }

    /// A call that has one (E-30, E-W18).
    pub(crate) fn answer(&self, response: Response) -> RawObject {
        let is_success = response.status.is_success();
        let response = match self.reduced(response) {
            Ok(response) => response,
            Err(refusal) => return refusal,
        };
        let content = Content::of(&response);
        // A shape replaces all that is shown (E-32).
        let is_structured = is_success && self.shape.is_none() && self.is_short(&response);
        let structured = content.json(&response).filter(|_| is_structured);
        let complaint = is_success.then(|| self.complaint(structured.as_ref(), &response)).flatten();
        let is_error = !is_success || complaint.is_some();
        let structured = structured.filter(|_| !is_error);
        let blocks = self.blocks(&response, &content, complaint);
        // A value can be nested as deeply as may be, and then there is no room around it.
        result(&blocks, structured.as_ref(), is_error)
            .or_else(|| result(&blocks, None, is_error || self.output.is_some()))
            .unwrap_or_default()
    }

    /// The answer with the members that are passed on. A success that cannot be reduced is not shown, of whatever type
    /// it is: it may hold what was to be left out.
    fn reduced(&self, mut response: Response) -> Result<Response, RawObject> {
        let is_empty = response.is_whole() && response.body.is_empty();
        if self.fields.is_all() || !response.status.is_success() || is_empty {
            return Ok(response);
        }
        let json = Content::of(&response).json(&response);
        let Some(kept) = json.and_then(|json| self.fields.keep(&json)) else {
            let reason = "it is not JSON whose members can be chosen";
            return Err(self.error(format!("{}the answer is not shown: {reason}", succeeded(&response))));
        };
        response.body = kept.into_bytes();
        response.total = Some(response.body.len() as u64);
        response.content_type = Some("application/json".into());
        Ok(response)
    }

    /// What is wrong with a success, as clients know the output schema and reject what it does not allow.
    fn complaint(&self, structured: Option<&RawJson>, response: &Response) -> Option<String> {
        let output = self.output.as_ref()?;
        let reason = match structured {
            Some(value) => output.check(value).err()?,
            None if !response.is_whole() || !self.is_short(response) => {
                "it is too long to be shown whole".into()
            }
            None if response.body.is_empty() => "it is empty".into(),
            None => "it is not JSON".into(),
        };
        let lead = succeeded(response);
        Some(format!("{lead}the answer does not match the documented schema: {reason}\n"))
    }

    fn is_short(&self, response: &Response) -> bool {
        self.max_bytes == 0 || response.body.len() <= self.max_bytes
    }

    fn blocks(&self, response: &Response, content: &Content<'_>, complaint: Option<String>) -> String {
        match &content.reading {
            Reading::Opaque { block, mime } if self.shape.is_none() && self.is_deliverable(response) => {
                let block = block.write(&response.body, mime, &self.uri);
                let status = || format!("HTTP {}\n", response.status.as_u16());
                match complaint.or_else(|| (!response.status.is_success()).then(status)) {
                    Some(lead) => format!("{},{block}", text_block(&lead)),
                    None => block,
                }
            }
            _ => text_block(&self.text(response, content, complaint)),
        }
    }

    /// Half an image is none.
    fn is_deliverable(&self, response: &Response) -> bool {
        let encoded = response.body.len().div_ceil(3) * 4;
        response.is_whole() && (self.max_bytes == 0 || encoded <= self.max_bytes)
    }

    fn text(&self, response: &Response, content: &Content<'_>, complaint: Option<String>) -> String {
        let text = self.shape.as_ref().map_or_else(|| default_shape(response), |shape| shape(response));
        let text = match complaint {
            Some(complaint) => complaint + &text,
            None => text,
        };
        let missing = match &content.reading {
            // How long a text the rest would have made nobody knows.
            _ if self.shape.is_some() => Some(0).filter(|_| response.is_whole()),
            // The line that stands for it is whole.
            Reading::Opaque { .. } => Some(0),
            Reading::Text(_) => content.missing(response),
        };
        let total = missing.map(|missing| text.len() as u64 + missing);
        fit(text, total, self.max_bytes)
    }
}

/// So that a model does not repeat what has been done because an error flag is on it.
fn succeeded(response: &Response) -> String {
    format!("The call succeeded (HTTP {}), but ", response.status.as_u16())
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, RawJson::string(text))
}

fn result(blocks: &str, structured: Option<&RawJson>, is_error: bool) -> Option<RawObject> {
    let structured = structured.map(|value| format!(r#","structuredContent":{value}"#)).unwrap_or_default();
    let flag = if is_error { r#","isError":true"# } else { "" };
    RawObject::parse(format!(r#"{{"content":[{blocks}]{structured}{flag}}}"#)).ok()
}

#[cfg(test)]
mod tests;
