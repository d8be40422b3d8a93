//! Signed compact tokens (RFC 7515): the parts, the header, the signature. Nothing else of the crate knows how a
//! signature is checked.
//!
//! Own code over the one crypto provider: libraries for it bring second versions into the tree, and are laxer about
//! types and repeated members than is wanted here.

mod compact;
mod header;
mod key;

pub(crate) use compact::{Compact, Form, form};
pub(crate) use header::Header;
pub(crate) use key::{Kind, PublicKey};
