//! How the server of a repository is reached.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::address::Reach;
use super::credential::CredentialSource;

/// How long a connection may take. A server behind a slow proxy needs a few seconds.
const CONNECT: Duration = Duration::from_secs(30);
/// How long a server may send nothing. One that prepares a pack sends a sign of life every 5 seconds
/// (`uploadpack.keepAlive` of git).
const IDLE: Duration = Duration::from_secs(60);
/// How long one answer may take: the largest pack, at 2.4 MB/s.
const TOTAL: Duration = Duration::from_secs(3_600);
/// The largest pack that is taken, in bytes.
const LIMIT: u64 = 8 << 30;

/// How the server of a repository is reached.
#[derive(Clone)]
pub struct Access {
    /// Which addresses are allowed.
    pub reach: Reach,
    /// Where its credential comes from; `None` for none (HTTPS), or what the user's own ssh uses.
    pub credentials: Option<Arc<dyn CredentialSource>>,
    /// The proxy for HTTPS.
    pub proxy: Option<Proxy>,
    /// How long it may take.
    pub patience: Patience,
    /// The largest pack that is taken, in bytes.
    pub limit: u64,
}

/// A proxy for HTTPS.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its URL, perhaps with a user and a password.
    pub url: String,
    /// The hosts that are reached without it, as in `NO_PROXY`.
    pub except: String,
}

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until it is connected.
    pub connect: Duration,
    /// Between any two parts of an answer.
    pub idle: Duration,
    /// Until an answer is complete.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: CONNECT,
            idle: IDLE,
            total: TOTAL,
        }
    }
}

impl Default for Access {
    fn default() -> Self {
        Self {
            reach: Reach::Anywhere,
            credentials: None,
            proxy: None,
            patience: Patience::default(),
            limit: LIMIT,
        }
    }
}

/// Without anything secret.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Access");
        shown
            .field("reach", &self.reach)
            .field("credentials", &self.credentials.is_some())
            .field("proxy", &self.proxy.is_some())
            .finish_non_exhaustive()
    }
}
