//! What a configuration for server-side apply may say, and what it has to.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::script::{say, whole};
use super::{behaviours, thing};
use crate::session::{Ask, GROUP, Session};

/// `object` with one of its parts set.
fn with(mut object: Json, pointer: &str, value: &Json) -> Json {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    object.pointer_mut(parent).expect("a parent")[key] = value.clone();
    object
}

/// Applies each of these specs of a `Thing`, in YAML, for itself.
async fn specs(s: &Session, specs: &[&str]) {
    s.install(&thing()).await;
    for spec in specs {
        s.note(spec);
        say(
            s,
            &format!("apply things/a?fieldManager=one {{spec: {spec}}}"),
        )
        .await;
    }
}

async fn a_configuration_says_what_it_is(s: &Session) {
    s.install(&thing()).await;
    let versions = ["v2", "apps/v1", "", "a/b/c"].map(|version| ("/apiVersion", version));
    let others = [
        ("/kind", "Secret"),
        ("/kind", ""),
        ("/metadata/name", "b"),
        ("/metadata/namespace", "elsewhere"),
    ];
    for (pointer, value) in versions.into_iter().chain(others) {
        s.note(&format!("{pointer} {value:?}"));
        let map = with(whole("configmaps/a", json!({})), pointer, &json!(value));
        s.apply("configmaps/a?fieldManager=one", &map).await;
    }
    let version = format!("{GROUP}/v2");
    let versions = [version.as_str(), ""].map(|version| ("/apiVersion", version));
    for (pointer, value) in versions.into_iter().chain(others) {
        s.note(&format!("{pointer} {value:?}"));
        let thing = with(whole("things/a", json!({})), pointer, &json!(value));
        s.apply("things/a?fieldManager=one", &thing).await;
    }
    s.get("things/a").await;
}

async fn a_configuration_needs_no_name_once_there_is_one(s: &Session) {
    s.install(&thing()).await;
    let bare = |text: &str| json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "spec": {"text": text}});
    let generated = with(
        whole("things/a", json!({})),
        "/metadata",
        &json!({"generateName": "b-"}),
    );
    s.apply("things/a?fieldManager=one", &bare("x")).await;
    s.apply("things/a?fieldManager=one", &generated).await;
    say(s, "apply things/a?fieldManager=one {spec: {text: x}}").await;
    s.apply("things/a?fieldManager=one", &bare("y")).await;
    s.apply(
        "things/a?fieldManager=one",
        &with(bare("z"), "/metadata", &json!({})),
    )
    .await;
}

async fn a_configuration_is_an_object(s: &Session) {
    for body in ["[]", "\"text\"", "7", "", "null", "{}", "a: [", "{\"a\":"] {
        s.note(body);
        let ask = Ask::new("PATCH", "configmaps/a?fieldManager=one");
        s.send(ask.body("application/apply-patch+yaml", body).gist())
            .await;
    }
}

async fn a_configuration_may_be_yaml(s: &Session) {
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {a: b}\ndata:\n  k: |\n    two\n    lines\n  number: \"1\"\n";
    let ask = Ask::new("PATCH", "configmaps/a?fieldManager=one");
    s.send(ask.body("application/apply-patch+yaml", yaml)).await;
    let twice = "apiVersion: v1\nkind: ConfigMap\ndata: {k: a}\ndata: {k: b}\n";
    let ask = Ask::new(
        "PATCH",
        "configmaps/a?fieldManager=one&fieldValidation=Strict",
    );
    s.send(ask.body("application/apply-patch+yaml", twice).gist())
        .await;
}

async fn an_apply_needs_a_manager(s: &Session) {
    say(
        s,
        "
        apply configmaps/a {}
        apply configmaps/a?fieldManager= {}
        apply configmaps/a?force=true {}
        get configmaps/a
        ",
    )
    .await;
}

async fn only_an_apply_can_be_forced(s: &Session) {
    say(
        s,
        "
        post configmaps {}
        merge configmaps/a?force=true {data: {x: '1'}}
        merge configmaps/a?force=false {data: {x: '1'}}
        merge configmaps/a?force=true&fieldManager=one {data: {x: '1'}}
        json configmaps/a?force=true []
        put configmaps/a?force=true {data: {x: '2'}}
        ",
    )
    .await;
}

async fn a_configuration_may_name_a_version(s: &Session) {
    s.install(&thing()).await;
    let first = whole("things/a", json!({"spec": {"text": "x"}}));
    let first = s.apply("things/a?fieldManager=one", &first).await;
    let lines = format!(
        "
        apply things/a?fieldManager=one {{metadata: {{resourceVersion: '{0}'}}, spec: {{text: w}}}}
        apply things/a?fieldManager=one {{metadata: {{resourceVersion: '{0}'}}, spec: {{text: z}}}}
        apply things/b?fieldManager=one {{metadata: {{resourceVersion: '1'}}, spec: {{text: z}}}}
        apply configmaps/a?fieldManager=one {{metadata: {{resourceVersion: '1'}}}}
        apply configmaps/a?fieldManager=one {{metadata: {{resourceVersion: '1'}}, data: {{x: '1'}}}}
        ",
        first.version()
    );
    say(s, &lines).await;
}

async fn a_configuration_may_name_a_uid(s: &Session) {
    s.install(&thing()).await;
    let first = whole("things/a", json!({"spec": {"text": "x"}}));
    let first = s.apply("things/a?fieldManager=one", &first).await;
    let other = "00000000-0000-0000-0000-00000000000f";
    let lines = format!(
        "
        apply things/a?fieldManager=one {{metadata: {{uid: {}}}, spec: {{text: w}}}}
        apply things/b?fieldManager=one {{metadata: {{uid: {other}}}}}
        apply configmaps/a?fieldManager=one {{metadata: {{uid: {other}}}}}
        get configmaps/a
        ",
        first.uid()
    );
    say(s, &lines).await;
}

async fn a_configuration_says_nothing_of_managers(s: &Session) {
    s.install(&thing()).await;
    let entry =
        "{manager: x, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}";
    for managers in [
        format!("[{entry}]"),
        "[]".into(),
        "[{}]".into(),
        "null".into(),
    ] {
        let metadata = format!("{{metadata: {{managedFields: {managers}}}}}");
        say(
            s,
            &format!("apply configmaps/a?fieldManager=one {metadata}"),
        )
        .await;
        say(s, &format!("apply things/a?fieldManager=one {metadata}")).await;
    }
}

async fn what_the_server_decides_is_not_applied(s: &Session) {
    s.install(&thing()).await;
    let ignored = "{metadata: {generation: 9, creationTimestamp: '2001-01-01T00:00:00Z', selfLink: /x}, spec: {text: x}}";
    say(s, &format!("apply things/a?fieldManager=one {ignored}")).await;
    say(s, &format!("apply things/a?fieldManager=two {ignored}")).await;
    // Some of it counts as a change all the same: the manager has applied at another time, in seconds.
    for metadata in [
        "{}",
        "{generation: 9}",
        "{selfLink: /x}",
        "{creationTimestamp: '2001-01-01T00:00:00Z'}",
    ] {
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let config = format!("{{metadata: {metadata}, spec: {{text: x}}}}");
        say(s, &format!("apply things/a?fieldManager=one {config}")).await;
    }
}

async fn nulls_in_a_configuration_are_values(s: &Session) {
    s.install(&thing()).await;
    let nulls = "{spec: {text: null, nested: null, labels: {k: null}, list: null, items: null, maybe: null, mode: null}}";
    let lines = format!(
        "
        sorted apply things/a?fieldManager=one {nulls}
        apply things/a?fieldManager=two {{spec: {{text: x, nested: {{a: '1'}}, labels: {{k: v}}, list: [l], items: [{{name: i}}], maybe: m}}}}
        sorted apply things/a?fieldManager=one {nulls}
        sorted apply things/a?fieldManager=one&force=true {nulls}
        apply things/a?fieldManager=one&force=true {{spec: {{maybe: null, mode: null}}}}
        apply things/b?fieldManager=one {{metadata: {{labels: null}}, spec: null}}
        apply configmaps/a?fieldManager=one {{data: {{x: null, w: '1'}}}}
        apply configmaps/a?fieldManager=one {{data: {{x: null, w: null}}, metadata: {{labels: {{a: null}}}}}}
        apply configmaps/b?fieldManager=one {{metadata: {{creationTimestamp: null, annotations: null}}, data: null}}
        "
    );
    say(s, &lines).await;
}

async fn an_unknown_field_cannot_be_applied(s: &Session) {
    s.install(&thing()).await;
    say(
        s,
        "
        apply things/a?fieldManager=one {spec: {colour: red}}
        apply things/a?fieldManager=one {spec: {nested: {deep: {colour: red}}}}
        apply things/a?fieldManager=one {spec: {items: [{name: i, colour: red}]}}
        apply things/a?fieldManager=one&fieldValidation=Ignore {spec: {colour: red}}
        apply things/a?fieldManager=one {metadata: {colour: red}}
        apply things/a?fieldManager=one {colour: red}
        apply configmaps/a?fieldManager=one {colour: red}
        apply configmaps/a?fieldManager=one {metadata: {colour: red}}
        apply configmaps/a?fieldManager=one&fieldValidation=Ignore {colour: red}
        apply services/a?fieldManager=one {spec: {clusterIP: None, ports: [{port: 80, colour: red}]}}
        apply services/a?fieldManager=one {spec: {clusterIP: None, colour: red}}
        ",
    )
    .await;
}

async fn a_value_of_a_wrong_type_cannot_be_applied(s: &Session) {
    specs(
        s,
        &[
            "{text: 1}",
            "{text: {a: 1, b: [x, null, true]}}",
            "{text: [1.5]}",
            "{count: '1'}",
            "{count: {}}",
            "{count: [1]}",
            "{flag: 'yes'}",
            "{flag: 1}",
            "{ratio: true}",
            "{nested: x}",
            "{nested: [x]}",
            "{labels: x}",
            "{labels: {k: 1}}",
            "{list: x}",
            "{list: {a: 1}}",
            "{list: [1]}",
            "{when: 1}",
            "{port: true}",
            "{mode: 1}",
            "7",
            "[1]",
            "text",
        ],
    )
    .await;
}

async fn a_text_of_a_built_in_kind_is_one(s: &Session) {
    say(
        s,
        "
        apply configmaps/a?fieldManager=one {data: {x: 1}}
        apply configmaps/a?fieldManager=one {data: {x: {a: b}}}
        apply configmaps/a?fieldManager=one {data: x}
        apply configmaps/a?fieldManager=one {metadata: {labels: {a: 1}}}
        apply configmaps/a?fieldManager=one {metadata: {annotations: [a]}}
        apply configmaps/a?fieldManager=one {metadata: {finalizers: a}}
        gist apply configmaps/a?fieldManager=one {immutable: 'yes'}
        ",
    )
    .await;
}

async fn what_is_applied_is_checked(s: &Session) {
    specs(
        s,
        &[
            "{text: UP}",
            "{count: 11}",
            "{list: ['1', '2', '3', '4', '5', '6']}",
            "{structs: [{b: x}]}",
            "{structs: [{a: x}], mode: Fast}",
            "{mode: Medium}",
        ],
    )
    .await;
    say(s, "apply configmaps/a?fieldManager=one {data: {a b: x}}").await;
}

behaviours! { Api:
    a_configuration_says_what_it_is,
    a_configuration_needs_no_name_once_there_is_one,
    a_configuration_is_an_object,
    a_configuration_may_be_yaml,
    an_apply_needs_a_manager,
    only_an_apply_can_be_forced,
    a_configuration_may_name_a_version,
    a_configuration_may_name_a_uid,
    a_configuration_says_nothing_of_managers,
    what_the_server_decides_is_not_applied,
    nulls_in_a_configuration_are_values,
    an_unknown_field_cannot_be_applied,
    a_value_of_a_wrong_type_cannot_be_applied,
    a_text_of_a_built_in_kind_is_one,
    what_is_applied_is_checked,
}
