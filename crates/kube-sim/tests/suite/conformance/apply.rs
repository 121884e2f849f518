//! Server-side apply: who owns what, conflicts, force, and what becomes of what is dropped.

use serde_json::{Value as Json, json};

use super::script::{say, whole};
use super::{a_config_map, a_thing, behaviours, orbit, thing};
use crate::session::Session;

/// As [`say`], with `Thing` installed.
async fn of_things(s: &Session, lines: &str) {
    s.install(&thing()).await;
    say(s, lines).await;
}

async fn an_apply_creates_an_object(s: &Session) {
    of_things(
        s,
        "
        apply configmaps/a?fieldManager=one {data: {x: '1', w: '2'}}
        apply things/a?fieldManager=one {spec: {text: x, nested: {a: '1'}}}
        get things/a
        ",
    )
    .await;
}

async fn an_apply_without_change_keeps_the_version(s: &Session) {
    of_things(
        s,
        "
        apply configmaps/a?fieldManager=one {data: {x: '1'}}
        apply configmaps/a?fieldManager=one {data: {x: '1'}}
        apply things/a?fieldManager=one {spec: {text: x, list: [a], items: [{name: i}]}}
        apply things/a?fieldManager=one {spec: {text: x, list: [a], items: [{name: i}]}}
        apply things/a?fieldManager=one&force=true {spec: {text: x, list: [a], items: [{name: i}]}}
        ",
    )
    .await;
}

async fn a_field_of_another_manager_is_a_conflict(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x, flag: true}}
        apply things/a?fieldManager=two {spec: {text: w}}
        apply configmaps/a?fieldManager=one {data: {x: '1'}}
        apply configmaps/a?fieldManager=two {data: {x: '2'}}
        get configmaps/a
        ",
    )
    .await;
}

async fn conflicts_are_listed_by_manager_and_field(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x, items: [{name: i, value: '1'}], list: [a], set: [s]}}
        apply things/a?fieldManager=two {spec: {text: x, count: 1}}
        merge things/a?fieldManager=three {spec: {flag: true, ratio: 0.5}}
        sorted apply things/a?fieldManager=four {spec: {text: w, count: 2, flag: false, ratio: 1.5, list: [b], set: [t], items: [{name: i, value: '2'}]}}
        sorted apply things/a?fieldManager=one {spec: {count: 2, flag: false}}
        ",
    )
    .await;
}

async fn force_takes_fields_from_others(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x, count: 1}}
        apply things/a?fieldManager=two&force=true {spec: {text: w}}
        apply things/a?fieldManager=two&force=true {spec: {count: 2}}
        apply things/a?fieldManager=one {spec: {text: x, count: 1}}
        apply things/a?fieldManager=one&force=false {spec: {count: 1}}
        ",
    )
    .await;
}

async fn managers_that_agree_share_a_field(s: &Session) {
    say(
        s,
        "
        apply configmaps/a?fieldManager=one {data: {x: '1'}}
        apply configmaps/a?fieldManager=two {data: {x: '1'}}
        apply configmaps/a?fieldManager=one {data: {x: '2'}}
        apply configmaps/a?fieldManager=one&force=true {data: {x: '2'}}
        apply configmaps/a?fieldManager=two {data: {x: '2'}}
        ",
    )
    .await;
}

async fn a_dropped_field_goes_with_its_only_owner(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x, nested: {a: '1', deep: {d: '2'}}, labels: {k: v}, mode: Slow}}
        apply things/a?fieldManager=one {spec: {nested: {a: '1'}}}
        apply things/a?fieldManager=one {}
        apply configmaps/a?fieldManager=one {data: {x: '1', w: '2'}}
        apply configmaps/a?fieldManager=one {data: {w: '2'}}
        apply configmaps/a?fieldManager=one {data: {}}
        ",
    )
    .await;
}

async fn a_dropped_field_stays_with_another_owner(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x, nested: {a: '1', b: '2'}, labels: {k: v}}}
        apply things/a?fieldManager=two {spec: {nested: {b: '2'}}}
        merge things/a?fieldManager=three {spec: {nested: {deep: {d: '3'}}}}
        apply things/a?fieldManager=one {spec: {text: x}}
        apply things/a?fieldManager=two {spec: {}}
        ",
    )
    .await;
}

async fn a_whole_list_is_dropped(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {list: [a, b], set: [s, t], items: [{name: i}, {name: m}], ports: [{port: 80}], structs: [{a: '1'}]}}
        apply things/a?fieldManager=two {spec: {items: [{name: i, value: v}], set: [u]}}
        apply things/a?fieldManager=one {spec: {text: x}}
        apply things/a?fieldManager=two {spec: {}}
        ",
    )
    .await;
}

async fn what_is_empty_is_owned(s: &Session) {
    let full = "{nested: {a: '1'}, labels: {k: v}, list: [l], items: [{name: i}], set: [s], whole: {k: v}, single: {a: '1'}, free: {k: 1}}";
    let empty = "{nested: {}, labels: {}, list: [], items: [], set: [], whole: {}, single: {}, free: {}, text: ''}";
    let lines = format!(
        "
        apply things/a?fieldManager=one {{spec: {empty}}}
        apply things/a?fieldManager=two {{spec: {full}}}
        apply things/a?fieldManager=two&force=true {{spec: {full}}}
        apply things/a?fieldManager=one {{spec: {empty}}}
        apply configmaps/a?fieldManager=one {{data: {{}}, metadata: {{labels: {{}}}}}}
        "
    );
    of_things(s, &lines).await;
}

async fn what_is_emptied_but_owned_is_null(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x, labels: {k: v}}}
        apply things/a?fieldManager=one {spec: {text: x, labels: {}}}
        apply things/b?fieldManager=one {spec: {text: x}}
        apply things/b?fieldManager=one {spec: {}}
        apply things/c?fieldManager=one {spec: {set: [a], nested: {a: '1'}}}
        apply things/c?fieldManager=one {spec: {set: [], nested: {}}}
        apply configmaps/a?fieldManager=one {data: {x: '1'}, metadata: {labels: {a: b}}}
        apply configmaps/a?fieldManager=one {data: {}, metadata: {labels: {}}}
        ",
    )
    .await;
}

async fn metadata_is_applied_by_key(s: &Session) {
    s.install(&thing()).await;
    let x = s
        .post("configmaps", &whole("configmaps/x", json!({})))
        .await;
    let o = s
        .post("configmaps", &whole("configmaps/o", json!({})))
        .await;
    let [x, o] = [("x", x.uid()), ("o", o.uid())].map(|(name, uid)| {
        format!("{{apiVersion: v1, kind: ConfigMap, name: {name}, uid: {uid}}}")
    });
    let lines = format!(
        "
        apply things/a?fieldManager=one {{metadata: {{labels: {{a: '1', b: '1'}}, annotations: {{i: '1'}}, finalizers: [example.com/a], ownerReferences: [{x}]}}}}
        apply things/a?fieldManager=two {{metadata: {{labels: {{c: '2', b: '1'}}, annotations: {{m: '2'}}, finalizers: [example.com/b], ownerReferences: [{o}]}}}}
        apply things/a?fieldManager=two {{metadata: {{labels: {{a: '2'}}, ownerReferences: [{x}]}}}}
        apply things/a?fieldManager=one {{metadata: {{labels: {{a: '1'}}}}}}
        apply things/a?fieldManager=two {{metadata: {{}}}}
        apply things/a?fieldManager=one {{metadata: {{}}}}
        apply things/a?fieldManager=one {{metadata: {{finalizers: [example.com/a, example.com/a]}}}}
        apply things/a?fieldManager=one {{metadata: {{ownerReferences: [{x}, {x}]}}}}
        "
    );
    say(s, &lines).await;
}

async fn a_kind_of_any_content_is_applied_by_member(s: &Session) {
    s.install(&orbit()).await;
    say(
        s,
        "
        apply orbits/any-content?fieldManager=one {a: {b: {c: 1, d: [1, {e: 2}]}}, f: g}
        apply orbits/any-content?fieldManager=two {a: {b: {c: 1, x: {}}}, h: null}
        apply orbits/any-content?fieldManager=two {a: {b: {d: [2]}}, f: {deep: true}}
        apply orbits/any-content?fieldManager=one {f: g}
        delete orbits/any-content
        ",
    )
    .await;
}

async fn a_dry_run_of_an_apply_stores_nothing(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one&dryRun=All {spec: {text: x}}
        get things/a
        apply things/a?fieldManager=two {spec: {text: x}}
        apply things/a?fieldManager=one&dryRun=All {spec: {text: w}}
        apply things/a?fieldManager=one&dryRun=All&force=true {spec: {text: w}}
        apply things/a?fieldManager=two&dryRun=All {spec: {text: TOO BAD}}
        get things/a
        ",
    )
    .await;
}

async fn a_status_is_left_out_of_an_apply(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x}, status: {phase: Up}}
        merge things/a/status?fieldManager=two {status: {phase: Down}}
        apply things/a?fieldManager=one {spec: {text: x}, status: {phase: Up}}
        apply things/a?fieldManager=one {spec: {text: x}, status: {phase: 7}}
        ",
    )
    .await;
}

async fn a_status_is_applied_by_itself(s: &Session) {
    of_things(
        s,
        "
        apply things/a/status?fieldManager=one {spec: {text: w}, status: {phase: Up}}
        post things {spec: {text: x}}
        apply things/a/status?fieldManager=one {spec: {text: w}, status: {phase: Up}}
        apply things/a/status?fieldManager=two {status: {conditions: [{type: Ready, status: 'True'}]}}
        apply things/a/status?fieldManager=one {status: {conditions: [{type: Live, status: 'False', reason: Dead}]}}
        apply things/a/status?fieldManager=two {status: {conditions: [{type: Live, status: 'True'}]}}
        apply things/a/status?fieldManager=one {status: {}}
        apply things/a?fieldManager=one {spec: {text: x}}
        apply things/a/status?fieldManager=one {metadata: {labels: {a: b}}, status: {phase: Down}}
        ",
    )
    .await;
}

async fn an_apply_finds_an_object_that_is_going(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {metadata: {finalizers: [example.com/a]}, spec: {text: x}}
        delete things/a
        apply things/a?fieldManager=one {metadata: {finalizers: [example.com/a]}, spec: {text: w}}
        apply things/a?fieldManager=one {spec: {text: z}}
        get things/a
        apply things/a?fieldManager=one {spec: {text: z}}
        ",
    )
    .await;
}

async fn an_apply_counts_generations(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x}}
        apply things/a?fieldManager=one {metadata: {labels: {a: b}}, spec: {text: x}}
        apply things/a?fieldManager=one {spec: {text: w}}
        apply things/a?fieldManager=two {spec: {text: w}}
        apply things/a?fieldManager=one {metadata: {generation: 40}, spec: {text: w}}
        ",
    )
    .await;
}

/// An object applied with a deletion timestamp is being deleted from the start.
async fn what_is_applied_may_be_going(s: &Session) {
    s.install(&thing()).await;
    let going =
        json!({"deletionTimestamp": "2024-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5});
    let mut held = going.clone();
    held["finalizers"] = json!(["capstan.dev/held"]);
    for (plural, make) in [
        ("configmaps", a_config_map as fn(&str, &Json) -> Json),
        ("things", |_: &str, metadata: &Json| a_thing(metadata)),
    ] {
        let path = format!("{plural}/a");
        let applied = format!("{path}?fieldManager=one");
        for metadata in [&going, &held] {
            s.note(&format!("{plural} {metadata}"));
            s.apply(&applied, &make("a", metadata)).await;
            s.get(&path).await;
            s.merge(&path, &json!({"metadata": {"labels": {"a": "b"}}}))
                .await;
            s.merge(&path, &json!({"metadata": {"finalizers": null}}))
                .await;
            s.delete(&path).await;
            s.get(&path).await;
        }
    }
}

behaviours! { Api:
    an_apply_creates_an_object,
    an_apply_without_change_keeps_the_version,
    a_field_of_another_manager_is_a_conflict,
    conflicts_are_listed_by_manager_and_field,
    force_takes_fields_from_others,
    managers_that_agree_share_a_field,
    a_dropped_field_goes_with_its_only_owner,
    a_dropped_field_stays_with_another_owner,
    a_whole_list_is_dropped,
    what_is_empty_is_owned,
    what_is_emptied_but_owned_is_null,
    metadata_is_applied_by_key,
    a_kind_of_any_content_is_applied_by_member,
    a_dry_run_of_an_apply_stores_nothing,
    a_status_is_left_out_of_an_apply,
    a_status_is_applied_by_itself,
    an_apply_finds_an_object_that_is_going,
    what_is_applied_may_be_going,
    an_apply_counts_generations,
}
