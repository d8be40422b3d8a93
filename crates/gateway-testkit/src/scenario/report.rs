//! What a scenario found.

use std::fmt;

/// Figures, and what was not as it must be.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<String>,
    faults: Vec<String>,
}

impl Report {
    pub(crate) fn figure(&mut self, text: impl Into<String>) {
        self.figures.push(text.into());
    }

    /// Notes a fault unless it holds. The same kind of fault may come a thousand times: the first few are told.
    pub(crate) fn demand(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(fault());
        }
    }

    pub(crate) fn failed(&self) -> bool {
        !self.faults.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.figures.join(", "))?;
        for fault in self.faults.iter().take(TOLD) {
            write!(f, "; {fault}")?;
        }
        match self.faults.len().checked_sub(TOLD) {
            Some(more) if more > 0 => write!(f, "; and {more} more"),
            _ => Ok(()),
        }
    }
}

const TOLD: usize = 12;
