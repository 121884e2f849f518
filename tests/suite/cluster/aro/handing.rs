//! What becomes of a cluster's resources when CAPZ applies them, pauses and resumes them, and then the cluster is moved. CAPZ
//! is played by what it sends (facts/aro-controllers.md §6): an apply by force with its mutations and the owner, and for a
//! pause one without.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use capstan::adapters::azure_sim::{Azure, Deed};
use capstan::api::kinds::{KINDS, find, is_aso};
use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use serde_json::{Value as Json, json};
use tokio_util::task::AbortOnDropHandle;

use super::fixture::Fixture;
use super::manifests::{Cluster, NAMESPACE};
use super::moving::{Aso, relocate};
use crate::cluster::pipeline::apply;

const CAPZ: &str = "capz-manager";
const OURS: &str = "capstan-embedded";
const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
const CREDENTIAL: &str = "serviceoperator.azure.com/credential-from";
const TAG: &str = "sigs.k8s.io_cluster-api-provider-azure_cluster_one";
const WHOLE: usize = 14;
const OWNERS: [(&str, &str); 3] = [
    ("AROCluster", "one"),
    ("AROControlPlane", "one"),
    ("AROMachinePool", "one-mp1"),
];

/// A cluster whose node pool names its owner itself: CAPZ leaves that out while it pauses.
fn objects() -> Vec<Json> {
    let mut objects = Cluster::new("one").objects();
    for object in &mut objects {
        if object["kind"] == "AROMachinePool" {
            object["spec"]["resources"][0]["spec"]["owner"] = json!({"name": "one"});
        }
    }
    objects
}

/// What CAPZ does with the resources of an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Capz {
    Applies,
    Pauses,
}

/// The API of an item's version.
fn api_of(fixture: &Fixture, item: &Json) -> (Api<DynamicObject>, String) {
    let [api_version, kind, name] = [
        &item["apiVersion"],
        &item["kind"],
        &item["metadata"]["name"],
    ]
    .map(|part| part.as_str().expect("text"));
    let (group, version) = api_version.split_once('/').expect("a group");
    let named = GroupVersionKind::gvk(group, version, kind);
    let plural = find(group, kind).expect("a known kind").plural;
    let resource = ApiResource::from_gvk_with_plural(&named, plural);
    let api = Api::namespaced_with(fixture.client.clone(), NAMESPACE, &resource);
    (api, name.to_owned())
}

/// CAPZ applies or pauses everything.
async fn capz(fixture: &Fixture, does: Capz) {
    for (kind, name) in OWNERS {
        let owner = fixture.live(kind, name).await;
        for item in owner["spec"]["resources"].as_array().expect("a list") {
            let (api, name) = api_of(fixture, item);
            let mut patch = item.clone();
            patch["metadata"]["namespace"] = json!(NAMESPACE);
            let mut params = PatchParams::apply(CAPZ);
            match does {
                Capz::Pauses => patch["metadata"]["annotations"][POLICY] = json!("skip"),
                Capz::Applies => {
                    params = params.force();
                    patch["metadata"]["ownerReferences"] = json!([{"apiVersion": owner["apiVersion"],
                        "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
                        "controller": true, "blockOwnerDeletion": true}]);
                    let live = api.get(&name).await.expect("it is there");
                    mutate(&mut patch, &serde_json::to_value(live).expect("JSON"));
                }
            }
            let applied = api.patch(&name, &params, &Patch::Apply(&patch)).await;
            applied.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
        }
    }
}

/// The fields that CAPZ sets in an HCP cluster: the version of its key, and its kubeconfig.
fn mutate(patch: &mut Json, live: &Json) {
    const KEY: &str = "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey";
    if patch["kind"] == "HcpOpenShiftCluster" {
        patch["spec"]["operatorSpec"] = live["spec"]["operatorSpec"].clone();
        let key = live.pointer(KEY).expect("a key").clone();
        *patch.pointer_mut(KEY).expect("a key") = key;
    }
}

/// What the watches of Azure Service Operator's kinds saw.
#[derive(Debug, Default)]
struct Seen {
    /// The kinds whose watch has begun.
    kinds: BTreeSet<&'static str>,
    /// Every resource.
    all: BTreeSet<String>,
    /// Those that were without the credential at some time.
    bare: BTreeSet<String>,
    /// What failed: something may have been missed then.
    errors: Vec<String>,
}

impl Seen {
    fn note(&mut self, kind: &'static str, event: Result<Event<DynamicObject>, watcher::Error>) {
        let object = match event {
            Ok(Event::Init) => return,
            Ok(Event::InitDone) => {
                self.kinds.insert(kind);
                return;
            }
            Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => object,
            Err(error) => return self.errors.push(format!("{kind}: {error}")),
        };
        let name = format!(
            "{kind}/{}",
            object.metadata.name.as_deref().unwrap_or_default()
        );
        let annotations = object.metadata.annotations.unwrap_or_default();
        if annotations.get(CREDENTIAL).map(String::as_str) != Some("one-aso-secret") {
            self.bare.insert(name.clone());
        }
        self.all.insert(name);
    }
}

/// Notes from now on whatever changes.
async fn noted(fixture: &Fixture) -> (Arc<Mutex<Seen>>, Vec<AbortOnDropHandle<()>>) {
    let seen = Arc::<Mutex<Seen>>::default();
    let kinds = KINDS.iter().filter(|known| is_aso(known.group));
    let watches = kinds.map(|known| {
        let (seen, api) = (Arc::clone(&seen), fixture.api(known.kind));
        AbortOnDropHandle::new(tokio::spawn(async move {
            let events = watcher::watcher(api, watcher::Config::default()).default_backoff();
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                seen.lock().expect("no panic").note(known.kind, event);
            }
        }))
    });
    let watches: Vec<_> = watches.collect();
    fixture
        .until("everything is watched", async || {
            seen.lock().expect("no panic").kinds.len() == watches.len()
        })
        .await;
    (seen, watches)
}

/// Whether every resource was seen, always with its credential.
async fn none_was_bare(fixture: &Fixture, seen: &Mutex<Seen>) {
    let named = |one: &Json| {
        let [kind, name] = [&one["kind"], &one["metadata"]["name"]].map(Json::as_str);
        format!("{}/{}", kind.unwrap_or_default(), name.unwrap_or_default())
    };
    let all: BTreeSet<String> = resources(fixture).await.iter().map(named).collect();
    let seen = seen.lock().expect("no panic");
    assert!(!all.is_empty() && seen.all == all, "{seen:#?}");
    assert!(seen.bare.is_empty() && seen.errors.is_empty(), "{seen:#?}");
}

async fn resources(fixture: &Fixture) -> Vec<Json> {
    let all = fixture.objects().await.into_values();
    let group = |object: &Json| {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        api_version.split('/').next().unwrap_or_default().to_owned()
    };
    all.filter(|object| is_aso(&group(object))).collect()
}

/// The policy that all resources have, none if empty, and that they have what we add.
async fn all_have(fixture: &Fixture, policy: &str) {
    for object in resources(fixture).await {
        let name = format!("{}/{}", object["kind"], object["metadata"]["name"]);
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(
            annotations[POLICY].as_str().unwrap_or_default(),
            policy,
            "{name}"
        );
        assert_eq!(annotations[CREDENTIAL], "one-aso-secret", "{name}");
        if object["kind"] == "ResourceGroup" || object["kind"] == "Vault" {
            assert_eq!(object["spec"]["tags"][TAG], "owned", "{name}");
        }
    }
}

/// As if only CAPZ had made them: nothing that we added.
async fn forget_what_was_added(fixture: &Fixture) {
    for item in resources(fixture).await {
        let (api, name) = api_of(fixture, &item);
        let nothing = json!({"apiVersion": item["apiVersion"], "kind": item["kind"],
            "metadata": {"name": name, "namespace": NAMESPACE}});
        let params = PatchParams::apply(OURS).force();
        let released = api.patch(&name, &params, &Patch::Apply(&nothing)).await;
        released.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn only_updates(fixture: &Fixture, deeds: usize) {
    let since = fixture.azure.deeds().split_off(deeds);
    let is_harmless = |deed: &Deed| matches!(deed, Deed::Updated(_));
    assert!(since.iter().all(is_harmless), "{since:#?}");
}

async fn handed_both_ways_and_moved(source: &Fixture, target: &Fixture) {
    let _actors = [source.actors(), target.actors()];
    target
        .delete("AzureClusterIdentity", "cluster-identity")
        .await;
    let (seen, watches) = noted(source).await;
    let ours = source.ours();
    for object in objects() {
        apply(&source.client, &object).await;
    }
    source.until_ready(WHOLE).await;
    let deeds = source.azure.deeds().len();
    all_have(source, "").await;
    drop(ours);

    // To CAPZ, which pauses and resumes.
    capz(source, Capz::Applies).await;
    all_have(source, "").await;
    capz(source, Capz::Pauses).await;
    all_have(source, "skip").await;
    capz(source, Capz::Applies).await;
    all_have(source, "").await;
    source.pass(std::time::Duration::from_secs(3600)).await;
    source.until_ready(WHOLE).await;

    // And back.
    let ours = source.ours();
    source.pass(std::time::Duration::from_secs(3600)).await;
    source.until_ready(WHOLE).await;
    all_have(source, "").await;
    only_updates(source, deeds);
    none_was_bare(source, &seen).await;
    drop((ours, watches));

    // From CAPZ alone.
    forget_what_was_added(source).await;
    capz(source, Capz::Applies).await;
    let _ours = [source.ours(), target.ours()];
    source
        .until("they have what we add", async || {
            let all = resources(source).await;
            let mut all = all.iter();
            all.all(|one| one["metadata"]["annotations"][CREDENTIAL] == "one-aso-secret")
        })
        .await;
    source.pass(std::time::Duration::from_secs(3600)).await;
    source.until_ready(WHOLE).await;
    all_have(source, "").await;

    // ASO's objects stay behind, and are made again.
    relocate(source, target, "one", Aso::Stays).await;
    source
        .until("nothing is left at the source", async || {
            source.objects().await.is_empty()
        })
        .await;
    target.until_ready(WHOLE).await;
    target.pass(std::time::Duration::from_secs(3600)).await;
    target.until_ready(WHOLE).await;
    all_have(target, "").await;
    only_updates(source, deeds);
    target.delete("Cluster", "one").await;
    target.until_gone().await;
    let tally = target.tally();
    assert!(tally.values().all(|counts| *counts == (1, 1)), "{tally:#?}");
}

#[test]
fn a_cluster_is_handed_to_capz_and_back_and_moved_on_the_simulator() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let azure = Azure::default().recording();
        let source = Fixture::simulated(azure.clone()).await;
        let target = Fixture::simulated(azure).await;
        handed_both_ways_and_moved(&source, &target).await;
    });
}

#[test]
fn a_cluster_is_handed_to_capz_and_back_and_moved_on_kube_apiserver() {
    let runtime = crate::cluster::pipeline::runtime();
    runtime.block_on(async {
        let azure = Azure::default().recording();
        let Some(source) = Fixture::real(azure.clone()).await else {
            return;
        };
        let target = Fixture::real(azure).await.expect("another one");
        handed_both_ways_and_moved(&source, &target).await;
    });
}
