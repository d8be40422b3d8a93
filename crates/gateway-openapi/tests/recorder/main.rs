//! Hostile values against an API that records every byte: what arrives is what RFC 3986 and OpenAPI say, where the
//! operation says, or nothing was sent.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod hostile;
mod places;
mod recorder;
