//! The references of an object, read from its fields alone.

use crate::api::aro_control_plane::identity_namespace;
use crate::api::azure_cluster_identity::link_identity_in;
use crate::api::kinds::{AUTHORIZATION, CAPI, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::api::platform::{HYPERSHIFT, Platform, PlatformKind};
use crate::api::{aso, capi, labels};
use crate::model::{Needed, Node, Object, ObjectId, Origin, Value};

/// One object named by another.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) to: ObjectId,
    pub(super) until: Needed,
    pub(super) why: String,
    /// Where the name is written.
    pub(super) origin: Origin,
    /// Where the group is written, if it is.
    pub(super) group: Option<Origin>,
}

/// What is looked through for references: an object, or a resource embedded in one.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) id: &'a ObjectId,
    pub(super) node: &'a Node,
    pub(super) origin: &'a Origin,
}

impl<'a> From<&'a Object> for Named<'a> {
    fn from(object: &'a Object) -> Self {
        Self {
            id: &object.id,
            node: &object.node,
            origin: &object.origin,
        }
    }
}

impl<'a> Named<'a> {
    /// A resource with the id that it has in its carrier.
    pub(super) fn embedded(id: &'a ObjectId, node: &'a Node) -> Self {
        let name = node.at(&["metadata", "name"]).unwrap_or(node);
        Self {
            id,
            node,
            origin: &name.origin,
        }
    }
}

/// Everything that `object` names, in the order it is written.
pub(super) fn of(object: Named<'_>) -> Vec<Reference> {
    let mut found = Vec::new();
    let namespace = object.id.namespace.as_str();
    if let Some(spec) = object.node.get("spec") {
        found.extend(owner(object, spec));
        for (name, node) in spec.as_map().into_iter().flat_map(|map| map.iter()) {
            // Embedded resources are vertices of their own.
            if name.name != "resources" && name.name != "owner" {
                within(&name.name, node, namespace, &mut found);
            }
        }
        found.extend(cluster(object));
        found.extend(bootstrap(object, spec));
        found.extend(hosted(object));
    }
    found.extend(annotations(object));
    if !namespace.is_empty() && !["default", "kube-system"].contains(&namespace) {
        let origin = object
            .node
            .at(&["metadata", "namespace"])
            .map_or(object.origin, |node| &node.origin);
        found.push(reference(
            ("", "Namespace"),
            "",
            namespace,
            Needed::Applied,
            "namespace",
            origin,
        ));
    }
    // Without a name, nothing can be looked for outside of the fleet.
    found.retain(|one| !one.to.name.is_empty() || !may_be_outside(&one.to));
    found
}

fn reference(
    (group, kind): (&str, &str),
    namespace: &str,
    name: &str,
    until: Needed,
    why: &str,
    origin: &Origin,
) -> Reference {
    let to = ObjectId::new(group, kind, namespace, name);
    Reference {
        to,
        until,
        why: why.to_owned(),
        origin: origin.clone(),
        group: None,
    }
}

/// Where a reference has its group.
fn group_in(reference: &Node) -> Option<Origin> {
    let fields = ["apiGroup", "apiVersion", "group"];
    let written = fields.iter().find_map(|field| reference.get(field));
    written.map(|node| node.origin.clone())
}

fn owner(object: Named<'_>, spec: &Node) -> Option<Reference> {
    let owner = spec.get("owner")?;
    let name = owner.get("name")?;
    let explicit = owner
        .text(&["kind"])
        .map(|kind| (owner.text(&["group"]).unwrap_or_default(), kind));
    let of = explicit.or_else(|| aso::owner_kind(&object.id.group, &object.id.kind))?;
    let why = if object.id.is(AUTHORIZATION, "RoleAssignment") {
        "scope"
    } else {
        "owner"
    };
    let namespace = &object.id.namespace;
    Some(Reference {
        group: group_in(owner),
        ..reference(
            of,
            namespace,
            name.as_str()?,
            Needed::Ready,
            why,
            &name.origin,
        )
    })
}

/// References below one field: `*Reference {group, kind, name}` of ASO, `*Ref {apiGroup, kind, name}`
/// of Cluster API (`apiVersion` before contract v1beta2), and the ConfigMaps and Secrets that fields of well-known names point to.
fn within(field: &str, node: &Node, namespace: &str, found: &mut Vec<Reference>) {
    match &node.value {
        Value::List(items) => items
            .iter()
            .for_each(|item| within(field, item, namespace, found)),
        Value::Map(map) => {
            found.extend(named(field, node, namespace));
            for (key, child) in map.iter() {
                // `controlPlaneOperatorsReferences` is a map of references by operator name.
                let name = if field.ends_with("References") {
                    "reference"
                } else {
                    &key.name
                };
                within(name, child, namespace, found);
            }
        }
        _ => {}
    }
}

fn named(field: &str, node: &Node, namespace: &str) -> Option<Reference> {
    let name = node.get("name")?;
    let text = name.as_str()?;
    let to =
        |of: (&str, &str), until| Some(reference(of, namespace, text, until, field, &name.origin));
    match field {
        "configMapRef" | "configMapKeyRef" | "principalIdFromConfig" => {
            to(("", "ConfigMap"), Needed::Applied)
        }
        "secretRef" | "secretKeyRef" => to(("", "Secret"), Needed::Applied),
        "clientSecret" => {
            let namespace = node.text(&["namespace"]).unwrap_or(namespace);
            Some(reference(
                ("", "Secret"),
                namespace,
                text,
                Needed::Applied,
                field,
                &name.origin,
            ))
        }
        "identityRef" => {
            let namespace = identity_namespace(node.text(&["namespace"]), namespace);
            let of = (INFRASTRUCTURE, "AzureClusterIdentity");
            Some(reference(
                of,
                namespace,
                text,
                Needed::Applied,
                field,
                &name.origin,
            ))
        }
        "infrastructureRef" | "controlPlaneRef" => Some(Reference {
            to: capi::named(node, namespace)?,
            until: Needed::Applied,
            why: field.to_owned(),
            origin: name.origin.clone(),
            group: group_in(node),
        }),
        _ if field.ends_with("eference") => {
            let group = node.text(&["group"]).unwrap_or_default();
            let to = to((group, node.text(&["kind"])?), Needed::Ready)?;
            Some(Reference {
                group: group_in(node),
                ..to
            })
        }
        _ => None,
    }
}

/// The cluster that a node pool names.
fn cluster(object: Named<'_>) -> Option<Reference> {
    let (platform, kind) = (Platform::of(object.id)?, PlatformKind::of(object.id)?);
    let node = object.node.at(kind.cluster)?;
    let why = kind.cluster.last().filter(|_| platform.is_ordered)?;
    let root = platform.root("", "");
    Some(reference(
        (&root.group, &root.kind),
        &object.id.namespace,
        node.as_str()?,
        Needed::Applied,
        why,
        &node.origin,
    ))
}

/// The fields of HyperShift's kinds that name a Secret or a ConfigMap, or several.
const HOSTED: [(&str, &[&str], &str); 10] = [
    ("HostedCluster", &["spec", "pullSecret"], "Secret"),
    ("HostedCluster", &["spec", "sshKey"], "Secret"),
    (
        "HostedCluster",
        &["spec", "serviceAccountSigningKey"],
        "Secret",
    ),
    (
        "HostedCluster",
        &["spec", "secretEncryption", "aescbc", "activeKey"],
        "Secret",
    ),
    (
        "HostedCluster",
        &["spec", "secretEncryption", "aescbc", "backupKey"],
        "Secret",
    ),
    (
        "HostedCluster",
        &[
            "spec",
            "platform",
            "kubevirt",
            "credentials",
            "infraKubeConfigSecret",
        ],
        "Secret",
    ),
    ("HostedCluster", &["spec", "auditWebhook"], "Secret"),
    (
        "HostedCluster",
        &["spec", "additionalTrustBundle"],
        "ConfigMap",
    ),
    ("NodePool", &["spec", "config"], "ConfigMap"),
    ("NodePool", &["spec", "tuningConfig"], "ConfigMap"),
];

fn hosted(object: Named<'_>) -> impl Iterator<Item = Reference> {
    let fields = HOSTED.iter();
    let fields = fields.filter(|(kind, ..)| object.id.is(HYPERSHIFT, kind));
    fields.flat_map(move |(_, path, kind)| {
        let field = object.node.at(path);
        let items = field.map(|field| field.as_list().unwrap_or(std::slice::from_ref(field)));
        let why = path.last().copied().unwrap_or_default();
        items.unwrap_or_default().iter().filter_map(move |item| {
            let name = item.get("name")?;
            let (text, namespace) = (name.as_str()?, &object.id.namespace);
            let of = ("", *kind);
            Some(reference(
                of,
                namespace,
                text,
                Needed::Applied,
                why,
                &name.origin,
            ))
        })
    })
}

fn bootstrap(object: Named<'_>, spec: &Node) -> Option<Reference> {
    let path = ["template", "spec", "bootstrap", "dataSecretName"];
    let node = spec
        .at(&path)
        .filter(|_| object.id.is(CAPI, "MachinePool"))?;
    Some(reference(
        ("", "Secret"),
        &object.id.namespace,
        node.as_str()?,
        Needed::Applied,
        "dataSecretName",
        &node.origin,
    ))
}

fn annotations(object: Named<'_>) -> Vec<Reference> {
    let mut found = Vec::new();
    if let Some(node) = object
        .node
        .at(&["metadata", "annotations", labels::CREDENTIAL_FROM])
    {
        found.extend(node.as_str().map(|name| {
            let namespace = &object.id.namespace;
            reference(
                ("", "Secret"),
                namespace,
                name,
                Needed::Applied,
                "credential-from",
                &node.origin,
            )
        }));
    }
    found.extend(link(object));
    let named = depended_on(object).filter_map(|(text, origin)| Some((depends_on(text)?, origin)));
    found.extend(named.map(|(to, origin)| Reference {
        to,
        until: Needed::Ready,
        why: "depends-on".to_owned(),
        origin: origin.clone(),
        group: None,
    }));
    found
}

/// What makes the Private Endpoint of a HostedCluster: an identity, and a credential of Azure Service Operator.
fn link(object: Named<'_>) -> impl Iterator<Item = Reference> {
    let identity = link_identity_in(object.id, object.node).map(|(node, to)| Reference {
        to,
        until: Needed::Applied,
        why: "private-link-identity".to_owned(),
        origin: node.origin.clone(),
        group: None,
    });
    let path = ["metadata", "annotations", labels::LINK_CREDENTIAL];
    let node = object.node.at(&path);
    let node = node.filter(|_| object.id.is(HYPERSHIFT, "HostedCluster"));
    let credential = node.and_then(|node| {
        let (of, why) = (("", "Secret"), "private-link-credential-from");
        let (namespace, name) = (&object.id.namespace, node.as_str()?);
        Some(reference(
            of,
            namespace,
            name,
            Needed::Applied,
            why,
            &node.origin,
        ))
    });
    identity.into_iter().chain(credential)
}

/// The parts of the depends-on annotation, and where it stands.
fn depended_on(object: Named<'_>) -> impl Iterator<Item = (&str, &Origin)> {
    let path = ["metadata", "annotations", labels::DEPENDS_ON];
    let node = object.node.at(&path);
    node.into_iter().flat_map(|node| {
        let parts = node.as_str().unwrap_or_default().split(',');
        parts.map(|part| (part.trim(), &node.origin))
    })
}

/// The parts of the depends-on annotation that name nothing.
pub(super) fn unreadable(object: Named<'_>) -> impl Iterator<Item = (&str, &Origin)> {
    depended_on(object).filter(|(text, _)| depends_on(text).is_none())
}

/// `group/namespaces/ns/Kind/name` or `group/Kind/name`; the core group is empty.
fn depends_on(text: &str) -> Option<ObjectId> {
    match text.split('/').collect::<Vec<_>>().as_slice() {
        [group, "namespaces", namespace, kind, name] => {
            Some(ObjectId::new(*group, *kind, *namespace, *name))
        }
        [group, kind, name] => Some(ObjectId::new(*group, *kind, "", *name)),
        _ => None,
    }
    .filter(|id| !id.kind.is_empty() && !id.name.is_empty())
}

/// The ConfigMaps and Secrets that the object `id`, which says `node`, makes when it is ready: the
/// destinations of its `operatorSpec`, and the kubeconfig that the controllers ask of an HCP cluster
/// without one.
pub(super) fn made_by(id: &ObjectId, node: &Node, cluster: Option<&str>) -> Vec<ObjectId> {
    let mut made = Vec::new();
    for (field, kind) in [
        ("configMaps", "ConfigMap"),
        ("configMapExpressions", "ConfigMap"),
        ("secrets", "Secret"),
        ("secretExpressions", "Secret"),
    ] {
        let targets = node.at(&["spec", "operatorSpec", field]);
        let named = targets.and_then(Node::as_map).into_iter();
        let named = named.flat_map(|map| map.iter().map(|(_, target)| target));
        let listed = targets.and_then(Node::as_list).unwrap_or_default();
        let names = named.chain(listed).filter_map(|one| one.text(&["name"]));
        made.extend(names.map(|name| ObjectId::new("", kind, &id.namespace, name)));
    }
    if id.is(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster") {
        let name = format!("{}-kubeconfig", cluster.unwrap_or(&id.name));
        made.push(ObjectId::new("", "Secret", &id.namespace, name));
    }
    made
}

/// Whether the cluster may hold an object of this kind that the fleet does not (DESIGN §5).
pub(super) fn may_be_outside(id: &ObjectId) -> bool {
    match id.group.as_str() {
        "" => ["Secret", "ConfigMap", "Namespace"].contains(&id.kind.as_str()),
        _ => id.is(INFRASTRUCTURE, "AzureClusterIdentity"),
    }
}

/// The place of a kind in the order in which the parts of one cluster are applied; `None` for kinds outside it.
pub(super) fn sync_rank(id: &ObjectId) -> Option<usize> {
    let platform = Platform::of(id).filter(|platform| platform.is_ordered);
    platform.and_then(|platform| platform.rank(id))
}
