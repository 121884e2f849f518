//! How a command ended.

/// What becomes the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// All is well.
    Fine,
    /// Findings of severity error, or the work failed.
    Failed,
    /// The command line is wrong; the faults were reported.
    Refused,
    /// There are changes, and it was asked whether there are.
    Changed,
    /// A signal with this number ended it early.
    Signal(u8),
}

impl Exit {
    /// As a shell reports it: 128 and the number of a signal.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Refused => 2,
            Self::Changed => 3,
            Self::Signal(number) => 128 + number,
        }
    }

    pub(super) const fn failed_if(failed: bool) -> Self {
        if failed { Self::Failed } else { Self::Fine }
    }
}
