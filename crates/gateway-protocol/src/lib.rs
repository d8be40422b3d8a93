//! MCP on the wire, without I/O: how bytes become messages and back, for both eras and both sides.
//!
//! **For**: envelopes with raw values, revisions and eras, error codes, framing (NDJSON, SSE), mirrored
//! headers, and the state machines of a client: opening a session, pending requests, answers. Time and
//! ids are arguments; nothing here reads a clock or a socket.
//!
//! **Must not know**: sockets, processes, pools, policy, names of downstreams.
//!
//! ```
//! use gateway_protocol::{Incoming, Message};
//!
//! let line = r#"{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"a__b"}}"#;
//! let Incoming::Single(Message::Request(request)) = Incoming::parse(line.into())? else {
//!     unreachable!("the line holds one request");
//! };
//! assert_eq!(request.id.as_str(), r#""7""#);
//! assert_eq!(request.params.object.get_text("name").as_deref(), Some("a__b"));
//! # Ok::<(), gateway_protocol::EnvelopeError>(())
//! ```

pub mod client;
pub mod code;
pub mod convert;
pub mod era;
pub mod headers;
pub mod meta;
pub mod method;
pub mod ndjson;
pub mod param_headers;
pub mod sse;
pub mod write;

mod identity;
mod message;
mod revision;

pub use identity::Implementation;
pub use message::{
    Answer, EnvelopeError, EnvelopeFault, Incoming, Message, Notification, Request, RequestId, Response,
};
pub use revision::Revision;
