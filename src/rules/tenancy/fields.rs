//! T02, T04 and T05: the namespaces, subscriptions and identities that fields name, wherever they stand.

use super::Judge;
use crate::api::kinds::{INFRASTRUCTURE, is_aso};
use crate::api::{embedded, labels};
use crate::model::{Node, Value};
use crate::rules::way::Way;

/// Maps whose keys are people's own.
const FREE: &[&str] = &[
    "annotations",
    "binaryData",
    "data",
    "labels",
    "matchLabels",
    "nodeSelector",
    "stringData",
];
/// The Secret that ASO takes for all of a namespace that names no other.
const ASO_CREDENTIAL: &str = "aso-credential";
/// What names of resources begin with: a subscription, or that of a role, which gives nobody anything
/// by itself. Others are those of all Azure, such as management groups.
const STARTS: &[&str] = &[
    "/subscriptions/",
    "/providers/microsoft.authorization/roledefinitions/",
];

impl Judge<'_> {
    /// The fields of the object name nothing that the tenant does not have.
    pub(super) fn fields(&mut self) {
        let object = self.object;
        let id = &object.id;
        let is_identity = id.is(INFRASTRUCTURE, "AzureClusterIdentity")
            || id.is("", "Secret") && id.name == ASO_CREDENTIAL;
        if is_identity {
            self.identity(&id.namespace, &id.name, None);
        }
        self.each(&object.node, &Way::Top);
    }

    fn each(&mut self, node: &Node, way: &Way<'_>) {
        match &node.value {
            Value::String(text) => self.text(text, node, way),
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.each(item, &Way::Index(way, index));
                }
            }
            Value::Map(map) => {
                if way.name() == "identityRef" {
                    self.identity_ref(node, way);
                }
                for (key, value) in map.iter() {
                    self.each(value, &Way::Key(way, &key.name));
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        match way.name() {
            labels::CREDENTIAL_FROM => {
                let namespace = &self.object.id.namespace;
                self.identity(namespace, text, Some((node, way)));
            }
            labels::DEPENDS_ON => self.depends_on(text, node, way),
            name if name == "namespace" || name.ends_with("Namespace") => {
                self.namespace(text, node, way);
            }
            _ => {}
        }
        if self.tenant.subscriptions.is_some() {
            self.subscriptions(text, node, way);
        }
    }

    /// A namespace that a field names. That of the object itself, and of an identity, are judged as what
    /// they are.
    fn namespace(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        let metadata = way.around();
        let own = metadata.name() == "metadata" && matches!(metadata.around(), Way::Top);
        let of_identity = metadata.name() == "identityRef";
        let judged = own || of_identity || text.is_empty() || way.is_below(FREE);
        if !judged && !self.is_azures(way) && !Self::allows(self.tenant.namespaces.as_ref(), text) {
            let what = format!("{} names the namespace {text}", way.path());
            self.refuse("T02", &what, Some((node, way)));
        }
    }

    /// Whether a field is Azure's: a namespace there is one of the cluster that Azure makes.
    fn is_azures(&self, way: &Way<'_>) -> bool {
        let id = &self.object.id;
        (is_aso(&id.group) || embedded::carries(id)) && way.is_below(&["properties"])
    }

    /// `group/namespaces/ns/Kind/name` or `group/Kind/name`, several with commas between. Who is depended on
    /// is not removed, so not everybody may.
    fn depends_on(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        for part in text.split(',').map(str::trim) {
            let parts: Vec<&str> = part.split('/').collect();
            let namespace = match parts.as_slice() {
                [_, "namespaces", namespace, ..] | ["", "Namespace", namespace] => namespace,
                _ => continue,
            };
            if !Self::allows(self.tenant.namespaces.as_ref(), namespace) {
                let what = format!("it depends on {part}, in the namespace {namespace}");
                self.refuse("T02", &what, Some((node, way)));
            }
        }
    }

    /// `{name, namespace}`; without a namespace it is the object's own.
    fn identity_ref(&mut self, node: &Node, way: &Way<'_>) {
        let Some(name) = node.text(&["name"]) else {
            return;
        };
        let namespace = node.text(&["namespace"]);
        let namespace = namespace.unwrap_or(&self.object.id.namespace);
        let place = node.get("name").map(|name| (name, way));
        self.identity(namespace, name, place);
    }

    fn identity(&mut self, namespace: &str, name: &str, place: Option<(&Node, &Way<'_>)>) {
        let name = format!("{namespace}/{name}");
        if !Self::allows(self.tenant.identities.as_ref(), &name) {
            self.refuse("T05", &format!("it uses the identity {name}"), place);
        }
    }

    fn subscriptions(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        let lower = text.to_lowercase();
        let name = way.name().replace(['_', '-'], "").to_lowercase();
        let mut named: Vec<&str> = in_ids(&lower).collect();
        if name.ends_with("subscriptionid") {
            named.push(lower.trim());
        }
        let known = self.tenant.subscriptions.as_deref().unwrap_or_default();
        let strange = |name: &&str| !known.iter().any(|one| one.eq_ignore_ascii_case(name));
        let strange = named.iter().copied().find(strange);
        if let Some(name) = strange {
            let what = format!("it names the subscription {name}");
            self.refuse("T04", &what, Some((node, way)));
        } else if name == "armid" && !STARTS.iter().any(|start| lower.starts_with(start)) {
            let what = format!("{text:?} is in no subscription");
            self.refuse("T04", &what, Some((node, way)));
        }
    }
}

/// The subscriptions in names of resources in Azure, of a text in lower case.
fn in_ids(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("/subscriptions/").skip(1);
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    parts.map(move |part| part.split(end).next().unwrap_or_default())
}
