//! T02, T04 and T05: the namespaces, subscriptions and identities that any field of an object names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::judge::{Judge, refused};
use crate::api::aro_control_plane::identity_namespace;
use crate::api::kinds::{INFRASTRUCTURE, is_aso};
use crate::api::{embedded, labels};
use crate::graph;
use crate::model::cut;
use crate::model::{Node, ObjectId, Value, message, rule_id};
use crate::rules::bound_clients::process_client;
use crate::rules::hosted::without_credential;
use crate::rules::secrets::is_ciphertext;
use crate::rules::way::Way;

/// Maps with free keys, at any depth.
const FREE: &[&str] = &["annotations", "labels", "matchLabels", "nodeSelector"];
/// Maps with free keys, at the top level of an object.
const DATA: &[&str] = &["binaryData", "data", "stringData"];
/// The Secret that ASO uses for every object of the namespace that names no other.
const ASO_CREDENTIAL: &str = "aso-credential";
/// The start of the ids of roles, which grant nothing by themselves. Other ids without a subscription belong to the
/// whole tenant, such as management groups.
const ROLES: &str = "/providers/microsoft.authorization/roledefinitions/";

impl Judge<'_> {
    /// Checks that the fields of the object name only what the tenant has.
    pub(super) fn fields(&mut self) {
        let object = self.object;
        self.makes(&object.id, &object.node, None);
        self.operators_own();
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

    /// Checks the identity that `id` is, and those that it creates.
    fn makes(&mut self, id: &ObjectId, node: &Node, place: Option<(&Node, &Way<'_>)>) {
        let is_identity = |id: &&ObjectId| {
            id.is(INFRASTRUCTURE, "AzureClusterIdentity")
                || id.is("", "Secret") && id.name == ASO_CREDENTIAL
        };
        let made = graph::makes(id, node);
        for id in std::iter::once(id).chain(&made).filter(is_identity) {
            self.identity(&id.namespace, &id.name, place);
        }
        if id.is(INFRASTRUCTURE, "AzureClusterIdentity") {
            self.client(id, node);
        }
    }

    /// Checks that a private cluster names a credential: without one, Azure Service Operator makes its connection with its own, which
    /// reaches what is not the tenant's.
    fn operators_own(&mut self) {
        let Some(field) = without_credential(self.object) else {
            return;
        };
        if self.tenant.identities.is_some() {
            let id = &self.object.id;
            let what = message!(
                "the private connection of {id} names no credential, so it is made with that of Azure Service Operator",
                id
            );
            let help = if self.object.definition.is_some() {
                "add `identityRef` or `credentialFrom` beside `endpointAccess`".to_owned()
            } else {
                let names = [labels::LINK_IDENTITY, labels::LINK_CREDENTIAL];
                format!("add the annotation {}", names.join(" or "))
            };
            let span = self.object.node.nearest(&field).span();
            let finding = refused(self.tenant, "T05", what).of(id).at(span);
            self.found.push(finding.field(&field).help(help));
        }
    }

    /// Checks the client ID of an identity that authenticates as Capstan itself.
    fn client(&mut self, id: &ObjectId, node: &Node) {
        let known = self.tenant.client_ids.as_ref();
        let spec = Way::Key(&Way::Top, "spec");
        let Some((client, place)) = process_client(node) else {
            return;
        };
        let is_known = |one: &String| one.trim().eq_ignore_ascii_case(client.trim());
        if !is_ciphertext(client) && !known.is_none_or(|known| known.iter().any(is_known)) {
            let what = message!("{id} authenticates as Capstan itself with a client ID", id);
            let way = Way::Key(&spec, "clientID");
            self.refuse(rule_id::FOREIGN_CLIENT, what, Some((place, &way)));
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
            labels::CREDENTIAL_FROM | labels::LINK_CREDENTIAL => {
                let namespace = &self.object.id.namespace;
                self.identity(namespace, text, Some((node, way)));
            }
            labels::LINK_IDENTITY => {
                let (namespace, name) = text.split_once('/').unwrap_or_default();
                self.identity(namespace, name, Some((node, way)));
            }
            labels::DEPENDS_ON => self.depends_on(text, node, way),
            name if names_namespaces(name) => self.namespace(text, node, way),
            _ => {}
        }
        if self.tenant.subscriptions.is_some() {
            let reported = self.is_coded(way).then(|| decoded(text)).flatten();
            self.subscriptions(reported.as_deref().unwrap_or(text), node, way);
        }
    }

    /// Returns true for a base64 value of a Secret.
    fn is_coded(&self, way: &Way<'_>) -> bool {
        self.object.id.is("", "Secret") && is_in(way, &["data"])
    }

    /// Checks a namespace that a field names. The namespaces of the object itself and of identities are checked
    /// elsewhere.
    fn namespace(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        let object = self.object;
        // Not a namespace that is only assumed for the object.
        let own = object.node.text(&["metadata", "namespace"]) == Some(text)
            && object.id.namespace == text;
        let of_object = way.around();
        let of_object = of_object.name() == "metadata" && matches!(of_object.around(), Way::Top);
        let of_identity = way.around().name() == "identityRef";
        let judged = own || of_object || of_identity || text.is_empty() || is_free(way);
        if !judged && !self.is_azures(way) && !Self::allows(self.tenant.namespaces.as_ref(), text) {
            let what = message!(
                "{field} names the namespace {text}",
                field = way.path(),
                text
            );
            self.refuse(rule_id::FOREIGN_NAMESPACE, what, Some((node, way)));
        }
    }

    /// Returns true if a field is one of Azure's API: a namespace there belongs to the cluster that Azure creates.
    fn is_azures(&self, way: &Way<'_>) -> bool {
        let id = &self.object.id;
        (is_aso(&id.group) || embedded::carries(id)) && way.is_below(&["properties"])
    }

    /// Checks `group/namespaces/ns/Kind/name` or `group/Kind/name`, separated by commas. A dependency keeps an object
    /// from being removed, so it is limited.
    fn depends_on(&mut self, text: &str, node: &Node, way: &Way<'_>) {
        for part in text.split(',').map(str::trim) {
            let parts: Vec<&str> = part.split('/').collect();
            let namespace = match parts.as_slice() {
                [_, "namespaces", namespace, ..] | ["", "Namespace", namespace] => namespace,
                _ => continue,
            };
            if !Self::allows(self.tenant.namespaces.as_ref(), namespace) {
                let what = message!(
                    "it depends on {part} in the namespace {namespace}",
                    part,
                    namespace
                );
                self.refuse(rule_id::FOREIGN_NAMESPACE, what, Some((node, way)));
            }
        }
    }

    /// Checks `{name, namespace}`; the namespace defaults to the object's.
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
            self.refuse("T05", message!("it uses the identity {name}", name), place);
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
        let is_foreign = |name: &&str| !known.iter().any(|one| one.eq_ignore_ascii_case(name));
        let is_whole = name == "armid" || name == "azurename" && !lower.is_empty();
        let what = if let Some(name) = named.iter().copied().find(is_foreign) {
            match self.object.id.is("", "Secret") {
                // Nothing of a Secret is repeated.
                true => "it names a subscription".into(),
                false => message!("it names the subscription {name}", name),
            }
        } else if name == "armid" && !lower.starts_with("/subscriptions/") && !is_role(&lower, way)
        {
            message!("{field} is in no subscription", field = way.path())
        } else if is_whole && leads_out(&lower) || paths(&lower).any(leads_out) {
            message!(
                "{field} has a part that may lead to another subscription",
                field = way.path()
            )
        } else {
            return;
        };
        self.refuse(rule_id::FOREIGN_SUBSCRIPTION, what, Some((node, way)));
    }
}

/// Returns true if fields of that name hold namespaces. An identity may allow any namespace to use it.
fn names_namespaces(name: &str) -> bool {
    let one = name == "namespace" || name.ends_with("Namespace");
    let many = name == "namespaces" || name.ends_with("Namespaces");
    one || many && name != "allowedNamespaces"
}

/// Returns true if a value is in a top-level map with one of these names.
fn is_in(way: &Way<'_>, names: &[&str]) -> bool {
    let map = way.around();
    names.contains(&map.name()) && matches!(map.around(), Way::Top)
}

/// Returns true if the key of a value is a free one.
fn is_free(way: &Way<'_>) -> bool {
    let map = way.around();
    is_in(way, DATA) || matches!(map, Way::Key(_, name) if FREE.contains(name))
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok()
}

/// Returns true if a lower-case text is the id of a role, in a field for roles.
fn is_role(text: &str, way: &Way<'_>) -> bool {
    let name = text.strip_prefix(ROLES);
    let in_place = way.around().name() == "roleDefinitionReference";
    in_place && name.is_some_and(|name| !name.contains('/') && !leads_out(name))
}

/// Returns true if a part of an ARM id is empty, relative or encoded, so that Azure could read it as another id.
fn leads_out(name: &str) -> bool {
    let name = name.strip_prefix('/').unwrap_or(name);
    let mut parts = name.split(['/', '\\']);
    parts.any(|part| ["", ".", ".."].contains(&part) || part.contains('%'))
}

/// The ARM ids in a lower-case text.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("/subscriptions/");
    let end = |c: char| c.is_whitespace() || "\"'?#,;)]}<>".contains(c);
    starts.map(move |(at, _)| {
        let (path, _) = cut::until(text.get(at..).unwrap_or_default(), end);
        path.strip_suffix('/').unwrap_or(path)
    })
}

/// The subscriptions in the ARM ids of a lower-case text.
fn in_ids(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("/subscriptions/").skip(1);
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    parts.map(move |part| part.split(end).next().unwrap_or_default())
}
