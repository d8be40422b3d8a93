use std::fmt;

use async_trait::async_trait;

use crate::{Caller, DownstreamName, Error, Exchange, RawObject, Target};

/// A client with a session, as far as its own downstream sessions may tell and ask it something outside any call
/// (design §1). Nothing is ever told or asked of a client whose session it is not.
#[async_trait]
pub trait ClientLink: Send + Sync + fmt::Debug {
    /// Takes what a downstream says. Must not block: what cannot be taken is dropped and counted.
    fn tell(&self, downstream: &DownstreamName, notice: Notice);

    /// The client's `roots/list` result, asked for or remembered; `None` if the client has no roots or cannot be
    /// asked now. The caller bounds the wait. Cancel-safe.
    async fn roots(&self) -> Option<RawObject>;
}

/// What a downstream says to the owner of a session outside any call: the params of a notification as it wrote them.
#[derive(Debug, Clone)]
pub enum Notice {
    /// `notifications/message` that belongs to no call in flight.
    Log(RawObject),
    /// `notifications/elicitation/complete` (2025-11-25).
    ElicitationComplete(RawObject),
}

/// Looks at what a client is about to be told outside any call. Must not block.
pub trait NoticeScreen: fmt::Debug + Send + Sync {
    /// What the client is told in place of these params of a notification, as the downstream wrote them. What the
    /// gateway or the client knows things by, as `uri`, `level` or `elicitationId`, stays.
    fn shown(&self, params: RawObject) -> RawObject;
}

/// Everything is told as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unscreened;

impl NoticeScreen for Unscreened {
    fn shown(&self, params: RawObject) -> RawObject {
        params
    }
}

/// Watches resources for clients. A stage around another, like a [`crate::Dispatcher`].
#[async_trait]
pub trait Subscriptions: Send + Sync {
    /// Tells `updates` of each change of a resource from when this returns until the subscription is dropped. The
    /// target's subject is a [`crate::Subject::Resource`]. Lasts over losses of the downstream's session: it is
    /// restored, and then an update is told to be safe. Equal subscriptions of one client are counted, not repeated.
    ///
    /// # Errors
    /// The downstream is unknown, does not have the resource, or cannot watch it.
    async fn subscribe(
        &self,
        target: Target,
        caller: &Caller,
        exchange: &Exchange,
        updates: std::sync::Arc<dyn Updates>,
    ) -> Result<Subscription, Error>;
}

/// Hears of changes of a resource. Must not block.
pub trait Updates: Send + Sync {
    /// The resource, or one below it, has changed: the params of `notifications/resources/updated`. Their `uri` is in
    /// the words of whoever was subscribed to.
    fn updated(&self, params: RawObject);

    /// Nothing more will be told: the session that watched has ended. Only between a transport and the registry,
    /// which subscribes again.
    fn lost(&self) {}
}

/// A subscription. Dropping it ends it, in the background.
pub struct Subscription(#[expect(dead_code, reason = "it is there to be dropped")] Box<dyn Send + Sync>);

impl Subscription {
    /// A subscription that ends when `guard` is dropped.
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}
