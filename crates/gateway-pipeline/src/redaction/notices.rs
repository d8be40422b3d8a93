use gateway_domain::{NoticeScreen, RawObject};

use super::{config::Direction, live::LiveRedactor, redactor::Redacted};

/// What a notification is known by: a resource, a question, how grave it is.
const KNOWN_BY: [&str; 3] = ["uri", "elicitationId", "level"];

/// What clients are told outside any call is redacted as results are.
impl NoticeScreen for LiveRedactor {
    fn shown(&self, params: RawObject) -> RawObject {
        let now = self.current();
        let Some(redactor) = now.of_results() else { return params };
        let Redacted { value, count } = redactor.redact_object(&params, Direction::Results);
        if count == 0 {
            return params;
        }
        tracing::debug!(count, "redacted what a downstream said outside any call");
        let known = KNOWN_BY.iter().filter_map(|member| Some((*member, params.get(member)?)));
        let kept = known.fold(value.edit(), |edit, (member, value)| edit.set(member, value.as_bytes()));
        // Members keep their names, so it stays an object.
        RawObject::try_from(kept.finish()).unwrap_or_default()
    }
}
