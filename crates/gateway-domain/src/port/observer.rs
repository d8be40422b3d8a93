use crate::ListKind;

/// Hears what a downstream says outside any call. Must not block.
pub trait DownstreamObserver: Send + Sync {
    /// One of the downstream's lists has changed. [`ListKind::Resources`] stands for its templates too.
    fn list_changed(&self, list: ListKind);

    /// The session that said so, or another of this downstream, has ended unexpectedly.
    fn session_lost(&self, reason: &str);

    /// The downstream is not used for a while, because too much went wrong (design §7). The reason is for
    /// the operator.
    fn broken(&self, _reason: &str) {}

    /// A downstream that was broken has proved that it can be used.
    fn recovered(&self) {}
}
