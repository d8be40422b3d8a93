//! The vocabulary of the gateway: what every other crate of the workspace talks about.
//!
//! **For**: names and their rules, raw JSON that is never re-serialised, tools and catalogues, the one
//! model of a call and its outcome (design §1), the ports that layers implement for one another, and
//! errors sorted by whose fault they are (design §8).
//!
//! **Must not know**: tokio, hyper, clocks, files, configuration, MCP framing. Everything here is a
//! value or a trait.
//!
//! ```
//! use gateway_domain::{RawObject, ToolRef};
//!
//! let reference = ToolRef::parse("files__read")?;
//! assert_eq!((reference.downstream(), reference.tool()), ("files", "read"));
//!
//! let params = RawObject::parse(r#"{"name":"files__read","arguments":{"n":1e400}}"#)?;
//! let forwarded = params.edit().set("name", r#""read""#).finish();
//! assert_eq!(forwarded.as_str(), r#"{"name":"read","arguments":{"n":1e400}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod call;
mod caller;
mod capabilities;
mod catalog;
mod error;
mod incoming;
mod json;
mod name;
mod notes;
mod outcome;
mod param_header;
mod port;
mod question;
mod secret;
mod status;
mod subject;
mod text;
mod tool;
mod trace;
mod visit;

pub use access::{Access, Act, Decider, Decision, ScopeRules, Unrestricted};
pub use call::{
    Call, Era, Event, EventSink, Exchange, LogLevel, Origin, Params, SessionKey, Silent, Target, View,
};
pub use caller::{Caller, Grants};
pub use capabilities::{ClientCapabilities, TASKS_EXTENSION};
pub use catalog::{Catalog, CatalogEntry, DuplicateName};
pub use error::{
    CallerError, DownstreamError, DownstreamFault, Error, Execution, InternalError, OperatorError,
    UnlistedError,
};
pub use incoming::Incoming;
pub use json::{DEPTH_LIMIT, JsonError, JsonKind, Key, ObjectEdit, RawJson, RawObject, Scanner};
pub use name::{
    DownstreamName, DownstreamNameError, NAMESPACE_SEPARATOR, ToolRef, ToolRefError, separators_in,
};
pub use notes::{Found, Notes};
pub use outcome::{Asker, FollowUp, InputRequired, Outcome, ParkId, PeerError, State, TaskHandle};
pub use param_header::{ParamHeader, ParamKind};
pub use port::{
    Answering, ClientLink, Directory, Dispatcher, DoorAudit, DoorRefusal, DownstreamObserver,
    DownstreamSession, Factory, Generations, ListKind, ListPage, MetricsSource, Notice, NoticeScreen, Offer,
    OfferedTool, Page, ParkedCall, PeerInfo, Session, SessionProfile, Sessions, Subscription, Subscriptions,
    TokenError, TokenVerifier, ToolPage, Unrecorded, Unscreened, Updates,
};
pub use question::{Ability, Question};
pub use secret::Secret;
pub use status::{DownstreamState, DownstreamStatus, ListRemark, SessionCounts};
pub use subject::{Reference, Subject, TaskAct, TaskSupport};
pub use text::printable;
pub use tool::Tool;
pub use trace::TraceContext;
pub use visit::Visit;
