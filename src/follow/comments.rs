//! The comments that are read, because checks ask for approvals.
//!
//! In: the checks that ask, and what comments say. Out: the questions to ask, a few at a time, and what to tell people of
//! their comments. It does not know who may approve.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use jiff::Timestamp;

use crate::plan::approvals::{Approval, Approvals};

/// How many checks are asked about at once: each costs the forge a few requests.
const MOST_ASKED: usize = 20;

/// The name of a check, and its commit.
type Key = (String, String);

/// A check that asks for approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommentQuestion {
    pub(crate) context: String,
    pub(crate) commit: String,
    /// Its pull requests, where refs tell; the forge knows others.
    pub(crate) pull_requests: Vec<u64>,
    /// What it asks people to approve, each as a trailer has it.
    pub(crate) asked: Vec<String>,
    /// Since when people see that.
    pub(crate) since: Timestamp,
    /// Whether the commit is on the followed ref.
    pub(crate) is_followed: bool,
}

/// What the comments say of one check.
pub(crate) struct CommentAnswer {
    pub(crate) question: CommentQuestion,
    /// The pull requests whose comments were read, the newest first.
    pub(crate) pull_requests: Vec<u64>,
    /// What counts of what was asked.
    pub(crate) given: Vec<Approval>,
    /// What does not count, and why.
    pub(crate) rest: Approvals,
}

/// See the module.
#[derive(Default)]
pub(crate) struct CommentQuestions {
    is_under_way: bool,
    /// The last check that was asked about: others come first next time.
    last: Key,
    /// What the followed ref asks for, and since when. A newer revision that asks for no more asks for the same.
    followed: Option<(BTreeSet<String>, Timestamp)>,
    /// What comments say that does not count.
    rest: BTreeMap<Key, Approvals>,
}

impl CommentQuestions {
    /// Begins to read the comments that these checks wait for, unless comments are being read. It takes some of many, in turn.
    pub(crate) fn begin(&mut self, mut asking: Vec<CommentQuestion>) -> Vec<CommentQuestion> {
        let keys: BTreeSet<Key> = asking.iter().map(key).collect();
        self.rest.retain(|key, _| keys.contains(key));
        let followed = asking.iter_mut().find(|one| one.is_followed);
        self.followed = followed.map(|question| {
            let asked: BTreeSet<String> = question.asked.iter().cloned().collect();
            let before = self.followed.take();
            let before = before.filter(|(before, _)| asked.is_subset(before));
            question.since = before.map_or(question.since, |(_, since)| since);
            (asked, question.since)
        });
        if self.is_under_way || asking.is_empty() {
            return Vec::new();
        }
        self.is_under_way = true;
        let mut by_key: BTreeMap<Key, CommentQuestion> =
            asking.into_iter().map(|one| (key(&one), one)).collect();
        let after = (Bound::Excluded(&self.last), Bound::Unbounded);
        let after = by_key.range::<Key, _>(after).map(|(key, _)| key.clone());
        let before = by_key.range::<Key, _>(..=&self.last);
        let order = after.chain(before.map(|(key, _)| key.clone()));
        let taken: Vec<Key> = order.take(MOST_ASKED).collect();
        self.last = taken.last().cloned().unwrap_or_default();
        taken.iter().filter_map(|key| by_key.remove(key)).collect()
    }

    /// Comments were read, or could not be.
    pub(crate) const fn end(&mut self) {
        self.is_under_way = false;
    }

    /// Takes in what comments say that does not count.
    pub(crate) fn set_rest(&mut self, question: &CommentQuestion, rest: Approvals) {
        self.rest.insert(key(question), rest);
    }

    /// What the comments say of this check that does not count.
    pub(crate) fn rest(&self, context: &str, commit: &str) -> Approvals {
        let key = (context.to_owned(), commit.to_owned());
        self.rest.get(&key).cloned().unwrap_or_default()
    }
}

fn key(question: &CommentQuestion) -> Key {
    (question.context.clone(), question.commit.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(commit: &str, asked: &[&str], since: i64) -> CommentQuestion {
        CommentQuestion {
            context: "capstan/f/plan".to_owned(),
            commit: commit.to_owned(),
            pull_requests: Vec::new(),
            asked: asked.iter().map(|one| (*one).to_owned()).collect(),
            since: Timestamp::from_second(since).expect("in range"),
            is_followed: false,
        }
    }

    fn commits(questions: &[CommentQuestion]) -> Vec<&str> {
        questions.iter().map(|one| &*one.commit).collect()
    }

    #[test]
    fn all_checks_come_in_turn_and_one_reading_at_a_time() {
        let mut questions = CommentQuestions::default();
        let all = || (10..45).map(|at| question(&at.to_string(), &["delete c/one"], 0));
        let first = questions.begin(all().collect());
        assert_eq!((first.len(), &*first[0].commit), (20, "10"));
        assert_eq!(questions.begin(all().collect()), []);
        questions.end();
        let second = questions.begin(all().collect());
        let expected: Vec<String> = (30..45).chain(10..15).map(|at| at.to_string()).collect();
        assert_eq!(commits(&second), expected);
        questions.end();
        assert_eq!(questions.begin(Vec::new()), []);
        assert_eq!(questions.begin(all().take(1).collect()).len(), 1);
    }

    #[test]
    fn a_newer_revision_that_asks_for_no_more_asks_since_the_first_did() {
        let mut questions = CommentQuestions::default();
        let mut since = |commit: &str, asked: &[&str], since| {
            let followed = CommentQuestion {
                is_followed: true,
                ..question(commit, asked, since)
            };
            let begun = questions.begin(vec![followed]);
            questions.end();
            begun[0].since.as_second()
        };
        assert_eq!(since("a", &["delete c/one", "delete c/two"], 100), 100);
        assert_eq!(since("b", &["delete c/one", "delete c/two"], 200), 100);
        assert_eq!(since("c", &["delete c/two"], 300), 100);
        assert_eq!(since("d", &["delete c/one", "delete c/two"], 400), 400);
        assert_eq!(since("d", &["delete c/one", "delete c/two"], 500), 400);
    }

    #[test]
    fn what_comments_say_is_kept_while_the_check_asks() {
        let mut questions = CommentQuestions::default();
        let asked = question("a", &["delete c/one"], 0);
        let rest = Approvals {
            unclear: vec!["/capstan approve".to_owned()],
            ..Approvals::default()
        };
        questions.set_rest(&asked, rest.clone());
        questions.begin(vec![asked.clone()]);
        assert_eq!(questions.rest(&asked.context, "a"), rest);
        assert_eq!(questions.rest(&asked.context, "b"), Approvals::default());
        questions.begin(vec![question("b", &["delete c/one"], 0)]);
        assert_eq!(questions.rest(&asked.context, "a"), Approvals::default());
    }
}
