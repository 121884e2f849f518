//! What is followed: where refs lead, which commits are candidates, and when to look again. Pure.
//!
//! In: what the repository, webhooks and people say. Out: what to examine and to plan next. It does not know who does that.

pub(crate) mod candidates;
mod heads;
pub(crate) mod lanes;
mod polling;
mod reruns;

pub(crate) use candidates::{Candidate, Candidates, OpenRef};
pub(crate) use heads::Heads;
pub(crate) use polling::Polling;
pub(crate) use reruns::Reruns;
