//! The kubeconfigs of clusters, as reads show them.
//!
//! In: names of Secrets. Out: their kubeconfigs in base64, from the last minute. It does not know who may see them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::kinds::SECRET;
use crate::adapters::kubernetes::Hub;

/// The time for which a kubeconfig counts as new.
const FRESH: Duration = Duration::from_secs(60);
/// The time for which one is shown that is read again meanwhile.
const USABLE: Duration = Duration::from_secs(600);
/// The time for which one that is not there, or cannot be read, is not asked for again.
const MISSING: Duration = Duration::from_secs(3);
/// The most that are remembered.
const MOST: usize = 10_000;

/// Where a kubeconfig is. A cluster that is made again under the same name has another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) namespace: String,
    pub(super) secret: String,
    /// The `uid` of the cluster.
    pub(super) cluster: String,
}

/// The kubeconfigs that were read.
pub(super) struct Kubeconfigs {
    hub: Hub,
    known: Mutex<BTreeMap<Place, Read>>,
}

#[derive(Clone)]
struct Read {
    text: Option<String>,
    at: Instant,
    is_reading: bool,
}

impl Kubeconfigs {
    pub(super) fn new(hub: Hub) -> Self {
        Self {
            hub,
            known: Mutex::default(),
        }
    }

    /// The kubeconfig at a place, in base64; `None` if it cannot be had. Only the first read of one waits for the hub.
    pub(super) async fn get(self: &Arc<Self>, place: Place) -> Option<String> {
        match self.claim(&place) {
            Some((text, is_claimed)) => {
                if is_claimed {
                    let all = Arc::clone(self);
                    let again = async move { drop(all.read(place).await) };
                    tokio::spawn(again.in_current_span());
                }
                text
            }
            None => self.read(place).await,
        }
    }

    /// What is known and usable, and true if the caller is to read it again.
    fn claim(&self, place: &Place) -> Option<(Option<String>, bool)> {
        let mut known = self.known.lock();
        let read = known.get_mut(place)?;
        let age = read.at.elapsed();
        let usable = if read.text.is_some() { USABLE } else { MISSING };
        if age >= usable {
            return None;
        }
        let is_old = age >= FRESH && !read.is_reading;
        read.is_reading |= is_old;
        Some((read.text.clone(), is_old))
    }

    async fn read(&self, place: Place) -> Option<String> {
        let found = self.hub.get(SECRET, &place.namespace, &place.secret).await;
        let text = match found {
            Ok(found) => {
                let found = found.unwrap_or_default();
                found["data"]["kubeconfig"].as_str().map(str::to_owned)
            }
            Err(error) => {
                tracing::warn!(%error, "a kubeconfig cannot be read");
                None
            }
        };
        let read = Read {
            text: text.clone(),
            at: Instant::now(),
            is_reading: false,
        };
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.retain(|_, read| read.at.elapsed() < FRESH);
        }
        known.insert(place, read);
        text
    }
}
