//! What people do with kubectl.

use serde_json::{Value as Json, json};

use super::fixture::{Kubectl, prove};
use crate::session::GROUP;

fn config_map(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"l": "1"}}, "data": data})
}

fn a_thing(name: &str, spec: &Json) -> Json {
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

fn objects_are_shown(k: &Kubectl) {
    let objects = [
        config_map("a", &json!({"k": "v"})),
        config_map("b", &json!({})),
        a_thing("t", &json!({"text": "x"})),
    ];
    k.file("all", &objects);
    k.quietly(&["apply", "--server-side", "-f", "all"]);
    for arguments in [
        &["get", "things"][..],
        &["get", "th", "t", "--no-headers"],
        &["get", "thing/t", "-o", "yaml"],
        &["get", "configmaps", "-o", "name"],
        &["get", "cm", "a", "-o", "json"],
        &[
            "get",
            "cm",
            "-l",
            "l=1",
            "-o",
            "jsonpath={.items[*].metadata.name}",
        ],
        &["get", "cm,things", "-o", "name"],
        &[
            "get",
            "cm",
            "--field-selector",
            "metadata.name=b",
            "-o",
            "name",
        ],
        &[
            "get",
            "thing/t",
            "-o",
            "custom-columns=NAME:.metadata.name,TEXT:.spec.text",
        ],
        &["get", "configmaps"],
        &["get", "things", "-l", "l=2"],
        &["get", "thing", "none"],
        &["get", "thing", "none", "--ignore-not-found"],
        &["get", "nothings"],
        &["get", "orbits"],
        &[
            "get",
            "things",
            "-A",
            "--field-selector",
            "metadata.name=absent",
        ],
    ] {
        k.run(arguments);
    }
}

fn an_apply_on_the_server(k: &Kubectl) {
    let apply = ["apply", "--server-side", "-f", "all"];
    k.file(
        "all",
        &[
            config_map("a", &json!({"k": "1"})),
            a_thing("t", &json!({"text": "x"})),
        ],
    );
    k.run(&apply);
    k.run(&apply);
    k.file(
        "all",
        &[
            config_map("a", &json!({"k": "2"})),
            a_thing("t", &json!({"text": "y"})),
        ],
    );
    k.run(&["diff", "--server-side", "-f", "all"]);
    k.run(&["apply", "--server-side", "--dry-run=server", "-f", "all"]);
    k.run(&[
        "apply",
        "--server-side",
        "--field-manager=other",
        "-f",
        "all",
    ]);
    k.run(&[
        "apply",
        "--server-side",
        "--field-manager=other",
        "--force-conflicts",
        "-f",
        "all",
    ]);
    k.run(&[
        "get",
        "cm/a",
        "thing/t",
        "-o",
        "yaml",
        "--show-managed-fields",
    ]);
    k.file(
        "wrong",
        &[a_thing(
            "w",
            &json!({"text": "NO", "colour": "red", "count": 11}),
        )],
    );
    k.run(&["apply", "--server-side", "-f", "wrong"]);
    k.run(&["apply", "--server-side", "--validate=ignore", "-f", "wrong"]);
    k.run(&["apply", "--server-side", "--validate=warn", "-f", "wrong"]);
}

fn an_apply_by_the_client(k: &Kubectl) {
    let apply = ["apply", "-f", "all"];
    k.file(
        "all",
        &[
            config_map("a", &json!({"k": "1", "l": "1"})),
            a_thing("t", &json!({"text": "x", "count": 1})),
        ],
    );
    k.run(&["diff", "-f", "all"]);
    k.run(&apply);
    k.run(&apply);
    k.file(
        "all",
        &[
            config_map("a", &json!({"k": "2"})),
            a_thing("t", &json!({"text": "y"})),
        ],
    );
    k.run(&["diff", "-f", "all"]);
    k.run(&["apply", "--dry-run=client", "-f", "all"]);
    k.run(&["apply", "--dry-run=server", "-f", "all"]);
    k.run(&apply);
    k.run(&["get", "cm/a", "-o", "jsonpath={.data}"]);
    k.run(&["get", "thing/t", "-o", "jsonpath={.spec}"]);
    k.file("unknown", &[a_thing("u", &json!({"colour": "red"}))]);
    k.run(&["apply", "-f", "unknown"]);
}

fn workloads_are_applied_by_the_client(k: &Kubectl) {
    let deployment = |image: &str, labels: Json| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": labels},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "one", "image": image}, {"name": "two", "image": "i:1",
                    "env": [{"name": "A", "value": image}, {"name": "B", "value": "b"}]}]},
            }},
        })
    };
    k.file("d", &[deployment("i:1", json!({"a": "1", "b": "1"}))]);
    k.run(&["apply", "-f", "d"]);
    k.file("d", &[deployment("i:2", json!({"b": "2"}))]);
    k.run(&["apply", "-f", "d"]);
    k.run(&["get", "deploy/d", "-o", "jsonpath={.metadata.labels} {.spec.template.spec.containers[*].image} {.spec.template.spec.containers[1].env}"]);
    k.run(&["set", "image", "deploy/d", "two=i:3"]);
    k.run(&[
        "get",
        "deploy/d",
        "-o",
        "jsonpath={.spec.template.spec.containers[*].image}",
    ]);
    k.file("s", &[json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"selector": {"app": "d"}, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}})]);
    k.run(&["apply", "-f", "s"]);
    k.file("s", &[json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"selector": {"app": "e"}, "ports": [{"name": "b", "port": 81}, {"name": "c", "port": 82}]}})]);
    k.run(&["apply", "-f", "s"]);
    k.run(&[
        "get",
        "svc/s",
        "-o",
        "jsonpath={.spec.selector} {.spec.ports[*].port}",
    ]);
}

fn objects_are_created_and_replaced(k: &Kubectl) {
    k.file("cm", &[config_map("a", &json!({"k": "1"}))]);
    k.run(&["create", "-f", "cm"]);
    k.run(&["create", "-f", "cm"]);
    k.file("cm", &[config_map("a", &json!({"k": "2"}))]);
    k.run(&["replace", "-f", "cm"]);
    k.file("t", &[a_thing("t", &json!({"text": "x"}))]);
    k.run(&["replace", "-f", "t"]);
    k.run(&["create", "-f", "t"]);
    k.run(&["replace", "--force", "-f", "t"]);
}

fn objects_are_deleted(k: &Kubectl) {
    k.file(
        "all",
        &[
            config_map("a", &json!({})),
            config_map("b", &json!({})),
            a_thing("t", &json!({})),
        ],
    );
    k.quietly(&["apply", "--server-side", "-f", "all"]);
    k.run(&["delete", "-f", "all", "--dry-run=server"]);
    k.run(&["delete", "cm/a", "thing/t"]);
    k.run(&["delete", "cm/a"]);
    k.run(&["delete", "cm/a", "--ignore-not-found"]);
    k.run(&["delete", "-f", "all"]);
    k.quietly(&["apply", "--server-side", "-f", "all"]);
    k.run(&["delete", "cm", "-l", "l=1"]);
    k.run(&["delete", "things", "--all"]);
    k.run(&["delete", "cm"]);
}

fn a_deletion_waits_for_finalizers(k: &Kubectl) {
    let mut held = a_thing("t", &json!({}));
    held["metadata"]["finalizers"] = json!(["capstan.dev/f"]);
    k.file("t", &[held]);
    k.quietly(&["apply", "--server-side", "-f", "t"]);
    k.run(&["delete", "thing/t", "--wait=false"]);
    k.run(&["delete", "thing/t", "--timeout=1s"]);
    k.run(&["wait", "--for=delete", "thing/t", "--timeout=1s"]);
    k.run(&[
        "patch",
        "thing/t",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
    k.run(&["wait", "--for=delete", "thing/t", "--timeout=20s"]);
}

fn dependents_fare_as_the_cascade_says(k: &Kubectl) {
    for cascade in ["background", "foreground", "orphan"] {
        let owner = config_map("owner", &json!({}));
        k.file("owner", &[owner]);
        k.quietly(&["apply", "--server-side", "-f", "owner"]);
        let uid = k.output(&["get", "cm/owner", "-o", "jsonpath={.metadata.uid}"]);
        let uid = String::from_utf8(uid.stdout).expect("a uid");
        let mut dependent = a_thing(cascade, &json!({}));
        dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap",
            "name": "owner", "uid": uid, "blockOwnerDeletion": true}]);
        k.file("dependent", &[dependent]);
        k.quietly(&["apply", "--server-side", "-f", "dependent"]);
        k.run(&["delete", "cm/owner", &format!("--cascade={cascade}")]);
        if cascade != "orphan" {
            k.run(&[
                "wait",
                "--for=delete",
                &format!("thing/{cascade}"),
                "--timeout=30s",
            ]);
        }
        k.run(&["get", "things", "-o", "name"]);
    }
}

fn labels_and_annotations_are_set(k: &Kubectl) {
    k.file(
        "all",
        &[config_map("a", &json!({})), a_thing("t", &json!({}))],
    );
    k.quietly(&["apply", "--server-side", "-f", "all"]);
    k.run(&["label", "cm/a", "thing/t", "m=1"]);
    k.run(&["label", "cm/a", "m=2"]);
    k.run(&["label", "cm/a", "m=2", "--overwrite"]);
    k.run(&["label", "cm/a", "m=2"]);
    k.run(&["label", "cm/a", "m-"]);
    k.run(&["label", "cm/a", "m-"]);
    k.run(&["label", "cm/a", "m=a b"]);
    k.run(&["annotate", "thing/t", "n=some text"]);
    k.run(&["annotate", "thing/t", "n-"]);
    k.run(&["get", "cm/a", "--show-labels", "--no-headers"]);
    k.run(&["get", "things", "-L", "m"]);
}

fn objects_are_patched(k: &Kubectl) {
    k.file(
        "all",
        &[
            config_map("a", &json!({"k": "1", "l": "1"})),
            a_thing("t", &json!({"text": "x"})),
        ],
    );
    k.quietly(&["apply", "--server-side", "-f", "all"]);
    k.run(&["patch", "cm/a", "-p", r#"{"data":{"k":"2","l":null}}"#]);
    k.run(&["patch", "cm/a", "-p", r#"{"data":{"k":"2"}}"#]);
    k.run(&[
        "patch",
        "cm/a",
        "--type=json",
        "-p",
        r#"[{"op":"replace","path":"/data/k","value":"3"}]"#,
    ]);
    k.run(&[
        "patch",
        "thing/t",
        "--type=merge",
        "-p",
        r#"{"spec":{"count":3}}"#,
    ]);
    k.run(&["patch", "thing/t", "-p", r#"{"spec":{"count":4}}"#]);
    k.run(&[
        "patch",
        "thing/t",
        "--type=merge",
        "-p",
        r#"{"spec":{"count":11}}"#,
    ]);
    k.run(&[
        "patch",
        "thing/t",
        "--type=merge",
        "--subresource=status",
        "-p",
        r#"{"status":{"phase":"Ready"}}"#,
    ]);
    k.run(&["patch", "thing/none", "--type=merge", "-p", "{}"]);
    k.run(&[
        "get",
        "cm/a",
        "thing/t",
        "-o",
        "jsonpath={.items[*].data}{.items[*].spec}{.items[*].status}",
    ]);
}

fn conditions_are_waited_for(k: &Kubectl) {
    k.file("t", &[a_thing("t", &json!({}))]);
    k.quietly(&["apply", "--server-side", "-f", "t"]);
    k.run(&["wait", "--for=condition=Ready", "thing/t", "--timeout=1s"]);
    let status = r#"{"status":{"phase":"Ready","conditions":[{"type":"Ready","status":"True"}]}}"#;
    let patch = [
        "patch",
        "thing/t",
        "--type=merge",
        "--subresource=status",
        "-p",
        status,
    ];
    let mut later = k.command(&["wait", "--for=condition=Ready", "thing/t", "--timeout=30s"]);
    let later = later
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("kubectl runs");
    k.quietly(&patch);
    let later = later.wait_with_output().expect("it ends");
    assert!(later.status.success(), "{later:?}");
    k.run(&["wait", "--for=condition=Ready", "thing/t", "--timeout=30s"]);
    k.run(&[
        "wait",
        "--for=jsonpath={.status.phase}=Ready",
        "thing/t",
        "--timeout=30s",
    ]);
    k.run(&[
        "wait",
        "--for=condition=Ready=False",
        "thing/t",
        "--timeout=1s",
    ]);
    k.run(&[
        "wait",
        "--for=condition=Ready",
        "thing/none",
        "--timeout=1s",
    ]);
    k.run(&["wait", "--for=create", "thing/t", "--timeout=1s"]);
}

fn objects_are_watched(k: &Kubectl) {
    k.file("t", &[a_thing("t", &json!({}))]);
    k.quietly(&["apply", "--server-side", "-f", "t"]);
    k.run(&[
        "get",
        "things",
        "--watch",
        "--request-timeout=2s",
        "-o",
        "name",
    ]);
    k.run(&[
        "get",
        "thing/t",
        "--watch-only",
        "--request-timeout=2s",
        "-o",
        "name",
    ]);
}

fn a_namespace_comes_and_goes(k: &Kubectl) {
    let name = format!("{}-2", k.namespace);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    k.file("namespace", &[namespace]);
    k.file("cm", &[config_map("a", &json!({}))]);
    k.run(&["create", "-f", "namespace"]);
    k.run(&["create", "-f", "namespace"]);
    k.run(&["create", "-f", "cm", "-n", &name]);
    k.run(&["get", "namespace", &name]);
    k.run(&["delete", "namespace", &name]);
    k.run(&["get", "namespace", &name]);
    k.run(&["create", "-f", "cm", "-n", &name]);
    k.run(&["delete", "namespace", "default"]);
}

fn columns_are_those_of_the_definition(k: &Kubectl) {
    let group = format!("{}.capstan.dev", k.namespace);
    let column =
        |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    let mut wide = column("Wide", "string", ".spec.wide");
    wide["priority"] = json!(1);
    let ready = r#".status.conditions[?(@.type=="Ready")].status"#;
    k.file("crd", &[json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("columns.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "columns", "kind": "Column"}, "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            "additionalPrinterColumns": [
                column("Text", "string", ".spec.text"), column("Count", "integer", ".spec.count"),
                column("Flag", "boolean", ".spec.flag"), column("First", "string", ".spec.list[0].name"),
                column("Ready", "string", ready), wide, column("Since", "date", ".metadata.creationTimestamp"),
            ],
        }]},
    })]);
    k.run(&["create", "-f", "crd"]);
    k.run(&[
        "wait",
        "--for=condition=Established",
        &format!("crd/columns.{group}"),
        "--timeout=30s",
    ]);
    let object = |name: &str, rest: Json| {
        let mut made = rest;
        made["apiVersion"] = json!(format!("{group}/v1"));
        made["kind"] = json!("Column");
        made["metadata"] = json!({"name": name});
        made
    };
    k.file("all", &[
        object("empty", json!({})),
        object("full", json!({"spec": {"text": "a text", "count": 3, "flag": true, "list": [{"name": "one"}], "wide": "w"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}})),
    ]);
    k.run(&["create", "-f", "all"]);
    k.run(&["get", "columns"]);
    k.run(&["get", "column/full", "-o", "wide"]);
    k.run(&["get", "columns", "--sort-by=.spec.text"]);
    k.quietly(&["delete", "-f", "crd"]);
}

macro_rules! behaviours {
    ($($name:ident,)+) => {
        mod tests {
            $(#[test]
            fn $name() {
                super::prove("tests/suite/kubectl/expected", stringify!($name), super::$name);
            })+
        }
    };
}

behaviours! {
    objects_are_shown,
    an_apply_on_the_server,
    an_apply_by_the_client,
    workloads_are_applied_by_the_client,
    objects_are_created_and_replaced,
    objects_are_deleted,
    a_deletion_waits_for_finalizers,
    dependents_fare_as_the_cascade_says,
    labels_and_annotations_are_set,
    objects_are_patched,
    conditions_are_waited_for,
    objects_are_watched,
    a_namespace_comes_and_goes,
    columns_are_those_of_the_definition,
}
