//! The kinds: ours as they are installed, and those of Cluster API and Azure Service Operator.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::access::accounts;
use super::item::Item;
use super::subject::Subject;
use crate::adapters::kubernetes::unserved;
use crate::api::kinds::{self, CAPI, Kind, is_aso};
use crate::api::suppliers;
use crate::health::{Live, health};
use crate::model::HealthState;

const ID: &str = "definitions";

/// Checks our definitions: each is served at the version of this program, and stores no other.
pub(super) async fn definitions(subject: &Subject<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut fine = Vec::new();
    for wanted in &subject.set.definitions {
        let name = Live(wanted).name();
        match subject.probe.read(wanted).await {
            Ok(None) => items.push(Item::wrong(
                ID,
                format!("CustomResourceDefinition {name} does not exist"),
                "install it with `capstan install --apply`",
            )),
            Ok(Some(live)) => match fault(wanted, &live) {
                Some(item) => items.push(item),
                None => fine.push(name),
            },
            Err(error) => items.push(Item::unknown(ID, &error)),
        }
    }
    if !fine.is_empty() {
        items.push(Item::fine(ID, format!("served: {}", fine.join(", "))));
    }
    items
}

fn fault(wanted: &Json, live: &Json) -> Option<Item> {
    let name = Live(wanted).name();
    let found = health(live);
    if found.state != HealthState::Ready {
        let message = format!("CustomResourceDefinition {name}: {}", found.message);
        return Some(Item::wrong(ID, message, "wait, or correct what it names"));
    }
    let wanted: Vec<&str> = versions(wanted).collect();
    let served: BTreeSet<&str> = versions(live).collect();
    if let Some(missing) = wanted.iter().find(|version| !served.contains(*version)) {
        return Some(Item::wrong(
            ID,
            format!("CustomResourceDefinition {name} does not serve {missing}"),
            "it is older than this program: `capstan install --apply`, or upgrade whoever brought it",
        ));
    }
    let stored = Live(live).list(&["status", "storedVersions"]);
    let mut stored = stored.iter().filter_map(Json::as_str);
    let unknown = stored.find(|version| !wanted.contains(version))?;
    Some(Item::doubtful(
        ID,
        format!(
            "CustomResourceDefinition {name} has objects stored at {unknown}, which this program does not know"
        ),
        "keep that version served until all objects are stored anew",
    ))
}

/// The versions that a definition serves.
fn versions(definition: &Json) -> impl Iterator<Item = &str> {
    let versions = definition["spec"]["versions"].as_array();
    let served = versions.into_iter().flatten();
    let served = served.filter(|version| version["served"] != false);
    served.filter_map(|version| version["name"].as_str())
}

/// Checks that the kinds of others are served that the component works with. Before an installation they may come later.
pub(super) async fn foreign(subject: &Subject<'_>, is_before: bool) -> Vec<Item> {
    let accounts = accounts(&subject.set.objects);
    let rights = accounts.into_values().flatten();
    let rights: BTreeSet<(String, String)> =
        rights.map(|right| (right.group, right.resource)).collect();
    let used = kinds::KINDS.iter().filter(|kind| {
        let resource = (kind.group.to_owned(), kind.plural.to_owned());
        (is_aso(kind.group) || kind.group == CAPI) && rights.contains(&resource)
    });
    let used: Vec<Kind> = used.copied().collect();
    let missing = match unserved(subject.client, &used).await {
        Ok(missing) => missing,
        Err(error) => return vec![Item::unknown("kinds", &error)],
    };
    let mut items = Vec::new();
    for (id, is_of) in [
        (
            "cluster-api",
            (|kind| kind.group == CAPI) as fn(&Kind) -> bool,
        ),
        ("azure-service-operator", |kind| is_aso(kind.group)),
    ] {
        let count = used.iter().filter(|kind| is_of(kind)).count();
        let missing: Vec<&Kind> = missing.iter().filter(|kind| is_of(kind)).collect();
        items.extend(item(id, count, &missing, is_before));
    }
    items
}

fn item(id: &'static str, count: usize, missing: &[&Kind], is_before: bool) -> Option<Item> {
    if count == 0 {
        return None;
    }
    if missing.is_empty() {
        return Some(Item::fine(id, format!("its {count} kinds are served")));
    }
    let names: Vec<&str> = missing.iter().map(|kind| kind.kind).collect();
    let message = format!("the cluster does not serve {}", names.join(", "));
    let groups: BTreeSet<&str> = missing.iter().map(|kind| kind.group).collect();
    let help = match missing.first() {
        Some(kind) if groups.len() == 1 => suppliers::help(kind.group, kind.kind),
        _ => {
            let patterns: Vec<String> = groups.iter().map(|group| format!("{group}/*")).collect();
            format!(
                "install Azure Service Operator with these in its crdPattern: {}",
                patterns.join(";")
            )
        }
    };
    Some(if is_before {
        Item::doubtful(id, message, help)
    } else {
        Item::wrong(id, message, help)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::item::List;
    use super::*;

    fn definition(served: &[&str], stored: &[&str]) -> Json {
        let versions = served
            .iter()
            .map(|name| json!({"name": name, "served": true}));
        let versions: Vec<Json> = versions.collect();
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.dev"}, "spec": {"versions": versions},
            "status": {"storedVersions": stored, "conditions": [{"type": "Established", "status": "True"}]}})
    }

    #[test]
    fn a_definition_serves_our_version_and_stores_no_other() {
        let ours = definition(&["v2"], &[]);
        assert_eq!(fault(&ours, &definition(&["v1", "v2"], &["v2"])), None);
        let old = fault(&ours, &definition(&["v1"], &["v1"]));
        assert!(old.is_some_and(|item| List(vec![item]).is_failure()));
        let stored = fault(&ours, &definition(&["v1", "v2"], &["v1", "v2"]));
        let text = List(stored.into_iter().collect()).to_string();
        assert!(
            text.starts_with('‼') && text.contains("stored at v1"),
            "{text}"
        );
    }
}
