//! When a check is written: at once when its outcome changes, else at most once a minute, and never
//! when nothing changed (DESIGN §10).
//!
//! In: a check and the time. Out: whether to write it. It does not know who writes, or whether that
//! worked: what was not noted as written is due again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::model::{Check, CheckState};

/// How long progress waits after the last write.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// Whether to write a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Write it.
    Now,
    /// Ask again then, with the check as it is by then.
    At(Timestamp),
    /// It equals what was written.
    Never,
}

/// What was written last, by revision and context.
#[derive(Clone, Debug, Default)]
pub(super) struct Throttle {
    written: BTreeMap<(String, String), (Check, Timestamp)>,
}

impl Throttle {
    /// Whether `check` is to be written.
    pub(super) fn due(&self, check: &Check, now: Timestamp) -> Due {
        match self.written.get(&key(check)) {
            None => Due::Now,
            Some((last, _)) if last == check => Due::Never,
            Some((last, _)) if is_another_outcome(last, check) => Due::Now,
            // A clock that was set back must not hold it up.
            Some((_, at)) if now < *at || now.duration_since(*at) >= PAUSE => Due::Now,
            Some((_, at)) => Due::At(at.saturating_add(PAUSE).unwrap_or(now)),
        }
    }

    /// Whether the check of the same context and revision was written as pending.
    pub(super) fn is_pending(&self, check: &Check) -> bool {
        let written = self.written.get(&key(check));
        written.is_some_and(|(last, _)| last.state == CheckState::Pending)
    }

    /// Notes that `check` was written.
    pub(super) fn written(&mut self, check: Check, now: Timestamp) {
        self.written.insert(key(&check), (check, now));
    }

    /// The next check of this context and revision is due, even if it equals the last.
    pub(super) fn renew(&mut self, revision: &str, context: &str) {
        let key = (revision.to_owned(), context.to_owned());
        self.written.remove(&key);
    }

    /// Forgets the revisions that are not reported on any more.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.written.retain(|(revision, _), _| keep(revision));
    }
}

/// While a check is pending, its details are progress; after that, people wait for them: for an approval
/// that is needed, or for a newer revision that took its place.
fn is_another_outcome(last: &Check, check: &Check) -> bool {
    let is_progress = check.state == CheckState::Pending;
    last.state != check.state || last.detail != check.detail && !is_progress
}

fn key(check: &Check) -> (String, String) {
    (check.revision.clone(), check.context.clone())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::CheckDetail;

    fn check(state: CheckState, title: &str) -> Check {
        Check {
            revision: "5f0e".into(),
            context: "capstan/a/sync".into(),
            state,
            title: title.into(),
            summary: String::new(),
            annotations: Vec::new(),
            detail: None,
            target_url: None,
            pull_request: None,
            older_pull_requests: Vec::new(),
            input: None,
            button: None,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn after(first: Check) -> Throttle {
        let mut throttle = Throttle::default();
        throttle.written(first, at(1000));
        throttle
    }

    #[test]
    fn the_first_report_and_a_new_state_are_sent_at_once() {
        let pending = check(CheckState::Pending, "1/2");
        assert_eq!(Throttle::default().due(&pending, at(0)), Due::Now);
        let throttle = after(pending);
        assert_eq!(
            throttle.due(&check(CheckState::Success, "2/2"), at(1000)),
            Due::Now
        );
    }

    #[test]
    fn another_detail_of_an_outcome_is_sent_at_once_and_of_progress_not() {
        use CheckDetail::{Approval, Queued, Superseded, Warnings};
        use CheckState::{Error, Failure, Pending, Success};
        for (state, before, detail, expected) in [
            (Success, None, Some(Superseded), Due::Now),
            (Success, Some(Warnings), None, Due::Now),
            (Failure, None, Some(Approval), Due::Now),
            (Error, None, Some(Superseded), Due::Now),
            (Pending, None, Some(Queued), Due::At(at(1060))),
            (Pending, Some(Queued), None, Due::At(at(1060))),
        ] {
            let mut one = check(state, "1/2");
            one.detail = before;
            let throttle = after(one.clone());
            one.detail = detail;
            assert_eq!(throttle.due(&one, at(1001)), expected, "{state:?}");
        }
    }

    #[test]
    fn progress_waits_for_a_minute() {
        let throttle = after(check(CheckState::Pending, "1/3"));
        let more = check(CheckState::Pending, "2/3");
        assert_eq!(throttle.due(&more, at(1001)), Due::At(at(1060)));
        assert_eq!(throttle.due(&more, at(1059)), Due::At(at(1060)));
        assert_eq!(throttle.due(&more, at(1060)), Due::Now);
    }

    #[test]
    fn the_same_report_is_not_sent_twice() {
        let throttle = after(check(CheckState::Pending, "1/2"));
        assert_eq!(
            throttle.due(&check(CheckState::Pending, "1/2"), at(9999)),
            Due::Never
        );
    }

    #[test]
    fn a_clock_set_back_does_not_hold_progress_up() {
        let throttle = after(check(CheckState::Pending, "1/2"));
        assert_eq!(
            throttle.due(&check(CheckState::Pending, "2/2"), at(10)),
            Due::Now
        );
    }

    #[test]
    fn revisions_and_contexts_do_not_hold_each_other_up() {
        let throttle = after(check(CheckState::Pending, "1/2"));
        let mut other = check(CheckState::Pending, "0/2");
        other.context = "capstan/b/sync".into();
        assert_eq!(throttle.due(&other, at(1001)), Due::Now);
        let mut newer = check(CheckState::Pending, "0/2");
        newer.revision = "77aa".into();
        assert_eq!(throttle.due(&newer, at(1001)), Due::Now);
    }

    #[test]
    fn forgotten_revisions_start_anew() {
        let pending = check(CheckState::Pending, "1/2");
        let mut throttle = after(pending.clone());
        throttle.retain(|revision| revision == "5f0e");
        assert_eq!(throttle.due(&pending, at(1001)), Due::Never);
        throttle.retain(|revision| revision != "5f0e");
        assert_eq!(throttle.due(&pending, at(1001)), Due::Now);
    }
}
