//! Strategic merge patches, which know the keys of lists of built-in kinds.
//!
//! What is patched is a StatefulSet: no controller of the real server writes to it.

use serde_json::{Value as Json, json};

use super::script::{ask, say, whole};
use super::{behaviours, thing, yaml};
use crate::session::Session;

/// A ConfigMap, and what these patches, each a line, make of it. Every patch meets the first state.
async fn of_map(s: &Session, metadata: &str, data: &str, patches: &str) {
    say(
        s,
        &format!("post configmaps {{metadata: {metadata}, data: {data}}}"),
    )
    .await;
    each(s, "configmaps/a", patches).await;
}

async fn each(s: &Session, path: &str, patches: &str) {
    for patch in patches
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        s.note(patch);
        say(s, &format!("strategic {path}?dryRun=All {patch}")).await;
    }
}

/// A workload with these fields of its pods, and what the patches make of them.
async fn of_pods(s: &Session, pods: &str, patches: &str) {
    let template = json!({"metadata": {"labels": {"app": "d"}}, "spec": yaml(pods)});
    let spec =
        json!({"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": template});
    let made = s
        .post(
            "statefulsets",
            &whole("statefulsets/d", json!({"spec": spec})),
        )
        .await;
    assert_eq!(made.status, 201);
    for patch in patches
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        s.note(patch);
        let line = format!(
            "strategic statefulsets/d?dryRun=All {{spec: {{template: {{spec: {patch}}}}}}}"
        );
        let reply = s.send(ask(&line).silent()).await;
        match reply.status {
            200 => s.note(&changed(
                &reply.body["spec"]["template"]["spec"],
                &yaml(patch),
            )),
            _ => drop(s.send(ask(&line)).await),
        }
    }
}

/// The fields of pods that the patch names, less what every container has.
fn changed(pods: &Json, patch: &Json) -> String {
    let names = patch.as_object().expect("a map").keys();
    let names = names.map(|name| name.trim_start_matches("$setElementOrder/"));
    let mut shown: Json = names
        .map(|name| (name.to_owned(), pods[name].clone()))
        .collect();
    let containers = shown["containers"].as_array_mut();
    for container in containers.into_iter().flatten() {
        let fields = container.as_object_mut().expect("a map");
        fields.retain(|key, value| {
            *value != json!({}) && !key.starts_with("termination") && key != "imagePullPolicy"
        });
    }
    shown.to_string()
}

async fn maps_merge_and_nulls_delete(s: &Session) {
    of_map(
        s,
        "{labels: {a: '1', b: '2'}}",
        "{x: '1', z: '2'}",
        "
        {data: {x: '3', w: '4'}}
        {data: {x: null}}
        {data: {x: null, none: null}}
        {data: null}
        {metadata: {labels: {a: null, c: '3'}}}
        {metadata: {labels: null}}
        {binaryData: {k: AA==}}
        {binaryData: {k: null}}
        {}
        ",
    )
    .await;
}

async fn a_map_is_replaced_or_emptied_when_told(s: &Session) {
    of_map(
        s,
        "{labels: {a: '1', b: '2'}}",
        "{x: '1', z: '2'}",
        "
        {data: {$patch: replace, w: '4'}}
        {data: {$patch: delete}}
        {data: {$patch: delete, w: '4'}}
        {data: {$patch: merge, w: '4'}}
        {data: {$patch: dance}}
        {metadata: {labels: {$patch: replace, c: '3'}}}
        {metadata: {labels: {$patch: delete}}}
        {binaryData: {$patch: delete}}
        {$patch: replace, data: {w: '4'}}
        {$patch: delete}
        ",
    )
    .await;
}

async fn only_retained_keys_are_left(s: &Session) {
    of_map(
        s,
        "{}",
        "{x: '1', z: '2'}",
        "
        {data: {$retainKeys: [x]}}
        {data: {$retainKeys: [x, w], w: '3'}}
        {data: {$retainKeys: [z], w: '3'}}
        {data: {$retainKeys: [z], x: null}}
        {data: {$retainKeys: []}}
        {data: {$retainKeys: x}}
        ",
    )
    .await;
}

async fn texts_of_a_list_are_added_and_taken_out(s: &Session) {
    of_map(
        s,
        "{finalizers: [example.com/a, example.com/b, example.com/c]}",
        "{}",
        "
        {metadata: {finalizers: [example.com/d]}}
        {metadata: {finalizers: [example.com/d, example.com/a]}}
        {metadata: {finalizers: [example.com/b, example.com/b]}}
        {metadata: {$deleteFromPrimitiveList/finalizers: [example.com/a, example.com/none]}}
        {metadata: {$deleteFromPrimitiveList/finalizers: [example.com/a], finalizers: [example.com/d]}}
        {metadata: {$setElementOrder/finalizers: [example.com/c, example.com/a]}}
        {metadata: {$setElementOrder/finalizers: [example.com/c, example.com/d, example.com/a], finalizers: [example.com/d]}}
        {metadata: {$setElementOrder/finalizers: [example.com/a], finalizers: [example.com/d]}}
        {metadata: {$setElementOrder/finalizers: x}}
        {metadata: {finalizers: null}}
        {metadata: {finalizers: []}}
        ",
    )
    .await;
}

async fn owners_merge_by_uid(s: &Session) {
    let first = s.post("secrets", &whole("secrets/first", json!({}))).await;
    let second = s.post("secrets", &whole("secrets/second", json!({}))).await;
    let (first, second) = (first.uid(), second.uid());
    let owner = |name: &str, uid: &str| {
        format!("{{apiVersion: v1, kind: Secret, name: {name}, uid: {uid}}}")
    };
    let (one, two) = (owner("first", first), owner("second", second));
    say(
        s,
        &format!("post configmaps {{metadata: {{ownerReferences: [{one}]}}}}"),
    )
    .await;
    for owners in [
        format!("[{two}]"),
        format!("[{{uid: {first}, controller: true}}]"),
        format!("[{{uid: {first}, $patch: delete}}]"),
        "[{$patch: delete}]".into(),
        format!("[{two}, {{$patch: replace}}]"),
    ] {
        let line = format!(
            "strategic configmaps/a?dryRun=All&fieldManager=two {{metadata: {{ownerReferences: {owners}}}}}"
        );
        say(s, &line).await;
    }
}

async fn containers_merge_by_name(s: &Session) {
    of_pods(
        s,
        "{containers: [{name: a, image: 'a:1', args: [x]}, {name: b, image: 'b:1'}, {name: c, image: 'c:1'}]}",
        "
        {containers: [{name: b, image: 'b:2'}]}
        {containers: [{name: a, args: [w, z]}]}
        {containers: [{name: a, args: null}]}
        {containers: [{name: d, image: 'd:1'}]}
        {containers: [{name: c, image: 'c:2'}, {name: d, image: 'd:1'}, {name: a, image: 'a:2'}]}
        {containers: [{name: b, $patch: delete}]}
        {containers: [{name: b, $patch: delete}, {name: d, image: 'd:1'}]}
        {containers: [{name: none, $patch: delete}]}
        {containers: [{$patch: replace}, {name: d, image: 'd:1'}]}
        {containers: [{name: b, $patch: replace, image: 'b:2'}]}
        {containers: [{name: b, $patch: merge, image: 'b:2'}]}
        {containers: [{name: b, $patch: dance}]}
        {containers: [{image: 'x:1'}]}
        {containers: [{$patch: delete}]}
        {containers: [text]}
        {$setElementOrder/containers: [{name: c}, {name: a}, {name: b}]}
        {$setElementOrder/containers: [{name: c}, {name: a}]}
        {$setElementOrder/containers: [{name: b}, {name: d}, {name: a}], containers: [{name: d, image: 'd:1'}]}
        {$setElementOrder/containers: [{name: a}, {name: b}], containers: [{name: c, image: 'c:2'}]}
        {$setElementOrder/containers: [{name: a}, {name: b}], containers: [{name: b, image: 'b:2'}, {name: c, $patch: delete}]}
        {$setElementOrder/containers: [{image: x}]}
        {containers: null}
        {containers: []}
        ",
    )
    .await;
}

async fn parts_of_a_container_merge_by_their_keys(s: &Session) {
    of_pods(
        s,
        "
        containers:
        - name: a
          image: a:1
          env: [{name: X, value: '1'}, {name: Z, value: '2'}]
          ports: [{containerPort: 53, name: tcp}, {containerPort: 80, name: http}]
          volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}]
          envFrom: [{configMapRef: {name: a}}]
          resources: {limits: {cpu: '1', memory: 1Gi}}
        volumes: [{name: v, emptyDir: {}}, {name: w, configMap: {name: w, defaultMode: 420}}]
        tolerations: [{key: a, operator: Exists}]
        imagePullSecrets: [{name: s}]
        hostAliases: [{ip: 127.0.0.1, hostnames: [a]}]
        nodeSelector: {a: b}
        ",
        "
        {containers: [{name: a, env: [{name: X, value: '3'}, {name: W, value: '4'}]}]}
        {containers: [{name: a, env: [{name: X, $patch: delete}]}]}
        {containers: [{name: a, env: [{name: Z, value: null, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}]}]}
        {containers: [{name: a, ports: [{containerPort: 53, protocol: UDP, name: udp}]}]}
        {containers: [{name: a, ports: [{containerPort: 443, name: https}]}]}
        {containers: [{name: a, volumeMounts: [{mountPath: /v, readOnly: true}, {mountPath: /x, name: v}]}]}
        {containers: [{name: a, envFrom: [{secretRef: {name: s}}]}]}
        {containers: [{name: a, resources: {limits: {cpu: '2'}}}]}
        {containers: [{name: a, resources: {limits: {cpu: null}}}]}
        {volumes: [{name: w, $retainKeys: [name, emptyDir], emptyDir: {}}]}
        {volumes: [{name: x, emptyDir: {medium: null}}]}
        {volumes: [{name: v, emptyDir: {medium: Memory}}]}
        {tolerations: [{key: b, operator: Exists}]}
        {imagePullSecrets: [{name: t}]}
        {hostAliases: [{ip: 127.0.0.1, hostnames: [b]}]}
        {hostAliases: [{ip: 127.0.0.2, hostnames: [b]}]}
        {nodeSelector: {c: d}}
        {nodeSelector: {a: null, c: d}}
        {terminationGracePeriodSeconds: null}
        ",
    )
    .await;
}

async fn ports_of_a_service_merge_by_number(s: &Session) {
    say(s, "post services {spec: {clusterIP: None, selector: {a: b}, ports: [{name: dns, port: 53}, {name: http, port: 80, targetPort: 8080}]}}").await;
    each(
        s,
        "services/a",
        "
        {spec: {ports: [{port: 80, targetPort: 81}]}}
        {spec: {ports: [{port: 443, name: https}]}}
        {spec: {ports: [{port: 53, protocol: UDP, name: udp}]}}
        {spec: {ports: [{port: 53, $patch: delete}]}}
        {spec: {$setElementOrder/ports: [{port: 80}, {port: 53}]}}
        {spec: {selector: {c: d}}}
        ",
    )
    .await;
}

async fn a_strategic_patch_is_an_object(s: &Session) {
    say(s, "post configmaps {data: {x: '1'}}").await;
    for body in ["[]", "\"text\"", "7", "null", "", "{"] {
        s.note(body);
        let ask = crate::session::Ask::new("PATCH", "configmaps/a?dryRun=All");
        let ask = ask.body("application/strategic-merge-patch+json", body);
        s.send(ask.gist()).await;
    }
    say(
        s,
        "
        strategic configmaps/none {}
        strategic configmaps/a {metadata: {name: b}}
        strategic configmaps/a {metadata: {resourceVersion: '1'}}
        strategic configmaps/a {data: {a b: x}}
        strategic configmaps/a {data: {x: '1'}}
        strategic configmaps/a {data: {x: '2'}}
        strategic configmaps/a?fieldManager=one {data: {z: '3'}}
        ",
    )
    .await;
}

async fn a_custom_object_has_no_strategy(s: &Session) {
    s.install(&thing()).await;
    say(
        s,
        "
        post things {spec: {text: x}}
        strategic things/a {spec: {text: w}}
        strategic things/none {spec: {text: w}}
        ",
    )
    .await;
}

async fn conditions_merge_by_type(s: &Session) {
    say(
        s,
        "
        silent post statefulsets {metadata: {name: d}, spec: {replicas: 0, selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: a, image: 'a:1'}]}}}}
        strategic statefulsets/d/status {status: {conditions: [{type: Mine, status: 'True', lastTransitionTime: '2001-01-01T00:00:00Z'}]}}
        strategic statefulsets/d/status {status: {conditions: [{type: Mine, status: 'False'}, {type: Other, status: 'True', lastTransitionTime: '2001-01-01T00:00:00Z'}]}}
        strategic statefulsets/d/status {spec: {replicas: 3}, status: {conditions: [{type: Mine, $patch: delete}]}}
        ",
    )
    .await;
}

async fn a_spread_constraint_has_its_topology_as_its_key(s: &Session) {
    of_pods(
        s,
        "
        containers: [{name: a, image: 'a:1'}]
        topologySpreadConstraints:
        - {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}
        - {topologyKey: host, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}
        ",
        "
        {topologySpreadConstraints: [{topologyKey: zone, maxSkew: 3}]}
        {topologySpreadConstraints: [{topologyKey: zone, maxSkew: 3, whenUnsatisfiable: ScheduleAnyway}]}
        {topologySpreadConstraints: [{topologyKey: rack, maxSkew: 3, whenUnsatisfiable: DoNotSchedule}]}
        {topologySpreadConstraints: [{topologyKey: zone, $patch: delete}]}
        ",
    )
    .await;
}

behaviours! { Api:
    maps_merge_and_nulls_delete,
    a_map_is_replaced_or_emptied_when_told,
    only_retained_keys_are_left,
    texts_of_a_list_are_added_and_taken_out,
    owners_merge_by_uid,
    containers_merge_by_name,
    parts_of_a_container_merge_by_their_keys,
    ports_of_a_service_merge_by_number,
    a_strategic_patch_is_an_object,
    a_custom_object_has_no_strategy,
    conditions_merge_by_type,
    a_spread_constraint_has_its_topology_as_its_key,
}
