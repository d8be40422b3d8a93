//! Everything alive behind the gateway: bounded pools of sessions, supervision of their creation, and
//! which client holds which session.
//!
//! **For**: [`Pool`] bounds the sessions to one downstream; [`SupervisedFactory`] keeps a broken one from
//! being started over and over, and [`Health`] keeps calls from one that does not answer; [`Manager`] answers calls with the session that belongs to the caller,
//! keeps calls that wait for a client's answers, watches resources over losses of sessions, and drives tasks for clients that know none.
//! This is the only mutable shared state about downstreams. Time is tokio's, so tests can pause it.
//!
//! **Must not know**: exposed names, policy, HTTP, what carries a client or a downstream.
//!
//! A downstream of the modern era keeps no session: one connection serves every caller. A legacy
//! session is held per client session or, where the operator says it keeps no client state, taken from the
//! pool for each call ([`SessionMode`]).
//!
//! A call that asks in mid-call is parked: its session stays, for as long as [`ManagerConfig::park_time`], and the follow-up
//! of the same owner goes on with it, once. A park is nobody's for ever: where no place is left, sessions that have only
//! waited for a minute are taken by who has waited in vain.
//!
//! ```
//! use std::sync::Arc;
//! use gateway_domain::{Error, Factory, Session, SessionProfile};
//! use gateway_registry::{Pool, PoolConfig};
//!
//! struct Connection;
//! #[async_trait::async_trait]
//! impl Session for Connection {
//!     async fn close(&self) {}
//! }
//! struct Connect;
//! #[async_trait::async_trait]
//! impl Factory for Connect {
//!     type Session = Connection;
//!     async fn create(&self, _: &SessionProfile) -> Result<Connection, Error> {
//!         Ok(Connection)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let name = gateway_domain::DownstreamName::parse("db").expect("follows the rule");
//! let pool = Pool::new(name, Arc::new(Connect), PoolConfig { max: 4, ..PoolConfig::default() });
//! let session = pool.acquire(&SessionProfile::default()).await?;
//! assert_eq!(pool.stats().in_use, 1);
//! drop(session); // gives itself back
//! assert_eq!((pool.stats().in_use, pool.stats().idle), (0, 1));
//! # Ok(())
//! # }
//! ```

mod breaker;
mod client_session;
mod clients;
mod closing;
mod commons;
mod downstream;
mod errand;
mod health;
mod held;
#[cfg(test)]
mod interleaving;
mod jitter;
mod manager;
mod monitor;
mod observed;
mod parks;
mod place;
mod places;
mod pool;
mod restarts;
mod shelf;
mod single_flight;
mod supervisor;
mod sync;
mod tasks;
mod verdict;
mod watches;
mod window;

pub use client_session::ClientSession;
pub use clients::ManagerConfig;
pub use downstream::{DownstreamFactory, ManagedDownstream, SessionMode};
pub use errand::or_visit;
pub use gateway_domain::{DownstreamSession, Factory, Session, SessionProfile, Tool as ToolInfo, ToolPage};
pub use health::{Health, HealthConfig};
pub use held::Held;
pub use manager::{Manager, ManagerError};
pub use observed::supervise;
pub use pool::{Pool, PoolConfig, Pooled, Stats};
pub use restarts::RestartBudget;
pub use supervisor::{SupervisedFactory, SupervisorConfig};
