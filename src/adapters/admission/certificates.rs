//! When certificates are due, and which one is shown.
//!
//! In: what there is, the time, and what the API server trusts. Out: the next task. It is the same for every replica that
//! sees the same, so that it does not matter which one is first.
//!
//! A new authority is trusted before it signs, and an old one until what it signed is shown by no replica:
//!
//! ```text
//! authority 1  ├──────── signs ────────┼─ trusted ─┤
//! authority 2                 ├ trusted ┼──────── signs ────────…
//! ```
//!
//! It does not know: where all of this is kept.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::RwLock;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde::{Deserialize, Serialize};

use super::authority::{Authority, Leaf};

const DAY: u64 = 24 * 3600;

/// How long certificates last. Each is replaced after two thirds of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Of an authority.
    pub authority: Duration,
    /// Of a certificate.
    pub leaf: Duration,
    /// Until every replica and API server has what changed.
    pub settle: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            authority: Duration::from_secs(365 * DAY),
            leaf: Duration::from_secs(30 * DAY),
            settle: Duration::from_secs(600),
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Make another authority.
    MakeAuthority,
    /// Let the authority of this name sign a certificate.
    Sign(String),
    /// Trust the authority of this name no longer.
    Drop(String),
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakeAuthority => f.write_str("made a certificate authority"),
            Self::Sign(name) => write!(f, "signed a certificate with the authority {name}"),
            Self::Drop(name) => write!(f, "the authority {name} is no longer trusted"),
        }
    }
}

/// All certificates. It holds keys, so it has no `Debug`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Store {
    /// The oldest first.
    authorities: Vec<Authority>,
    leaf: Option<Leaf>,
}

impl Store {
    /// The certificates of the authorities: what the API server is to trust.
    #[must_use]
    pub fn bundle(&self) -> String {
        let all = self.authorities.iter();
        all.map(|authority| authority.certificate.as_str())
            .collect()
    }

    /// The same beside what the API server trusts, as long as a replica may show what an authority signed that is lost.
    #[must_use]
    pub fn bundle_beside(&self, trusted: &str, now: Timestamp, lifetimes: &Lifetimes) -> String {
        const END: &str = "-----END CERTIFICATE-----";
        let mut bundle = self.bundle();
        let is_settled = |leaf: &Leaf| passed(leaf.made, now) >= lifetimes.settle;
        if self.leaf.as_ref().is_some_and(is_settled) {
            return bundle;
        }
        let lost = trusted.split_inclusive(END).map(str::trim);
        for lost in lost.filter(|one| one.ends_with(END)) {
            if !bundle.contains(lost) {
                bundle.push_str(lost);
                bundle.push('\n');
            }
        }
        bundle
    }

    /// What is due at `now`. `trusted` is what the API server trusts, if it has a configuration.
    #[must_use]
    pub fn task(
        &self,
        now: Timestamp,
        hosts: &[String],
        trusted: Option<&str>,
        lifetimes: &Lifetimes,
    ) -> Option<Task> {
        let Some(newest) = self.authorities.last() else {
            return Some(Task::MakeAuthority);
        };
        if let Some(expired) = self.authorities.iter().find(|one| one.expires <= now) {
            return Some(Task::Drop(expired.name.clone()));
        }
        if is_due(newest.made, newest.expires, now) {
            return Some(Task::MakeAuthority);
        }
        let signer = self.signer(now, trusted, lifetimes)?;
        let Some(leaf) = &self.leaf else {
            return Some(Task::Sign(signer.name.clone()));
        };
        let covers = hosts.iter().all(|host| leaf.hosts.contains(host));
        if !covers || leaf.authority != signer.name || is_due(leaf.made, leaf.expires, now) {
            return Some(Task::Sign(signer.name.clone()));
        }
        let is_settled = passed(leaf.made, now) >= lifetimes.settle;
        let older = self
            .authorities
            .iter()
            .take_while(|one| one.name != leaf.authority);
        let oldest = older.into_iter().next().filter(|_| is_settled)?;
        Some(Task::Drop(oldest.name.clone()))
    }

    /// The newest authority that is trusted everywhere; the oldest if none is.
    fn signer(
        &self,
        now: Timestamp,
        trusted: Option<&str>,
        lifetimes: &Lifetimes,
    ) -> Option<&Authority> {
        let is_trusted = |authority: &&Authority| {
            let settled = passed(authority.made, now) >= lifetimes.settle;
            settled && trusted.is_none_or(|bundle| bundle.contains(authority.certificate.trim()))
        };
        let newest = self.authorities.iter().rev().find(is_trusted);
        newest.or(self.authorities.first())
    }

    /// Carries out a task.
    ///
    /// # Errors
    /// If a key of the store cannot be used.
    pub fn carry_out(
        &mut self,
        task: &Task,
        now: Timestamp,
        hosts: &[String],
        lifetimes: &Lifetimes,
    ) -> Result<(), rcgen::Error> {
        match task {
            Task::MakeAuthority => self
                .authorities
                .push(Authority::make(now, lifetimes.authority)?),
            Task::Drop(name) => self.authorities.retain(|one| one.name != *name),
            Task::Sign(name) => {
                let Some(authority) = self.authorities.iter().find(|one| one.name == *name) else {
                    return Ok(());
                };
                // Replicas of two releases may have different names for themselves.
                let still = self
                    .leaf
                    .iter()
                    .filter(|leaf| !is_due(leaf.made, leaf.expires, now));
                let hosts = hosts
                    .iter()
                    .chain(still.flat_map(|leaf| &leaf.hosts))
                    .cloned();
                let hosts: Vec<String> = hosts.collect::<BTreeSet<_>>().into_iter().collect();
                self.leaf = Some(authority.sign(&hosts, now, lifetimes.leaf)?);
            }
        }
        Ok(())
    }

    /// When the certificate that is shown expires.
    #[must_use]
    pub fn expires(&self) -> Option<Timestamp> {
        self.leaf.as_ref().map(|leaf| leaf.expires)
    }

    /// What the server shows.
    fn certified(&self) -> Option<Result<CertifiedKey, String>> {
        let leaf = self.leaf.as_ref()?;
        Some(certified(leaf))
    }
}

fn certified(leaf: &Leaf) -> Result<CertifiedKey, String> {
    let wrong = |what: &str| format!("the {what} in the Secret cannot be used");
    let certificate = CertificateDer::from_pem_slice(leaf.certificate.as_bytes());
    let certificate = certificate.map_err(|_| wrong("certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).map_err(|_| wrong("key"))?;
    let key = any_supported_type(&key).map_err(|_| wrong("key"))?;
    let certified = CertifiedKey::new(vec![certificate], key);
    certified.keys_match().map_err(|_| wrong("key"))?;
    Ok(certified)
}

/// Whether two thirds of the time are over.
fn is_due(made: Timestamp, expires: Timestamp, now: Timestamp) -> bool {
    passed(made, now) >= passed(made, expires) * 2 / 3
}

fn passed(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// The certificate that new connections are shown. Those that are open keep theirs.
#[derive(Default)]
pub struct Serving(RwLock<Option<Arc<CertifiedKey>>>);

impl Serving {
    /// Whether there is one.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.current().is_some()
    }

    /// Shows the certificate of `store` from now on.
    ///
    /// # Errors
    /// If it cannot be used: then the former one stays.
    pub fn show(&self, store: &Store) -> Result<(), String> {
        let Some(certified) = store.certified() else {
            return Ok(());
        };
        let certified = Arc::new(certified?);
        *self.0.write() = Some(certified);
        Ok(())
    }

    pub(super) fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.0.read().clone()
    }

    /// The server side of TLS.
    ///
    /// # Errors
    /// If the provider supports no version of TLS that is safe.
    pub fn tls(self: &Arc<Self>) -> Result<rustls::ServerConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth();
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(self) as _;
        Ok(config.with_cert_resolver(resolver))
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}
