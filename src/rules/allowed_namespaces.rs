//! T07: an AzureClusterIdentity is used only from namespaces that it allows. The provider does not check this
//! for ARO (facts/aro-controllers.md §5), so a fleet could use any identity of the cluster.
//!
//! In: identities, their users and namespaces, of a fleet or live. Out: whether a user may use an
//! identity. It does not know: how live objects are read.

use std::collections::{BTreeMap, HashMap};

use crate::api::aro_control_plane::{identity_namespace, used_identity};
use crate::api::azure_cluster_identity::{Allowed, link_identity};
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::labels::LINK_IDENTITY;
use crate::model::{Finding, Message, Node, Object, ObjectId, Path, message, rule_id};

/// Why `namespace` may not use `identity`, and what to do about it.
#[must_use]
pub(crate) fn refusal(
    identity: &ObjectId,
    allowed: &Allowed,
    namespace: &str,
) -> (Message, String) {
    let why = match allowed {
        Allowed::Nobody => {
            "its spec.allowedNamespaces is missing or invalid, which allows no namespace"
        }
        _ => "its spec.allowedNamespaces does not include it",
    };
    let message = message!(
        "{identity} may not be used from namespace {namespace}: {why}",
        identity,
        namespace
    );
    let help = format!(
        "add {namespace} to spec.allowedNamespaces.list of the identity if it should be used there, or name an identity that allows it"
    );
    (message, help)
}

/// T07: control planes, infrastructures and hosted clusters of the fleet use identities of the fleet that allow their namespaces. Other
/// identities are in the cluster, so they are checked when a user is applied.
pub(super) fn check(objects: &[Object], environment: &[&Object]) -> Vec<Finding> {
    let all = || objects.iter().chain(environment.iter().copied());
    let identities = all().filter(|object| is_identity(&object.id));
    let identities: HashMap<&ObjectId, (&Object, Allowed)> = identities
        .map(|object| (&object.id, (object, Allowed::read(&object.node.to_json()))))
        .collect();
    let namespaces = all().filter(|object| object.id.is("", "Namespace"));
    let namespaces: HashMap<&str, &Object> = namespaces
        .map(|object| (object.id.name.as_str(), object))
        .collect();
    let users = objects.iter().filter_map(|user| {
        let (node, used) = match used_identity(user) {
            Some(node) => (node, named(node, user)?),
            None => link_identity(user)?,
        };
        let (identity, allowed) = identities.get(&used)?;
        let namespace = user.id.namespace.as_str();
        let labels = namespaces.get(namespace).map(|one| labels(one));
        match allowed.allows(namespace, labels.as_ref()) {
            Some(true) => None,
            Some(false) => Some(may_not_use(user, node, identity, allowed)),
            None => Some(depends_on_labels(user, node, identity)),
        }
    });
    let unusable = identities
        .values()
        .filter(|(_, allowed)| *allowed == Allowed::Nobody);
    let invalid = identities
        .values()
        .filter_map(|(identity, allowed)| Some(invalid(identity, &allowed.invalid_selector()?)));
    users
        .chain(unusable.map(|(identity, _)| allows_nobody(identity)))
        .chain(invalid)
        .collect()
}

fn is_identity(id: &ObjectId) -> bool {
    id.is(INFRASTRUCTURE, "AzureClusterIdentity")
}

fn named(reference: &Node, user: &Object) -> Option<ObjectId> {
    let namespace = reference.text(&["namespace"]);
    let namespace = identity_namespace(namespace, &user.id.namespace);
    let name = reference.text(&["name"])?;
    Some(ObjectId::new(
        INFRASTRUCTURE,
        "AzureClusterIdentity",
        namespace,
        name,
    ))
}

fn labels(object: &Object) -> BTreeMap<String, String> {
    let labels = object
        .node
        .at(&["metadata", "labels"])
        .and_then(Node::as_map);
    let labels = labels.into_iter().flat_map(|map| map.iter());
    labels
        .filter_map(|(key, value)| Some((key.name.to_string(), value.as_str()?.to_owned())))
        .collect()
}

fn may_not_use(user: &Object, node: &Node, identity: &Object, allowed: &Allowed) -> Finding {
    let (message, help) = refusal(&identity.id, allowed, &user.id.namespace);
    let place = identity.origin.span();
    at(
        Finding::error(rule_id::FOREIGN_IDENTITY, message),
        user,
        node,
    )
    .help(format!("{help}; the identity is defined at {place}"))
}

fn depends_on_labels(user: &Object, node: &Node, identity: &Object) -> Finding {
    let namespace = &user.id.namespace;
    let message = message!(
        "whether {identity} may be used from namespace {namespace} depends on its labels, and it is not in the fleet",
        identity = identity.id,
        namespace
    );
    let nothing = "nothing to do if the namespace in the cluster has them";
    let help = match used_identity(user) {
        Some(_) => format!(
            "{nothing}: it is checked before the {} is applied",
            user.id.kind
        ),
        None => nothing.to_owned(),
    };
    at(
        Finding::info(rule_id::FOREIGN_IDENTITY, message),
        user,
        node,
    )
    .help(help)
}

fn allows_nobody(identity: &Object) -> Finding {
    let message = message!(
        "the allowedNamespaces of {identity} are missing or invalid, so no namespace may use it, not even its own",
        identity = identity.id
    );
    let help = "write `allowedNamespaces: {list: [...]}`, or `allowedNamespaces: {}` to allow all; in the first API version, no field meant all";
    Finding::info(rule_id::FOREIGN_IDENTITY, message)
        .at(identity.origin.span())
        .of(&identity.id)
        .help(help)
}

fn invalid(identity: &Object, why: &str) -> Finding {
    let message = message!(
        "the selector in the allowedNamespaces of {identity} is not valid, so it selects no namespace: {why}",
        identity = identity.id,
        why
    );
    let path = Path::dotted("spec.allowedNamespaces.selector");
    let help = "write the values that the label may or may not have; to allow all namespaces, write `allowedNamespaces: {}`";
    Finding::error(rule_id::FOREIGN_IDENTITY, message)
        .at(identity.node.nearest(&path).span())
        .of(&identity.id)
        .field(&path)
        .help(help)
}

fn at(finding: Finding, user: &Object, node: &Node) -> Finding {
    let (name, path) = match node.get("name") {
        None if node.as_str().is_some() => {
            let path = Path::dotted("metadata.annotations").key(LINK_IDENTITY);
            (node, path)
        }
        name => (name.unwrap_or(node), Path::dotted("spec.identityRef.name")),
    };
    finding.at(name.span()).of(&user.id).field(&path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether an identity at this version allows namespace `ns`, whose labels are given or unknown.
    fn findings_of(version: &str, allowed: &str, labels: Option<&[(&str, &str)]>) -> Option<bool> {
        let (documents, _) = crate::yaml::read(&std::sync::Arc::from("a.yaml"), allowed.as_bytes());
        let spec = documents[0].to_json();
        let identity = json!({"apiVersion": format!("{INFRASTRUCTURE}/{version}"), "spec": spec});
        let labels = labels.map(|labels| {
            let pairs = labels.iter();
            pairs
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect()
        });
        Allowed::read(&identity).allows("ns", labels.as_ref())
    }

    #[test]
    fn an_identity_allows_some_namespaces() {
        for (allowed, expected) in [
            ("{}", false),
            ("{allowedNamespaces: null}", false),
            ("{allowedNamespaces: {}}", true),
            ("{allowedNamespaces: {list: []}}", false),
            ("{allowedNamespaces: {list: null}}", false),
            ("{allowedNamespaces: {list: [ns]}}", true),
            ("{allowedNamespaces: {list: [NS, other]}}", false),
            ("{allowedNamespaces: {selector: {}}}", false),
            (
                "{allowedNamespaces: {selector: {matchLabels: {team: a}}}}",
                true,
            ),
            (
                "{allowedNamespaces: {selector: {matchLabels: {team: b}}}}",
                false,
            ),
            (
                "{allowedNamespaces: {list: [ns], selector: {matchLabels: {team: b}}}}",
                true,
            ),
            (
                "{allowedNamespaces: {list: [], selector: {matchLabels: {team: a}}}}",
                true,
            ),
            (
                "{allowedNamespaces: {selector: {matchExpressions: [{key: team, operator: NotIn, values: [a]}]}}}",
                false,
            ),
            (
                "{allowedNamespaces: {selector: {matchExpressions: [{key: team, operator: Like, values: [a]}]}}}",
                false,
            ),
            // Invalid selectors match nothing, whatever they negate.
            (
                "{allowedNamespaces: {selector: {matchExpressions: [{key: team, operator: NotIn}]}}}",
                false,
            ),
            (
                "{allowedNamespaces: {selector: {matchExpressions: [{key: team, operator: NotIn, values: []}]}}}",
                false,
            ),
            (
                "{allowedNamespaces: {selector: {matchLabels: {team: a}, matchExpressions: [{key: x, operator: NotIn, values: null}]}}}",
                false,
            ),
            (
                "{allowedNamespaces: {selector: {matchExpressions: [{key: team, operator: Exists, values: [a]}]}}}",
                false,
            ),
            (
                "{allowedNamespaces: {selector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn}]}}}",
                false,
            ),
            (
                "{allowedNamespaces: {list: [ns], selector: {matchExpressions: [{key: team, operator: NotIn}]}}}",
                true,
            ),
            ("{allowedNamespaces: [ns]}", false),
            ("{allowedNamespaces: all}", false),
        ] {
            let labels: &[(&str, &str)] = &[("team", "a")];
            assert_eq!(
                findings_of("v1beta1", allowed, Some(labels)),
                Some(expected),
                "{allowed}"
            );
        }
    }

    #[test]
    fn an_invalid_selector_is_reported_where_it_is_written() {
        let text = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: id, namespace: ns}
spec:
  allowedNamespaces:
    selector: {matchExpressions: [{key: team, operator: NotIn}]}
";
        let (documents, _) = crate::yaml::read(&std::sync::Arc::from("a.yaml"), text.as_bytes());
        let documents = documents.into_iter();
        let objects: Vec<Object> = documents
            .filter_map(|document| Object::from_node(document, ""))
            .collect();
        let found = check(&objects, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, crate::model::Severity::Error);
        assert_eq!(found[0].span.as_ref().map(|span| span.start.line), Some(6));
        assert!(
            found[0].message.ends_with("NotIn needs values"),
            "{found:?}"
        );
    }

    #[test]
    fn an_empty_namespace_is_the_user_s_own() {
        let text = "\
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {name: id, namespace: ns}, spec: {allowedNamespaces: {list: [other]}}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: c, namespace: ns}, spec: {identityRef: {name: id, namespace: ''}}}
";
        let (documents, _) = crate::yaml::read(&std::sync::Arc::from("a.yaml"), text.as_bytes());
        let documents = documents.into_iter();
        let objects: Vec<Object> = documents
            .filter_map(|document| Object::from_node(document, ""))
            .collect();
        let found = check(&objects, &[]);
        let ids: Vec<&str> = found.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["T07"], "{found:?}");
        let named = crate::graph::names(&objects[1]);
        assert!(
            named.iter().any(|(id, ..)| *id == objects[0].id),
            "{named:?}"
        );
    }

    #[test]
    fn a_hosted_cluster_names_an_identity_that_allows_its_namespace() {
        let found = |list: &str| {
            let text = format!(
                "\
{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {{name: id, namespace: ids}}, spec: {{allowedNamespaces: {list}}}}}
---
{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: c, namespace: ns, annotations: {{{LINK_IDENTITY}: ids/id}}}}, spec: {{}}}}
"
            );
            let objects = crate::rules::objects_in(&text);
            let found = check(&objects, &[]).into_iter();
            found
                .map(|one| (one.severity, one.field.map(|field| field.to_string())))
                .collect::<Vec<_>>()
        };
        let field = Path::dotted("metadata.annotations").key(LINK_IDENTITY);
        let at = |severity| vec![(severity, Some(field.to_string()))];
        assert_eq!(found("{list: [ns]}"), []);
        assert_eq!(found("{list: [ids]}"), at(crate::model::Severity::Error));
        assert_eq!(
            found("{selector: {matchLabels: {team: a}}}"),
            at(crate::model::Severity::Info)
        );
    }

    #[test]
    fn in_the_first_versions_an_empty_list_means_all() {
        for (allowed, expected) in [
            ("{}", true),
            ("{allowedNamespaces: []}", true),
            ("{allowedNamespaces: [ns]}", true),
            ("{allowedNamespaces: [other]}", false),
        ] {
            assert_eq!(
                findings_of("v1alpha3", allowed, None),
                Some(expected),
                "{allowed}"
            );
            assert_eq!(
                findings_of("v1alpha4", allowed, None),
                Some(expected),
                "{allowed}"
            );
        }
    }

    #[test]
    fn unknown_labels_decide_nothing_but_the_name_is_known() {
        let by = |selector: &str| {
            let allowed = format!("{{allowedNamespaces: {{selector: {{{selector}}}}}}}");
            findings_of("v1beta1", &allowed, None)
        };
        assert_eq!(by("matchLabels: {team: a}"), None);
        assert_eq!(
            by("matchExpressions: [{key: team, operator: DoesNotExist}]"),
            None
        );
        assert_eq!(
            by("matchLabels: {kubernetes.io/metadata.name: ns}"),
            Some(true)
        );
        assert_eq!(
            by("matchLabels: {kubernetes.io/metadata.name: other}"),
            Some(false)
        );
    }
}
