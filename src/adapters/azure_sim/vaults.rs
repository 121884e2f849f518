//! Key Vault, as far as keys are created in it.
//!
//! In: a key that must exist. Out: its version, a few seconds later the first time; it is made of names, so that it is the
//! same in every run. It does not know which vaults exist.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::model::{Clock, KeyError, KeyRequest, KeyVaults, hex};

/// How long a key takes to be created.
const CREATION: Duration = Duration::from_secs(5);

/// Vaults in which keys can be created.
#[derive(Clone)]
pub struct SimulatedVaults {
    clock: Arc<dyn Clock>,
    /// The keys that exist: vault and name.
    keys: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl SimulatedVaults {
    /// Vaults without keys.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let keys = Arc::default();
        Self { clock, keys }
    }
}

impl fmt::Debug for SimulatedVaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedVaults").finish_non_exhaustive()
    }
}

impl KeyVaults for SimulatedVaults {
    fn ensure(&self, request: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
        let key = (request.vault.clone(), request.key.clone());
        let (keys, wait) = (Arc::clone(&self.keys), self.clock.real(CREATION));
        async move {
            let exists = || keys.lock().contains(&key);
            if !exists() {
                tokio::time::sleep(wait).await;
            }
            let version = version(&key.0, &key.1);
            let mut keys = keys.lock();
            keys.insert(key);
            Ok(version)
        }
        .boxed()
    }
}

/// 32 hex digits, as Key Vault numbers versions.
fn version(vault: &str, key: &str) -> String {
    let digest = Sha256::digest(format!("{vault}/{key}").as_bytes());
    hex(&digest[..16])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use kube_sim::SimClock;
    use tokio::time::Instant;

    use super::*;
    use crate::model::ObjectId;

    #[tokio::test(start_paused = true)]
    async fn a_key_takes_5_seconds_the_first_time() {
        let vaults = SimulatedVaults::new(Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1)));
        let request = KeyRequest {
            vault: "kv".to_owned(),
            key: "etcd".to_owned(),
            identity: ObjectId::new("", "AzureClusterIdentity", "ns", "i"),
            namespace: "ns".to_owned(),
            environment: String::new(),
        };
        let start = Instant::now();
        let first = vaults.ensure(&request).await;
        assert_eq!(start.elapsed(), CREATION);
        assert_eq!(vaults.ensure(&request).await, first);
        assert_eq!(start.elapsed(), CREATION);
        assert_eq!(first.map(|version| version.len()), Ok(32));
    }
}
