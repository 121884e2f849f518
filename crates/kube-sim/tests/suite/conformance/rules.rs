//! Rules of a schema (`x-kubernetes-validations`): when they hold, the message when one does not, what
//! is tolerated, and which definitions are refused for them.

use serde_json::{Value as Json, json};

use super::script::say;
use super::{behaviours, rule};
use crate::session::{Ask, Session};

/// As [`say`], with `Rule` installed.
async fn of_rules(s: &Session, lines: &str) {
    s.install(&rule()).await;
    say(s, lines).await;
}

async fn a_rule_is_about_one_value(s: &Session) {
    of_rules(
        s,
        "
        post rules {spec: {text: abc}}
        post rules {metadata: {name: b}, spec: {text: ab☃é}}
        post rules {metadata: {name: b}, spec: {text: bad}}
        post rules {metadata: {name: forbidden}, spec: {}}
        sorted post rules {metadata: {name: forbidden}, spec: {text: abcd, numbers: [1]}}
        ",
    )
    .await;
}

async fn a_rule_makes_its_message(s: &Session) {
    of_rules(
        s,
        "
        # defaults are there before rules are asked
        post rules {spec: {low: 7}}
        post rules {spec: {low: 2, high: 1}}
        # an expression that comes to nothing leaves the message
        post rules {spec: {name: x}}
        post rules {spec: {first: x}}
        ",
    )
    .await;
}

async fn a_rule_may_come_to_nothing(s: &Session) {
    of_rules(
        s,
        "
        post rules {spec: {plain: {}}}
        post rules {spec: {plain: {d: 2}}}
        post rules {metadata: {name: b}, spec: {plain: {d: 1}}}
        post rules {metadata: {name: c}, spec: {numbers: [0, 2]}}
        post rules {metadata: {name: d}, spec: {numbers: [0, 1]}}
        post rules {metadata: {name: d}, spec: {numbers: []}}
        ",
    )
    .await;
}

async fn a_rule_sees_what_is_not_there(s: &Session) {
    of_rules(
        s,
        "
        post rules {metadata: {name: a}, spec: {pick: {}}}
        post rules {metadata: {name: b}, spec: {pick: {a: '', b: {c: 3}}}}
        post rules {metadata: {name: c}, spec: {pick: {b: {c: 7}}}}
        post rules {metadata: {name: d}, spec: {port: 80}}
        post rules {metadata: {name: e}, spec: {port: 0}}
        post rules {metadata: {name: f}, spec: {port: 5%}}
        post rules {metadata: {name: g}, spec: {port: '5'}}
        ",
    )
    .await;
}

async fn a_rule_about_a_change_is_asked_in_every_way(s: &Session) {
    of_rules(
        s,
        r#"
        silent post rules {metadata: {name: a}, spec: {fixed: x}}
        merge rules/a {spec: {fixed: z}}
        json rules/a [{"op": "replace", "path": "/spec/fixed", "value": "z"}]
        apply rules/a?fieldManager=one&force=true {spec: {fixed: z}}
        merge rules/a {spec: {fixed: x, text: a}}
        merge rules/a {spec: {fixed: null}}
        merge rules/a {spec: {fixed: z}}
        "#,
    )
    .await;
}

async fn a_rule_may_take_no_change_for_one(s: &Session) {
    of_rules(
        s,
        "
        post rules {metadata: {name: b}, spec: {step: 1}}
        post rules {metadata: {name: a}, spec: {}}
        merge rules/a {spec: {step: 3}}
        merge rules/a {spec: {step: 2}}
        ",
    )
    .await;
}

async fn items_with_keys_go_on_from_their_namesakes(s: &Session) {
    of_rules(
        s,
        "
        silent post rules {metadata: {name: a}, spec: {items: [{key: a, value: 1}, {key: b, value: 5}]}}
        merge rules/a {spec: {items: [{key: b, value: 4}, {key: c, value: 0}, {key: a, value: 2}]}}
        merge rules/a {spec: {items: [{key: b, value: 6}, {key: c, value: 0}]}}
        apply rules/a?fieldManager=one&force=true {spec: {items: [{key: c, value: -1}]}}
        ",
    )
    .await;
}

async fn a_set_has_no_order_and_a_list_has(s: &Session) {
    of_rules(
        s,
        "
        silent post rules {metadata: {name: a}, spec: {set: [a, b], list: [a, b]}}
        merge rules/a {spec: {set: [b, a]}}
        merge rules/a {spec: {set: [b, c]}}
        merge rules/a {spec: {list: [b, a]}}
        ",
    )
    .await;
}

async fn rules_are_not_asked_of_what_is_malformed(s: &Session) {
    of_rules(
        s,
        "
        sorted post rules {spec: {text: bad, low: x}}
        sorted post rules {spec: {text: bad, second: longer}}
        sorted post rules {spec: {text: bad, items: [{value: 1}]}}
        ",
    )
    .await;
}

async fn rules_of_a_status_are_asked(s: &Session) {
    of_rules(
        s,
        "
        silent post rules {metadata: {name: a}, spec: {}}
        silent merge rules/a/status {status: {seen: 2}}
        merge rules/a/status {status: {seen: 1}}
        merge rules/a/status {status: {seen: 200}}
        merge rules/a/status {status: {seen: x}}
        merge rules/a {status: {seen: 1}, spec: {text: ok}}
        ",
    )
    .await;
}

/// A kind of the behaviour's own, whose spec has these properties.
fn kept(s: &Session, spec: &Json) -> Json {
    let group = format!("{}.capstan.dev", s.namespace);
    let spec = json!({"type": "object", "properties": spec});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("boxes.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// Makes a box of this spec, then makes the schema stricter; then sends these changes.
async fn after_a_stricter_schema(
    s: &Session,
    before: Json,
    stricter: Json,
    spec: Json,
    changes: &[Json],
) {
    s.install(&kept(s, &before)).await;
    let boxes = format!("/apis/{0}.capstan.dev/v1/namespaces/{0}/boxes", s.namespace);
    let object = |name: &str, spec: &Json| {
        json!({"apiVersion": format!("{}.capstan.dev/v1", s.namespace), "kind": "Box",
            "metadata": {"name": name}, "spec": spec})
    };
    let made = s
        .send(Ask::new("POST", &boxes).json(&object("a", &spec)).silent())
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!(
        "customresourcedefinitions/boxes.{}.capstan.dev",
        s.namespace
    );
    let versions = json!({"spec": {"versions": kept(s, &stricter)["spec"]["versions"]}});
    let ask = Ask::new("PATCH", &path).body("application/merge-patch+json", versions.to_string());
    let changed = s.send(ask.silent()).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    // The same again is refused once the new schema is at work.
    let probe = Ask::new("POST", &format!("{boxes}?dryRun=All")).json(&object("probe", &spec));
    s.meet_as(&probe, |reply| reply.status == 422).await;
    for change in changes {
        let ask = Ask::new("PATCH", &format!("{boxes}/a"));
        let body = json!({"spec": change}).to_string();
        s.note(&change.to_string());
        let answer = s
            .send(ask.body("application/merge-patch+json", body).sorted())
            .await;
        // A patch is first tried on the watch cache, and warns of what it finds there, however old:
        // a list that is not older waits until the cache has this version.
        if answer.status == 200 {
            let fresh = format!("{boxes}?resourceVersion={}", answer.version());
            s.send(Ask::new("GET", &fresh).silent()).await;
        }
    }
}

fn text(rule: &str) -> Json {
    let rules = json!([{"rule": rule, "message": "no such text"}]);
    json!({"type": "string", "maxLength": 20, "x-kubernetes-validations": rules})
}

async fn what_broke_a_rule_before_is_tolerated_unchanged(s: &Session) {
    let properties = |rule: &str| {
        let item = json!({"type": "object", "required": ["k"], "properties": {
            "k": {"type": "string", "maxLength": 5}, "t": text(rule)}});
        let list = |kind: &str, keys: Json| {
            json!({"type": "array", "maxItems": 4, "items": item, "x-kubernetes-list-type": kind,
                "x-kubernetes-list-map-keys": keys})
        };
        json!({"t": text(rule), "n": {"type": "integer"},
            "keyed": list("map", json!(["k"])), "plain": list("atomic", Json::Null)})
    };
    let spec =
        json!({"t": "old", "keyed": [{"k": "a", "t": "old"}], "plain": [{"k": "a", "t": "old"}]});
    let (before, stricter) = (properties("self != 'bad'"), properties("self != 'old'"));
    after_a_stricter_schema(
        s,
        before,
        stricter,
        spec,
        &[
            json!({"n": 1}),
            json!({"keyed": [{"k": "b"}, {"k": "a", "t": "old"}]}),
            json!({"keyed": [{"k": "b", "t": "old"}]}),
            json!({"plain": [{"k": "a", "t": "old"}, {"k": "b"}]}),
            json!({"t": null}),
            json!({"t": "old"}),
        ],
    )
    .await;
}

async fn what_did_not_fit_before_is_tolerated_unchanged(s: &Session) {
    let properties = |length: u32, required: Json| {
        let text = json!({"type": "string", "maxLength": length});
        let item = json!({"type": "object", "properties": {"k": {"type": "string"}, "t": text}});
        let keyed = json!({"type": "array", "items": item, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"]});
        let mut keyed_item = keyed.clone();
        keyed_item["items"]["required"] = json!(["k"]);
        json!({"t": text, "n": {"type": "integer"}, "keyed": keyed_item,
            "plain": {"type": "array", "items": item},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "required": required},
            "closed": {"type": "object", "required": required, "properties": {"x": {"type": "integer"}, "w": {"type": "integer"}}}})
    };
    let spec = json!({"t": "long", "keyed": [{"k": "a", "t": "long"}], "plain": [{"k": "a", "t": "long"}],
        "open": {"w": 1}, "closed": {"w": 1}});
    let (before, stricter) = (properties(9, json!(["w"])), properties(3, json!(["x"])));
    after_a_stricter_schema(
        s,
        before,
        stricter,
        spec,
        &[
            json!({"n": 1}),
            json!({"n": 1, "open": {"x": 1}}),
            json!({"t": "longer"}),
            json!({"keyed": [{"k": "b"}, {"k": "a", "t": "long"}]}),
            json!({"keyed": [{"k": "b"}, {"k": "a", "t": "longer"}]}),
            json!({"plain": [{"k": "a", "t": "long"}, {"k": "b"}]}),
            json!({"closed": {"w": 2}}),
        ],
    )
    .await;
}

/// Tries to define a kind whose spec has this rule; only code, reason and fields are kept.
async fn refused(s: &Session, rules: &[Json]) {
    for rule in rules {
        let text = json!({"type": "string", "maxLength": 5});
        let plain = json!({"type": "array", "maxItems": 5, "items": {"type": "object", "properties": {"a": text}}});
        let mut definition = kept(
            s,
            &json!({"size": {"type": "integer"}, "text": text, "list": plain}),
        );
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        let spec = definition.pointer_mut(spec).expect("it has one");
        match rule.get("items") {
            Some(rule) => {
                spec["properties"]["list"]["items"]["x-kubernetes-validations"] = json!([rule])
            }
            None => spec["x-kubernetes-validations"] = json!([rule]),
        }
        s.note(&rule.to_string());
        let ask = Ask::new("POST", "customresourcedefinitions?dryRun=All");
        s.send(ask.json(&definition).gist()).await;
    }
}

async fn a_rule_that_makes_no_sense_is_refused(s: &Session) {
    let expressions = [
        "self.size >",
        "self.colour == 'red'",
        "self.size == 'a'",
        "self.text == null",
        "self.size",
        "size.self",
        "self.text.shout()",
        "self.list.all(x, x.b == 'a')",
        "self.?colour.hasValue()",
        "self.text.matches(1)",
        "self.size ? 1 : 2",
    ];
    let rules = expressions.map(|text| json!({"rule": text, "message": "m"}));
    refused(s, &rules).await;
}

async fn the_parts_of_a_rule_are_checked(s: &Session) {
    refused(
        s,
        &[
            json!({"rule": "", "message": "m"}),
            json!({"rule": "true", "message": " "}),
            json!({"rule": "true", "message": "a\nb"}),
            json!({"rule": "true ||\nfalse"}),
            json!({"rule": "true", "messageExpression": "self.size"}),
            json!({"rule": "true", "messageExpression": "self.nothing"}),
            json!({"rule": "true", "reason": "Wrong"}),
            json!({"rule": "true", "fieldPath": ".colour"}),
            json!({"rule": "true", "fieldPath": "size"}),
            json!({"rule": "true", "optionalOldSelf": true}),
            json!({"items": {"rule": "self == oldSelf"}}),
        ],
    )
    .await;
}

behaviours! { Api:
    a_rule_is_about_one_value,
    a_rule_makes_its_message,
    a_rule_may_come_to_nothing,
    a_rule_sees_what_is_not_there,
    a_rule_about_a_change_is_asked_in_every_way,
    a_rule_may_take_no_change_for_one,
    items_with_keys_go_on_from_their_namesakes,
    a_set_has_no_order_and_a_list_has,
    rules_are_not_asked_of_what_is_malformed,
    rules_of_a_status_are_asked,
    what_broke_a_rule_before_is_tolerated_unchanged,
    what_did_not_fit_before_is_tolerated_unchanged,
    a_rule_that_makes_no_sense_is_refused,
    the_parts_of_a_rule_are_checked,
}
