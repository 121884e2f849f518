//! Kubeconfigs from Secrets, as Capstan itself reads them and as its controllers do.

#[path = "../../../../src/reconcile/aro_control_plane/certificate.rs"]
mod certificate;
#[path = "../../../../src/adapters/kubernetes/connect.rs"]
mod connect;
#[path = "../../../../src/reconcile/aro_control_plane/kubeconfig.rs"]
mod of_controllers;
#[path = "../../../../src/adapters/kubernetes/kubeconfig.rs"]
mod kubeconfig;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::FutureExt as _;

/// Repeats nothing: no request is sent.
mod retry {
    pub(super) fn repeating(client: kube::Client) -> kube::Client {
        client
    }
}

/// A value that no message repeats.
const HIDDEN: &str = "t0psecret";

/// Reads a kubeconfig from a Secret. What is wrong with it is said without anything of it.
pub fn connect(text: &[u8]) {
    let read = kubeconfig::config_of(text).now_or_never();
    if let Err(fault) = read.expect("it reads no file and asks nobody") {
        is_silent(&fault.to_string());
    }
}

/// Reads a kubeconfig of Azure Service Operator, and rewrites it. What is rewritten needs no further change.
pub fn rewrite(text: &[u8]) {
    match of_controllers::read(&BASE64_STANDARD.encode(text)) {
        Err(wrong) => is_silent(wrong),
        Ok(read) => {
            if let Some(rewritten) = read.rewritten {
                let again = of_controllers::read(&rewritten).expect("it was read before");
                assert!(again.rewritten.is_none());
            }
        }
    }
    let _ = (certificate::not_after(text), certificate::token_expiry(&String::from_utf8_lossy(text)));
}

fn is_silent(text: &str) {
    assert!(!text.is_empty() && !text.contains(HIDDEN), "{text}");
    assert!(!text.chars().any(char::is_control), "{text:?}");
}
