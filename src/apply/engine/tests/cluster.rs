//! What the cluster makes of requests, and what others do to it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::super::super::event::{
    Applied, Command, Failure, FailureCause, Removal, WatchEvent, WatchScope, What,
};
use super::fixture::{Fault, Fixture, about, set};
use crate::api::labels;
use crate::apply::{ApplyPrecondition, Kind, Parent};
use crate::health::Live;
use crate::model::{Action, ErrorClass, ObjectId};
use crate::plan::{MANAGER, Plan};

/// Everything below `value`, as FieldsV1 has it.
fn fields(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let members = members.iter();
            let members = members.map(|(key, value)| (format!("f:{key}"), fields(value)));
            Json::Object(members.collect())
        }
        _ => json!({}),
    }
}

impl Fixture {
    /// All members of a kind are on their way, as a list has them.
    pub(super) fn list(&mut self, kind: &Kind) {
        let mut there = BTreeSet::new();
        for (id, live) in &self.live {
            if id.is(&kind.0, &kind.2) && Live(live).label(labels::PART_OF) == set().id() {
                there.insert(id.clone());
                let live = Some(Box::new(live.clone()));
                let event = WatchEvent::Object(WatchScope::Members, id.clone(), live);
                self.seen.push_back(event);
            }
        }
        let listed = WatchEvent::Listed(WatchScope::Members, kind.clone(), there);
        self.seen.push_back(listed);
    }

    /// A watch finds nothing at the address of its kind. What was on its way is lost with it.
    pub(super) fn lose(&mut self, kind: &Kind) {
        self.watched.remove(kind);
        self.seen.retain(|event| match event {
            WatchEvent::Object(_, id, _) => !id.is(&kind.0, &kind.2),
            WatchEvent::Listed(_, of, _) => of != kind,
            _ => true,
        });
        self.happens(What::Watched(WatchEvent::Lost(kind.clone())));
    }

    /// Sets the state of an object, or removes it; its watches will see that.
    pub(super) fn changed(&mut self, id: &ObjectId, live: Option<Json>) {
        let live = live.map(|mut live| {
            self.clock += 1;
            live["metadata"]["resourceVersion"] = json!(self.clock.to_string());
            live
        });
        match live.clone() {
            Some(live) => drop(self.live.insert(id.clone(), live)),
            None => drop(self.live.remove(id)),
        }
        let is_member = |live: &Json| Live(live).label(labels::PART_OF) == set().id();
        let member = live.filter(is_member).map(Box::new);
        if self.watched.iter().any(|kind| id.is(&kind.0, &kind.2)) {
            let event = WatchEvent::Object(WatchScope::Members, id.clone(), member);
            self.seen.push_back(event);
        }
    }

    /// Somebody deletes an object.
    pub(super) fn delete(&mut self, id: &ObjectId) {
        if self.live.contains_key(id) {
            self.others.remove(id);
            self.changed(id, None);
        }
    }

    /// Somebody makes an object out of another one, with its labels and annotations.
    pub(super) fn copy(&mut self, from: &ObjectId, to: &ObjectId) {
        let is_free = !self.live.contains_key(to) && self.others.len() < 20;
        if let Some(mut live) = self.live.get(from).cloned().filter(|_| is_free) {
            live["metadata"]["name"] = json!(to.name);
            live["metadata"]["namespace"] = json!(to.namespace);
            live["metadata"]["managedFields"] = json!([]);
            self.born(to, live);
        }
    }

    /// A backup brings an object back as it was, perhaps with its managed fields. No watch sees that it was gone.
    pub(super) fn restore(&mut self, backup: &Json, keeps_managers: bool) {
        let id = Live(backup).id();
        let mut live = backup.clone();
        if !keeps_managers {
            live["metadata"]["managedFields"] = json!([{"manager": "velero-server", "operation": "Update",
                "apiVersion": backup["apiVersion"],
                "fieldsType": "FieldsV1", "fieldsV1": {}}]);
        }
        self.born(&id, live);
    }

    /// The time in the cluster: an hour passes with each change.
    fn time(&self) -> String {
        let hours = i64::try_from(self.clock).unwrap();
        let time = Timestamp::from_second(1_780_000_000 + hours * 3600);
        time.unwrap().to_string()
    }

    /// An object is created.
    fn born(&mut self, id: &ObjectId, mut live: Json) {
        self.clock += 1;
        live["metadata"]["uid"] = json!(format!("u{}", self.clock));
        live["metadata"]["creationTimestamp"] = json!(self.time());
        self.others.insert(id.clone());
        self.changed(id, Some(live));
    }

    /// Somebody clears the managed fields of an object.
    pub(super) fn clear_managers(&mut self, id: &ObjectId) {
        if let Some(mut live) = self.live.get(id).cloned() {
            live["metadata"]["managedFields"] = json!([]);
            self.changed(id, Some(live));
        }
    }

    /// An object is being deleted, and something holds it.
    pub(super) fn deleting(&mut self, id: &ObjectId) {
        if let Some(mut live) = self.live.get(id).cloned() {
            live["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            self.changed(id, Some(live));
        }
    }

    /// Somebody writes into an object.
    pub(super) fn edit(&mut self, id: &ObjectId) {
        let live = self.live.get(id).filter(|live| live["kind"] == "ConfigMap");
        if let Some(mut live) = live.cloned() {
            let managers = &mut live["metadata"]["managedFields"];
            if !managers[0]["fieldsV1"].is_object() {
                return;
            }
            let mut own = managers[0].clone();
            own["fieldsV1"].as_object_mut().unwrap().remove("f:data");
            let mut theirs = own.clone();
            theirs["manager"] = json!("kubectl-edit");
            theirs["operation"] = json!("Update");
            theirs["fieldsV1"] = json!({"f:data": {"f:k": {}}});
            *managers = json!([own, theirs]);
            live["data"]["k"] = json!("theirs");
            self.changed(id, Some(live));
        }
    }

    /// What becomes of a request: whether it failed, and the answer.
    pub(super) fn outcome(&mut self, request: &Command, fault: Option<Fault>) -> (bool, What) {
        let failure = |class, object: Option<&ObjectId>| Failure {
            class,
            retry_after: None,
            cause: FailureCause::Other,
            object: object.cloned(),
            message: "no".to_owned(),
        };
        let object = about(request).map(|(_, object)| object);
        let failed = match fault {
            Some(Fault::Fails(class)) => Some(class),
            Some(Fault::NoRights) => Some(ErrorClass::Denied),
            _ => None,
        };
        let result = match failed {
            Some(class) => Err(class),
            None => self.carry_out(request),
        };
        let result = match (fault, result) {
            (Some(Fault::Lost), _) => Err(ErrorClass::Transient),
            (_, result) => result,
        };
        let is_failed = result.is_err();
        let result = result.map_err(|class| Failure {
            cause: match fault {
                Some(Fault::NoRights) => FailureCause::NoRights,
                _ => FailureCause::Other,
            },
            ..failure(class, object)
        });
        (is_failed, answer(request, result, &self.unserved))
    }

    /// Server-side apply: refuses another uid, and an object without our label.
    fn apply(
        &mut self,
        plan: &Plan,
        step: usize,
        object: &ObjectId,
        precondition: &ApplyPrecondition,
    ) -> Result<Option<Json>, ErrorClass> {
        let live = self.live.get(object);
        let uid = live.map(|live| Live(live).uid().to_owned());
        let created = live.map(|live| live["metadata"]["creationTimestamp"].clone());
        let foreign = live.is_some_and(|live| Live(live).label(labels::PART_OF).is_empty());
        if precondition.uid.is_some() && precondition.uid != uid {
            return Err(ErrorClass::Conflict);
        }
        if foreign {
            return Err(ErrorClass::Denied);
        }
        let Action { payload, .. } = &*plan.steps[step].action;
        let mut applied = payload.json();
        let mut own = json!({});
        for part in ["data", "spec"] {
            if let Some(value) = applied.get(part) {
                own[format!("f:{part}")] = fields(value);
            }
        }
        for part in ["labels", "annotations"] {
            own["f:metadata"][format!("f:{part}")] = fields(&applied["metadata"][part]);
        }
        self.clock += 1;
        let uid = uid.unwrap_or(format!("u{}", self.clock));
        self.applied.insert(uid.clone());
        self.others.remove(object);
        applied["metadata"]["uid"] = json!(uid);
        applied["metadata"]["creationTimestamp"] = created.unwrap_or(json!(self.time()));
        applied["metadata"]["namespace"] = json!(object.namespace);
        applied["metadata"]["managedFields"] = json!([{"manager": MANAGER, "operation": "Apply",
            "apiVersion": payload.api_version(), "time": self.time(),
            "fieldsType": "FieldsV1", "fieldsV1": own}]);
        self.changed(object, Some(applied));
        Ok(self.live.get(object).cloned())
    }

    /// What the cluster makes of a request.
    fn carry_out(&mut self, request: &Command) -> Result<Option<Json>, ErrorClass> {
        match request {
            Command::WriteParent {
                parent,
                version,
                over,
                ..
            } => {
                let known = self.parent.as_ref().map(|(_, version)| version.as_str());
                if !over && known.unwrap_or_default() != version {
                    return Err(ErrorClass::Conflict);
                }
                self.clock += 1;
                self.parent = Some(((**parent).clone(), self.clock.to_string()));
                Ok(Some(json!(self.clock.to_string())))
            }
            Command::ReadParent(_) => {
                let read = self.parent.clone();
                let text = read.map(|(parent, version)| {
                    let mut live = parent.payload(&set());
                    live["metadata"]["annotations"][labels::SUSPENDED] = json!(parent.suspended);
                    (live, version)
                });
                Ok(text.map(|(parent, version)| json!([parent, version])))
            }
            Command::Apply {
                plan,
                step,
                object,
                precondition,
                ..
            } => self.apply(plan, *step, object, precondition),
            Command::Remove {
                object,
                uid,
                removal,
                ..
            } => {
                let live = self.live.get(object).cloned();
                let Some(mut live) = live.filter(|live| Live(live).uid() == uid) else {
                    return match (removal, self.live.contains_key(object)) {
                        (Removal::Delete, true) => Err(ErrorClass::Conflict),
                        _ => Ok(None),
                    };
                };
                assert!(
                    self.applied.contains(uid),
                    "{object} is removed, and was never applied"
                );
                match removal {
                    Removal::Delete => self.changed(object, None),
                    Removal::Release => {
                        live["metadata"]["labels"] = json!({});
                        self.changed(object, Some(live));
                    }
                }
                Ok(None)
            }
            Command::Read(_, object, _) | Command::Confirm(object, ..) => {
                Ok(self.live.get(object).cloned())
            }
            _ => Ok(None),
        }
    }
}

/// The answer to a request, as an event.
fn answer(
    request: &Command,
    result: Result<Option<Json>, Failure>,
    unserved: &BTreeSet<String>,
) -> What {
    match request {
        Command::ReadParent(number) => {
            let read = result.map(|json| {
                let before: Option<(Json, String)> =
                    json.map(|json| serde_json::from_value(json).unwrap());
                before.map(|(parent, version)| (Parent::read(&set(), &parent).unwrap(), version))
            });
            What::ParentRead(*number, Box::new(read))
        }
        Command::WriteParent { number, .. } => {
            let version = |json: Option<Json>| json.unwrap().as_str().unwrap().to_owned();
            What::ParentWritten(*number, result.map(version))
        }
        Command::Discover { kind, .. } => {
            let missing = Failure {
                class: ErrorClass::Gone,
                retry_after: None,
                cause: FailureCause::NotServed,
                object: None,
                message: "not served".to_owned(),
            };
            let answer = match (result, unserved.contains(&kind.2)) {
                (Err(failure), _) => Err(failure),
                (Ok(_), true) => Err(missing),
                // Of the kinds that no standard knows, one is of the cluster.
                (Ok(_), false) => {
                    Ok(!["Thing", "CustomResourceDefinition"].contains(&kind.2.as_str()))
                }
            };
            What::KindServed(kind.clone(), answer)
        }
        Command::FindVersion(number, kind) => {
            let version = match kind.0.as_str() {
                "" => "v1",
                _ => "v1beta2",
            };
            let version = (!unserved.contains(&kind.1)).then(|| version.to_owned());
            What::VersionFound(*number, kind.clone(), result.map(|_| version))
        }
        Command::Apply {
            number,
            step,
            precondition,
            ..
        } => {
            let created = precondition.uid.is_none();
            let applied = |live: Option<Json>| Applied {
                live: live.unwrap_or_default(),
                created,
                remains: None,
            };
            What::Answered(*number, *step, Box::new(result.map(applied)))
        }
        Command::Read(number, object, _) => What::Read(*number, object.clone(), Box::new(result)),
        Command::Remove {
            number,
            object,
            removal,
            ..
        } => What::Removed(*number, object.clone(), result.map(|_| *removal)),
        Command::Confirm(object, _, uid) => {
            What::Confirmed(object.clone(), uid.clone(), Box::new(result))
        }
        other => unreachable!("{other:?} is not answered"),
    }
}
