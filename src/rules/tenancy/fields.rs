//! T02, T04 and T05: the namespaces, subscriptions and identities that fields name, wherever they stand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Judge;
use crate::api::aro_control_plane::identity_namespace;
use crate::api::kinds::{INFRASTRUCTURE, is_aso};
use crate::api::{embedded, labels};
use crate::graph;
use crate::model::{Node, ObjectId, Value};
use crate::rules::secrets::is_ciphertext;
use crate::rules::way::Way;

/// Maps whose keys are people's own, wherever they stand.
const FREE: &[&str] = &["annotations", "labels", "matchLabels", "nodeSelector"];
/// The same, of an object as a whole.
const DATA: &[&str] = &["binaryData", "data", "stringData"];
/// The Secret that ASO takes for all of a namespace that names no other.
const ASO_CREDENTIAL: &str = "aso-credential";
/// What names of roles begin with. A role gives nobody anything by itself. What else stands in no
/// subscription is of all Azure, such as management groups.
const ROLES: &str = "/providers/microsoft.authorization/roledefinitions/";

impl Judge<'_> {
    /// The fields of the object name nothing that the tenant does not have.
    pub(super) fn fields(&mut self) {
        let object = self.object;
        self.makes(&object.id, &object.node, None);
        let spec = Way::Key(&Way::Top, "spec");
        let resources = Way::Key(&spec, "resources");
        for (index, node) in embedded::items(object).iter().enumerate() {
            if let Some((id, _)) = ObjectId::read(node, "") {
                let namespace = object.id.namespace.clone();
                let way = Way::Index(&resources, index);
                self.makes(&ObjectId { namespace, ..id }, node, Some((node, &way)));
            }
        }
        self.each(&object.node, &Way::Top);
    }

    /// The identities that `id` is, or that come from it.
    fn makes(&mut self, id: &ObjectId, node: &Node, place: Option<(&Node, &Way<'_>)>) {
        let is_identity = |id: &&ObjectId| {
            id.is(INFRASTRUCTURE, "AzureClusterIdentity")
                || id.is("", "Secret") && id.name == ASO_CREDENTIAL
        };
        let made = graph::makes(id, node);
        for id in std::iter::once(id).chain(&made).filter(is_identity) {
            self.identity(&id.namespace, &id.name, place);
        }
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
        if is_ciphertext(text) {
            return;
        }
        match way.name() {
            labels::CREDENTIAL_FROM => {
                let namespace = &self.object.id.namespace;
                self.identity(namespace, text, Some((node, way)));
            }
            labels::DEPENDS_ON => self.depends_on(text, node, way),
            name if names_namespaces(name) => self.namespace(text, node, way),
            _ => {}
        }
        if self.tenant.subscriptions.is_some() {
            let said = self.is_coded(way).then(|| decoded(text)).flatten();
            self.subscriptions(said.as_deref().unwrap_or(text), node, way);
        }
    }

    /// Whether it is a value of a Secret in base64.
    fn is_coded(&self, way: &Way<'_>) -> bool {
        self.object.id.is("", "Secret") && is_in(way, &["data"])
    }

    /// A namespace that a field names. That of the object itself, and of an identity, are judged as what
    /// they are.
    fn namespace(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        let object = self.object;
        // Not one that is only taken for its own, because it says none or has none.
        let own = object.node.text(&["metadata", "namespace"]) == Some(text)
            && object.id.namespace == text;
        let of_object = way.around();
        let of_object = of_object.name() == "metadata" && matches!(of_object.around(), Way::Top);
        let of_identity = way.around().name() == "identityRef";
        let judged = own || of_object || of_identity || text.is_empty() || is_free(way);
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
        let namespace = identity_namespace(namespace, &self.object.id.namespace);
        let place = node.get("name").map(|name| (name, way));
        self.identity(namespace, name, place);
    }

    fn identity(&mut self, namespace: &str, name: &str, place: Option<(&Node, &Way<'_>)>) {
        if is_ciphertext(namespace) || is_ciphertext(name) {
            return;
        }
        let name = format!("{namespace}/{name}");
        if !Self::allows(self.tenant.identities.as_ref(), &name) {
            self.refuse("T05", &format!("it uses the identity {name}"), place);
        }
    }

    fn subscriptions(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        let lower = text.trim().to_lowercase();
        let name = way.name().replace(['_', '-'], "").to_lowercase();
        let mut named: Vec<&str> = in_ids(&lower).collect();
        if name.ends_with("subscriptionid") && !lower.is_empty() {
            named.push(&lower);
        }
        let known = self.tenant.subscriptions.as_deref().unwrap_or_default();
        let strange = |name: &&str| !known.iter().any(|one| one.eq_ignore_ascii_case(name));
        let is_whole = name == "armid" || name == "azurename" && !lower.is_empty();
        let what = if let Some(name) = named.iter().copied().find(strange) {
            match self.object.id.is("", "Secret") {
                // Whatever stands there, it is not repeated.
                true => "it names a subscription".to_owned(),
                false => format!("it names the subscription {name}"),
            }
        } else if name == "armid" && !lower.starts_with("/subscriptions/") && !is_role(&lower, way)
        {
            format!("{} is in no subscription", way.path())
        } else if is_whole && leads_out(&lower) || paths(&lower).any(leads_out) {
            format!(
                "{} has a part that may lead to another subscription",
                way.path()
            )
        } else {
            return;
        };
        self.refuse("T04", &what, Some((node, way)));
    }
}

/// Whether fields of that name hold namespaces. Whom an identity lets use it is its own to say.
fn names_namespaces(name: &str) -> bool {
    let one = name == "namespace" || name.ends_with("Namespace");
    let many = name == "namespaces" || name.ends_with("Namespaces");
    one || many && name != "allowedNamespaces"
}

/// Whether a value stands in a map of the whole object with one of these names.
fn is_in(way: &Way<'_>, names: &[&str]) -> bool {
    let map = way.around();
    names.contains(&map.name()) && matches!(map.around(), Way::Top)
}

/// Whether the key of a value is people's own.
fn is_free(way: &Way<'_>) -> bool {
    let map = way.around();
    is_in(way, DATA) || matches!(map, Way::Key(_, name) if FREE.contains(name))
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok()
}

/// Whether a text in lower case is the name of a role, where one belongs.
fn is_role(text: &str, way: &Way<'_>) -> bool {
    let name = text.strip_prefix(ROLES);
    let in_place = way.around().name() == "roleDefinitionReference";
    in_place && name.is_some_and(|name| !name.contains('/') && !leads_out(name))
}

/// Whether a part of a name in Azure is none, so that it may be read as another than the one that was looked at.
fn leads_out(name: &str) -> bool {
    let name = name.strip_prefix('/').unwrap_or(name);
    let mut parts = name.split(['/', '\\']);
    parts.any(|part| ["", ".", ".."].contains(&part) || part.contains('%'))
}

/// The names of resources in Azure in a text in lower case, each to its end.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("/subscriptions/");
    let end = |c: char| c.is_whitespace() || "\"'?#,;)]}<>".contains(c);
    let name = move |text: &'_ str| text.find(end).unwrap_or(text.len());
    starts.map(move |(at, _)| {
        let path = &text[at..];
        let path = &path[..name(path)];
        path.strip_suffix('/').unwrap_or(path)
    })
}

/// The subscriptions in names of resources in Azure, of a text in lower case.
fn in_ids(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("/subscriptions/").skip(1);
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    parts.map(move |part| part.split(end).next().unwrap_or_default())
}
