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

/// Two replicas, and the API server.
struct Stage {
    cluster: Arc<Cluster>,
    clock: Arc<Hand>,
    keepers: [Keeper; 2],
    shown: [Arc<Serving>; 2],
    /// What the API server trusts, and did before: it may be late.
    bundles: VecDeque<String>,
    /// How often that changed.
    changes: usize,
}

impl Stage {
    fn new() -> Self {
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
        Self {
            cluster,
            clock,
            keepers,
            shown,
            bundles: VecDeque::new(),
            changes: 0,
        }
    }

    /// Half a minute: one replica looks each time, the other one rarely. What they show must be trusted by an API server
    /// that is `late` by so many of these.
    async fn step(&mut self, number: u32, late: usize) {
        let now = self.clock.now() + Duration::from_secs(30);
        *self.clock.0.lock().unwrap() = now;
        for (keeper, every) in self.keepers.iter().zip([1, 16]) {
            if number.is_multiple_of(every) {
                keeper.round().await.unwrap();
            }
        }
        let bundle = self.cluster.configured.lock().unwrap().clone().unwrap().1;
        self.changes += usize::from(self.bundles.back() != Some(&bundle));
        self.bundles.push_back(bundle);
        if self.bundles.len() > late + 1 {
            self.bundles.pop_front();
            for serving in &self.shown {
                let trusted = self.bundles.iter().all(|one| covers(one, serving, now));
                assert!(trusted, "step {number}");
            }
        }
    }
}

#[tokio::test]
async fn the_api_server_trusts_what_each_replica_shows_while_all_is_renewed() {
    let mut stage = Stage::new();
    for number in 0..1440 {
        stage.step(number, 2).await;
    }
    // Authorities came and went.
    assert!(stage.changes > 8, "{}", stage.changes);
}

#[tokio::test]
async fn the_api_server_trusts_what_each_replica_shows_while_a_lost_secret_is_made_anew() {
    let mut stage = Stage::new();
    for number in 0..100 {
        if number == 40 {
            stage.cluster.lose();
        }
        stage.step(number, 1).await;
    }
    // Made, made anew, and no longer what was there before.
    assert_eq!(stage.changes, 3);
}
