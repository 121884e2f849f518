//! When which check was made again, so that nobody can use a forge up by asking.
//!
//! In: who asks for which check, and the time. Out: whether that is heard. It does not know how a check is made again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// How long after one re-run of a check the next is heard. Anybody who may comment can ask, and a forge takes so many
/// statuses on a commit and no more (forges.md §9, row 32).
const RERUN_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// When which check was made again last, by context and commit.
#[derive(Debug, Default)]
pub(crate) struct Reruns(BTreeMap<(String, String), Timestamp>);

impl Reruns {
    /// Whether this check may be made again now.
    pub(crate) fn admit(&mut self, context: &str, commit: &str, now: Timestamp) -> bool {
        // A clock that was set back must not hold it up.
        let is_recent = |at: &Timestamp| *at <= now && now.duration_since(*at) < RERUN_PAUSE;
        self.0.retain(|_, at| is_recent(at));
        let key = (context.to_owned(), commit.to_owned());
        let is_first = !self.0.contains_key(&key);
        self.0.entry(key).or_insert(now);
        is_first
    }
}
