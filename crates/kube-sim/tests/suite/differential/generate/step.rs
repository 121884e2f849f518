//! One step at random.

use serde_json::{Value as Json, json};

use super::kind::Kind;
use super::metadata;
use super::strategic;
use crate::differential::run;
use crate::differential::sequence::{Step, Verb};
use crate::random::Random;

const MANAGERS: [&str; 3] = ["ann", "bob", "cyd"];

/// Somebody else's uid.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Makes one step.
pub(super) struct Maker<'a> {
    random: &'a mut Random,
    kind: &'static Kind,
    name: &'a str,
    to_status: bool,
}

impl<'a> Maker<'a> {
    pub(super) fn new(random: &'a mut Random, kind: &'static Kind, name: &'a str) -> Self {
        Self {
            random,
            kind,
            name,
            to_status: false,
        }
    }

    /// A step of this verb about the object.
    pub(super) fn step(mut self, verb: Verb) -> Step {
        let can = matches!(
            verb,
            Verb::Apply | Verb::Replace | Verb::Merge | Verb::Strategic | Verb::Patch
        );
        self.to_status = can && self.kind.status.is_some() && self.random.chance(14);
        let part = if self.to_status { "/status" } else { "" };
        let mut step = Step {
            verb,
            path: format!("{}/{}{part}", self.kind.plural, self.name),
            query: self.query(verb),
            onto_live: verb == Verb::Replace && self.random.chance(70),
            body: Json::Null,
        };
        step.body = match verb {
            Verb::Apply | Verb::Create => self.whole(verb),
            Verb::Replace if step.onto_live => self.edits(),
            Verb::Replace => self.replacement(),
            Verb::Merge => self.merge(),
            Verb::Strategic => {
                let mut patch = self.merge();
                strategic::direct(self.random, &mut patch);
                patch
            }
            Verb::Patch => self.patch(),
            Verb::Delete => self.delete(),
            Verb::Get => Json::Null,
        };
        step
    }

    fn query(&mut self, verb: Verb) -> String {
        let mut parts = Vec::new();
        let writes = !matches!(verb, Verb::Delete | Verb::Get);
        if verb == Verb::Apply || (writes && self.random.chance(85)) {
            parts.push(format!("fieldManager={}", self.random.pick(&MANAGERS)));
        }
        if verb == Verb::Apply && self.random.chance(35) {
            parts.push("force=true".to_owned());
        }
        if verb != Verb::Get && self.random.chance(4) {
            parts.push("dryRun=All".to_owned());
        }
        if writes && self.random.chance(8) {
            let ways = ["Strict", "Ignore", "Warn"];
            parts.push(format!("fieldValidation={}", self.random.pick(&ways)));
        }
        parts.join("&")
    }

    /// A document of an object, as a person writes it.
    fn whole(&mut self, verb: Verb) -> Json {
        let mut body = json!({});
        let based = match verb {
            Verb::Apply => self.kind.based,
            _ => 100,
        };
        if self.random.chance(based) {
            body = (self.kind.base)();
        }
        self.add_parts(&mut body, 92);
        body["apiVersion"] = json!((self.kind.api_version)());
        body["kind"] = json!(self.kind.kind);
        let mut metadata = metadata::metadata(self.random);
        metadata["name"] = json!(self.name);
        if verb == Verb::Apply && self.random.slip(6) {
            metadata["resourceVersion"] = json!(self.random.pick(&["$version", "$stale"]));
        }
        if verb == Verb::Apply && self.random.slip(5) {
            metadata["uid"] = json!(self.random.pick(&["$uid", "$uid", UID]));
        }
        body["metadata"] = metadata;
        if self.random.slip(8) {
            self.spoil(&mut body);
        }
        body
    }

    /// Adds fields to `body`: mostly those that the step is about.
    fn add_parts(&mut self, body: &mut Json, percent: usize) {
        let (parts, status) = if self.to_status {
            (20, 95)
        } else {
            (percent, 8)
        };
        if self.random.chance(parts) {
            run::merge(body, (self.kind.parts)(self.random));
        }
        if let Some(make) = self.kind.status
            && self.random.chance(status)
        {
            body["status"] = make(self.random);
        }
    }

    /// Makes a document one that is not about the object or not of the kind.
    fn spoil(&mut self, body: &mut Json) {
        let metadata = |key: &str, value: Json| (format!("/metadata/{key}"), value);
        let whole = |key: &str, value: Json| (format!("/{key}"), value);
        let ways = [
            metadata("name", Json::Null),
            metadata("name", json!("other")),
            metadata("namespace", json!("elsewhere")),
            metadata("managedFields", json!([])),
            metadata("managedFields", json!("$managers")),
            metadata("labels", json!({"k": 1})),
            metadata("labels", json!("none")),
            whole("apiVersion", json!("conformance.capstan.dev/v2")),
            whole("apiVersion", Json::Null),
            whole("kind", json!("Other")),
            whole("kind", Json::Null),
            whole("spec", Json::Null),
            whole("spec", json!([])),
            whole("spec", json!("none")),
            whole("colour", json!("red")),
            whole("metadata", Json::Null),
        ];
        let (path, value) = self.random.pick(&ways).clone();
        let (parent, key) = path.rsplit_once('/').unwrap_or_default();
        if let Some(Json::Object(parent)) = body.pointer_mut(parent) {
            match value {
                Json::Null if key != "spec" => drop(parent.remove(key)),
                value => drop(parent.insert(key.to_owned(), value)),
            }
        }
        if key == "apiVersion" {
            // Of a version that is not there every field is unknown, too.
            run::merge(body, json!({"spec": null, "status": null}));
        }
    }

    /// What a controller changes in an object that it has read.
    fn edits(&mut self) -> Json {
        let mut edits = self.replacement();
        let metadata = &mut edits["metadata"];
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("resourceVersion");
        }
        if self.random.slip(10) {
            metadata["resourceVersion"] = self.random.pick(&[json!("$stale"), Json::Null]).clone();
        }
        if self.random.chance(8) {
            metadata["managedFields"] = self.managers();
        }
        edits
    }

    fn managers(&mut self) -> Json {
        let but = format!("$managers but {}", self.random.pick(&MANAGERS));
        let ways = [
            json!([]),
            json!([{}]),
            Json::Null,
            json!("$managers"),
            json!(but),
            json!([{"manager": "ann", "operation": "Apply", "apiVersion": (self.kind.api_version)(),
                "fieldsType": "FieldsV1", "time": "2024-01-01T00:00:00Z", "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:k": {}}},
                    "f:spec": {"f:text": {}, "f:items": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}}}]),
            json!([{"manager": "bob", "operation": "Update"}]),
        ];
        self.random.pick(&ways).clone()
    }

    fn replacement(&mut self) -> Json {
        let mut body = self.whole(Verb::Replace);
        let version = match self.random.slip(30) {
            true => self
                .random
                .pick(&[json!("$stale"), json!(""), Json::Null])
                .clone(),
            false => json!("$version"),
        };
        if body["metadata"].is_object() {
            body["metadata"]["resourceVersion"] = version;
        }
        body
    }

    fn merge(&mut self) -> Json {
        let mut body = json!({});
        let metadata = metadata::metadata(self.random);
        if metadata != json!({}) {
            body["metadata"] = metadata;
        }
        self.add_parts(&mut body, 100);
        let slip = self.random.slip(16);
        match self.random.below(if slip { 8 } else { 100 }) {
            _ if !slip => {}
            0 => body["metadata"]["resourceVersion"] = json!("$version"),
            1 => body["metadata"]["resourceVersion"] = json!("$stale"),
            2 => body["metadata"]["resourceVersion"] = Json::Null,
            3 => body["metadata"]["uid"] = json!("$uid"),
            4 => body["metadata"]["uid"] = json!(UID),
            5 | 6 => body["metadata"]["managedFields"] = self.managers(),
            7 => self.spoil(&mut body),
            _ => {}
        }
        body
    }

    fn patch(&mut self) -> Json {
        // What is moved between fields of built-in kinds fits nowhere.
        let moves = usize::from(!self.kind.is_built_in());
        let operations = [
            (5, "add"),
            (4, "replace"),
            (4, "remove"),
            (1, "test"),
            (moves, "copy"),
            (moves, "move"),
        ];
        let mut patch = Vec::new();
        for _ in 0..=self.random.below(3) {
            let (path, value) = self.kind.place(self.random);
            let operation = *self.random.weighed(&operations);
            let mut operation = json!({"op": operation, "path": path});
            match operation["op"].as_str() {
                Some("copy" | "move") => operation["from"] = json!(self.kind.place(self.random).0),
                Some("remove") => {}
                _ => operation["value"] = value,
            }
            patch.push(operation);
        }
        json!(patch)
    }

    fn delete(&mut self) -> Json {
        match self.random.below(10) {
            0 => json!({"preconditions": {"uid": "$uid"}}),
            1 => json!({"preconditions": {"uid": UID}}),
            2 => json!({"preconditions": {"resourceVersion": "$version"}}),
            3 => json!({"preconditions": {"resourceVersion": "$stale"}}),
            4 => json!({"propagationPolicy": "Background"}),
            5 => json!({"gracePeriodSeconds": 0}),
            _ => Json::Null,
        }
    }
}
