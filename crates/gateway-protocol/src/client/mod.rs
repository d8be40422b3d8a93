//! The client's side of both eras as state machines: what the transports have in common.

mod answer;
mod asked;
mod opening;
mod patience;
mod pending;
pub mod questions;
mod request;
mod unreadable;
mod watched;

pub use answer::{Nonsense, list_page, outcome};
pub use asked::answer_server;
pub use opening::{Knowledge, Opening, OpeningConfig, Reply, Step, Wait};
pub use patience::{Limit, Patience};
pub use pending::{Full, Pending};
pub use request::{
    call, cancelled_params, discover, granted_resources, initialize, level_params, list_params,
    listen_params, ping_params, watch_params,
};
pub use unreadable::Unreadable;
pub use watched::{Granted, covers};
