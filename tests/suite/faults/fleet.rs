//! A small fleet at random, in two revisions.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::rng::Rng;
use crate::apply::fixture::{crd, namespace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Namespace,
    Definition,
    ConfigMap,
    Widget,
    Deployment,
}

/// An object of the fleet.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) namespace: &'static str,
    /// Whether the file names the namespace `default`.
    names_namespace: bool,
    /// The names of ConfigMaps and Deployments that come first, each with its namespace.
    after: Vec<(Kind, &'static str, String)>,
    /// Whether it stays when its file goes.
    pub(super) stays: bool,
    /// Whether its applies take fields from others.
    pub(super) force: bool,
    value: u64,
}

/// What the fleet is at first, and what it is then.
pub(super) struct Fleet {
    pub(super) first: Vec<Item>,
    pub(super) second: Vec<Item>,
}

impl Item {
    fn new(kind: Kind, name: &str, namespace: &'static str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            namespace,
            names_namespace: true,
            after: Vec::new(),
            stays: false,
            force: false,
            value: 1,
        }
    }

    /// Its way on the server.
    pub(super) fn path(&self) -> String {
        let (namespace, name) = (self.namespace, &self.name);
        match self.kind {
            Kind::Namespace => format!("/api/v1/namespaces/{name}"),
            Kind::Definition => {
                format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
            }
            Kind::ConfigMap => format!("/api/v1/namespaces/{namespace}/configmaps/{name}"),
            Kind::Widget => format!("/apis/test.dev/v1/namespaces/{namespace}/widgets/{name}"),
            Kind::Deployment => format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}"),
        }
    }

    fn reference(&self) -> (Kind, &'static str, String) {
        (self.kind, self.namespace, self.name.clone())
    }

    /// As its file has it.
    pub(super) fn object(&self) -> Json {
        let value = format!("v{}", self.value);
        let mut object = match self.kind {
            Kind::Namespace => namespace(&self.name),
            Kind::Definition => crd("Widget", "Namespaced"),
            Kind::ConfigMap => {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value}})
            }
            Kind::Widget => {
                json!({"apiVersion": "test.dev/v1", "kind": "Widget", "spec": {"size": self.value}})
            }
            Kind::Deployment => json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
                "replicas": self.value,
                "selector": {"matchLabels": {"app": self.name}},
                "template": {"metadata": {"labels": {"app": self.name}},
                    "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}},
            }}),
        };
        object["metadata"]["name"] = json!(self.name);
        object["metadata"]["labels"] = json!({"value": value});
        if self.names_namespace && !matches!(self.kind, Kind::Namespace | Kind::Definition) {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        let mut annotations =
            json!({"capstan.dev/deletion-policy": if self.stays { "Orphan" } else { "Delete" }});
        if self.force {
            annotations["capstan.dev/force-conflicts"] = json!("true");
        }
        if !self.after.is_empty() {
            annotations["config.kubernetes.io/depends-on"] = json!(self.depends_on());
        }
        object["metadata"]["annotations"] = annotations;
        object
    }

    fn depends_on(&self) -> String {
        let written = |(kind, namespace, name): &(Kind, &str, String)| match kind {
            Kind::Deployment => format!("apps/namespaces/{namespace}/Deployment/{name}"),
            _ => format!("/namespaces/{namespace}/ConfigMap/{name}"),
        };
        self.after.iter().map(written).collect::<Vec<_>>().join(",")
    }
}

/// The files of a revision as one.
pub(super) fn yaml(items: &[Item]) -> String {
    items
        .iter()
        .map(|item| format!("---\n{}\n", item.object()))
        .collect()
}

impl Fleet {
    pub(super) fn random(rng: &mut Rng) -> Self {
        let (shop_goes, definition_goes) = (rng.chance(30), rng.chance(30));
        let mut first = Vec::new();
        let shop = rng.chance(60).then(|| {
            let mut shop = Item::new(Kind::Namespace, "shop", "");
            shop.stays = rng.chance(50);
            shop
        });
        let widgets = rng.chance(60);
        for at in 0..4 + rng.below(5) {
            let map = map(rng, at, shop.as_ref(), &first);
            first.push(map);
        }
        if rng.chance(60) {
            let mut deployment = Item::new(Kind::Deployment, "d", "default");
            add_order(rng, &mut deployment, &first);
            first.push(deployment);
        }
        if widgets {
            first.push(Item::new(Kind::Definition, "widgets.test.dev", ""));
            for at in 0..1 + rng.below(3) {
                let mut widget = Item::new(Kind::Widget, &format!("w{at}"), "default");
                widget.names_namespace = rng.chance(50);
                widget.stays = !definition_goes && rng.chance(40);
                first.push(widget);
            }
        }
        first.extend(shop.clone());
        let mut second = Vec::new();
        for item in &first {
            let goes = match item.kind {
                Kind::Namespace => shop_goes,
                Kind::Definition => definition_goes,
                Kind::Widget if definition_goes => true,
                _ if shop_goes && item.namespace == "shop" => true,
                // One stays: an empty fleet removes nothing.
                _ => item.name != "c0" && rng.chance(30),
            };
            if !goes {
                let mut item = item.clone();
                if rng.chance(40) {
                    item.value += 1;
                }
                second.push(item);
            }
        }
        let there: BTreeSet<String> = second.iter().map(Item::path).collect();
        for item in &mut second {
            item.after.retain(|(kind, namespace, name)| {
                there.contains(&Item::new(*kind, name, namespace).path())
            });
        }
        let shop = shop.filter(|_| !shop_goes);
        for at in 20..20 + rng.below(4) {
            let map = map(rng, at, shop.as_ref(), &second);
            second.push(map);
        }
        Self { first, second }
    }

    /// What the second revision lacks.
    pub(super) fn leaving(&self) -> impl Iterator<Item = &Item> {
        let kept = |item: &&Item| {
            !self
                .second
                .iter()
                .any(|other| other.reference() == item.reference())
        };
        self.first.iter().filter(kept)
    }

    /// The ConfigMaps that both revisions have.
    pub(super) fn kept_maps(&self) -> Vec<&Item> {
        let kept = |item: &&Item| {
            item.kind == Kind::ConfigMap
                && self
                    .first
                    .iter()
                    .any(|other| other.reference() == item.reference())
        };
        self.second.iter().filter(kept).collect()
    }
}

fn map(rng: &mut Rng, at: u64, shop: Option<&Item>, before: &[Item]) -> Item {
    let inside = at > 0 && shop.is_some() && rng.chance(50);
    let place = if inside { "shop" } else { "default" };
    let mut map = Item::new(Kind::ConfigMap, &format!("c{at}"), place);
    map.force = rng.chance(40);
    // What goes with its namespace cannot stay.
    map.stays = rng.chance(40) && !(inside && shop.is_some_and(|shop| !shop.stays));
    add_order(rng, &mut map, before);
    map
}

/// What is deleted waits for what leans on it: who stays would hold it for ever.
fn add_order(rng: &mut Rng, item: &mut Item, before: &[Item]) {
    for other in before {
        if matches!(other.kind, Kind::ConfigMap | Kind::Deployment) && rng.chance(25) {
            item.after.push(other.reference());
            item.stays &= other.stays;
        }
    }
}
