//! The client's side of both eras as state machines: what the transports have in common.

mod answer;
mod opening;
mod pending;
mod request;

pub use answer::{Nonsense, outcome, tool_page};
pub use opening::{Knowledge, Opening, OpeningConfig, Reply, Step, Wait};
pub use pending::{Full, Pending};
pub use request::{call, discover, initialize, list_params, listen_params, ping_params};
