//! Approvals in the messages of commits, wherever those are kept.
//!
//! In: commits. Out: what they approve, and what of it does not count whoever pushed them. It does not know buttons,
//! settings or the forge.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::git::{self, Checkout, Commit, Error};
use crate::plan::approvals::{self, Approval, Approvals, Doubt, How, What};

/// How many commits are looked through for approvals.
pub(super) const MOST: usize = 10_000;
/// How many lines are shown of what merges brought in, which approves nothing: nobody reads more.
const MOST_MERGED: usize = 1_000;

/// Who wrote a commit that does not say so.
const UNKNOWN: &str = "an unknown author";

/// Commits with their messages: of a daemon's mirror, or of a person's clone.
pub(super) trait Commits {
    /// From `to` back along first parents, up to the first that is `from` or leads to it.
    fn first_parents(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error>;

    /// Those that lead to `to` and not to `from`.
    fn log(&self, from: Option<&str>, to: &str, limit: usize) -> Result<Vec<Commit>, Error>;

    /// The whole message of one.
    fn message(&self, commit: &str) -> Result<String, Error>;

    /// For each of `words` that one on the line of first parents writes into a file, the newest such commit.
    fn written(
        &self,
        from: &str,
        to: &str,
        words: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Error>;
}

impl Commits for Checkout {
    fn first_parents(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error> {
        self.first_parents(from, to, limit)
    }

    fn log(&self, from: Option<&str>, to: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        self.log(from, to, limit)
    }

    fn message(&self, commit: &str) -> Result<String, Error> {
        self.message(commit)
    }

    fn written(
        &self,
        from: &str,
        to: &str,
        words: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        self.written(from, to, words)
    }
}

/// What the commits of a clone approve that lead to `head` and not to `base`, as a daemon reads it that nobody else
/// says anything. `doubt` says why a commit's signature is not accepted.
///
/// # Errors
/// When they cannot be read.
pub(crate) fn in_checkout(
    checkout: &Checkout,
    base: &str,
    head: &str,
    doubt: impl Fn(&str) -> Option<Doubt>,
) -> Result<Approvals, Error> {
    let line = checkout.first_parents(Some(base), head, MOST)?;
    let on_line: BTreeSet<String> = line.iter().map(|commit| commit.id.clone()).collect();
    let mut found = Approvals::default();
    for commit in line {
        let text = checkout.message(&commit.id)?;
        let said = Said::of(commit, &text);
        found.unclear.extend(said.unclear.iter().cloned());
        for approval in said.approvals() {
            match doubt(&approval.commit) {
                None => found.given.push(approval),
                Some(doubt) => found.doubted.push((approval, doubt)),
            }
        }
    }
    add_merged(checkout, Some(base), head, &on_line, &mut found);
    found.own = losses(&found.given);
    doubt_what_is_back(checkout, base, head, &mut found);
    found.drop_repeated();
    Ok(found)
}

/// The losses that these approve.
pub(super) fn losses(given: &[Approval]) -> BTreeSet<What> {
    let losses = given.iter().filter(|one| one.what.loss().is_some());
    losses.map(|one| one.what.clone()).collect()
}

pub(super) fn given_by(text: &str) -> Vec<What> {
    approvals::given(text, |key| git::trailers(text, key))
}

/// What the message of a commit says of approvals.
pub(super) struct Said {
    pub(super) commit: Commit,
    pub(super) given: Vec<What>,
    pub(super) unclear: Vec<String>,
}

impl Said {
    pub(super) fn of(commit: Commit, text: &str) -> Self {
        let given = given_by(text);
        Self {
            commit,
            unclear: approvals::unclear(text, &given),
            given,
        }
    }

    pub(super) fn approvals(&self) -> impl Iterator<Item = Approval> {
        let author = self.commit.author.trim();
        let who = match author.contains(char::is_alphanumeric) {
            true => author,
            false => UNKNOWN,
        };
        self.given.iter().map(move |what| Approval {
            what: what.clone(),
            how: How::Trailer,
            who: who.to_owned(),
            at: Some(self.commit.at),
            commit: self.commit.id.clone(),
        })
    }
}

/// Doubts each approval of a loss of which a later commit writes again: it may have brought the cluster or pool back, and
/// that was removed once more without approval.
pub(super) fn doubt_what_is_back(
    commits: &impl Commits,
    from: &str,
    to: &str,
    found: &mut Approvals,
) {
    let earlier = found.given.iter().filter(|one| one.commit != to);
    let names = earlier.filter_map(|one| Some(one.what.loss()?.1.name().to_owned()));
    let names: BTreeSet<String> = names.collect();
    if names.is_empty() {
        return;
    }
    let line = commits.first_parents(Some(from), to, MOST);
    let search = line.and_then(|line| Ok((line, commits.written(from, to, &names)?)));
    let doubt = |one: &Approval| -> Option<Doubt> {
        let (_, unit) = one.what.loss().filter(|_| one.commit != to)?;
        let (line, written) = match &search {
            Ok(search) => search,
            Err(error) => return Some(Doubt::Unsearched(error.to_string())),
        };
        let commit = written.get(unit.name())?;
        // Of two commits on the line the newer one comes first.
        let place = |id: &str| line.iter().position(|one| one.id == id);
        let is_later = place(&one.commit).is_none_or(|at| place(commit) < Some(at));
        is_later.then(|| Doubt::BroughtBack(commit.clone()))
    };
    for one in std::mem::take(&mut found.given) {
        match doubt(&one) {
            None => found.given.push(one),
            Some(doubt) => found.doubted.push((one, doubt)),
        }
    }
}

/// Adds what merges brought in. What cannot be read approves nothing anyway.
pub(super) fn add_merged(
    commits: &impl Commits,
    from: Option<&str>,
    to: &str,
    on_line: &BTreeSet<String>,
    found: &mut Approvals,
) {
    let all = commits.log(from, to, MOST).unwrap_or_default();
    let merged = all.into_iter();
    let most = found.doubted.len() + found.unclear.len() + MOST_MERGED;
    for commit in merged.filter(|commit| !on_line.contains(&commit.id)) {
        let text = commits.message(&commit.id).unwrap_or_default();
        let one = Said::of(commit, &text);
        found.unclear.extend(one.unclear.iter().cloned());
        let merged = one.approvals().map(|approval| (approval, Doubt::Merged));
        found.doubted.extend(merged);
        if found.doubted.len() + found.unclear.len() > most {
            break;
        }
    }
}
