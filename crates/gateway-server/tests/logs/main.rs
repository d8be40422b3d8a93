//! What the log says about requests, and what it never says. A process of its own: what a callsite is interested in is
//! found out once for all threads, by the subscriber of the thread that comes there first.

#[cfg(test)]
mod files;
#[cfg(test)]
mod log;
#[cfg(test)]
mod requests;
#[cfg(test)]
#[path = "../edge/support.rs"]
#[expect(dead_code, reason = "the other tests need more of it")]
mod support;
