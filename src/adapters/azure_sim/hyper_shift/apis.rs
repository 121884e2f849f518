//! Where the APIs of hosted clusters are served, once somebody serves them.
//!
//! In: an address, and a secret. Out: how each cluster is reached, by a path and a token of its own. It does not know who serves them, or
//! what they answer.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use ring::hmac;
use serde_json::{Value, json};

use crate::health::Live;
use crate::model::hex;

/// The APIs of the hosted clusters of one simulated hub; copies are about the same ones.
#[derive(Clone, Default)]
pub struct HostedApis(Arc<OnceLock<Entrance>>);

/// What all of them have in common.
struct Entrance {
    /// `https://HOST:PORT`.
    url: String,
    /// The certificate of the authority, in PEM.
    authority: String,
    key: hmac::Key,
}

impl HostedApis {
    /// The path below which all of them are.
    pub const ROOT: &str = "/hosted/";

    /// They are served at this URL from now on, by whoever has a certificate of this authority (PEM). Tokens are made of the secret. Only the
    /// first call counts.
    pub fn open(&self, url: String, authority: String, secret: &[u8]) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let _ = self.0.set(Entrance {
            url,
            authority,
            key,
        });
    }

    /// The path below which the API of a cluster is.
    #[must_use]
    pub fn path(namespace: &str, name: &str) -> String {
        format!("{}{namespace}/{name}", Self::ROOT)
    }

    /// The token of the administrator of the cluster with this UID; `None` if nobody serves it.
    #[must_use]
    pub fn token(&self, uid: &str) -> Option<String> {
        let tag = hmac::sign(&self.0.get()?.key, uid.as_bytes());
        Some(hex(tag.as_ref()))
    }

    /// The cluster of a kubeconfig, and the token of its user; `None` if nobody serves it.
    pub(super) fn entry(&self, cluster: Live<'_>) -> Option<(Value, String)> {
        let (namespace, name) = (cluster.namespace(), cluster.name());
        let Entrance { url, authority, .. } = self.0.get()?;
        let entry = json!({
            "server": format!("{url}{}", Self::path(namespace, name)),
            "certificate-authority-data": BASE64_STANDARD.encode(authority),
        });
        Some((entry, self.token(cluster.uid())?))
    }
}

/// Without the secret.
impl fmt::Debug for HostedApis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.0.get().map(|entrance| &entrance.url);
        f.debug_tuple("HostedApis").field(&url).finish()
    }
}
