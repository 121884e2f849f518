//! What becomes of the Secret when something is deleted.

use super::*;

fn version(bench: &Bench) -> String {
    let secret = bench.live("Secret", SECRET);
    let version = Live(&secret).annotation("capstan.dev/credential-version");
    version.to_owned()
}

#[test]
fn issue_15_a_password_that_changes_while_the_cluster_is_deleted_still_gets_there() {
    let mut bench = bench(&json!({}));
    bench.provision();
    for (kind, name) in [("HcpOpenShiftCluster", "c"), ("ResourceGroup", "rg")] {
        bench.edit(kind, name, |resource| {
            resource["metadata"]["finalizers"] = json!(["azure"])
        });
    }
    let change = |bench: &mut Bench, value: &str| {
        let before = version(bench);
        bench.edit("Secret", "password", |secret| {
            secret["data"] = json!({"clientSecret": value});
        });
        bench.wait(60);
        assert_ne!(version(bench), before, "{value}");
    };
    bench.delete(PLANE, "c");
    bench.wait(60);
    assert!(bench.find(PLANE, "c").is_some());
    change(&mut bench, "b25l");
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["metadata"]["finalizers"] = json!([])
    });
    bench.delete("HcpOpenShiftCluster", "c");
    bench.wait(60);
    assert!(bench.find(PLANE, "c").is_none());
    bench.delete("AROCluster", "c");
    bench.wait(60);
    change(&mut bench, "dHdv");
    // A namespace that does not let others see it may not use the identity.
    bench.edit("AzureClusterIdentity", "id", |id| {
        id["spec"]["allowedNamespaces"] = json!({"list": ["other"]});
    });
    let before = version(&bench);
    bench.wait(60);
    assert_eq!(version(&bench), before);
}

#[test]
fn issue_15_the_secret_goes_after_the_last_resource() {
    let mut bench = bench(&json!({}));
    bench.provision();
    bench.edit("ResourceGroup", "rg", |group| {
        group["metadata"]["finalizers"] = json!(["azure"])
    });
    // As a namespace is deleted: everything at once, and the Secret first.
    bench.put(json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "ns", "namespace": "", "finalizers": ["kubernetes"]}}));
    bench.delete("Namespace", "ns");
    for (kind, name) in [("Secret", SECRET), (PLANE, "c"), ("AROCluster", "c")] {
        bench.delete(kind, name);
        bench.wait(120);
    }
    assert!(bench.find(PLANE, "c").is_none());
    assert!(bench.find("Secret", SECRET).is_some());
    bench.edit("ResourceGroup", "rg", |group| {
        group["metadata"]["finalizers"] = json!([])
    });
    bench.delete("ResourceGroup", "rg");
    bench.wait(60);
    assert!(bench.find("AROCluster", "c").is_none());
    assert!(bench.find("Secret", SECRET).is_none());
}

/// An AROCluster that nobody has reconciled is gone as soon as somebody deletes it, and nobody would let the Secret go.
#[test]
fn no_secret_is_made_before_an_infrastructure_that_lets_it_go() {
    let mut bench = bench(&json!({}));
    let writes_secret = |bench: &Bench| {
        let writes = bench.decide(PLANE).writes;
        let mut secrets = writes.iter().filter_map(Write::object);
        secrets.any(|id| id.kind == "Secret")
    };
    bench.provision();
    bench.edit("Secret", SECRET, |secret| {
        secret["metadata"]["finalizers"] = json!([])
    });
    assert!(writes_secret(&bench));
    bench.edit("AROCluster", "c", |network| {
        network["metadata"]["finalizers"] = json!([])
    });
    assert!(!writes_secret(&bench));
}

/// Nor is a resource applied without the credential of the cluster meanwhile.
#[test]
fn nothing_is_applied_before_the_infrastructure_was_reconciled() {
    let mut bench = bench(&json!({}));
    bench.edit("AROCluster", "c", |network| {
        network["spec"]["resources"] = json!([])
    });
    bench.rest();
    bench.live("HcpOpenShiftCluster", "c");
    for (kind, name) in [
        ("AROCluster", "c"),
        ("Secret", SECRET),
        ("HcpOpenShiftCluster", "c"),
    ] {
        bench.edit(kind, name, |object| {
            object["metadata"]["finalizers"] = json!([])
        });
    }
    for (kind, name) in [("Secret", SECRET), ("HcpOpenShiftCluster", "c")] {
        bench.delete(kind, name);
        assert!(bench.find(kind, name).is_none(), "{kind}");
    }
    let applied = applied(&bench.decide(PLANE));
    assert!(
        !applied
            .iter()
            .any(|one| one.contains("HcpOpenShiftCluster")),
        "{applied:?}"
    );
}

#[test]
fn issue_15_a_secret_that_a_person_deletes_is_made_anew() {
    let mut bench = bench(&json!({}));
    bench.provision();
    let before = bench.live("Secret", SECRET)["metadata"]["uid"].clone();
    bench.delete("Secret", SECRET);
    bench.wait(30);
    assert_eq!(bench.live("Secret", SECRET)["metadata"]["uid"], before);
    bench.wait(60);
    assert_ne!(bench.live("Secret", SECRET)["metadata"]["uid"], before);
    assert_eq!(named(&bench, "ResourceGroup", "rg"), SECRET);
}
