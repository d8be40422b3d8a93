use aws_lc_rs::rand;

/// Makes the ids of traces and spans.
pub trait Ids: Send + Sync {
    /// Fills bytes that nobody can guess; `false` if there are none to be had, and then a call goes on untraced.
    fn fill(&self, bytes: &mut [u8]) -> bool;
}

/// Ids from the operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn fill(&self, bytes: &mut [u8]) -> bool {
        rand::fill(bytes).is_ok()
    }
}

/// A new id of a trace and one of a span in it.
pub(super) fn both(ids: &dyn Ids) -> Option<(u128, u64)> {
    let mut bytes = [0; 24];
    let is_filled = ids.fill(&mut bytes);
    let (trace, span) = bytes.split_at(16);
    let trace = u128::from_be_bytes(trace.try_into().ok()?);
    let span = u64::from_be_bytes(span.try_into().ok()?);
    (is_filled && trace != 0 && span != 0).then_some((trace, span))
}

/// A new id of a span.
pub(super) fn span(ids: &dyn Ids) -> Option<u64> {
    let mut bytes = [0; 8];
    let is_filled = ids.fill(&mut bytes);
    Some(u64::from_be_bytes(bytes)).filter(|span| is_filled && *span != 0)
}
