//! What the runner is given: a cluster, options, plans to carry out, and what people approved.

use std::sync::Arc;

use kube::Client;

use crate::apply::{ApprovalsAnswer, Assignment};
use crate::model::Clock;
use crate::plan::ApplySet;

/// How to carry out plans.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many requests may be under way at once; at least one is.
    pub concurrency: usize,
    /// The set that the plans' objects are members of; only members are watched, and removed.
    pub set: ApplySet,
}

/// The cluster and its time.
#[derive(Clone)]
pub struct Target {
    /// The client for the objects that Capstan keeps there, such as the parent of a set.
    pub client: Client,
    /// The same as the account that reads and writes the members of sets, which may have fewer rights.
    pub account: Client,
    /// The account may have rights in the namespaces of a set alone, so nothing is watched in others.
    pub is_confined: bool,
    /// Its time.
    pub clock: Arc<dyn Clock>,
}

impl Target {
    /// A cluster in which one account does everything.
    #[must_use]
    pub fn new(client: Client, clock: Arc<dyn Clock>) -> Self {
        Self {
            account: client.clone(),
            is_confined: false,
            client,
            clock,
        }
    }
}

/// A message to the runner.
#[derive(Clone, Debug)]
pub enum Input {
    /// A plan is to be carried out in place of the one before.
    Assign(Assignment),
    /// People approved this; it may be told again when it changes.
    Approve(ApprovalsAnswer),
}
