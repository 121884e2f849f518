//! The controllers of private clusters, each with the account and the role that `install` prints for it: together they connect a
//! cluster, and none may do what is another's.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use capstan::adapters::azure_sim::crds::{foreign, hyper_shift};
use capstan::adapters::azure_sim::{Options, SimulatedCredentials, SimulatedLinks, controllers};
use capstan::adapters::kubernetes::controller::{self, Connectors};
use capstan::adapters::kubernetes::{Access, Group, Sharers, Sharing, connect, share};
use capstan::api::crds::crds;
use capstan::api::fleet::Mode;
use capstan::daemon::wall_time;
use capstan::model::{Clock, Namespaces, ObjectId};
use capstan::reconcile::private_link::{self, Place, PlatformSettings};
use kube::Client;
use kube_sim::SimClock;
use serde_json::{Value as Json, json};

use super::fixture::Fixture;
use super::installing::capstan;
use crate::cluster::hosted::hosted_in_azure;
use crate::cluster::pipeline::established;
use crate::kubernetes::{Kubernetes, if_asked, kubectl};
use crate::running::Running;

const SPEED: u32 = 600;
const CONNECTION: &str = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters-cloud/azureprivatelinkservices/private-router";
const PARTS: [&str; 3] = [
    "private-link-observer",
    "private-link-platform",
    "private-link-endpoint",
];

fn account(part: &str) -> String {
    format!("capstan-{part}")
}

/// A kubeconfig of the account of a controller.
fn kubeconfig(fixture: &Fixture, part: &str) -> PathBuf {
    let written = fixture.kubeconfig_of(&json!({"token": fixture.token(&account(part))}));
    let own = fixture.dir.path().join(part);
    std::fs::rename(written, &own).expect("renamed");
    own
}

/// The shipped program, with one controller as its account.
fn process(fixture: &Fixture, part: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .args(["controllers", "--only", part, "--kubeconfig"])
        .arg(kubeconfig(fixture, part))
        .env("CAPSTAN_NAMESPACE", &fixture.namespace);
    Running::spawn(command)
}

fn identity(fixture: &Fixture) -> ObjectId {
    let group = "infrastructure.cluster.x-k8s.io";
    ObjectId::new(
        group,
        "AzureClusterIdentity",
        fixture.namespace.as_str(),
        "management",
    )
}

/// The platform controller as its account. It runs in this process, where Azure Resource Manager is simulated.
fn platform(fixture: &Fixture, clock: &Arc<dyn Clock>, options: &Options) -> Sharers {
    let access = Access {
        kubeconfig: Some(kubeconfig(fixture, "private-link-platform")),
        context: None,
    };
    let _within = fixture.runtime.enter();
    let client: Client = fixture.runtime.block_on(connect(&access)).expect("whole");
    let links = SimulatedLinks::new(options.azure.clone());
    let connectors = Connectors {
        credentials: Arc::new(SimulatedCredentials),
        links: Arc::new(links),
        ..Connectors::default()
    };
    let settings = PlatformSettings {
        mode: Mode::Auto,
        namespace: fixture.namespace.clone(),
        place: Place::BesideSubnet(identity(fixture)),
    };
    let sharing = Sharing {
        group: Group::PrivateLinkPlatform,
        mode: Mode::Auto,
        namespace: fixture.namespace.clone(),
        identity: "platform".to_owned(),
        watched: Namespaces::All,
        near: private_link::near_platform(),
    };
    let controllers = vec![private_link::platform(settings)];
    share(&client, Arc::clone(clock), controllers, connectors, sharing)
}

/// Returns true if an account may do this.
fn may(fixture: &Fixture, part: &str, (group, resource): (&str, &str), namespace: &str) -> bool {
    let user = format!(
        "system:serviceaccount:{}:{}",
        fixture.namespace,
        account(part)
    );
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": {"namespace": namespace, "verb": "create",
            "group": group, "resource": resource}}});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    fixture.must("POST", path, &review)["status"]["allowed"] == true
}

/// Installs the kinds, what a management side expects, and the three components.
fn prepare(fixture: &Fixture) {
    for definition in foreign().into_iter().chain(hyper_shift()).chain(crds()) {
        fixture.put(&definition);
    }
    fixture.runtime.block_on(established(&fixture.client));
    fixture
        .put(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusters"}}));
    fixture.put(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "clusters"}}));
    let id = identity(fixture);
    let unset = "00000000-0000-0000-0000-000000000000";
    fixture.put(&json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": id.kind,
        "metadata": {"name": id.name, "namespace": id.namespace},
        "spec": {"type": "WorkloadIdentity", "clientID": unset, "tenantID": unset, "allowedNamespaces": {}}}));
    for part in PARTS {
        let place = [
            "--private-link-subscription-id=00000000-0000-0000-0000-000000000000",
            "--private-link-resource-group=hub",
            "--private-link-identity=management",
        ];
        let more: &[&str] = if part == "private-link-platform" {
            &place
        } else {
            &[]
        };
        // No pods run here, so they are not ready in time.
        let flags = ["install", "--apply", "--timeout", "1s", "--component", part];
        let made = capstan(fixture, &[&flags[..], more].concat());
        let created = format!(
            "ClusterRole/{}:{} created",
            account(part),
            fixture.namespace
        );
        assert!(
            made.data.contains(&created),
            "{}{}",
            made.data,
            made.messages
        );
    }
}

#[test]
fn each_controller_of_private_clusters_has_the_rights_of_no_other() {
    let Some(real) = if_asked(Kubernetes::own) else {
        return;
    };
    let text = std::fs::read_to_string(real.kubeconfig()).expect("readable");
    let fixture = Fixture::at(&text, "private");
    prepare(&fixture);
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(wall_time(), SPEED));
    let options = Options::default();
    let _around = {
        let _within = fixture.runtime.enter();
        let all = controllers(&options);
        controller::spawn(
            fixture.client.clone(),
            Arc::clone(&clock),
            all,
            Connectors::default(),
        )
    };
    let [observer, endpoint] = [PARTS[0], PARTS[2]].map(|part| process(&fixture, part));
    let _platform = platform(&fixture, &clock, &options);
    for object in hosted_in_azure() {
        fixture.put(&object);
    }
    let is_connected = || {
        let connection = fixture.ask("GET", CONNECTION, &Json::Null).1;
        let conditions = connection["status"]["conditions"].as_array().cloned();
        let conditions = conditions.unwrap_or_default();
        conditions.len() == 5 && conditions.iter().all(|one| one["status"] == "True")
    };
    fixture.until("the cluster is connected", is_connected);
    if let Some(kubectl) = kubectl() {
        let table = Command::new(kubectl)
            .arg("--kubeconfig")
            .arg(&fixture.kubeconfig)
            .args(["get", "azpls", "-A", "-o", "wide"])
            .output()
            .expect("it runs");
        let table = String::from_utf8_lossy(&table.stdout).into_owned();
        let head = table.lines().next().unwrap_or_default();
        let columns = [
            "PLS ALIAS",
            "ENDPOINT IP",
            "AVAILABLE",
            "LOAD BALANCER",
            "SERVICE",
            "ENDPOINT",
            "DNS",
            "AGE",
        ];
        assert!(
            columns.iter().all(|column| head.contains(column)),
            "{table}"
        );
        assert_eq!(table.matches("True").count(), 5, "{table}");
    }
    for running in [observer, endpoint] {
        let (code, said) = running.stop();
        assert_eq!(code, Some(0), "{said}");
        for word in ["may not be watched", "forbidden", "was refused"] {
            assert!(!said.contains(word), "{said}");
        }
    }
    let network = "network.azure.com";
    let own = fixture.namespace.as_str();
    for (part, resource, namespace, expected) in [
        (PARTS[0], (network, "privateendpoints"), "clusters", false),
        (PARTS[0], (network, "privatelinkservices"), own, false),
        (PARTS[0], ("", "secrets"), own, false),
        (PARTS[1], (network, "privatelinkservices"), own, true),
        (
            PARTS[1],
            (network, "privatelinkservices"),
            "clusters",
            false,
        ),
        (PARTS[1], (network, "privateendpoints"), "clusters", false),
        (PARTS[1], ("", "secrets"), "clusters", false),
        (PARTS[2], (network, "privateendpoints"), "clusters", true),
        (PARTS[2], (network, "privatelinkservices"), own, false),
    ] {
        assert_eq!(
            may(&fixture, part, resource, namespace),
            expected,
            "{part} {resource:?} {namespace}"
        );
    }
    let leases: Vec<bool> = PARTS
        .iter()
        .map(|part| {
            let lease = account(part);
            fixture.has(&format!(
                "/apis/coordination.k8s.io/v1/namespaces/{own}/leases/{lease}"
            ))
        })
        .collect();
    assert_eq!(leases, [true; 3]);
}
