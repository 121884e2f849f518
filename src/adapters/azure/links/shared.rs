//! Listings that many clusters share.
//!
//! In: whose listing of which resource group, and how old it may be. Out: one that was begun since, or a new one. Those who ask
//! while it is under way wait for the same; one that failed is not kept. It does not know how a listing is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use super::frontends::Listing;
use crate::model::{AzureCaller, AzureError};

/// The age at which a listing is forgotten.
pub(super) const LIFE: SignedDuration = SignedDuration::from_secs(30);

/// A listing, or why there is none.
pub(super) type Outcome = Result<Arc<Listing>, AzureError>;

/// The resource group of a listing, and who asked for it: another may see less.
pub(super) type Key = ((String, String), AzureCaller);

struct Begun {
    at: Timestamp,
    outcome: Shared<BoxFuture<'static, Outcome>>,
}

impl Begun {
    /// Returns true if it is under way, or has succeeded.
    fn is_useful(&self) -> bool {
        self.outcome.peek().is_none_or(Result::is_ok)
    }
}

/// Listings of resource groups.
#[derive(Default)]
pub(super) struct SharedListings(Mutex<BTreeMap<Key, Begun>>);

impl SharedListings {
    /// The listing that was begun at `since` or later, or else the one that `begin` begins at `now`.
    pub(super) async fn get(
        &self,
        key: Key,
        since: Timestamp,
        now: Timestamp,
        begin: impl FnOnce() -> BoxFuture<'static, Outcome>,
    ) -> Outcome {
        let outcome = {
            let mut listings = self.0.lock();
            listings.retain(|_, begun| begun.at + LIFE > now && begun.is_useful());
            match listings.get(&key).filter(|begun| begun.at >= since) {
                Some(begun) => begun.outcome.clone(),
                None => {
                    let outcome = begin().shared();
                    let begun = Begun {
                        at: now,
                        outcome: outcome.clone(),
                    };
                    listings.insert(key, begun);
                    outcome
                }
            }
        };
        outcome.await
    }
}
