//! Figures about calls (P-66), each instance with a registry of its own.

mod audit;
mod calls;
mod labels;
mod stage;

pub use self::{
    calls::{CallMetrics, MetricsConfig},
    stage::Metered,
};

#[cfg(test)]
mod tests;
