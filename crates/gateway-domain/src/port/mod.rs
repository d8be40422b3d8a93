//! What layers do for one another. Each trait is implemented in one crate and used in another that does
//! not know it (design §3).

mod audit;
mod client;
mod directory;
mod downstream;
mod metrics;
mod observer;
mod token;

use std::{future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;

pub use self::{
    audit::{DoorAudit, DoorRefusal, Unrecorded},
    client::{ClientLink, Notice, NoticeScreen, Subscription, Subscriptions, Unscreened, Updates},
    directory::{Directory, Generations, ListKind, Offer, OfferedTool, Page},
    downstream::{
        DownstreamSession, Factory, ListPage, ParkedCall, PeerInfo, Session, SessionProfile, ToolPage,
    },
    metrics::MetricsSource,
    observer::DownstreamObserver,
    token::{TokenError, TokenVerifier},
};
use crate::{Call, Caller, Error, Outcome, ParkId, SessionKey};

/// A call that is being answered.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send + 'a>>;

/// Answers calls. A stage of the pipeline is a dispatcher around a dispatcher (P-1).
///
/// Cancel-safe: dropping the future cancels the call, down to the downstream that has it.
///
/// Every `async fn` around another moves the call into one more future on the heap. A stage that has nothing to wait for
/// before it passes the call on is written as a function that gives [`Answering`].
#[async_trait]
pub trait Dispatcher: Send + Sync {
    /// Answers one call.
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error>;
}

/// A shared dispatcher is one.
impl<D: Dispatcher + ?Sized> Dispatcher for Arc<D> {
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        (**self).dispatch(call)
    }
}

/// Lets go of what a client's session holds.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Ends everything held under `key`. Unknown keys are fine.
    async fn end(&self, key: &SessionKey);

    /// Ends everything that a caller holds without a session of its own, whatever it declared.
    async fn end_caller(&self, _caller: &Caller) {}

    /// Gives up a call that waits for answers which nobody will give, as when its client has cancelled it. A park
    /// that is not there any more is fine.
    fn abandon(&self, _park: &ParkId) {}

    /// Whether a parked call waits for no answer any more, or is not there ([`ParkedCall::is_over`]). Never blocks.
    fn is_over(&self, _park: &ParkId) -> bool {
        false
    }

    /// Passes on that the roots of this client are others now (`notifications/roots/list_changed`).
    async fn roots_changed(&self, _key: &SessionKey) {}
}
