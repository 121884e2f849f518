//! Who manages which field after writes that are no applies, and after both kinds.

use std::time::Duration;

use http::header;
use serde_json::{Value as Json, json};

use super::script::{say, whole};
use super::{behaviours, thing};
use crate::reply::Reply;
use crate::session::{Ask, Session};

async fn of_things(s: &Session, lines: &str) {
    s.install(&thing()).await;
    say(s, lines).await;
}

async fn a_create_owns_all_it_says(s: &Session) {
    of_things(
        s,
        "
        post things?fieldManager=one {metadata: {labels: {l: '1'}, finalizers: [example.com/a]}, spec: {text: x, nested: {a: '1'}, labels: {k: v}, items: [{name: i}], list: [l], set: [s], whole: {k: v}, free: {a: {b: 1}}, ports: [{port: 80}], counts: {}, structs: []}, status: {phase: Up}}
        post configmaps {data: {k: v}}
        post secrets {stringData: {k: v}}
        post services {spec: {clusterIP: None, selector: {a: b}, ports: [{port: 80}]}}
        ",
    )
    .await;
}

async fn an_update_owns_what_it_changed(s: &Session) {
    s.install(&thing()).await;
    let made = whole(
        "things/a",
        json!({"spec": {"text": "x", "count": 1, "items": [{"name": "n", "value": "v"}], "set": ["a", "b"]}}),
    );
    let made = s.post("things?fieldManager=one", &made).await;
    let mut object = made.body.clone();
    object["spec"] = json!({"text": "w", "count": 1, "mode": "Fast", "items": [{"name": "n", "value": "w", "port": 80}, {"name": "m"}], "set": ["b", "c"]});
    let done = s.put("things/a?fieldManager=two", &object).await;
    s.put("things/a?fieldManager=three", &done.body).await;
    say(
        s,
        "
        merge things/a?fieldManager=four {spec: {text: w, count: 2}}
        merge things/a?fieldManager=four {spec: {items: null, flag: true}}
        json things/a?fieldManager=one [{op: remove, path: /spec/set}]
        ",
    )
    .await;
}

async fn an_update_of_nothing_owns_nothing(s: &Session) {
    let made = whole("configmaps/a", json!({"data": {"k": "v"}}));
    let made = s.post("configmaps?fieldManager=one", &made).await;
    s.put("configmaps/a?fieldManager=two", &made.body).await;
    say(
        s,
        "
        merge configmaps/a?fieldManager=three {data: {k: v}}
        merge configmaps/a?fieldManager=three {}
        merge configmaps/a?fieldManager=three {metadata: {labels: {}}}
        put configmaps/a?fieldManager=two {data: {k: v}}
        ",
    )
    .await;
}

async fn an_applied_field_goes_to_who_updates_it(s: &Session) {
    of_things(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x, count: 1, labels: {k: v}}}
        merge things/a?fieldManager=two {spec: {text: z}}
        apply things/a?fieldManager=one {spec: {text: x, count: 1}}
        apply things/a?fieldManager=one {spec: {text: z, count: 1}}
        merge things/a?fieldManager=one {spec: {count: 2}}
        apply things/a?fieldManager=one {spec: {text: z, count: 1}}
        merge things/a?fieldManager=two {spec: {text: null}}
        ",
    )
    .await;
}

async fn a_created_field_is_shared_with_who_applies_it(s: &Session) {
    say(
        s,
        "
        post configmaps?fieldManager=one {data: {x: '1', z: '1'}}
        apply configmaps/a?fieldManager=one {data: {x: '1'}}
        apply configmaps/a?fieldManager=one {data: {x: '2'}}
        apply configmaps/a?fieldManager=one&force=true {data: {x: '2'}}
        apply configmaps/a?fieldManager=one {data: {}}
        apply configmaps/a?fieldManager=two {data: {z: '1'}}
        apply configmaps/a?fieldManager=two {data: {}}
        ",
    )
    .await;
}

async fn a_field_is_handed_over_by_the_same_value(s: &Session) {
    say(
        s,
        "
        apply configmaps/a?fieldManager=one {data: {x: '1', z: '1'}}
        apply configmaps/a?fieldManager=two {data: {x: '1'}}
        apply configmaps/a?fieldManager=one {data: {z: '1'}}
        apply configmaps/a?fieldManager=two {data: {x: '2'}}
        ",
    )
    .await;
}

async fn a_manager_is_named_by_its_program(s: &Session) {
    let agents = [
        "kubectl/v1.34 (linux)",
        "a b (c)/d",
        "/x",
        "",
        "Mozilla",
        "tab\there/1",
    ];
    for (at, agent) in agents.iter().enumerate() {
        s.note(&format!("{agent:?}"));
        let object = json!({"metadata": {"name": format!("a{at}")}, "data": {"k": "v"}});
        let ask = Ask::new("POST", "configmaps").header(header::USER_AGENT, agent);
        s.send(ask.json(&object)).await;
    }
    let long = format!("{}/1", "a".repeat(200));
    let ask = Ask::new("POST", "configmaps").header(header::USER_AGENT, &long);
    s.send(ask.json(&json!({"metadata": {"name": "long"}, "data": {"k": "v"}})))
        .await;
    say(
        s,
        "
        post configmaps?fieldManager= {metadata: {name: x}, data: {k: v}}
        post configmaps?fieldManager=named {metadata: {name: z}, data: {k: v}}
        ",
    )
    .await;
}

async fn a_name_of_a_manager_follows_rules(s: &Session) {
    let (long, most) = ("m".repeat(129), "n".repeat(128));
    let lines = format!(
        "
        post configmaps?fieldManager={long} {{data: {{k: v}}}}
        post configmaps?fieldManager=a%09b {{data: {{k: v}}}}
        post configmaps?fieldManager=a%0Ab%07 {{data: {{k: v}}}}
        post configmaps?fieldManager=%C3%BC%20%F0%9F%98%80 {{data: {{k: v}}}}
        apply configmaps/a?fieldManager={long} {{data: {{}}}}
        merge configmaps/a?fieldManager={most} {{data: {{k: w}}}}
        put configmaps/a?fieldManager=a%01b {{data: {{}}}}
        "
    );
    say(s, &lines).await;
}

async fn the_first_apply_finds_what_was_there_before(s: &Session) {
    of_things(
        s,
        "
        post things?fieldManager=one {spec: {text: x, count: 1}}
        json things/a [{op: replace, path: /metadata/managedFields, value: [{}]}]
        apply things/a?fieldManager=two {spec: {text: z}}
        apply things/a?fieldManager=two {spec: {text: x}}
        apply things/a?fieldManager=two&force=true {spec: {text: z}}
        post configmaps?fieldManager=one {data: {x: '1'}}
        json configmaps/a [{op: replace, path: /metadata/managedFields, value: [{}]}]
        merge configmaps/a?fieldManager=three {data: {w: '1'}}
        apply configmaps/a?fieldManager=two {data: {z: '1'}}
        ",
    )
    .await;
}

async fn a_status_has_managers_of_its_own(s: &Session) {
    of_things(
        s,
        "
        post things?fieldManager=one {spec: {text: x}}
        merge things/a/status?fieldManager=one {status: {phase: Up}}
        merge things/a/status?fieldManager=two {metadata: {labels: {a: b}, managedFields: []}, spec: {text: w}, status: {phase: Down, observedGeneration: 1}}
        merge things/a/status?fieldManager=two {metadata: {managedFields: [{}]}, status: {observedGeneration: 2}}
        apply things/a/status?fieldManager=one {status: {phase: Up}}
        apply things/a/status?fieldManager=three {status: {phase: Gone, observedGeneration: 2}}
        merge things/a?fieldManager=one {spec: {text: z}, status: {phase: Other}}
        merge things/a?fieldManager=one {metadata: {managedFields: [{}]}, status: {phase: Other}}
        ",
    )
    .await;
}

async fn many_updaters_are_put_together(s: &Session) {
    say(s, "post configmaps?fieldManager=m00 {data: {k00: v}}").await;
    for number in 1..13 {
        let how = if number < 9 { "silent " } else { "" };
        let line = format!(
            "{how}merge configmaps/a?fieldManager=m{number:02} {{data: {{k{number:02}: v}}}}"
        );
        say(s, &line).await;
    }
    say(
        s,
        "
        apply configmaps/a?fieldManager=applier {data: {k01: v}}
        ",
    )
    .await;
}

/// When the manager last changed something.
fn time(reply: &Reply, manager: &str) -> Json {
    let entries = reply.body["metadata"]["managedFields"].as_array();
    let mut entries = entries.into_iter().flatten();
    let entry = entries.find(|entry| entry["manager"] == manager);
    entry.expect("an entry")["time"].clone()
}

async fn times_tell_when_a_manager_changed_something(s: &Session) {
    s.install(&thing()).await;
    let spec = |spec: Json| whole("things/a", json!({"spec": spec}));
    let mut last = s
        .apply("things/a?fieldManager=one", &spec(json!({"text": "x"})))
        .await;
    for (manager, config) in [
        ("one", json!({"text": "x"})),
        ("two", json!({"text": "x"})),
        ("one", json!({"text": "x", "mode": "Fast"})),
        ("one", json!({"text": "x", "count": 1})),
    ] {
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let path = format!("things/a?fieldManager={manager}");
        let next = s.apply(&path, &spec(config)).await;
        s.note(&format!(
            "same time: {}",
            time(&next, "one") == time(&last, "one")
        ));
        last = next;
    }
    let patch = json!({"spec": {"count": 2}});
    let first = s.merge("things/a?fieldManager=three", &patch).await;
    s.note(&format!(
        "same time: {}",
        time(&first, "one") == time(&last, "one")
    ));
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let again = s.merge("things/a?fieldManager=three", &patch).await;
    s.note(&format!(
        "same time: {}",
        time(&first, "three") == time(&again, "three")
    ));
}

behaviours! { Api:
    a_create_owns_all_it_says,
    an_update_owns_what_it_changed,
    an_update_of_nothing_owns_nothing,
    an_applied_field_goes_to_who_updates_it,
    a_created_field_is_shared_with_who_applies_it,
    a_field_is_handed_over_by_the_same_value,
    a_manager_is_named_by_its_program,
    a_name_of_a_manager_follows_rules,
    the_first_apply_finds_what_was_there_before,
    a_status_has_managers_of_its_own,
    many_updaters_are_put_together,
    times_tell_when_a_manager_changed_something,
}
