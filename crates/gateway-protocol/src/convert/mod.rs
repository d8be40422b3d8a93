//! What a downstream wrote, as a client of another era or revision reads it (protocol.md §20.8). Pure; each rule is
//! a row of a table and a row of a test.

pub mod legacy;
pub mod modern;
