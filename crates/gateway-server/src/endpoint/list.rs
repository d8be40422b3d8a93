//! Pages of lists, the same in both eras but for what stands behind the entries.

use gateway_domain::{CallerError, Era, JsonKind, ListKind, Page, Params};
use gateway_protocol::{Request, convert, method};

use super::{Answer, Visit, failed_towards, panicked, request::Manner};
use crate::{
    in_flight::{CatchUnwind, Panicked},
    rescue::Refusal,
    seal::Binding,
};

/// A page of a list.
pub(crate) async fn list(visit: &Visit, request: &Request, list: ListKind, manner: &Manner<'_>) -> Answer {
    let (id, era) = (&request.id, manner.era());
    let binding = Binding::cursor(&visit.principal.caller, &visit.view, list);
    let page = match cursor(visit, &request.params, &binding) {
        Ok(cursor) => {
            let directory = &visit.edge.ports.directory;
            let exchange = manner.exchange(visit, &request.params);
            let page = directory.list(list, &visit.view, &visit.caller, &exchange, cursor.as_deref());
            let page = visit.edge.in_time(CatchUnwind(page)).await;
            page.map(|page| page.unwrap_or_else(|Panicked| Err(panicked("a list"))))
        }
        Err(error) => {
            let error = error.into();
            visit.refused(request, crate::rescue::rescue(&error).kind);
            Some(Err(error))
        }
    };
    let sealed = |page: Page| {
        let seal = |cursor: String| visit.rules.seal.cursor(&cursor, &binding);
        let next_cursor = page.next_cursor.map(seal).transpose()?;
        Ok(Page { next_cursor, ..page })
    };
    let answer = match page.map(|page| page.and_then(sealed)) {
        None => Refusal::ShuttingDown.answer(era, Some(id)),
        Some(Ok(mut page)) => {
            if era == Era::Legacy {
                page.items = convert::legacy::list(list, &page.items, manner.revision);
            }
            let tail = visit.rules.rendered.list_tail(era, &page);
            Answer::list(id, list, &page, &tail)
        }
        Some(Err(error)) => failed_towards(&error, era, id),
    };
    visit.edge.answered(method::of_list(list), era, &answer);
    answer
}

/// The place a request asks for: one that this caller was given for this list. An empty one is none that was ever
/// given, but what some clients write for the beginning.
fn cursor(visit: &Visit, params: &Params, binding: &Binding) -> Result<Option<String>, CallerError> {
    match params.object.get("cursor") {
        // Some clients write out what they leave open.
        None => Ok(None),
        Some(cursor) if cursor.kind() == JsonKind::Null => Ok(None),
        Some(cursor) => match cursor.to_text() {
            None => Err(CallerError::InvalidParams { reason: "`cursor` is not a string".to_owned() }),
            Some(text) if text.is_empty() => Ok(None),
            Some(text) => visit.rules.seal.open_cursor(&text, binding).map(Some),
        },
    }
}
