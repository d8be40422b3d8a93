use std::io::{self, IsTerminal as _};

/// Which of the standard streams were terminals when the process started.
///
/// SIGHUP says two things: an operator wants the configuration read again, or the terminal has gone and what
/// ran in it is to end. A stream on a terminal that is gone is on none any more, and that tells them apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal([bool; 3]);

impl Terminal {
    pub(crate) fn of_process() -> Self {
        Self([io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()])
    }

    /// Whether there was a terminal and it is gone.
    pub(crate) fn is_gone(self) -> bool {
        let Self(now) = Self::of_process();
        self.0.into_iter().zip(now).any(|(before, now)| before && !now)
    }
}
