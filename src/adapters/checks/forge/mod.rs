//! Checks on a forge: one shared sender, and a small translation per forge.
//!
//! In: [`Check`](crate::model::Check)s. Out: requests to the API of a forge, as few as possible.
//!
//! ```text
//! ForgeSink ── what was sent? (sent) ──► Forge::write ──► Client ──► Transport
//!                                        (one per forge)   (verdict: what does the answer mean?)
//! ```
//!
//! A forge is a [`Forge`]: it says what it keeps about a check it wrote, whether that shows a check already,
//! how to write one and how to find one again. All else is shared: [`ForgeSink`] sends nothing twice, also
//! across restarts, and keeps one bad check from holding up the others; [`Client`] sends one request at a
//! time, obeys limits, renews the token and stops when a permission is missing; [`outcome()`] names the
//! state; [`super::text`] keeps the limits of texts; [`Repository`] reads addresses. A new forge is one file
//! here, and a strict fake of it in `tests/`.
//!
//! [`Opener`] opens pull requests where a forge is a [`PullRequestApi`], with a client [`beside`](Client::beside) that of the
//! checks: these are written all the same when the permission for it is missing.
//!
//! It does not know where tokens come from, or who calls.

mod aside;
mod bitbucket;
mod client;
mod comment;
mod comments;
mod conversation;
mod diff;
mod fault;
mod gitea;
mod gitlab;
mod index;
pub(super) mod lately;
mod listed;
mod opener;
mod outcome;
mod pull_request;
mod remembered;
mod repository;
mod reqwest_transport;
mod sent;
mod sink;
mod verdict;
mod wire;

pub(super) use aside::Aside;
pub use bitbucket::{Bitbucket, Edition};
pub use client::{Client, Dialect, Scheme};
pub(super) use comments::too_many_commits;
pub use comments::{Account, Comment, Comments};
pub(super) use conversation::Conversation;
pub use fault::Fault;
pub use gitea::{Gitea, GiteaPulls};
pub use gitlab::GitLab;
pub(super) use index::{Index, MOST as MOST_OF_COMMIT};
pub use lately::Page;
pub use listed::{Branches, Listed};
pub use opener::{Opener, PullRequestApi};
pub use outcome::{Outcome, outcome};
pub use pull_request::PullRequest;
pub use repository::Repository;
pub use reqwest_transport::HttpTransport;
pub use sent::{digest, digest_of, replace_file};
pub use sink::{Buttons, Forge, ForgeSink, Found};
pub use verdict::{Verdict, message};
pub use wire::{Answer, Call, Transport, TransportError};

#[cfg(test)]
pub(crate) mod tests;
