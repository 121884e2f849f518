//! The ways in which a request becomes a cluster.
//!
//! In: a request that passed all checks that need no lock. Out: that it is durable, or a problem. One thing is written at a time.

mod commit;
mod definitions;
mod direct;
mod fault;
mod order;
mod propose;
mod push;
mod queue;
mod rejection;

pub(super) use commit::CommitWriter;
pub(super) use definitions::Definitions;
pub(super) use direct::{DirectWriter, MANAGER};
pub(super) use order::{Newer, Order, Writer, repeated};
pub(super) use propose::ProposalWriter;
pub(super) use push::Pusher;
pub(super) use queue::Queue;
