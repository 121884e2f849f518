//! The verdict about one object.

use jiff::Timestamp;

use super::state::State;

/// The state that one object reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict<'a> {
    pub(super) state: State,
    pub(super) message: &'a str,
    pub(super) again: Option<Timestamp>,
}

impl<'a> Verdict<'a> {
    pub(super) const fn new(state: State, message: &'a str) -> Self {
        Self {
            state,
            message,
            again: None,
        }
    }
}
