//! The conditions of an installation: rights, kinds that nobody else brought, and no other installation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::access::lines;
use super::item::Item;
use super::subject::Subject;
use crate::adapters::kubernetes::{Error, Right, brought_by, lacking};
use crate::api::kinds::CAPSTAN;
use crate::health::Live;

/// Checks all of it.
pub(super) async fn check(subject: &Subject<'_>) -> Vec<Item> {
    let mut items = others(subject).await;
    items.extend(definitions(subject).await);
    items.extend(match rights(subject).await {
        Ok(items) => items,
        Err(error) => vec![Item::unknown("may-install", &error)],
    });
    items
}

/// Checks whether the component is installed already, here or elsewhere.
async fn others(subject: &Subject<'_>) -> Vec<Item> {
    const ID: &str = "installation";
    let mut items = Vec::new();
    let objects = subject.set.objects.iter();
    for deployment in objects.filter(|object| object["kind"] == "Deployment") {
        let home = Live(deployment).namespace();
        let found = match subject.probe.namespaces_with(deployment).await {
            Ok(found) => found,
            Err(error) => {
                items.push(Item::unknown(ID, &error));
                continue;
            }
        };
        let elsewhere = found.iter().filter(|namespace| *namespace != home);
        let elsewhere: Vec<&str> = elsewhere.map(String::as_str).collect();
        let name = Live(deployment).name();
        items.push(match elsewhere.as_slice() {
            [] if found.is_empty() => Item::fine(ID, format!("{name} is not installed yet")),
            [] => Item::fine(ID, format!("{name} is installed in {home}, and would be upgraded")),
            others => Item::doubtful(
                ID,
                format!("{name} is installed in {}, too", others.join(", ")),
                "let no fleet be followed by both; remove the other one with `capstan uninstall --namespace NAME`",
            ),
        });
    }
    items
}

/// Checks who brought the definitions that are there.
async fn definitions(subject: &Subject<'_>) -> Vec<Item> {
    const ID: &str = "definitions";
    let mut brought: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for definition in &subject.set.definitions {
        let name = Live(definition).name();
        match subject.probe.read(definition).await {
            Ok(Some(live)) if !is_own(name) => {
                for manager in brought_by(&live) {
                    brought.entry(manager).or_default().push(name);
                }
            }
            Ok(_) => {}
            Err(error) => return vec![Item::unknown(ID, &error)],
        }
    }
    if brought.is_empty() {
        return vec![Item::fine(ID, "nobody else brought the kinds")];
    }
    let items = brought.into_iter().map(|(manager, names)| {
        let message = format!("{manager} brought {}", names.join(", "));
        Item::doubtful(ID, message, "`install --apply` leaves them as they are")
    });
    items.collect()
}

/// Checks that the caller may make each object. A role can be made by those who have its rights, or may `escalate`.
async fn rights(subject: &Subject<'_>) -> Result<Vec<Item>, Error> {
    const ID: &str = "may-install";
    let all = subject.set.definitions.iter().chain(&subject.set.objects);
    let mut needed = BTreeSet::new();
    let mut granted = BTreeSet::new();
    for object in all {
        let Some((group, resource)) = subject.probe.resource(object).await? else {
            continue;
        };
        let right = |verb: &str| Right {
            group: group.clone(),
            resource: resource.clone(),
            namespace: Live(object).namespace().to_owned(),
            verb: verb.to_owned(),
            ..Right::default()
        };
        needed.extend(["get", "create", "patch"].map(right));
        if has_rules(object) {
            let escalates = lacking(subject.client, &[right("escalate")], None).await?;
            if !escalates.is_empty() {
                granted.extend(Right::of_role(object));
            }
        }
    }
    let needed: Vec<Right> = needed.into_iter().collect();
    let granted: Vec<Right> = granted.into_iter().collect();
    let mut items = Vec::new();
    let missing = lacking(subject.client, &needed, None).await?;
    for line in lines(&missing) {
        items.push(Item::wrong(
            ID,
            format!("you may not {line}"),
            "let an administrator of the cluster install it",
        ));
    }
    let missing = lacking(subject.client, &granted, None).await?;
    if let Some(first) = missing.first() {
        items.push(Item::wrong(
            ID,
            format!(
                "you cannot grant {} rights that you do not have, such as to {} {first}",
                missing.len(),
                first.verb
            ),
            "let an administrator install it, or somebody who may `escalate` roles",
        ));
    }
    if items.is_empty() {
        let message = format!(
            "you have all {} rights that the installation needs",
            needed.len()
        );
        items.push(Item::fine(ID, message));
    }
    Ok(items)
}

/// Returns true if only Capstan brings the kind.
fn is_own(definition: &str) -> bool {
    definition.ends_with(&format!(".{CAPSTAN}"))
}

fn has_rules(object: &Json) -> bool {
    matches!(Live(object).kind(), "ClusterRole" | "Role")
}
