//! A common cause of not being ready.
//!
//! In: nothing. Out: the shape of a cause. It does not know which there are.

/// A common cause of not being ready.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// The reasons that name it; empty where its message does.
    pub reasons: &'static [&'static str],
    /// A part of its message; empty where its reason names it.
    pub contains: &'static str,
    /// What usually helps.
    pub help: &'static str,
}

pub(super) const fn reason(reasons: &'static [&'static str], help: &'static str) -> Cause {
    Cause {
        reasons,
        contains: "",
        help,
    }
}

pub(super) const fn message(contains: &'static str, help: &'static str) -> Cause {
    Cause {
        reasons: &[],
        contains,
        help,
    }
}
