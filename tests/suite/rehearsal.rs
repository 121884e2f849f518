//! A rehearsal prints the same every time: in every process, in every order of tasks, however the
//! files are ordered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use capstan::adapters::azure_sim::Options;
use capstan::adapters::git::directory;
use capstan::cli::Rehearsal;
use capstan::compile::{Compiled, compile};
use capstan::model::Tree;
use capstan::plan::ApplySet;
use futures::StreamExt as _;
use http::Method;

use crate::cli::{FLEET, stdout};
use crate::fleet::tree;

/// A crowd costs little; a cluster costs two seconds in a debug build.
const SEEDS: u64 = 20;
const SEEDS_OF_A_CLUSTER: u64 = 5;

/// Pseudorandom numbers, the same for the same seed (SplitMix64).
struct Rng(Mutex<u64>);

impl Rng {
    /// A number below `limit`.
    fn below(&self, limit: usize) -> usize {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap() % limit
    }

    fn shuffle<T>(&self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// Wraps the simulated API server: requests, answers and watch events yield to other tasks a random number
/// of times.
#[derive(Clone)]
struct Shuffle {
    rng: Arc<Rng>,
    /// The limit for the number of yields.
    most: usize,
    /// The writes, in the order in which they arrived.
    writes: Arc<Mutex<Vec<String>>>,
}

impl Shuffle {
    fn new(seed: u64) -> Self {
        let rng = Rng(Mutex::new(seed));
        Self {
            most: [2, 8, 40][rng.below(3)],
            rng: Arc::new(rng),
            writes: Arc::default(),
        }
    }

    async fn step_back(&self) {
        for _ in 0..self.rng.below(self.most) {
            tokio::task::yield_now().await;
        }
    }

    fn before(&self, server: Router) -> Router {
        let shuffle = self.clone();
        server.layer(from_fn(move |request: Request, next: Next| {
            let shuffle = shuffle.clone();
            async move {
                shuffle.step_back().await;
                if request.method() != Method::GET {
                    let write = format!("{} {}", request.method(), request.uri().path());
                    shuffle.writes.lock().unwrap().push(write);
                }
                let response = next.run(request).await;
                shuffle.step_back().await;
                shuffle.late(response)
            }
        }))
    }

    fn late(self, response: Response) -> Response {
        response.map(|body| {
            Body::from_stream(body.into_data_stream().then(move |piece| {
                let shuffle = self.clone();
                async move {
                    shuffle.step_back().await;
                    piece
                }
            }))
        })
    }
}

/// The output of a rehearsal as text and as JSON.
type Said = [String; 2];

fn rehearse(compiled: &Compiled, options: &Options, front: impl FnOnce(Router) -> Router) -> Said {
    assert!(!compiled.has_errors(), "{:#?}", compiled.findings);
    let set = ApplySet::new("local", "capstan-system");
    let rehearsal = Rehearsal::hold(compiled, &set, options, front).expect("it can be held");
    [rehearsal.text(&compiled.graph), rehearsal.json()]
}

/// The same with everything shuffled that has no order by itself; and the writes as they came.
fn shuffled(compiled: &Compiled, mut options: Options, shuffle: &Shuffle) -> (Said, Vec<String>) {
    shuffle.rng.shuffle(&mut options.roles);
    shuffle.rng.shuffle(&mut options.kinds);
    let output = rehearse(compiled, &options, |server| shuffle.before(server));
    let writes = std::mem::take(&mut *shuffle.writes.lock().unwrap());
    (output, writes)
}

fn assert_same(one: &Said, other: &Said, seed: u64) {
    for (one, other) in one.iter().zip(other) {
        let mut lines = one.lines().zip(other.lines());
        let line = lines.find(|(one, other)| one != other);
        assert_eq!(line, None, "seed {seed}");
        assert_eq!(one.len(), other.len(), "seed {seed}");
    }
}

fn read(path: &str) -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    directory::read(&root.join(path)).expect("it is readable")
}

#[test]
fn the_quickstart_rehearses_the_same_in_8_processes() {
    let four = |format: &str| -> BTreeSet<String> {
        let arguments = ["rehearse", "examples/quickstart", "--format", format];
        (0..4).map(|_| stdout(&arguments, 0)).collect()
    };
    let (text, json) = thread::scope(|scope| {
        let text = scope.spawn(|| four("text"));
        let json = four("json");
        (text.join().unwrap(), json)
    });
    assert_eq!((text.len(), json.len()), (1, 1), "{text:#?}\n{json:#?}");
    let report: serde_json::Value = serde_json::from_str(json.first().unwrap()).expect("JSON");
    assert_eq!(report["ready"], true);
    let seconds = report["virtual_seconds"].as_u64().expect("a number");
    assert!((19 * 60..=25 * 60).contains(&seconds), "{seconds}");
}

#[test]
fn what_is_supplied_may_live_in_a_namespace_of_the_fleet() {
    let fleet = tempfile::tempdir().expect("a directory");
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}";
    std::fs::write(fleet.path().join("namespace.yaml"), namespace).expect("written");
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart/cluster.yaml");
    std::fs::copy(cluster, fleet.path().join("cluster.yaml")).expect("copied");
    let path = fleet.path().to_str().expect("a text");
    let output = stdout(&["rehearse", path], 0);
    assert!(output.contains("\nready after 20m"), "{output}");
    assert!(output.contains(" (virtual): 56 objects"), "{output}");
}

#[test]
fn the_namespace_of_an_identity_is_supplied_with_it() {
    let fleet = tempfile::tempdir().expect("a directory");
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart/cluster.yaml");
    let text = std::fs::read_to_string(cluster).expect("it is there");
    let elsewhere = text.replace("{name: cluster-identity}", "{name: i, namespace: other}");
    assert_ne!(elsewhere, text);
    std::fs::write(fleet.path().join("cluster.yaml"), elsewhere).expect("written");
    let path = fleet.path().to_str().expect("a text");
    let output = stdout(&["rehearse", path], 0);
    assert!(output.contains("\nready after 20m"), "{output}");
}

#[test]
fn the_quickstart_rehearses_the_same_in_every_order_of_tasks() {
    let compiled = compile(&read("examples/quickstart"), &[]);
    let plain = rehearse(&compiled, &Options::default(), |server| server);
    let mut orders = BTreeSet::new();
    for seed in 0..SEEDS_OF_A_CLUSTER {
        let shuffle = Shuffle::new(seed);
        let (output, writes) = shuffled(&compiled, Options::default(), &shuffle);
        assert_same(&output, &plain, seed);
        assert!(orders.insert(writes), "seed {seed} shuffled nothing");
    }
}

/// More wants to be written at once here than may be.
#[test]
fn the_example_fleet_rehearses_to_ready_and_the_same_in_another_order_of_tasks() {
    let arguments = ["rehearse", FLEET[0], FLEET[1], FLEET[2], "--format", "json"];
    let (plain, shuffled) = thread::scope(|scope| {
        let plain = scope.spawn(|| stdout(&arguments, 0));
        let compiled = compile(&read(FLEET[0]), &[read(FLEET[2])]);
        let shuffled = shuffled(&compiled, Options::default(), &Shuffle::new(SEEDS)).0;
        (plain.join().unwrap(), shuffled)
    });
    assert!(plain == shuffled[1], "seed {SEEDS}");
    let report: serde_json::Value = serde_json::from_str(&plain).expect("JSON");
    assert_eq!(report["ready"], true);
    let hcp = |event: &&serde_json::Value| {
        let object = event["object"].as_str().unwrap_or_default();
        object.starts_with("HcpOpenShiftCluster/") && event["state"] == "Ready"
    };
    let events = report["events"].as_array().expect("a list");
    assert_eq!(events.iter().filter(hcp).count(), 6, "six clusters");
}

/// Objects that wait for one another, that fail and that are refused.
fn crowd() -> Vec<String> {
    let azure = |kind: &str, name: &str, spec: &str| {
        format!("{{apiVersion: {kind}, metadata: {{name: {name}, namespace: here}}, spec: {spec}}}")
    };
    let plain = |object: &str| format!("{{apiVersion: {object}}}");
    let mut all = vec![
        azure(
            "resources.azure.com/v1api20200601, kind: ResourceGroup",
            "rg",
            "{location: uksouth}",
        ),
        plain("v1, kind: Namespace, metadata: {name: here}"),
        plain(
            "v1, kind: ConfigMap, metadata: {name: last, namespace: here, annotations: {config.kubernetes.io/depends-on: /namespaces/here/ConfigMap/middle}}",
        ),
        plain("v1, kind: ConfigMap, metadata: {name: middle, namespace: here}"),
        plain(
            "apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.test.dev}, spec: {group: test.dev, names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}",
        ),
        plain("test.dev/v1, kind: Widget, metadata: {name: w, namespace: here}"),
        plain("unknown.io/v1, kind: Thing, metadata: {name: t, namespace: here}"),
    ];
    for at in 0..8 {
        let (vault, identity, map) = (format!("kv{at}"), format!("mi{at}"), format!("map{at}"));
        let wanted = format!("{{name: {map}, key: principalId}}");
        all.push(azure(
            "keyvault.azure.com/v1api20230701, kind: Vault",
            &vault,
            "{location: uksouth, owner: {name: rg}, properties: {sku: {family: A, name: standard}}}",
        ));
        all.push(azure(
            "managedidentity.azure.com/v1api20230131, kind: UserAssignedIdentity",
            &identity,
            &format!("{{location: uksouth, owner: {{name: rg}}, operatorSpec: {{configMaps: {{principalId: {wanted}}}}}}}"),
        ));
        all.push(azure(
            "authorization.azure.com/v1api20220401, kind: RoleAssignment",
            &format!("ra{at}"),
            &format!("{{owner: {{group: keyvault.azure.com, kind: Vault, name: {vault}}}, principalIdFromConfig: {wanted}, roleDefinitionReference: {{armId: /x}}}}"),
        ));
    }
    all
}

#[test]
fn a_large_fleet_rehearses_the_same_in_every_order_of_tasks_and_files() {
    let mut crowd = crowd();
    let fleet = |objects: &[String]| {
        let files = objects.iter().enumerate();
        let files = files.map(|(at, text)| (format!("{at:02}.yaml"), text));
        compile(&tree(files), &[])
    };
    let options = || Options {
        failures: vec!["Vault/kv3=Conflict".parse().expect("a failure")],
        ..Options::default()
    };
    let plain = rehearse(&fleet(&crowd), &options(), |server| server);
    assert!(plain[0].contains("not ready") && plain[0].contains("does not serve Thing"));
    let mut orders = BTreeSet::new();
    for seed in 0..SEEDS {
        let shuffle = Shuffle::new(seed);
        shuffle.rng.shuffle(&mut crowd);
        let (output, writes) = shuffled(&fleet(&crowd), options(), &shuffle);
        assert_same(&output, &plain, seed);
        assert!(orders.insert(writes), "seed {seed} shuffled nothing");
    }
}

/// `object -> time` of the lines that name an object behind a time, the last of each.
fn times<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let words = lines.map(|line| line.trim_start_matches(['*', ' ']).replace("Ready  ", ""));
    let timed = words.filter_map(|line| {
        let (time, object) = line.trim().split_once("  ")?;
        let is_time = time.ends_with('s') && time.starts_with(|c: char| c.is_ascii_digit());
        is_time.then(|| (object.trim().to_owned(), time.to_owned()))
    });
    timed
        .filter(|(object, _)| !object.ends_with("(outside the fleet)"))
        .collect()
}

#[test]
fn the_graph_and_a_rehearsal_agree_on_every_time() {
    for fleet in [&FLEET[..], &["examples/quickstart"]] {
        let graph = stdout(&[&["graph"], fleet].concat(), 0);
        let (objects, path) = graph.split_once("\ncritical path").unwrap();
        let rehearsal = stdout(&[&["rehearse"], fleet].concat(), 0);
        let (events, played) = rehearsal.split_once("\ncritical path").unwrap();
        assert_eq!(times(objects.lines()), times(events.lines()), "{fleet:?}");

        // The path is the same, with the pause before the HCP cluster.
        let ready = |line: &str| line.split_once("→ ").map(|(_, ready)| ready.to_owned());
        let path: Vec<String> = path.lines().filter_map(ready).collect();
        let path = times(path.iter().map(String::as_str));
        let (played, _) = played.rsplit_once("\n\n").unwrap();
        let played = times(played.lines());
        assert_eq!(
            path.values().collect::<Vec<_>>(),
            played.values().collect::<Vec<_>>()
        );
        assert_eq!(path.len(), played.len());
        for path in [path, played] {
            let pause = path
                .keys()
                .find(|what| what.ends_with("to come into force)"));
            assert!(pause.is_some(), "{path:?}");
        }
    }
}
