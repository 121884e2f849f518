#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::super::certificates::{Lifetimes, Serving};
use super::super::{Keeper, Names};
use super::keeper::{Cluster, client};
use crate::api::fleet::FailurePolicy;
use crate::model::Clock;

const HOST: &str = "capstan-admission.capstan-system.svc";

/// A clock that is set by hand.
struct Hand(Mutex<Timestamp>);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn real(&self, duration: Duration) -> Duration {
        duration
    }
}

/// Whether an API server with this bundle accepts what is shown.
fn covers(bundle: &str, serving: &Serving, now: Timestamp) -> bool {
    let bundle = BASE64_STANDARD.decode(bundle).unwrap();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bundle) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = verifier.build().unwrap();
    let (shown, host) = (serving.current().unwrap(), ServerName::try_from(HOST));
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().unsigned_abs()));
    let verified = verifier.verify_server_cert(&shown.cert[0], &[], &host.unwrap(), &[], now);
    verified.is_ok()
}

/// One replica looks every 30 seconds, the other is slow. The API server may be a minute behind.
#[tokio::test]
async fn the_api_server_trusts_what_each_replica_shows_while_all_is_renewed() {
    let cluster = Arc::new(Cluster::installed());
    let start = Timestamp::UNIX_EPOCH + Duration::from_secs(86_400);
    let clock = Arc::new(Hand(Mutex::new(start)));
    let lifetimes = Lifetimes {
        authority: Duration::from_secs(3 * 3600),
        leaf: Duration::from_secs(3600),
        settle: Duration::from_secs(600),
    };
    let shown: [Arc<Serving>; 2] = Default::default();
    let keepers = shown.each_ref().map(|serving| {
        let names = Names::in_namespace("capstan-system");
        let clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let serving = Arc::clone(serving);
        let policy = FailurePolicy::Fail;
        Keeper::new(&client(&cluster), names, policy, lifetimes, clock, serving)
    });
    let (mut bundles, mut known) = (VecDeque::new(), 0);
    for second in (0..43_200).step_by(30) {
        let now = start + Duration::from_secs(second);
        *clock.0.lock().unwrap() = now;
        for (keeper, (every, first)) in keepers.iter().zip([(30, 0), (480, 30)]) {
            if second % every == first {
                keeper.round().await.unwrap();
            }
        }
        let bundle = cluster.configured.lock().unwrap().clone().unwrap().1;
        known += usize::from(bundles.back() != Some(&bundle));
        bundles.push_back(bundle);
        if bundles.len() > 3 {
            bundles.pop_front();
            for serving in &shown {
                let trusted = bundles.iter().all(|one| covers(one, serving, now));
                assert!(trusted, "after {second} seconds");
            }
        }
    }
    // Authorities came and went.
    assert!(known > 8, "{known}");
}
