//! Pages of lists, the same in both eras but for what stands behind the entries.

use gateway_domain::{CallerError, Era, JsonKind, ListKind, Params};
use gateway_protocol::{Request, convert, method};

use super::{Answer, Visit, failed_towards, panicked, request::Manner};
use crate::{
    in_flight::{CatchUnwind, Panicked},
    rescue::Refusal,
};

/// A page of a list.
pub(crate) async fn list(visit: &Visit, request: &Request, list: ListKind, manner: &Manner<'_>) -> Answer {
    let (id, era) = (&request.id, manner.era());
    let page = match cursor(&request.params) {
        Ok(cursor) => {
            let directory = &visit.edge.ports.directory;
            let exchange = manner.exchange(visit);
            let caller = &visit.principal.caller;
            let page = directory.list(list, &visit.view, caller, &exchange, cursor.as_deref());
            let page = visit.edge.in_time(CatchUnwind(page)).await;
            page.map(|page| page.unwrap_or_else(|Panicked| Err(panicked("a list"))))
        }
        Err(error) => Some(Err(error.into())),
    };
    let answer = match page {
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

fn cursor(params: &Params) -> Result<Option<String>, CallerError> {
    match params.object.get("cursor") {
        // Some clients write out what they leave open.
        None => Ok(None),
        Some(cursor) if cursor.kind() == JsonKind::Null => Ok(None),
        Some(cursor) => {
            let text = cursor.to_text().map(|text| Some(text.into_owned()));
            text.ok_or_else(|| CallerError::InvalidParams { reason: "`cursor` is not a string".to_owned() })
        }
    }
}
