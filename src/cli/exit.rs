//! How a command ended.

/// What becomes the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// All is well.
    Fine,
    /// Findings of severity error, or the work failed.
    Failed,
}

impl Exit {
    pub(super) const fn failed_if(failed: bool) -> Self {
        if failed { Self::Failed } else { Self::Fine }
    }
}
