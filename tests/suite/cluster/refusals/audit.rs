//! The requests that a server allowed, against the roles of who sent them.
//!
//! In: the audit log of the server, and the objects that `install` prints. Out: the rights that nobody used.

use std::collections::BTreeSet;
use std::path::Path;

use capstan::adapters::kubernetes::Right;
use serde_json::Value as Json;

/// A user, and a right that the user has or took.
type Used = (String, Right);

/// The requests of a log that were allowed, as the rights that they took.
fn requests(log: &str) -> Vec<Used> {
    let events = log.lines();
    let events = events.map(|line| serde_json::from_str::<Json>(line).expect("a line of JSON"));
    let is_allowed =
        |event: &Json| event["annotations"]["authorization.k8s.io/decision"] == "allow";
    events
        .filter(is_allowed)
        .flat_map(|event| taken(&event))
        .collect()
}

/// The rights that a request took. An apply that makes its object takes the right to create it, too.
fn taken(event: &Json) -> Vec<Used> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let user = text(&event["user"]["username"]);
    let acting = event["impersonatedUser"]["username"].as_str();
    let mut taken = Vec::new();
    if let Some((namespace, name)) = acting.and_then(account) {
        let right = Right {
            resource: "serviceaccounts".to_owned(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            verb: "impersonate".to_owned(),
            ..Right::default()
        };
        taken.push((user.clone(), right));
    }
    let object = &event["objectRef"];
    let part = object["subresource"].as_str();
    let part = part.map(|part| format!("/{part}")).unwrap_or_default();
    let right = Right {
        group: text(&object["apiGroup"]),
        resource: text(&object["resource"]) + &part,
        name: text(&object["name"]),
        namespace: text(&object["namespace"]),
        verb: text(&event["verb"]),
    };
    let user = acting.map_or(user, str::to_owned);
    if right.verb == "patch" && event["responseStatus"]["code"] == 201 {
        let verb = "create".to_owned();
        taken.push((
            user.clone(),
            Right {
                verb,
                ..right.clone()
            },
        ));
    }
    taken.push((user, right));
    taken
}

/// The namespace and the name of the account behind a user.
fn account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}

/// The rights of the roles that are bound to accounts, each with its user.
fn granted(objects: &[Json]) -> Vec<Used> {
    let bindings = objects
        .iter()
        .filter(|object| object.get("roleRef").is_some());
    let rights = bindings.flat_map(|binding| {
        let role = objects.iter().find(|object| {
            object["kind"] == binding["roleRef"]["kind"]
                && object["metadata"]["name"] == binding["roleRef"]["name"]
                && object["metadata"]["namespace"] == binding["metadata"]["namespace"]
        });
        let subject = &binding["subjects"][0];
        let part = |key: &str| subject[key].as_str().expect("text");
        let user = format!(
            "system:serviceaccount:{}:{}",
            part("namespace"),
            part("name")
        );
        let rights = Right::of_role(role.expect("it is printed, too"));
        rights.into_iter().map(move |right| (user.clone(), right))
    });
    rights.collect()
}

/// Returns true if a request took a right. One for the whole cluster is taken in any namespace.
fn is_taken((user, right): &Used, (by, request): &Used) -> bool {
    let fits = |granted: &str, asked: &str| granted.is_empty() || granted == asked;
    (user, &right.group, &right.resource, &right.verb)
        == (by, &request.group, &request.resource, &request.verb)
        && fits(&right.namespace, &request.namespace)
        && fits(&right.name, &request.name)
}

/// The rights that `objects` grant and no request of the log took, as `deployer: delete configmaps`.
fn unused(objects: &[Json], log: &str) -> BTreeSet<String> {
    let requests = requests(log);
    let is_unused = |granted: &Used| !requests.iter().any(|request| is_taken(granted, request));
    let unused = granted(objects).into_iter().filter(is_unused);
    let lines = unused.map(|(user, right)| {
        let name = account(&user).map_or(user.as_str(), |(_, name)| name);
        let nameless = Right {
            name: String::new(),
            ..right
        };
        format!("{name}: {} {}", nameless.verb, nameless.what())
    });
    lines.collect()
}

/// Every right that `install` prints is one that somebody used, or has a reason.
pub(super) fn no_right_is_unneeded(printed: &[Json], log: &Path, reasons: &[(&str, &str)]) {
    let log = std::fs::read_to_string(log).expect("the server wrote it");
    let expected: BTreeSet<String> = reasons.iter().map(|(line, _)| (*line).to_owned()).collect();
    assert_eq!(unused(printed, &log), expected);
}

/// The requests of a user that the server refused because a right was missing.
pub(super) fn refused(log: &Path, user: &str) -> Vec<String> {
    let log = std::fs::read_to_string(log).expect("the server wrote it");
    let events = log.lines();
    let events = events.map(|line| serde_json::from_str::<Json>(line).expect("a line of JSON"));
    let is_refused = |event: &Json| {
        event["annotations"]["authorization.k8s.io/decision"] == "forbid"
            && event["user"]["username"] == user
    };
    let lines = events
        .filter(is_refused)
        .map(|event| format!("{} {}", event["verb"], event["requestURI"]));
    lines.collect()
}

#[test]
fn rights_are_taken_in_their_place_by_who_acts() {
    let event = |more: &Json| {
        let mut event = serde_json::json!({"user": {"username": "system:serviceaccount:n:a"}, "verb": "patch",
            "annotations": {"authorization.k8s.io/decision": "allow"}, "responseStatus": {"code": 201},
            "objectRef": {"resource": "configmaps", "namespace": "n", "name": "x"}});
        for (key, value) in more.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        event.to_string() + "\n"
    };
    let shown = |log: &str| -> Vec<String> {
        let all = requests(log).into_iter();
        all.map(|(user, right)| format!("{user} {} {right}", right.verb))
            .collect()
    };
    let own = "system:serviceaccount:n:a";
    assert_eq!(
        shown(&event(&serde_json::json!({}))),
        [
            format!("{own} create configmaps x in namespace n"),
            format!("{own} patch configmaps x in namespace n")
        ]
    );
    let acting = serde_json::json!({"impersonatedUser": {"username": "system:serviceaccount:m:b"}, "verb": "get"});
    assert_eq!(
        shown(&event(&acting)),
        [
            format!("{own} impersonate serviceaccounts b in namespace m"),
            "system:serviceaccount:m:b get configmaps x in namespace n".to_owned()
        ]
    );
    let refused = serde_json::json!({"annotations": {"authorization.k8s.io/decision": "forbid"}});
    assert!(shown(&event(&refused)).is_empty());

    let objects = serde_json::json!([
        {"kind": "Role", "metadata": {"name": "r", "namespace": "n"}, "rules": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["y"], "verbs": ["get"]}]},
        {"kind": "RoleBinding", "metadata": {"name": "r", "namespace": "n"}, "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"namespace": "n", "name": "a"}]},
    ]);
    let objects = objects.as_array().expect("a list");
    let lines: Vec<String> = unused(objects, &event(&serde_json::json!({})))
        .into_iter()
        .collect();
    assert_eq!(lines, ["a: get configmaps", "a: get secrets"]);
}
