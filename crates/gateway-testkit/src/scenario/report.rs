//! What a scenario found.

use std::fmt;

/// Figures, and what was not as it must be.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<String>,
    faults: Vec<String>,
    /// What took too long, which on a busy machine is nobody's fault.
    late: Vec<String>,
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

    /// As [`Self::demand`], of how long something took.
    pub(crate) fn demand_in_time(&mut self, holds: bool, late: impl FnOnce() -> String) {
        if !holds {
            self.late.push(late());
        }
    }

    /// Whether anything was not as it must be; `lenient` if times do not count.
    pub(crate) fn failed(&self, lenient: bool) -> bool {
        !self.faults.is_empty() || !lenient && !self.late.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.figures.join(", "))?;
        for late in &self.late {
            write!(f, "; late: {late}")?;
        }
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
