//! Which approvals by button count for a revision.
//!
//! In: the record, and the history of the repository. Out: those that count. A press on the check of a commit counts as
//! the trailer `Capstan-Approve` in its message would.

use super::{Origin, Source};
use crate::plan::approvals::Pressed;

impl Source {
    /// Those that count for `to` after `from` was applied, as trailers do: of the commits that lead to `to` and not to
    /// `from`; without `from` of `to` alone. If `to` is applied already, what was pressed on its check since counts.
    pub(super) fn pressed(&self, from: Option<&str>, to: &str) -> Vec<Pressed> {
        let presses = self.presses.all().into_iter();
        let counts = |press: &Pressed| match from {
            None => press.commit == to,
            Some(from) if from == to => press.is_applied && press.commit == to,
            Some(from) => leads(&self.origin, press, from, to),
        };
        presses.filter(counts).collect()
    }
}

/// Whether the commit of a press leads to `to` and not to `from`. What cannot be told approves nothing.
fn leads(origin: &Origin, press: &Pressed, from: &str, to: &str) -> bool {
    let Ok(repository) = origin.repository() else {
        return false;
    };
    let is_in = |revision| repository.is_ancestor(&press.commit, revision);
    is_in(to).unwrap_or(false) && !is_in(from).unwrap_or(true)
}
