//! What holds for every input, as functions that panic where it does not.
//!
//! Written once and run twice: over the files of `fuzz/corpus` by `tests/corpus.rs`, and over whatever a
//! fuzzer finds by the targets in `fuzz`, which include this file. Each takes any bytes at all.

mod frames;
mod headers;
mod messages;

/// A property: panics if the input breaks it.
pub(crate) type Property = fn(&[u8]);

/// All properties, by the name of fuzz target and corpus folder.
pub(crate) const ALL: [(&str, Property); 6] = [
    ("envelope", messages::envelope),
    ("splice", messages::splice),
    ("sse", frames::sse),
    ("ndjson", frames::ndjson),
    ("headers", headers::values),
    ("param_headers", headers::arguments),
];
