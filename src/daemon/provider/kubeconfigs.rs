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

/// How long a kubeconfig counts as new.
const FRESH: Duration = Duration::from_secs(60);
/// How long one that cannot be read again is still shown.
const USABLE: Duration = Duration::from_secs(600);
/// The most that are remembered.
const MOST: usize = 10_000;

/// The kubeconfigs that were read.
pub(super) struct Kubeconfigs {
    hub: Hub,
    /// By `namespace/name` of the Secret.
    known: Mutex<BTreeMap<String, Read>>,
}

#[derive(Clone)]
struct Read {
    /// `None` if the Secret or its key is not there.
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

    /// The kubeconfig in a Secret, in base64; `None` if it cannot be had. Only the first read of one waits for the hub.
    pub(super) async fn get(self: &Arc<Self>, namespace: &str, secret: &str) -> Option<String> {
        let key = format!("{namespace}/{secret}");
        let known = self.claim(&key);
        match known {
            Some((read, is_claimed)) => {
                if is_claimed {
                    let (all, namespace, secret) =
                        (Arc::clone(self), namespace.to_owned(), secret.to_owned());
                    let again = async move { drop(all.read(&namespace, &secret).await) };
                    tokio::spawn(again.in_current_span());
                }
                read.text
            }
            None => self.read(namespace, secret).await,
        }
    }

    /// What is known and usable, and whether the caller is to read it again.
    fn claim(&self, key: &str) -> Option<(Read, bool)> {
        let mut known = self.known.lock();
        let read = known
            .get_mut(key)
            .filter(|read| read.at.elapsed() < USABLE)?;
        let is_old = read.at.elapsed() >= FRESH && !read.is_reading;
        read.is_reading |= is_old;
        Some((read.clone(), is_old))
    }

    async fn read(&self, namespace: &str, secret: &str) -> Option<String> {
        let found = self.hub.get(SECRET, namespace, secret).await;
        let text = match found {
            Ok(found) => {
                let found = found.unwrap_or_default();
                found["data"]["kubeconfig"].as_str().map(str::to_owned)
            }
            Err(error) => {
                tracing::warn!(%error, "a kubeconfig cannot be read");
                let mut known = self.known.lock();
                if let Some(read) = known.get_mut(&format!("{namespace}/{secret}")) {
                    read.is_reading = false;
                }
                return None;
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
        known.insert(format!("{namespace}/{secret}"), read);
        text
    }
}
