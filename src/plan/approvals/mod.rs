//! Approvals of losses: deletions, and the recreation of an HCP cluster that Azure failed to create.
//!
//! In: messages of commits, comments, presses of buttons, annotations, flags, settings. Out: [`Approval`]s, one value whatever
//! the source. It does not know git, the forge or the cluster.

mod annotation;
mod approval;
mod buttons;
mod comment_doubt;
mod comments;
mod lines;
mod near_miss;
mod record;
mod trailers;

pub(crate) use annotation::annotated;
pub use approval::{Approval, How, Verb, What};
pub(crate) use approval::{Approvals, Doubt, short};
pub(crate) use buttons::Pressed;
#[cfg(test)]
pub(crate) use comment_doubt::CommentDoubt;
pub(crate) use comments::Conversation;
pub(crate) use lines::{APPROVE, is_command};
pub(crate) use near_miss::NearMiss;
pub(crate) use record::ApprovalRecord;
pub(crate) use trailers::{ForkLines, fork_lines, given, unclear};
