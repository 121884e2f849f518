//! Whether a pull request of a fork that was merged lately brought a commit in, where the forge names none.
//!
//! In: the commit, and what the forge lists. Out: the pull request that made the commit, has it, or has one with the same
//! message, since a rebase changes all else. What cannot be read to its end is a fault: nobody may hide a pull request
//! behind others.

use std::cmp::min;
use std::future::Future;

use jiff::{SignedDuration, Timestamp};

use super::client::Client;
use super::fault::Fault;
use super::pull_request::PullRequest;

/// How far back pull requests are compared: a commit waits no longer than this for the daemon, and a forge lists no more
/// in a reasonable time.
const DAYS: i64 = 30;
/// How far back they are compared where the forge knows the pull requests of every commit after a moment.
const LATE: SignedDuration = SignedDuration::from_hours(24);
/// How many pages of pull requests are read.
const PAGES: usize = 10;
/// How many pull requests of forks are looked into: one costs a request, and a question ends after some seconds.
const LOOKED_INTO: usize = 30;
/// How many commits of one are compared; GitHub lists no more.
const COMMITS: usize = 250;
/// What to do where nobody can tell.
const INSTEAD: &str =
    "approve in the commit that a pull request from a branch of this repository ends in";

/// A page of a list.
pub struct Page<T> {
    /// What is on it.
    pub rows: Vec<T>,
    /// Whether no other page follows.
    pub is_last: bool,
}

impl<T> Page<T> {
    /// Turns each row into something else.
    pub(in crate::adapters::checks) fn map<U>(self, into: impl FnMut(T) -> U) -> Page<U> {
        Page {
            rows: self.rows.into_iter().map(into).collect(),
            is_last: self.is_last,
        }
    }
}

/// A pull request in a list of what was merged.
pub(in crate::adapters::checks) struct Merged {
    pub(in crate::adapters::checks) found: PullRequest,
    /// The commit that its merge made, or the beginning of its id.
    pub(in crate::adapters::checks) made: Option<String>,
    /// When it was merged, or later.
    pub(in crate::adapters::checks) at: Option<Timestamp>,
    /// When it changed last, if the list is in the order of that.
    pub(in crate::adapters::checks) changed: Option<Timestamp>,
}

/// A commit.
pub(in crate::adapters::checks) struct Said {
    pub(in crate::adapters::checks) id: String,
    pub(in crate::adapters::checks) message: String,
    /// Whether the message goes on.
    pub(in crate::adapters::checks) is_cut: bool,
    /// When it was made, as it says itself.
    pub(in crate::adapters::checks) at: Option<Timestamp>,
}

/// What a forge lists.
pub(in crate::adapters::checks) trait Lists: Sync {
    /// Whether the forge knows the pull requests of every commit after a moment.
    const IS_COMPLETE: bool;

    /// Reads a commit, with its whole message.
    fn commit(&self, client: &Client, id: &str)
    -> impl Future<Output = Result<Said, Fault>> + Send;

    /// Lists pull requests that were merged since then, and maybe others. The first page is 1.
    fn merged(
        &self,
        client: &Client,
        since: Timestamp,
        page: usize,
    ) -> impl Future<Output = Result<Page<Merged>, Fault>> + Send;

    /// Lists the commits of a pull request. The first page is 1.
    fn commits(
        &self,
        client: &Client,
        number: u64,
        page: usize,
    ) -> impl Future<Output = Result<Page<Said>, Fault>> + Send;
}

/// Finds the pull request that brought the commit with the id `id` in.
pub(in crate::adapters::checks) async fn find<L: Lists>(
    lists: &L,
    client: &Client,
    id: &str,
) -> Result<Option<PullRequest>, Fault> {
    let now = client.now();
    let (own, since) = match L::IS_COMPLETE {
        true => (None, now - LATE),
        false => {
            let own = lists.commit(client, id).await?;
            let lately = now - SignedDuration::from_hours(24 * DAYS);
            let since = own.at.map_or(lately, |at| min(at, lately));
            (Some(own), since)
        }
    };
    let merged = all_merged(lists, client, since).await?;
    let is_made = |one: &&Merged| {
        let made = one.made.as_deref().filter(|made| !made.is_empty());
        made.is_some_and(|made| id.starts_with(made))
    };
    if let Some(one) = merged.iter().find(is_made) {
        return Ok(Some(one.found));
    }
    let is_late = |one: &&Merged| one.at.is_none_or(|at| at >= since);
    let forks = merged.iter().filter(|one| one.found.is_of_fork);
    let mut forks: Vec<PullRequest> = forks.filter(is_late).map(|one| one.found).collect();
    forks.sort_by_key(|one| std::cmp::Reverse(one.number));
    forks.dedup();
    if forks.is_empty() {
        return Ok(None);
    }
    if forks.len() > LOOKED_INTO {
        return Err(too_many(&format!(
            "more than {LOOKED_INTO} pull requests of forks were merged lately"
        )));
    }
    let own = match own {
        Some(own) => own,
        None => lists.commit(client, id).await?,
    };
    for fork in forks {
        if has(lists, client, fork.number, &own).await? {
            return Ok(Some(fork));
        }
    }
    Ok(None)
}

async fn all_merged<L: Lists>(
    lists: &L,
    client: &Client,
    since: Timestamp,
) -> Result<Vec<Merged>, Fault> {
    let mut all = Vec::new();
    for page in 1..=PAGES {
        let Page { rows, is_last } = lists.merged(client, since, page).await?;
        let is_past = |one: &Merged| one.changed.is_some_and(|at| at < since);
        let is_end = is_last || rows.is_empty() || rows.last().is_some_and(is_past);
        all.extend(rows.into_iter().filter(|one| one.found.is_merged));
        if !is_end {
            continue;
        }
        if page > 1 {
            // One that changed meanwhile has left a page that was still to be read.
            let first = lists.merged(client, since, 1).await?.rows;
            all.extend(first.into_iter().filter(|one| one.found.is_merged));
        }
        return Ok(all);
    }
    Err(too_many("too many pull requests changed lately"))
}

/// Whether the pull request has the commit, or one with its message.
async fn has<L: Lists>(lists: &L, client: &Client, number: u64, own: &Said) -> Result<bool, Fault> {
    let words = words(&own.message);
    let mut seen = 0;
    for page in 1..=COMMITS {
        let Page { rows, is_last } = lists.commits(client, number, page).await?;
        let is_same = |one: &Said| match one.is_cut {
            true => words.starts_with(&self::words(&one.message)),
            false => words == self::words(&one.message),
        };
        if rows.iter().any(|one| one.id == own.id || is_same(one)) {
            return Ok(true);
        }
        seen += rows.len();
        if seen >= COMMITS {
            break;
        }
        if is_last || rows.is_empty() {
            return Ok(false);
        }
    }
    let many = format!("pull request {number} of a fork has {COMMITS} commits or more");
    Err(too_many(&many))
}

/// What no cleanup of blanks, comment marks or encodings changes.
fn words(message: &str) -> String {
    message
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect()
}

/// Why nobody can tell, and what to do.
pub(in crate::adapters::checks) fn too_many(what: &str) -> Fault {
    Fault::Refused(format!("{what}, so nobody can tell; {INSTEAD}"))
}
