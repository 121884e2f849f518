//! The rights of components: rules of roles.
//!
//! In: kinds. Out: rules without `*`. It does not know to whom they are granted.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value as Json, json};

use crate::api::kinds::{
    self, CAPI, CAPSTAN, CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT, is_aso,
    is_cluster_scoped,
};
use crate::api::labels::CLUSTER_NAME;
use crate::model::{EmbeddedId, Object};

pub(super) const RBAC: &str = "rbac.authorization.k8s.io";

/// All that is done with an object of a fleet. It is read before it is written, and deleted when its file goes; `delete` is last.
const WRITE: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];
const READ: [&str; 2] = ["list", "watch"];
/// The parts of a cluster that are never deleted alone: Capstan deletes the Cluster, and Cluster API its parts.
const PARTS: [(&str, &str); 2] = [
    (INFRASTRUCTURE, "aroclusters"),
    (CONTROL_PLANE, "arocontrolplanes"),
];

/// The resources that a fleet applies, and those whose progress is followed, each a group and a plural.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Those that are applied.
    pub written: BTreeSet<(String, String)>,
    /// Those that applied objects carry.
    pub read: BTreeSet<(String, String)>,
    /// Those of both without a namespace.
    pub cluster_scoped: BTreeSet<(String, String)>,
    /// Those whose plural is only likely.
    pub guessed: BTreeSet<(String, String)>,
}

/// The kinds of a fleet. A kind that the fleet defines has the plural of its definition; another one that Capstan does not
/// know the plural of its English name. `embedded` are the resources that objects carry.
#[must_use]
pub fn applied_kinds(objects: &[Object], embedded: &[EmbeddedId]) -> Applied {
    let defined: BTreeMap<(String, String), Definition> =
        objects.iter().filter_map(definition).collect();
    let mut applied = Applied::default();
    let carried = embedded.iter().map(|(id, _)| (&**id, false));
    let own = objects.iter().map(|object| (&object.id, true));
    for (id, is_written) in own.chain(carried) {
        let key = (id.group.clone(), id.kind.clone());
        let defined = defined.get(&key);
        let known = defined.map(|definition| definition.plural.clone());
        let known = known.or_else(|| known_plural(&id.group, &id.kind));
        let is_guessed =
            known.is_none() && id.group.contains('.') && !id.group.ends_with(".k8s.io");
        let plural = known.unwrap_or_else(|| english_plural(&id.group, &id.kind));
        let resource = (id.group.clone(), plural);
        if defined.is_some_and(|definition| definition.is_cluster_scoped) || is_cluster_scoped(id) {
            applied.cluster_scoped.insert(resource.clone());
        }
        if is_guessed {
            applied.guessed.insert(resource.clone());
        }
        let kinds = if is_written {
            &mut applied.written
        } else {
            &mut applied.read
        };
        kinds.insert(resource);
    }
    let has_clusters = objects
        .iter()
        .any(|object| object.label(CLUSTER_NAME).is_some());
    if has_clusters {
        applied.read.extend(default_kinds().read);
    }
    applied
}

/// The kinds that definitions become, with a Namespace and the identities of clusters.
#[must_use]
pub fn default_kinds() -> Applied {
    let all = || kinds::KINDS.iter();
    let resource = |kind: &kinds::Kind| (kind.group.to_owned(), kind.plural.to_owned());
    let is_applied =
        |kind: &&kinds::Kind| matches!(kind.group, CAPI | INFRASTRUCTURE | CONTROL_PLANE);
    let namespaces = (String::new(), "namespaces".to_owned());
    Applied {
        written: all()
            .filter(is_applied)
            .map(resource)
            .chain([namespaces.clone()])
            .collect(),
        read: all()
            .filter(|kind| is_aso(kind.group))
            .map(resource)
            .collect(),
        cluster_scoped: [namespaces].into(),
        guessed: BTreeSet::new(),
    }
}

/// The kinds of clusters, without what decides whose credentials they use.
#[must_use]
pub fn tenant_kinds() -> Applied {
    let mut kinds = default_kinds();
    let written = std::mem::take(&mut kinds.written).into_iter();
    let is_own = |(group, plural): &(String, String)| !group.is_empty() && plural != IDENTITIES;
    kinds.written = written.filter(is_own).collect();
    kinds
}

/// A kind that the fleet defines.
struct Definition {
    plural: String,
    is_cluster_scoped: bool,
}

/// The kind that a CustomResourceDefinition defines.
fn definition(object: &Object) -> Option<((String, String), Definition)> {
    if !object
        .id
        .is("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        return None;
    }
    let spec = object.node.get("spec")?;
    let names = spec.get("names")?;
    let [group, kind, plural] =
        [(spec, "group"), (names, "kind"), (names, "plural")].map(|(node, key)| node.text(&[key]));
    let definition = Definition {
        plural: plural?.to_owned(),
        is_cluster_scoped: spec.text(&["scope"]) == Some("Cluster"),
    };
    Some(((group?.to_owned(), kind?.to_owned()), definition))
}

fn known_plural(group: &str, kind: &str) -> Option<String> {
    let known = kinds::KINDS.iter();
    let mut known = known.filter(|known| known.group == group && known.kind == kind);
    known.next().map(|known| known.plural.to_owned())
}

/// The plural that most kinds have.
fn english_plural(group: &str, kind: &str) -> String {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind)).plural
}

/// A rule for resources of one group.
pub(super) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Json {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

const NAMESPACES: &str = "namespaces";
/// The kind that decides whose credentials clusters are made with.
pub(super) const IDENTITIES: &str = "azureclusteridentities";

impl Applied {
    /// The rules that applying needs in the whole cluster, one for each group and set of verbs.
    pub(super) fn rules(&self) -> Vec<Json> {
        let mut rules = writing(self.written.iter());
        rules.extend(grouped(self.read.difference(&self.written), &READ));
        rules.extend(self.reads());
        rules
    }

    /// The rules that applying needs in one namespace. Its Namespace is read alone: its labels decide which identities it may use.
    pub(super) fn namespaced_rules(&self) -> Vec<Json> {
        let written = self.written.difference(&self.cluster_scoped);
        let mut rules = writing(written);
        let read = self.read.difference(&self.written);
        let read = read.filter(|resource| !self.cluster_scoped.contains(resource));
        rules.extend(grouped(read, &READ));
        rules.extend(self.reads());
        rules
    }

    /// The rules for kinds without a namespace, other than Namespaces.
    pub(super) fn cluster_rules(&self) -> Vec<Json> {
        let is_other =
            |(group, plural): &&(String, String)| !group.is_empty() || plural != NAMESPACES;
        let written = self.written.intersection(&self.cluster_scoped);
        let mut rules = writing(written.filter(is_other));
        let read = self.read.difference(&self.written);
        let read = read.filter(|resource| self.cluster_scoped.contains(resource));
        rules.extend(grouped(read.filter(is_other), &READ));
        rules
    }

    /// The rules for what is read before a cluster is applied, if there are clusters: what it needs may be applied elsewhere, and a
    /// cluster that Azure failed to create is looked at once.
    fn reads(&self) -> Vec<Json> {
        if self.read.is_empty() {
            return Vec::new();
        }
        vec![
            rule("", &[NAMESPACES], &["get"]),
            rule(INFRASTRUCTURE, &[IDENTITIES], &["get"]),
            rule(RED_HAT_OPENSHIFT, &["hcpopenshiftclusters"], &["get"]),
        ]
    }
}

/// The rules for resources that are applied.
fn writing<'a>(resources: impl Iterator<Item = &'a (String, String)>) -> Vec<Json> {
    let is_part = |resource: &&(String, String)| {
        let (group, plural) = resource;
        PARTS.contains(&(group.as_str(), plural.as_str()))
    };
    let (parts, others): (Vec<_>, Vec<_>) = resources.partition(is_part);
    let [without_delete @ .., _] = WRITE;
    let mut rules = grouped(others.into_iter(), &WRITE);
    rules.extend(grouped(parts.into_iter(), &without_delete));
    rules
}

pub(super) fn grouped<'a>(
    resources: impl Iterator<Item = &'a (String, String)>,
    verbs: &[&str],
) -> Vec<Json> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (group, plural) in resources {
        groups.entry(group).or_default().push(plural);
    }
    let groups = groups.into_iter();
    groups
        .map(|(group, plurals)| rule(group, &plurals, verbs))
        .collect()
}

/// The rules of the ARO controllers in the whole cluster, which docs/controllers.md explains.
pub(super) fn controller_rules() -> Vec<Json> {
    let mut rules = namespaced_controller_rules();
    rules.extend([
        rule("", &[NAMESPACES], &["get", "list", "watch"]),
        deployment_rule(),
    ]);
    rules
}

/// The rules of the ARO controllers in the whole cluster, if they watch these namespaces alone.
pub(super) fn cluster_controller_rules(watched: &BTreeSet<String>) -> Vec<Json> {
    vec![
        json!({"apiGroups": [""], "resources": [NAMESPACES], "resourceNames": watched,
            "verbs": ["get", "list", "watch"]}),
        deployment_rule(),
    ]
}

/// The rule for Deployments, by which CAPZ, Cluster API and Azure Service Operator are found wherever they are.
pub(super) fn deployment_rule() -> Json {
    rule("apps", &["deployments"], &["list", "watch"])
}

/// The rules of the ARO controllers in a namespace that they watch.
pub(super) fn namespaced_controller_rules() -> Vec<Json> {
    let watch = ["get", "list", "watch", "patch"];
    let aro = [
        (
            INFRASTRUCTURE,
            ["aroclusters", "aromachinepools", "azureclusteridentities"].as_slice(),
        ),
        (CONTROL_PLANE, ["arocontrolplanes"].as_slice()),
    ];
    let mut rules = vec![rule(CAPI, &["clusters", "machinepools"], &watch)];
    for (group, resources) in aro {
        let part = |part: &str| -> Vec<String> {
            let parts = resources.iter().map(|one| format!("{one}/{part}"));
            parts.collect()
        };
        let (status, finalizers) = (part("status"), part("finalizers"));
        rules.push(rule(group, resources, &watch));
        rules.push(json!({"apiGroups": [group], "resources": status, "verbs": ["patch"]}));
        rules.push(json!({"apiGroups": [group], "resources": finalizers, "verbs": ["update"]}));
    }
    let aso: BTreeSet<(String, String)> = default_kinds().read;
    rules.extend(grouped(aso.iter(), &WRITE));
    rules.extend([
        rule(
            "",
            &["secrets"],
            &["get", "list", "watch", "create", "patch"],
        ),
        rule("events.k8s.io", &["events"], &["create"]),
    ]);
    rules
}

/// The rule to look who holds a Lease.
pub(super) fn lease_reading_rule() -> Json {
    rule("coordination.k8s.io", &["leases"], &["get"])
}

/// The rules for Leases in their namespace.
pub(super) fn lease_rules() -> Vec<Json> {
    vec![rule(
        "coordination.k8s.io",
        &["leases"],
        &["get", "create", "update"],
    )]
}

/// The rule by which a kind that comes later is noticed.
pub(super) fn definitions_rule() -> Json {
    let group = "apiextensions.k8s.io";
    rule(group, &["customresourcedefinitions"], &["list", "watch"])
}

/// The rules for Fleets, and for what the daemon writes beside them: the parents of the sets, which know how far each fleet has
/// come, and Events.
pub(super) fn fleet_rules() -> Vec<Json> {
    let parents = ["get", "list", "watch", "create", "patch", "delete"];
    vec![
        // Patched for the finalizer of those whose objects are removed before they go.
        rule(CAPSTAN, &["fleets"], &["get", "list", "watch", "patch"]),
        rule(CAPSTAN, &["fleets/status"], &["patch"]),
        rule("", &["configmaps"], &parents),
        rule("events.k8s.io", &["events"], &["create"]),
    ]
}
