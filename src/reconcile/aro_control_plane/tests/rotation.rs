//! A key that somebody rotates: noticed from time to time, used where Azure allows it.

use serde_json::{Value, json};

use super::super::super::bench::Bench;
use super::KIND;
use super::keys::{answer, asked, bench, modern, version};
use crate::api::conditions as c;
use crate::model::{AdapterError, ErrorClass, KeyRequest};

/// A control plane of this API version that uses the key `kv-etcd-v1`, on this OpenShift.
fn running(kms: &Value, api: &str, openshift: &str) -> (Bench, KeyRequest) {
    let mut bench = bench(kms, true);
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"][0]["apiVersion"] =
            json!(format!("redhatopenshift.azure.com/{api}"));
    });
    bench.build();
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["status"]["properties"]["version"]["id"] = json!(openshift);
    });
    bench.rest();
    assert_eq!(version(&bench), "kv-etcd-v1");
    let request = bench.fixture.snapshot.keys.keys().next().cloned();
    (bench, request.expect("a key"))
}

#[test]
fn a_new_version_is_used_where_azure_replaces_it_and_reported_elsewhere() {
    let given = json!({"vaultName": "kv", "activeKey": {"name": "etcd", "version": "kv-etcd-v1"}});
    let (old, new) = ("v1api20251223preview", "v1api20260630preview");
    let cases = [
        (modern(), new, "4.22.1", None),
        (modern(), "v20260901preview", "4.23.0", None),
        (modern(), old, "4.22.1", Some(c::ROTATION_UNSUPPORTED)),
        (modern(), new, "4.21.9", Some(c::ROTATION_UNSUPPORTED)),
        (given, new, "4.22.1", Some(c::VERSION_GIVEN)),
    ];
    for (kms, api, openshift, why) in cases {
        let (mut bench, request) = running(&kms, api, openshift);
        bench.warnings();
        answer(&mut bench, request, Ok("v2".to_owned()));
        bench.rest();
        let (status, reason, message) = bench.condition(KIND, c::ENCRYPTION_KEY_READY);
        assert_eq!(status, "True", "{api} {openshift}: {message}");
        let (used, said) = match why {
            None => ("v2", c::KEY_READY),
            Some(_) => ("kv-etcd-v1", c::KEY_ROTATED),
        };
        assert_eq!((version(&bench).as_str(), reason.as_str()), (used, said));
        assert!(message.ends_with(why.unwrap_or_default()), "{message}");
        assert!(message.contains("'v2'"), "{message}");
        assert_eq!(bench.warnings(), [""; 0]);
        // After a restart it says the same, whether the vault answers or not.
        bench.fixture.snapshot.keys.clear();
        assert_eq!(bench.decide(KIND).events, []);
    }
}

#[test]
fn a_key_in_use_is_looked_at_every_10_minutes() {
    let (mut bench, request) = running(&modern(), "v1api20260630preview", "4.22.1");
    let outcome = bench.decide(KIND);
    let at = bench.fixture.snapshot.keys[&request].at;
    assert_eq!(asked(&outcome), None);
    let wake = outcome.wake.expect("it looks again").duration_since(at);
    assert_eq!(wake.as_secs(), 600);
    bench.fixture.now = at + std::time::Duration::from_secs(600);
    assert_eq!(asked(&bench.decide(KIND)), Some(request.clone()));
    // A vault that does not answer takes nothing away.
    let error = AdapterError::new(ErrorClass::Transient, "no answer");
    answer(&mut bench, request.clone(), Err(error.into()));
    let outcome = bench.decide(KIND);
    assert_eq!(asked(&outcome), Some(request));
    assert_eq!(outcome.writes.len(), 1, "{outcome:#?}");
}
