//! Values for the fields of some of the server's own kinds. All of them fit, and none is empty: what
//! their types leave out of that is an affair of each single field.
//!
//! A Service here has no address and a StatefulSet no replicas, so that the server draws nothing by
//! lot and no controller takes part.

use serde_json::{Value as Json, json};

use super::shapes::{self, Make, one_of};
use crate::random::Random;

type Places = &'static [(usize, (&'static str, Make))];

/// A map with some of these fields, one at least.
fn some(random: &mut Random, percent: usize, known: &[(&str, Make)]) -> Json {
    let made = shapes::some(random, percent, known);
    if made != json!({}) {
        return made;
    }
    let (name, make) = random.pick(known);
    json!({*name: make(random)})
}

/// Items with different keys, one at least.
fn keyed(random: &mut Random, make: Make, keys: &[&str]) -> Json {
    match shapes::keyed(random, make, keys) {
        Json::Array(items) if items.is_empty() => json!([make(random)]),
        items => items,
    }
}

fn map(random: &mut Random, make: Make) -> Json {
    match shapes::map(random, make) {
        Json::Object(fields) if fields.is_empty() => json!({"k": make(random)}),
        fields => fields,
    }
}

fn word(random: &mut Random) -> Json {
    json!(random.pick(&["a", "b", "c"]))
}

fn words(random: &mut Random) -> Json {
    map(random, word)
}

fn bytes(random: &mut Random) -> Json {
    map(random, |random| json!(random.pick(&["YQ==", "Yg=="])))
}

pub(super) fn config_map(random: &mut Random) -> Json {
    some(random, 60, &[("data", words), ("binaryData", other_bytes)])
}

/// Under keys of their own: one key may not be in both maps.
fn other_bytes(random: &mut Random) -> Json {
    match random.chance(50) {
        true => json!({"x": "YQ=="}),
        false => json!({"x": "Yg==", "y": "YQ=="}),
    }
}

pub(super) const CONFIG_MAP_PLACES: Places = &[
    (3, ("/data/k", word)),
    (1, ("/data", words)),
    (1, ("/binaryData/x", |_| json!("YQ=="))),
    (1, ("/immutable", |_| json!(false))),
];

pub(super) fn secret(random: &mut Random) -> Json {
    let known: &[(&str, Make)] = &[("data", bytes), ("stringData", words)];
    some(random, 60, known)
}

pub(super) const SECRET_PLACES: Places = &[
    (3, ("/data/k", |_| json!("YQ=="))),
    (1, ("/data", bytes)),
    (1, ("/stringData", words)),
    (1, ("/type", |_| json!("Opaque"))),
];

pub(super) fn service_base() -> Json {
    json!({"spec": {"clusterIP": "None", "selector": {"app": "a"}}})
}

pub(super) fn service(random: &mut Random) -> Json {
    let known: &[(&str, Make)] = &[
        ("ports", service_ports),
        ("selector", words),
        ("publishNotReadyAddresses", |_| json!(true)),
        ("sessionAffinity", |_| json!("None")),
    ];
    json!({"spec": some(random, 45, known)})
}

/// With names of their own: several ports have to have some.
fn service_ports(random: &mut Random) -> Json {
    let port: Make = |random| {
        let number = *random.pick(&[80, 81]);
        let protocol = *random.pick(&["TCP", "UDP"]);
        let name = format!("{}-{number}", protocol.to_lowercase());
        let known: &[(&str, Make)] = &[("targetPort", target_port), ("appProtocol", word)];
        let mut port = some(random, 35, known);
        port["port"] = json!(number);
        port["name"] = json!(name);
        if protocol == "UDP" || random.chance(60) {
            port["protocol"] = json!(protocol);
        }
        port
    };
    keyed(random, port, &["port", "name"])
}

fn target_port(random: &mut Random) -> Json {
    one_of(random, &[json!(8080), json!("http")])
}

pub(super) fn service_status(random: &mut Random) -> Json {
    some(random, 60, &[("conditions", conditions)])
}

pub(super) fn service_mark(at: usize) -> Json {
    json!({"conditions": [{
        "type": "Mark", "status": "True", "reason": format!("S{at}"), "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }]})
}

fn conditions(random: &mut Random) -> Json {
    let condition: Make = |random| {
        json!({
            "type": random.pick(&["Ready", "Synced"]),
            "status": random.pick(&["True", "False"]),
            "reason": random.pick(&["A", "B"]),
            "message": "",
            "lastTransitionTime": "2024-01-01T00:00:00Z",
        })
    };
    keyed(random, condition, &["type"])
}

pub(super) const SERVICE_PLACES: Places = &[
    (2, ("/spec/ports/0/targetPort", target_port)),
    (1, ("/spec/ports", service_ports)),
    (1, ("/spec/ports/1", |_| Json::Null)),
    (2, ("/spec/selector/k", word)),
    (1, ("/spec/selector", words)),
    (1, ("/spec/publishNotReadyAddresses", |_| json!(true))),
];

pub(super) fn stateful_set_base() -> Json {
    json!({"spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "a", "image": "a:1"}]},
        },
    }})
}

pub(super) fn stateful_set(random: &mut Random) -> Json {
    let pod: &[(&str, Make)] = &[
        ("containers", containers),
        ("nodeSelector", words),
        ("volumes", volumes),
        ("tolerations", tolerations),
        ("imagePullSecrets", pull_secrets),
    ];
    let mut spec = some(random, 20, &[("minReadySeconds", small)]);
    if random.chance(85) {
        spec["template"]["spec"] = some(random, 45, pod);
    }
    if random.chance(20) {
        spec["template"]["metadata"]["annotations"] = words(random);
    }
    json!({"spec": spec})
}

fn small(random: &mut Random) -> Json {
    json!(1 + random.below(2))
}

fn containers(random: &mut Random) -> Json {
    let container: Make = |random| {
        let known: &[(&str, Make)] = &[
            ("env", environment),
            ("ports", container_ports),
            ("args", arguments),
            ("resources", resources),
            ("imagePullPolicy", |_| json!("Never")),
        ];
        let mut container = some(random, 35, known);
        container["name"] = json!(random.pick(&["a", "b"]));
        container["image"] = json!(random.pick(&["a:1", "a:2"]));
        container
    };
    keyed(random, container, &["name"])
}

fn environment(random: &mut Random) -> Json {
    let variable: Make =
        |random| json!({"name": random.pick(&["A", "B", "C"]), "value": word(random)});
    keyed(random, variable, &["name"])
}

fn container_ports(random: &mut Random) -> Json {
    let port: Make = |random| {
        let mut port = json!({"containerPort": random.pick(&[80, 81])});
        if random.chance(50) {
            port["protocol"] = json!("TCP");
        }
        port
    };
    keyed(random, port, &["containerPort"])
}

fn arguments(random: &mut Random) -> Json {
    one_of(random, &[json!(["a"]), json!(["a", "b"])])
}

fn resources(random: &mut Random) -> Json {
    let amount: Make = |random| json!(random.pick(&["1", "2"]));
    let known: &[(&str, Make)] = &[("cpu", amount), ("memory", amount)];
    json!({"requests": some(random, 60, known)})
}

fn volumes(random: &mut Random) -> Json {
    let volume: Make = |random| json!({"name": random.pick(&["x", "y"]), "emptyDir": {}});
    keyed(random, volume, &["name"])
}

fn tolerations(random: &mut Random) -> Json {
    let toleration: Make = |random| json!({"key": word(random), "operator": "Exists"});
    keyed(random, toleration, &["key"])
}

fn pull_secrets(random: &mut Random) -> Json {
    let secret: Make = |random| json!({"name": word(random)});
    keyed(random, secret, &["name"])
}

pub(super) fn stateful_set_status(random: &mut Random) -> Json {
    let known: &[(&str, Make)] = &[
        ("observedGeneration", small),
        ("readyReplicas", |_| json!(0)),
    ];
    let mut status = some(random, 60, known);
    status["replicas"] = json!(0);
    status
}

pub(super) const STATEFUL_SET_PLACES: Places = &[
    (
        2,
        ("/spec/template/spec/containers/0/image", |random| {
            json!(random.pick(&["a:1", "a:2"]))
        }),
    ),
    (2, ("/spec/template/spec/containers/0/env", environment)),
    (1, ("/spec/template/spec/containers/1", |_| Json::Null)),
    (1, ("/spec/template/spec/containers/0/args", arguments)),
    (1, ("/spec/template/spec/nodeSelector/k", word)),
    (1, ("/spec/template/spec/volumes", volumes)),
    (1, ("/spec/minReadySeconds", small)),
];
