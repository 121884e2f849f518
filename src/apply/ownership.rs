//! Who owns an object that already exists, and how we take over the fields of
//! another tool.
//!
//! In: a live object's metadata. Out: whether it may be applied, or why not; the patch that hands
//! over. It does not know: how either is carried out.

use serde_json::{Value as Json, json};

use super::drift::{path, unescaped, without};
use super::membership::is_applied;
use crate::api::kinds::CAPI;
use crate::api::labels;
use crate::health::Live;
use crate::model::ObjectId;
use crate::plan::MANAGER;
use kube_schema::{Element, FieldSet, Managed, Operation};

/// How an existing object may be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is ours already.
    Own,
    /// It becomes ours: what other appliers set is handed over first.
    TakeOver,
}

/// An existing object that is not ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// Another fleet, or another tool, has it in its set.
    #[error(
        "it already exists and belongs to {}; an object can belong to only one fleet: remove it from the other one first (deletion policy Orphan keeps it){}", other(.set, .parent.as_ref()), whole(.parent.as_ref())
    )]
    OtherSet {
        /// The id of the set.
        set: String,
        /// Its parent, if that is known.
        parent: Option<ObjectId>,
    },
    /// It has no owner.
    #[error("it already exists and is not part of this fleet{}; annotate it in the fleet with {}: \"true\" to take it over, or choose another name", written_by(.0), labels::ADOPT)]
    Unclaimed(String),
}

fn other(set: &str, parent: Option<&ObjectId>) -> String {
    let Some(parent) = parent else {
        return format!("another ApplySet, {set}");
    };
    match parent.name.strip_prefix("capstan-") {
        Some(fleet) => format!("the fleet {fleet} ({parent})"),
        None => format!("another ApplySet, that of {parent}"),
    }
}

/// The move of all that the other fleet has.
fn whole(parent: Option<&ObjectId>) -> String {
    let named =
        parent.and_then(|parent| Some((&parent.namespace, parent.name.strip_prefix("capstan-")?)));
    named.map_or_else(String::new, |(namespace, fleet)| {
        format!(", or move all of that fleet: capstan adopt --from {namespace}/{fleet} --to FLEET")
    })
}

fn written_by(manager: &str) -> String {
    match manager {
        "" => String::new(),
        manager => format!(" (last written by {manager})"),
    }
}

/// Whether the fleet with the ApplySet id `set` may apply `payload` to `live`.
///
/// # Errors
/// When it has another owner, or has no owner and the fleet does not ask to adopt it.
pub fn claim(live: &Json, payload: &Json, set: &str) -> Result<Claim, Foreign> {
    let object = Live(live);
    let label = object.label(labels::PART_OF);
    if label == set && is_applied(live) {
        return Ok(Claim::Own);
    }
    if label != set && !label.is_empty() {
        return Err(Foreign::OtherSet {
            set: label.to_owned(),
            parent: None,
        });
    }
    let adopts = Live(payload).annotation(labels::ADOPT) == "true";
    // What a backup, a move or a person made of what we had applied, or what has lost its managed fields.
    let is_restored = label == set && !is_made_by_operator(object);
    if adopts || is_restored || object.annotation(labels::ORPHANED_FROM) == set {
        return Ok(Claim::TakeOver);
    }
    // Our label was removed, but not what we applied.
    let managers = Managed::read(live).unwrap_or_default();
    let ours = |entry: &Managed| entry.manager == MANAGER && entry.operation == Operation::Apply;
    let part_of = ["metadata", "labels", labels::PART_OF];
    let wanted = Live(payload).text(&part_of) == set;
    let is_bare = label.is_empty() && !object.annotation(labels::APPLIED).is_empty();
    if wanted && is_bare && managers.iter().any(ours) {
        return Ok(Claim::Own);
    }
    let last = managers.iter().max_by_key(|entry| entry.time.clone());
    Err(Foreign::Unclaimed(
        last.map(|entry| entry.manager.clone()).unwrap_or_default(),
    ))
}

/// Returns true if an operator made the object, perhaps with labels of the object it made it for. Cluster API is none: it
/// makes itself the controller of objects that others made.
fn is_made_by_operator(object: Live<'_>) -> bool {
    let owners = object.list(&["metadata", "ownerReferences"]).iter();
    let mut owners = owners.map(Live);
    owners.any(|owner| owner.flag(&["controller"]) && owner.group() != CAPI)
}

/// The field managers that apply whole manifests. Fields that people set one by one (`kubectl label`,
/// `kubectl annotate`, `kubectl scale`) stay theirs.
const APPLIERS: [&str; 13] = [
    "argocd-application-controller",
    "argocd-controller",
    "before-first-apply",
    "flux-client-side-apply",
    "helm",
    "helm-controller",
    "kubectl",
    "kubectl-client-side-apply",
    "kubectl-create",
    "kubectl-edit",
    "kubectl-replace",
    "kustomize-controller",
    MANAGER,
];

/// The merge patch that makes what other appliers own of `live` our own, so that the next apply removes
/// what it does not name; `None` if there is nothing to hand over. It holds only for the object as it
/// was read. `api_version` is the version at which it is applied.
///
/// An object with the label of a set that we did not apply is a copy of one that we applied. Who made it hands
/// over the content, too. Our own entry, if it was copied, begins with the copy, and owns the label only once that was
/// applied: API servers ignore a write that changes nothing but the time of an entry, and set that time themselves
/// only when an apply changes values. If the managed fields were cleared, an entry of our own keeps the API server
/// from making one that owns all fields for good.
#[must_use]
pub fn handover(live: &Json, api_version: &str) -> Option<Json> {
    let managers = Managed::read(live).ok()?;
    let object = Live(live);
    let is_copy = !object.label(labels::PART_OF).is_empty() && !is_applied(live);
    let gives = |entry: &Managed| {
        let is_giver = match is_copy {
            true => copied(entry),
            false => APPLIERS.contains(&entry.manager.as_str()),
        };
        !is_ours(entry) && entry.subresource.is_empty() && is_giver
    };
    let own = managers.iter().find(|entry| is_ours(entry));
    let giver = managers.iter().find(|entry| gives(entry));
    let is_cleared = is_copy && managers.is_empty();
    if giver.is_none() && !is_cleared && !(is_copy && own.is_some()) {
        return None;
    }
    let first = giver.or(own);
    let api_version = own
        .or(first)
        .map_or(api_version, |entry| &entry.api_version);
    let share = |entry: &Managed| match is_copy && !is_ours(entry) {
        true => content(&entry.fields),
        false => entry.fields.clone(),
    };
    // Fields of another version have other names: they lose their owner and keep their values.
    let given = managers
        .iter()
        .filter(|entry| (is_ours(entry) || gives(entry)) && entry.api_version == api_version);
    let mut fields = given.fold(FieldSet::new(), |all, entry| all.union(&share(entry)));
    if is_copy {
        let mut label = FieldSet::new();
        label.insert(&mark("labels", labels::PART_OF));
        fields.subtract(&label);
        fields.insert(&mark("annotations", labels::APPLIED));
    }
    let others = managers.iter().filter(|entry| !is_ours(entry));
    let kept = others.map(|entry| match gives(entry) {
        true => Managed {
            fields: entry.fields.difference(&share(entry)),
            ..entry.clone()
        },
        false => entry.clone(),
    });
    let mut kept: Vec<Managed> = kept.filter(|entry| !entry.fields.is_empty()).collect();
    let created = object.text(&["metadata", "creationTimestamp"]);
    let time = first.map_or("", |entry| &entry.time).max(created);
    kept.push(Managed {
        manager: MANAGER.to_owned(),
        operation: Operation::Apply,
        api_version: api_version.to_owned(),
        subresource: String::new(),
        fields,
        time: time.to_owned(),
    });
    let mut after = json!({"metadata": {}});
    Managed::write(&kept, &mut after);
    after["metadata"]["resourceVersion"] = json!(object.text(&["metadata", "resourceVersion"]));
    Some(after)
}

/// Returns true if it is the entry of our applies.
pub(super) fn is_ours(entry: &Managed) -> bool {
    entry.manager == MANAGER && entry.operation == Operation::Apply && entry.subresource.is_empty()
}

/// Returns true if this manager wrote both our marks: it copied an object that we had applied.
fn copied(entry: &Managed) -> bool {
    entry.owns(&mark("labels", labels::PART_OF))
        && entry.owns(&mark("annotations", labels::APPLIED))
}

/// What a manager that copied an object hands over of it: our marks, and content such as the data of a ConfigMap. What
/// controllers wrote was copied, too, and would be removed: finalizers, owners, fields of the spec.
fn content(fields: &FieldSet) -> FieldSet {
    let mut content = FieldSet::new();
    for (element, member, below) in fields.branches() {
        let has_other_writers = ["metadata", "spec", "status"]
            .iter()
            .any(|part| *element == Element::field(*part));
        if !has_other_writers {
            content.set(element.clone(), member, below.clone());
        }
    }
    content.insert(&mark("labels", labels::PART_OF));
    content.insert(&mark("annotations", labels::APPLIED));
    content
}

/// The place of one of our marks.
pub(super) fn mark(part: &str, name: &str) -> Vec<Element> {
    ["metadata", part, name].map(Element::field).to_vec()
}

/// The merge patch that releases `live` from the set: nothing of it changes but our marks.
#[must_use]
pub fn release(live: &Json, set: &str) -> Json {
    let object = Live(live);
    json!({"metadata": {
        "uid": object.uid(),
        "resourceVersion": object.text(&["metadata", "resourceVersion"]),
        "labels": {labels::PART_OF: null},
        "annotations": {labels::ORPHANED_FROM: set, labels::APPLIED: null},
    }})
}

/// `payload` as it is sent to an existing object. Of the fields that are left to others, those that have no
/// other owner yet keep their value in `live`, since leaving out an applied field removes it; the others
/// are left out.
#[must_use]
pub fn yielded(payload: &Json, live: &Json, manager: &str, left: &[String]) -> Json {
    let managers = Managed::read(live).unwrap_or_default();
    let mut sent = without(payload.clone(), left);
    for pointer in left
        .iter()
        .filter(|pointer| payload.pointer(pointer).is_some())
    {
        let path = path(pointer);
        let owns = |entry: &&Managed| entry.owns(&path);
        let mut owners = managers.iter().filter(owns).peekable();
        let ours = owners.peek().is_some()
            && owners.all(|entry| entry.manager == manager && entry.operation == Operation::Apply);
        if let Some(value) = live.pointer(pointer).filter(|_| ours) {
            put(&mut sent, pointer, value);
        }
    }
    sent
}

/// Puts a value at a JSON pointer into maps, which are made where they are missing.
fn put(into: &mut Json, pointer: &str, value: &Json) {
    let mut at = into;
    for step in pointer.split('/').skip(1).map(unescaped) {
        if at.is_null() {
            *at = json!({});
        }
        let Some(members) = at.as_object_mut() else {
            return;
        };
        at = members.entry(step).or_insert(Json::Null);
    }
    at.clone_from(value);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SET: &str = "applyset-ours-v1";

    fn live(labelled: Option<&str>, annotations: &Json, managers: &[(&str, &str, &Json)]) -> Json {
        let entry = |(manager, operation, fields): &(&str, &str, &Json)| {
            json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": fields})
        };
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "a", "uid": "u", "resourceVersion": "5", "labels": {labels::PART_OF: labelled},
            "annotations": annotations,
            "managedFields": managers.iter().map(entry).collect::<Vec<_>>(),
        }})
    }

    fn label() -> Json {
        json!({"f:metadata": {"f:labels": {format!("f:{}", labels::PART_OF): {}}}})
    }

    fn marks() -> Json {
        let mut marks = label();
        marks["f:metadata"]["f:annotations"] = json!({format!("f:{}", labels::APPLIED): {}});
        marks["f:data"] = json!({"f:k": {}});
        marks
    }

    /// What our entry has of a copy before it is applied.
    fn unlabelled() -> Json {
        let mut marks = marks();
        marks["f:metadata"]
            .as_object_mut()
            .unwrap()
            .remove("f:labels");
        marks
    }

    fn payload(adopt: bool) -> Json {
        let adopt = if adopt {
            json!({labels::ADOPT: "true"})
        } else {
            json!({})
        };
        json!({"metadata": {"annotations": adopt, "labels": {labels::PART_OF: SET}}})
    }

    #[test]
    fn what_is_ours_is_applied_and_what_is_another_s_never() {
        let nothing = json!({});
        let own = live(Some(SET), &nothing, &[(MANAGER, "Apply", &label())]);
        assert_eq!(claim(&own, &payload(false), SET), Ok(Claim::Own));
        let other = live(Some("applyset-theirs-v1"), &nothing, &[]);
        let refused = claim(&other, &payload(true), SET).unwrap_err();
        assert!(
            refused.to_string().contains("applyset-theirs-v1"),
            "{refused}"
        );
        let named = |name: &str| Foreign::OtherSet {
            set: "applyset-theirs-v1".to_owned(),
            parent: Some(ObjectId::new("", "ConfigMap", "ns", name)),
        };
        let refused = named("capstan-theirs").to_string();
        let words = "belongs to the fleet theirs (ConfigMap/ns/capstan-theirs);";
        assert!(refused.contains(words), "{refused}");
        let refused = named("kubectl-set").to_string();
        let words = "belongs to another ApplySet, that of ConfigMap/ns/kubectl-set;";
        assert!(refused.contains(words), "{refused}");
    }

    #[test]
    fn an_object_without_owner_is_adopted_only_on_request_or_if_it_was_ours() {
        let fields = json!({"f:data": {"f:k": {}}});
        let stranger = live(None, &json!({}), &[("kubectl", "Apply", &fields)]);
        assert_eq!(claim(&stranger, &payload(true), SET), Ok(Claim::TakeOver));
        let refused = claim(&stranger, &payload(false), SET).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "it already exists and is not part of this fleet (last written by kubectl); annotate it in the fleet with capstan.dev/adopt: \"true\" to take it over, or choose another name"
        );
        let orphan = |from: &str| live(None, &json!({labels::ORPHANED_FROM: from}), &[]);
        assert_eq!(
            claim(&orphan(SET), &payload(false), SET),
            Ok(Claim::TakeOver)
        );
        assert!(claim(&orphan("applyset-theirs-v1"), &payload(false), SET).is_err());
    }

    #[test]
    fn a_label_that_was_removed_is_put_back() {
        let fields = json!({"f:data": {"f:k": {}}});
        let bare = live(
            None,
            &json!({labels::APPLIED: "h"}),
            &[(MANAGER, "Apply", &fields)],
        );
        assert_eq!(claim(&bare, &payload(false), SET), Ok(Claim::Own));
        let copied = live(
            None,
            &json!({labels::APPLIED: "h"}),
            &[("kubectl", "Apply", &fields)],
        );
        assert!(
            claim(&copied, &payload(false), SET).is_err(),
            "a copy of ours is not ours"
        );
    }

    #[test]
    fn what_was_restored_is_taken_over_without_adoption_and_what_an_operator_made_is_not() {
        let nothing = json!({});
        let copy =
            |fields: &Json| live(Some(SET), &nothing, &[("kubectl-create", "Update", fields)]);
        let cleared = live(Some(SET), &nothing, &[]);
        for restored in [copy(&marks()), copy(&label()), cleared] {
            assert_eq!(claim(&restored, &payload(false), SET), Ok(Claim::TakeOver));
        }
        let owned = |group: &str| {
            let mut child = copy(&label());
            child["metadata"]["ownerReferences"] = json!([{"apiVersion": group, "kind": "K", "name": "k", "uid": "k", "controller": true}]);
            child
        };
        let part = owned("cluster.x-k8s.io/v1beta2");
        assert_eq!(claim(&part, &payload(false), SET), Ok(Claim::TakeOver));
        let made = owned("v1");
        assert!(claim(&made, &payload(false), SET).is_err());
        assert_eq!(claim(&made, &payload(true), SET), Ok(Claim::TakeOver));
    }

    #[test]
    fn who_restored_an_object_hands_it_over() {
        let (all, one) = (marks(), json!({"f:metadata": {"f:labels": {"f:x": {}}}}));
        let entries = |live: &Json| -> Vec<(String, Json)> {
            let patch = handover(live, "v1").unwrap();
            let entries = Managed::read(&patch).unwrap().into_iter();
            entries
                .map(|entry| (entry.manager, entry.fields.to_json()))
                .collect()
        };
        let ours = |fields: &Json| (MANAGER.to_owned(), fields.clone());
        let restorer = ("velero-server", "Update", &all);
        let labeller = ("some-controller", "Update", &one);
        let restored = live(Some(SET), &json!({}), &[restorer, labeller]);
        let theirs = ("some-controller".to_owned(), one.clone());
        assert_eq!(entries(&restored), [ours(&unlabelled()), theirs]);
        // What controllers had written was restored by the same manager, and stays.
        let by_controllers = json!({"f:metadata": {"f:finalizers": {"v:\"x\"": {}}}, "f:spec": {"f:volumeName": {}}});
        let mut whole = all.clone();
        whole["f:metadata"]["f:finalizers"] = by_controllers["f:metadata"]["f:finalizers"].clone();
        whole["f:spec"] = by_controllers["f:spec"].clone();
        let restored = live(
            Some(SET),
            &json!({}),
            &[("velero-server", "Update", &whole)],
        );
        let theirs = ("velero-server".to_owned(), by_controllers);
        assert_eq!(entries(&restored), [ours(&unlabelled()), theirs]);
        let cleared = live(Some(SET), &json!({}), &[]);
        let mut mark = unlabelled();
        mark.as_object_mut().unwrap().remove("f:data");
        assert_eq!(entries(&cleared), [ours(&mark)]);
        // Who copied the label alone keeps what it wrote.
        let label = label();
        let copied = live(
            Some(SET),
            &json!({}),
            &[("some-operator", "Update", &label)],
        );
        assert_eq!(handover(&copied, "v1"), None);
        let applied = live(Some(SET), &json!({}), &[(MANAGER, "Apply", &all)]);
        assert_eq!(handover(&applied, "v1"), None);
    }

    #[test]
    fn an_entry_that_was_restored_with_its_object_loses_the_label_until_it_is_applied() {
        let all = marks();
        let mut restored = live(Some(SET), &json!({}), &[(MANAGER, "Apply", &all)]);
        restored["metadata"]["creationTimestamp"] = json!("2026-05-01T00:00:00Z");
        assert_eq!(claim(&restored, &payload(false), SET), Ok(Claim::TakeOver));
        let patch = handover(&restored, "v1").unwrap();
        let entries = Managed::read(&patch).unwrap();
        let fields: Vec<Json> = entries.iter().map(|entry| entry.fields.to_json()).collect();
        assert_eq!(fields, [unlabelled()]);
        assert_eq!(entries[0].time, "2026-05-01T00:00:00Z");
    }

    #[test]
    fn fields_left_to_others_keep_their_value_until_they_set_them() {
        let payload = json!({"spec": {"replicas": 3, "image": "i"}});
        let both = json!({"f:spec": {"f:replicas": {}, "f:image": {}}});
        let image = json!({"f:spec": {"f:image": {}}});
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let sent = |managers: &[(&str, &str, &Json)]| {
            let mut live = live(None, &json!({}), managers);
            live["spec"] = json!({"replicas": 5, "image": "i"});
            yielded(&payload, &live, MANAGER, &["/spec/replicas".to_owned()])
        };
        let kept = json!({"spec": {"replicas": 5, "image": "i"}});
        assert_eq!(
            sent(&[(MANAGER, "Apply", &both)]),
            kept,
            "without it, it would go away"
        );
        let taken = json!({"spec": {"image": "i"}});
        let scaler = ("autoscaler", "Update", &replicas);
        assert_eq!(sent(&[(MANAGER, "Apply", &image), scaler]), taken);
        assert_eq!(
            sent(&[(MANAGER, "Apply", &both), scaler]),
            taken,
            "shared, it stays without us"
        );
    }

    #[test]
    fn other_appliers_hand_over_and_controllers_keep_their_own() {
        let (theirs, mine) = (
            json!({"f:data": {"f:k": {}}}),
            json!({"f:data": {"f:m": {}}}),
        );
        let status = json!({"f:data": {"f:c": {}}});
        let before = live(
            None,
            &json!({}),
            &[
                ("kubectl-client-side-apply", "Update", &theirs),
                (MANAGER, "Apply", &mine),
                ("some-controller", "Update", &status),
                ("kubectl-label", "Update", &status),
            ],
        );
        let patch = handover(&before, "v1").unwrap();
        assert_eq!(patch["metadata"]["resourceVersion"], "5");
        let after = Managed::read(&patch).unwrap();
        let names: Vec<&str> = after.iter().map(|entry| entry.manager.as_str()).collect();
        assert_eq!(names, [MANAGER, "kubectl-label", "some-controller"]);
        assert_eq!(
            after[0].fields.to_json(),
            json!({"f:data": {"f:k": {}, "f:m": {}}})
        );
        assert_eq!(
            handover(
                &live(None, &json!({}), &[("some-controller", "Update", &status)]),
                "v1"
            ),
            None
        );
    }
}
