#![allow(clippy::needless_pass_by_value, clippy::unwrap_used, clippy::panic)]

use serde_json::{Value, json};

use super::*;
use kube_schema::{FieldSet, Schema};

fn schema() -> Schema {
    let text = json!({"type": "string"});
    Schema::from_json(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"},
            "image": text,
            "map": {"type": "object", "additionalProperties": text},
            "list": {"type": "array", "items": text},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "ports": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object",
                    "properties": {"name": text, "port": {"type": "integer"}}}}}},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}}}))
    .unwrap()
}

const MAIN: Endpoint<'static> = Endpoint {
    subresource: "",
    resets: &[&["status"]],
};
const STATUS: Endpoint<'static> = Endpoint {
    subresource: "status",
    resets: &[&["metadata"], &["spec"]],
};

/// An object that several managers write one after the other.
struct Story {
    schema: Schema,
    object: Option<Value>,
    managers: Vec<Managed>,
    endpoint: Endpoint<'static>,
    hour: u8,
}

impl Story {
    fn new() -> Self {
        Self {
            schema: schema(),
            object: None,
            managers: Vec::new(),
            endpoint: MAIN,
            hour: 0,
        }
    }

    fn object(spec: Value) -> Value {
        json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}, "spec": spec})
    }

    fn write<T>(&mut self, manager: &str, act: impl FnOnce(&Self, &Writer<'_>) -> T) -> T {
        self.hour += 1;
        let time = format!("2026-01-01T{:02}:00:00Z", self.hour);
        let writer = Writer {
            manager,
            api_version: "g/v1",
            endpoint: self.endpoint,
            time: &time,
        };
        act(self, &writer)
    }

    fn try_apply(&mut self, manager: &str, config: &Value, force: bool) -> Result<(), Refusal> {
        let (object, managers) = self.write(manager, |story, writer| {
            let types = Types::of_schema(&story.schema);
            let live = story.object.as_ref();
            let ground = Ground {
                live,
                blank: &json!({}),
            };
            apply(ground, story.managers.clone(), config, writer, force, types)
        })?;
        self.object = Some(object);
        self.managers = managers;
        Ok(())
    }

    fn apply(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.try_apply(manager, &Self::object(spec), false).unwrap();
        self
    }

    fn conflicts(&mut self, manager: &str, spec: Value) -> Vec<String> {
        match self.try_apply(manager, &Self::object(spec), false) {
            Err(Refusal::Conflicts(conflicts)) => {
                conflicts.iter().map(ToString::to_string).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn update(&mut self, manager: &str, object: Value) -> &mut Self {
        self.managers = self.write(manager, |story, writer| {
            let types = Types::of_schema(&story.schema);
            match &story.object {
                Some(live) => update(live, &object, story.managers.clone(), writer, types),
                None => create(&json!({}), &object, story.managers.clone(), writer, types),
            }
        });
        self.object = Some(object);
        self
    }

    fn spec(&self) -> &Value {
        &self.object.as_ref().unwrap()["spec"]
    }

    /// `manager operation hour: fields of spec`, sorted.
    fn owners(&self) -> Vec<String> {
        let owner = |entry: &Managed| {
            let fields = entry.fields.to_json();
            let hour = entry.time.get(11..13).unwrap_or("-");
            let spec = fields.get("f:spec").unwrap_or(&fields);
            format!("{} {:?} {hour}: {spec}", entry.manager, entry.operation)
        };
        let mut owners: Vec<String> = self.managers.iter().map(owner).collect();
        owners.sort();
        owners
    }
}

#[test]
fn what_cannot_be_compared_is_nobodys() {
    let mut story = Story::new();
    story.apply("a", json!({"set": ["x"]}));
    story.update("b", Story::object(json!({"set": ["x", "x"]})));
    assert!(!story.managers.is_empty());
    story.update("b", Story::object(json!({"set": [null]})));
    assert!(story.managers.is_empty());
}

#[test]
fn the_first_apply_creates_and_owns_its_fields() {
    let mut story = Story::new();
    story.apply("a", json!({"replicas": 1, "map": {"x": "1"}}));
    assert_eq!(story.spec(), &json!({"replicas": 1, "map": {"x": "1"}}));
    assert_eq!(
        story.owners(),
        [r#"a Apply 01: {"f:map":{"f:x":{}},"f:replicas":{}}"#]
    );
}

#[test]
fn an_apply_that_changes_nothing_keeps_everything() {
    let mut story = Story::new();
    story.apply("a", json!({"replicas": 1}));
    let before = (story.object.clone(), story.managers.clone());
    story.apply("a", json!({"replicas": 1}));
    assert_eq!((story.object, story.managers), before);
}

#[test]
fn what_is_no_longer_applied_goes() {
    let mut story = Story::new();
    story
        .apply(
            "a",
            json!({"replicas": 1, "map": {"x": "1", "y": "1"}, "image": "i"}),
        )
        .apply("a", json!({"map": {"x": "1"}}));
    assert_eq!(story.spec(), &json!({"map": {"x": "1"}}));
    assert_eq!(story.owners(), [r#"a Apply 02: {"f:map":{"f:x":{}}}"#]);
    story.apply("a", json!({"replicas": 2}));
    assert_eq!(story.spec(), &json!({"replicas": 2}));
}

#[test]
fn what_someone_else_owns_stays() {
    let mut story = Story::new();
    story
        .apply("a", json!({"replicas": 1, "set": ["x", "y"]}))
        .apply("b", json!({"replicas": 1, "set": ["y"]}))
        .apply("a", json!({}));
    assert_eq!(story.spec(), &json!({"replicas": 1, "set": ["y"]}));
    let owners = [
        "a Apply 03: {}",
        r#"b Apply -: {"f:replicas":{},"f:set":{"v:\"y\"":{}}}"#,
    ];
    assert_eq!(story.owners(), owners);
}

#[test]
fn a_field_of_another_manager_is_a_conflict() {
    let mut story = Story::new();
    story.apply(
        "a",
        json!({"replicas": 1, "list": ["x"], "ports": [{"name": "h", "port": 1}]}),
    );
    let conflicts = story.conflicts("b", json!({"replicas": 2, "list": ["x"]}));
    assert_eq!(conflicts, [r#"conflict with "a": .spec.replicas"#]);
    let conflicts = story.conflicts(
        "b",
        json!({"list": ["y"], "ports": [{"name": "h", "port": 2}]}),
    );
    assert_eq!(
        conflicts,
        [
            r#"conflict with "a": .spec.list"#,
            r#"conflict with "a": .spec.ports[name="h"].port"#
        ]
    );
    assert_eq!(story.spec()["replicas"], 1);
}

#[test]
fn conflicts_are_reported_as_by_the_api_server() {
    let mut story = Story::new();
    story.update(
        "kubectl",
        Story::object(json!({"replicas": 1, "image": "i"})),
    );
    let config = Story::object(json!({"replicas": 2}));
    let refusal = story.try_apply("b", &config, false).unwrap_err();
    let one = "Apply failed with 1 conflict: conflict with \"kubectl\" using g/v1: .spec.replicas";
    assert_eq!(refusal.to_string(), one);
    let config = Story::object(json!({"replicas": 2, "image": "j"}));
    let refusal = story.try_apply("b", &config, false).unwrap_err();
    let two = "Apply failed with 2 conflicts: conflicts with \"kubectl\" using g/v1:\n- .spec.image\n- .spec.replicas";
    assert_eq!(refusal.to_string(), two);
}

#[test]
fn force_takes_the_field_over() {
    let mut story = Story::new();
    story.apply("a", json!({"replicas": 1, "image": "i"}));
    let config = Story::object(json!({"replicas": 2}));
    story.try_apply("b", &config, true).unwrap();
    assert_eq!(story.spec(), &json!({"replicas": 2, "image": "i"}));
    assert_eq!(
        story.owners(),
        [
            r#"a Apply 01: {"f:image":{}}"#,
            r#"b Apply 02: {"f:replicas":{}}"#
        ]
    );
}

#[test]
fn list_items_belong_to_the_manager_that_applied_them() {
    let mut story = Story::new();
    story
        .apply("a", json!({"ports": [{"name": "h", "port": 1}]}))
        .apply("b", json!({"ports": [{"name": "g", "port": 2}]}))
        .apply("a", json!({"ports": [{"name": "s", "port": 3}]}));
    let expected = json!([{"name": "g", "port": 2}, {"name": "s", "port": 3}]);
    assert_eq!(story.spec()["ports"], expected);
}

#[test]
fn an_update_owns_what_it_changed_and_the_others_lose_it() {
    let mut story = Story::new();
    story.apply("a", json!({"replicas": 1, "image": "i"}));
    story.update("hpa", Story::object(json!({"replicas": 5, "image": "i"})));
    assert_eq!(
        story.owners(),
        [
            r#"a Apply 01: {"f:image":{}}"#,
            r#"hpa Update 02: {"f:replicas":{}}"#
        ]
    );
    let conflicts = story.conflicts("a", json!({"replicas": 1, "image": "i"}));
    assert_eq!(
        conflicts,
        [r#"conflict with "hpa" using g/v1: .spec.replicas"#]
    );
    story.apply("a", json!({"image": "i"}));
    assert_eq!(story.spec()["replicas"], 5);
}

#[test]
fn an_update_that_removes_a_field_takes_it_from_all() {
    let mut story = Story::new();
    story.apply("a", json!({"replicas": 1, "map": {"x": "1"}}));
    story.update("b", Story::object(json!({"map": {"x": "1"}})));
    assert_eq!(story.owners(), [r#"a Apply 01: {"f:map":{"f:x":{}}}"#]);
}

#[test]
fn a_second_update_of_the_same_manager_adds_to_the_first() {
    let mut story = Story::new();
    story
        .update("a", Story::object(json!({"replicas": 1})))
        .update("a", Story::object(json!({"replicas": 1, "image": "i"})));
    assert_eq!(
        story.owners(),
        [r#"a Update 02: {".":{},"f:image":{},"f:replicas":{}}"#]
    );
}

#[test]
fn what_was_there_before_the_first_apply_has_an_owner() {
    let mut story = Story::new();
    story.object = Some(Story::object(json!({"replicas": 1, "image": "i"})));
    let conflicts = story.conflicts("a", json!({"replicas": 2}));
    assert_eq!(
        conflicts,
        [r#"conflict with "before-first-apply" using g/v1: .spec.replicas"#]
    );
    story.update("b", Story::object(json!({"replicas": 3})));
    assert!(story.managers.is_empty());
}

#[test]
fn status_belongs_to_its_subresource() {
    let mut story = Story::new();
    let mut config = Story::object(json!({"replicas": 1}));
    config["status"] = json!({"ready": true});
    story.try_apply("a", &config, false).unwrap();
    assert_eq!(story.owners(), [r#"a Apply 01: {"f:replicas":{}}"#]);
    story.endpoint = STATUS;
    config["status"]["ready"] = json!(false);
    story.try_apply("a", &config, false).unwrap();
    assert_eq!(
        story.object.as_ref().unwrap()["status"],
        json!({"ready": false})
    );
    let status = story
        .managers
        .iter()
        .find(|entry| entry.subresource == "status")
        .unwrap();
    assert_eq!(
        status.fields.to_json(),
        json!({"f:status": {"f:ready": {}}})
    );
    assert_eq!(status.to_string(), r#""a" with subresource "status""#);
}

#[test]
fn what_is_emptied_but_owned_is_null() {
    let mut story = Story::new();
    story.apply("a", json!({"map": {"x": "1"}}));
    story.apply("a", json!({"map": {}}));
    assert_eq!(story.spec(), &json!({"map": null}));
}

#[test]
fn kubectl_takes_over_what_it_applied_on_the_clients_side() {
    let mut story = Story::new();
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    let mut first = Story::object(json!({"image": "1", "replicas": 1}));
    first["metadata"]["annotations"][key] = first.to_string().into();
    story.update("client", first);
    let with_image = |image: &str| Story::object(json!({"image": image}));
    assert!(story.try_apply("other", &with_image("2"), false).is_err());
    story.try_apply("kubectl", &with_image("2"), false).unwrap();
    assert_eq!(story.spec(), &json!({"image": "2", "replicas": 1}));
    let annotation = &story.object.as_ref().unwrap()["metadata"]["annotations"][key];
    assert_eq!(*annotation, json!(format!("{}\n", with_image("2"))));
    let mut edited = story.object.clone().unwrap();
    edited["spec"]["image"] = json!("3");
    story.update("editor", edited);
    let left = story.try_apply("kubectl", &with_image("4"), false);
    assert_eq!(
        left.unwrap_err().to_string(),
        "Apply failed with 1 conflict: conflict with \"editor\" using g/v1: .spec.image"
    );
}

#[test]
fn a_configuration_that_does_not_fit_is_refused() {
    let mut story = Story::new();
    let refusal = story
        .try_apply("a", &Story::object(json!({"x": 1})), true)
        .unwrap_err();
    assert_eq!(refusal.to_string(), ".spec.x: field not declared in schema");
}

#[test]
fn a_part_that_became_one_value_is_owned_whole() {
    let mut story = Story::new();
    story.apply("a", json!({"map": {"x": "1"}}));
    story.schema = Schema::from_json(&json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"map": {"type": "object",
            "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}}}}}}))
    .unwrap();
    let conflicts = story.conflicts("b", json!({"map": {"y": "1"}}));
    assert_eq!(conflicts, [r#"conflict with "a": .spec.map"#]);
}

#[test]
fn old_updaters_are_put_together() {
    let mut story = Story::new();
    for count in 1..=12 {
        let map: Map<String, Value> = (0..count).map(|n| (format!("k{n}"), "x".into())).collect();
        story.update(&format!("m{count:02}"), Story::object(json!({"map": map})));
    }
    assert_eq!(story.managers.len(), 10);
    let oldest = &story.managers[0];
    assert_eq!(oldest.manager, "ancient-changes");
    assert_eq!(oldest.time, "2026-01-01T03:00:00Z");
    let all = story
        .managers
        .iter()
        .fold(FieldSet::new(), |all, m| all.union(&m.fields));
    assert_eq!(
        all.to_json()["f:spec"]["f:map"].as_object().unwrap().len(),
        13
    );
}

#[test]
fn managed_fields_are_read_and_written_in_order() {
    let entry = |manager: &str, operation: &str, time: &str| {
        json!({"manager": manager, "operation": operation, "apiVersion": "g/v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}})
    };
    let apply = entry("z", "Apply", "2026-01-01T02:00:00Z");
    let first = entry("b", "Update", "2026-01-01T01:00:00Z");
    let second = entry("a", "Update", "2026-01-01T02:00:00Z");
    let mut object = json!({"metadata": {"managedFields": [second, first, apply]}});
    let managers = Managed::read(&object).unwrap();
    Managed::write(&managers, &mut object);
    assert_eq!(
        object["metadata"]["managedFields"],
        json!([apply, first, second])
    );
    Managed::write(&[], &mut object);
    assert_eq!(object, json!({"metadata": {}}));
    let broken = json!({"metadata": {"managedFields": [{"operation": "Steal"}]}});
    let fault = Managed::read(&broken).unwrap_err();
    assert_eq!(
        fault,
        "metadata.managedFields[0]: operation must be `Apply` or `Update`"
    );
}

#[test]
fn an_update_may_bring_its_own_entries_or_drop_them() {
    let with = |entries: Value| json!({"metadata": {"managedFields": entries}});
    let entry = |manager: &str| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "g/v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}})
    };
    let live = with(json!([entry("live")]));
    let before = |object: Value, endpoint| -> Vec<String> {
        let entries = before_update(&Managed::read(&live).unwrap_or_default(), &object, endpoint);
        entries.into_iter().map(|entry| entry.manager).collect()
    };
    let main = MAIN;
    assert_eq!(before(with(json!([entry("own")])), main), ["own"]);
    assert_eq!(before(with(json!([entry("own")])), STATUS), ["live"]);
    assert_eq!(before(with(json!([])), main), [""; 0]);
    assert_eq!(before(with(json!([{}])), main), [""; 0]);
    assert_eq!(
        before(with(json!([{"operation": "Steal"}])), main),
        ["live"]
    );
    assert_eq!(before(json!({"metadata": {}}), main), ["live"]);
}
