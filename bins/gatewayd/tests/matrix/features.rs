//! The features: each is one function that runs in every cell.

/// A test for each function, which runs it in all cells.
macro_rules! features {
    ($($name:ident),* $(,)?) => {
        mod cells {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    crate::cell::check(super::$name).await;
                }
            )*
        }
    };
}

mod changes;
mod lists;
mod offers;
mod questions;
mod refusals;
mod revisions;
mod streams;
mod tasks;
mod workflows;
