//! An HTTP API as a downstream: where it and its description are, and which part of it is offered.

mod auth;
mod model;
mod naming;
mod overrides;
mod read;
mod selector;

pub(crate) use model::{Api, Auth, OAuthClient, Selector};
pub(crate) use naming::naming;

pub(super) use read::{KEYS, NOT_FOR_APIS, read};
