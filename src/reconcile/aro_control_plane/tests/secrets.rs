//! The kubeconfig and its certificate authority.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use super::super::super::bench::{Bench, later, wakes_in};
use super::KIND;
use crate::api::conditions as c;
use crate::api::labels::{
    CLUSTER_NAME, KUBECONFIG_LAST_UPDATED, KUBECONFIG_REFRESH_NEEDED, TOKEN_EXPIRES_AT,
};
use crate::health::Live;
use crate::model::HealthState;

fn server() -> Value {
    json!({"server": "https://api.example:443"})
}

/// The kubeconfig in the Secret.
fn config(bench: &Bench) -> Value {
    let secret = bench.live("Secret", "c-kubeconfig");
    let text = BASE64_STANDARD.decode(Live(&secret).text(&["data", "value"]));
    serde_json::from_slice(&text.unwrap_or_default()).unwrap_or_default()
}

#[test]
fn section_9_without_an_authority_only_the_kubeconfig_is_brought_into_form() {
    let mut bench = Bench::new();
    bench.provision();
    let secret = bench.live("Secret", "c-kubeconfig");
    assert_eq!(Live(&secret).label(CLUSTER_NAME), "c");
    assert_ne!(Live(&secret).annotation(KUBECONFIG_LAST_UPDATED), "");
    assert_eq!(
        config(&bench)["clusters"][0]["cluster"]["insecure-skip-tls-verify"],
        true
    );
    assert_eq!(bench.find("Secret", "c-ca"), None);
    let status = bench.live(KIND, "c")["status"].clone();
    assert_eq!(
        (
            &status["ready"],
            &status["initialization"]["controlPlaneInitialized"]
        ),
        (&json!(true), &json!(true))
    );
    assert_eq!(bench.condition(KIND, c::KUBECONFIG_READY).0, "True");
}

#[test]
fn section_9_with_an_authority_there_is_a_secret_for_it() {
    let mut bench = Bench::new();
    bench.provision();
    let authority = BASE64_STANDARD.encode("a certificate");
    bench.kubeconfig(json!({"server": "https://api", "certificate-authority-data": authority}));
    bench.rest();
    assert_eq!(
        config(&bench)["clusters"][0]["cluster"].get("insecure-skip-tls-verify"),
        None
    );
    let secret = bench.live("Secret", "c-ca");
    let live = Live(&secret);
    assert_eq!(live.text(&["data", "tls.crt"]), authority);
    assert_eq!(
        live.text(&["data", "tls.key"]),
        BASE64_STANDARD.encode("placeholder")
    );
    assert_eq!(live.text(&["type"]), "cluster.x-k8s.io/secret");
    let owner = Live(&secret["metadata"]["ownerReferences"][0]);
    assert_eq!((owner.kind(), owner.flag(&["controller"])), (KIND, true));
    assert_eq!(bench.decide(KIND).writes, []);
}

#[test]
fn a_certificate_authority_of_somebody_else_s_is_left_alone() {
    let mut bench = Bench::new();
    let theirs = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c-ca"}, "data": {"tls.key": "real"}});
    bench.put(theirs);
    bench.provision();
    bench.kubeconfig(
        json!({"server": "https://api", "certificate-authority-data": BASE64_STANDARD.encode("x")}),
    );
    bench.rest();
    assert_eq!(
        bench.live("Secret", "c-ca")["data"],
        json!({"tls.key": "real"})
    );
}

/// CAPZ goes by the age of the last update: what ASO writes in between lacks what Cluster API needs for up to an hour.
#[test]
fn section_9_the_form_decides_and_not_the_age() {
    let mut bench = Bench::new();
    bench.provision();
    bench.kubeconfig(server());
    assert_eq!(
        bench.decide(KIND).writes.len(),
        1,
        "a minute after the last update"
    );
    bench.rest();
    assert_eq!(
        config(&bench)["clusters"][0]["cluster"]["insecure-skip-tls-verify"],
        true
    );
    bench.wait(90 * 60);
    assert_eq!(
        bench.decide(KIND).writes,
        [],
        "90 minutes after the last update"
    );
    bench.edit("Secret", "c-kubeconfig", |secret| {
        secret["metadata"]["annotations"][KUBECONFIG_REFRESH_NEEDED] = json!("true");
    });
    bench.rest();
    let secret = bench.live("Secret", "c-kubeconfig");
    assert_eq!(Live(&secret).annotation(KUBECONFIG_REFRESH_NEEDED), "");
    assert_eq!(bench.decide(KIND).writes, []);
}

#[test]
fn owner_references_of_the_secret_stay() {
    let mut bench = Bench::new();
    bench.provision();
    let owner = json!([{"apiVersion": "redhatopenshift.azure.com/v1", "kind": "HcpOpenShiftCluster", "name": "c", "uid": "u"}]);
    bench.edit("Secret", "c-kubeconfig", |secret| {
        secret["metadata"]["ownerReferences"] = owner.clone()
    });
    bench.kubeconfig(server());
    bench.rest();
    assert_eq!(
        bench.live("Secret", "c-kubeconfig")["metadata"]["ownerReferences"],
        owner
    );
}

#[test]
fn what_is_no_kubeconfig_is_reported_without_its_content() {
    for content in ["", "dG9wLXNlY3JldA==", "%%"] {
        let mut bench = Bench::new();
        bench.provision();
        bench.warnings();
        bench.edit("Secret", "c-kubeconfig", |secret| {
            secret["data"] = json!({"value": content})
        });
        bench.rest();
        let found = bench.condition(KIND, c::KUBECONFIG_READY);
        assert_eq!(found.1, c::KUBECONFIG_INVALID);
        assert!(
            found
                .2
                .starts_with("the key value of the Secret c-kubeconfig is not a kubeconfig"),
            "{}",
            found.2
        );
        assert!(!found.2.contains("top-secret"));
        assert_eq!(bench.warnings(), [c::KUBECONFIG_INVALID]);
        let status = bench.live(KIND, "c")["status"].clone();
        assert_eq!(
            (
                &status["ready"],
                &status["initialization"]["controlPlaneInitialized"]
            ),
            (&json!(false), &json!(true)),
            "it stays initialized"
        );
    }
}

#[test]
fn a_kubeconfig_that_goes_elsewhere_is_pointed_out() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"][0]["spec"]["operatorSpec"] =
            json!({"secrets": {"adminCredentials": {"name": "mine", "key": "k"}}});
    });
    bench.build();
    bench.ready("HcpOpenShiftCluster", "c");
    bench.rest();
    let found = bench.condition(KIND, c::KUBECONFIG_READY);
    assert_eq!(found.1, c::KUBECONFIG_AWAITED);
    assert!(
        found.2.contains("set name c-kubeconfig and key value"),
        "{}",
        found.2
    );
}

/// Nothing in CAPZ renews a credential, or says that it ends.
#[test]
fn section_3_2_step_12_a_credential_that_is_not_renewed_in_time_is_reported() {
    let mut bench = Bench::new();
    bench.provision();
    bench.warnings();
    let expires = |bench: &mut Bench, seconds| {
        let end = later(bench, seconds);
        bench.edit("Secret", "c-kubeconfig", |secret| {
            secret["metadata"]["annotations"][TOKEN_EXPIRES_AT] = json!(end);
        });
    };
    expires(&mut bench, 3600);
    assert_eq!(wakes_in(&bench, &bench.decide(KIND)), Some(2700));
    bench.wait(2699);
    assert!(bench.warnings().is_empty());
    bench.wait(1);
    assert_eq!(
        bench.reason(KIND, c::KUBECONFIG_READY),
        c::KUBECONFIG_EXPIRING
    );
    assert_eq!(bench.warnings(), [c::KUBECONFIG_EXPIRING]);
    assert_eq!(
        bench.live(KIND, "c")["status"]["ready"],
        true,
        "it can be used until then"
    );
    assert_ne!(
        bench.fixture.health(KIND, "c").reason,
        c::KUBECONFIG_EXPIRED
    );
    assert_eq!(wakes_in(&bench, &bench.decide(KIND)), Some(900));
    bench.wait(900);
    let (status, reason, message) = bench.condition(KIND, c::KUBECONFIG_READY);
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", c::KUBECONFIG_EXPIRED)
    );
    assert!(
        message.contains("pause and resume the Cluster"),
        "{message}"
    );
    assert_eq!(bench.warnings(), [c::KUBECONFIG_EXPIRED]);
    assert_eq!(bench.live(KIND, "c")["status"]["ready"], false);
    let health = bench.fixture.health(KIND, "c");
    assert_eq!(
        (health.state, health.reason.as_str()),
        (
            HealthState::Failed { terminal: false },
            c::KUBECONFIG_EXPIRED
        )
    );
    expires(&mut bench, 7200);
    bench.rest();
    assert_eq!(bench.condition(KIND, c::KUBECONFIG_READY).0, "True");
    bench.edit("Secret", "c-kubeconfig", |secret| {
        secret["metadata"]["annotations"][TOKEN_EXPIRES_AT] = json!("soon");
    });
    assert_eq!(bench.decide(KIND).wake, None);
}

#[test]
fn an_end_that_the_credential_states_is_noted_on_the_secret() {
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    let mut bench = Bench::new();
    bench.provision();
    let claims = BASE64_URL_SAFE_NO_PAD.encode(r#"{"exp":1767312000}"#);
    let mut of = config(&bench);
    of["users"][0]["user"]["token"] = json!(format!("head.{claims}.signature"));
    let value = BASE64_STANDARD.encode(of.to_string());
    bench.edit("Secret", "c-kubeconfig", |secret| {
        secret["data"] = json!({"value": value})
    });
    bench.rest();
    let secret = bench.live("Secret", "c-kubeconfig");
    assert_eq!(
        Live(&secret).annotation(TOKEN_EXPIRES_AT),
        "2026-01-02T00:00:00Z"
    );
}
