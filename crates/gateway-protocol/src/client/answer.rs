use std::time::Duration;

use gateway_domain::{
    Era, InputRequired, ListKind, ListPage, Outcome, RawJson, RawObject, State, TaskHandle,
};

use crate::{Answer, Response, code, method};

/// The most definitions that are read from one page. More than any list may hold in all.
const PAGE_LIMIT: usize = 100_000;

/// An answer that is no valid answer to the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Nonsense {
    /// What is wrong with it.
    pub reason: String,
}

/// Reads the answer to a call in the era it was made in (protocol.md §2.1, §13, §15.2).
///
/// # Errors
/// [`Nonsense`] for a `resultType` that this request cannot have.
pub fn outcome(era: Era, answer: Answer) -> Result<Outcome, Nonsense> {
    let result = match answer {
        Answer::Error(error) => return Ok(Outcome::Failed(error)),
        Answer::Result(result) if era == Era::Legacy => return Ok(Outcome::Complete(result)),
        Answer::Result(result) => result,
    };
    match result.get_text("resultType").as_deref() {
        Some("complete") => Ok(Outcome::Complete(result)),
        // Servers of the first hour leave it out.
        None if !result.contains("resultType") => Ok(Outcome::Complete(result)),
        Some("input_required") => Ok(Outcome::InputRequired(InputRequired {
            asker: None,
            requests: result.get_object("inputRequests"),
            state: result.get("requestState").map_or(State::None, State::Own),
        })),
        Some("task") => Ok(Outcome::Task(TaskHandle { downstream: None, tool: None, object: result })),
        other => Err(Nonsense { reason: format!("unknown resultType {:?}", other.unwrap_or_default()) }),
    }
}

/// Reads a page of a list.
///
/// # Errors
/// [`Nonsense`] if the answer is an error or holds no array of entries. An entry that is no object costs only
/// itself.
pub fn list_page(list: ListKind, response: Response) -> Result<ListPage, Nonsense> {
    let (member, method) = (list.member(), method::of_list(list));
    let result = match response.answer {
        Answer::Result(result) => result,
        // A list that a server does not have is empty (protocol.md §20.10); one without tools is another matter.
        Answer::Error(error) if error.code == code::METHOD_NOT_FOUND && list != ListKind::Tools => {
            return Ok(ListPage::default());
        }
        Answer::Error(error) => {
            let (code, message) = (error.code, error.message());
            return Err(Nonsense { reason: format!("refused `{method}` with error {code}: {message}") });
        }
    };
    let entries = result.get(member).and_then(|entries| entries.elements(PAGE_LIMIT));
    let Some(entries) = entries else {
        return Err(Nonsense { reason: format!("no array `{member}` in the result") });
    };
    let mut page = ListPage {
        items: Vec::with_capacity(entries.len()),
        next_cursor: result.get("nextCursor").and_then(|cursor| Some(cursor.to_text()?.into_owned())),
        skipped: Vec::new(),
        ttl: result.get("ttlMs").and_then(|ttl| milliseconds(&ttl)),
        is_private: result.get_text("cacheScope").as_deref() == Some("private"),
    };
    for entry in entries {
        match RawObject::try_from(entry) {
            Ok(entry) => page.items.push(entry),
            Err(error) => page.skipped.push(format!("a definition that is refused: {error}")),
        }
    }
    Ok(page)
}

/// A time as a caching hint has it: below zero is zero, a fraction is cut off (protocol.md §12).
fn milliseconds(hint: &RawJson) -> Option<Duration> {
    if let Some(whole) = hint.to_integer() {
        return Some(Duration::from_millis(u64::try_from(whole).unwrap_or(0)));
    }
    let number: f64 = hint.as_str().parse().ok().filter(|number: &f64| number.is_finite())?;
    Duration::try_from_secs_f64(number.max(0.0) / 1000.0).ok()
}

#[cfg(test)]
mod tests {
    use gateway_domain::{Tool, ToolPage};

    use crate::Message;

    use super::*;

    fn response(result: &str) -> Response {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        match Message::parse(text.into()).unwrap() {
            Message::Response(response) => response,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn results_are_sorted_by_their_type_in_the_modern_era_only() {
        let read = |era, result: &str| match outcome(era, response(result).answer) {
            Ok(Outcome::Complete(_)) => "complete",
            Ok(Outcome::InputRequired(_)) => "input",
            Ok(Outcome::Task(_)) => "task",
            Ok(Outcome::Failed(_)) => "failed",
            Err(_) => "nonsense",
        };
        for (result, modern) in [
            (r#"{"resultType":"complete"}"#, "complete"),
            ("{}", "complete"),
            (r#"{"resultType":"input_required","requestState":"s"}"#, "input"),
            (r#"{"resultType":"task"}"#, "task"),
            (r#"{"resultType":"new"}"#, "nonsense"),
            (r#"{"resultType":7}"#, "nonsense"),
        ] {
            assert_eq!(read(Era::Modern, result), modern, "for {result}");
            assert_eq!(read(Era::Legacy, result), "complete", "for {result}");
        }
    }

    #[test]
    fn a_list_that_a_server_does_not_have_is_empty() {
        let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        for list in ListKind::ALL {
            let Message::Response(refused) = Message::parse(text.into()).unwrap() else { unreachable!() };
            let page = list_page(list, refused);
            assert_eq!(page.is_ok_and(|page| page.items.is_empty()), list != ListKind::Tools, "{list:?}");
        }
    }

    #[test]
    fn a_refused_list_is_said_to_be_that() {
        let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no disk"}}"#;
        let Message::Response(refused) = Message::parse(text.into()).unwrap() else { unreachable!() };
        let error = list_page(ListKind::Tools, refused).unwrap_err();
        assert_eq!(error.to_string(), "refused `tools/list` with error -32603: no disk");
    }

    #[test]
    fn one_bad_definition_does_not_hide_the_others() {
        let page = list_page(ListKind::Tools, response(
            r#"{"tools":[{"name":"a"},7,{"name":1},{"name":"b","name":"c"},{"name":"d"}],"nextCursor":""}"#,
        ))
        .unwrap();
        let page = ToolPage::from(page);
        assert_eq!(page.tools.iter().map(Tool::name).collect::<Vec<_>>(), ["a", "d"]);
        assert_eq!((page.skipped.len(), page.next_cursor.as_deref()), (3, Some("")));
        assert!(list_page(ListKind::Tools, response(r#"{"tools":{}}"#)).is_err());
    }

    #[test]
    fn a_page_says_how_long_it_holds() {
        for (hint, expected) in [
            ("", None),
            (r#","ttlMs":0"#, Some(0)),
            (r#","ttlMs":1500"#, Some(1500)),
            (r#","ttlMs":-5"#, Some(0)),
            (r#","ttlMs":1.5e3"#, Some(1500)),
            (r#","ttlMs":1e400"#, None),
            (r#","ttlMs":"60""#, None),
            (r#","ttlMs":null"#, None),
        ] {
            let page = list_page(ListKind::Tools, response(&format!(r#"{{"tools":[]{hint}}}"#))).unwrap();
            assert_eq!(page.ttl, expected.map(Duration::from_millis), "for {hint}");
        }
    }
}
