//! The Secrets that Fleets name.

use std::collections::BTreeMap;

use super::item::Item;
use super::subject::Subject;
use crate::adapters::git::Credential;
use crate::adapters::kubernetes::secret_keys;
use crate::api::fleet::Fleet;
use crate::health::Live;
use crate::model::{Form, RepositoryUrl};

const ID: &str = "secrets";

/// Checks that each Secret is there and has the keys that are read.
pub(super) async fn check(subject: &Subject<'_>) -> Vec<Item> {
    if !subject.set.has_fleets {
        return Vec::new();
    }
    let fleets = match subject.probe.fleets(&subject.set.namespace).await {
        Ok(fleets) => fleets,
        Err(error) => return vec![Item::unknown(ID, &error)],
    };
    let (mut items, mut count) = (Vec::new(), 0);
    for object in &fleets {
        let id = Live(object).id();
        let Ok(fleet) = serde_json::from_value::<Fleet>(object.clone()) else {
            let help = "its status says what to change";
            items.push(Item::doubtful(ID, format!("{id} is not usable"), help));
            continue;
        };
        for (name, field) in named(&fleet) {
            count += 1;
            let keys = secret_keys(subject.client, &id.namespace, name).await;
            let fault = match &keys {
                Ok(keys) => fault(&fleet, field, name, keys),
                Err(error) => Some(error.to_string()),
            };
            if let Some(fault) = fault {
                let help = format!("correct the Secret, or {field} of the Fleet");
                items.push(Item::wrong(ID, format!("{id}: {fault}"), help));
            }
        }
    }
    if items.is_empty() {
        let message = match count {
            0 => "no Fleet names a Secret".to_owned(),
            count => format!("usable: {count}, of {} Fleets", fleets.len()),
        };
        items.push(Item::fine(ID, message));
    }
    items
}

/// The Secrets that a Fleet names, with the fields that name them.
fn named(fleet: &Fleet) -> Vec<(&str, &'static str)> {
    let spec = &fleet.spec;
    let git = spec.source.git.as_ref();
    let named = [
        (git.and_then(|git| git.secret_ref.as_ref()), SOURCE),
        (spec.checks.secret_ref.as_ref(), "spec.checks.secretRef"),
        (
            spec.checks.webhook_secret_ref.as_ref(),
            "spec.checks.webhookSecretRef",
        ),
        (spec.cluster.kubeconfig_secret_ref.as_ref(), KUBECONFIG),
    ];
    let named = named.into_iter();
    named
        .filter_map(|(secret, field)| Some((secret?.name.as_str(), field)))
        .collect()
}

const SOURCE: &str = "spec.source.git.secretRef";
const KUBECONFIG: &str = "spec.cluster.kubeconfigSecretRef";

/// The fault of the keys of a Secret.
fn fault(
    fleet: &Fleet,
    field: &str,
    name: &str,
    keys: &BTreeMap<String, Vec<u8>>,
) -> Option<String> {
    let place = format!("Secret {name}");
    if keys.is_empty() {
        return Some(format!("{place} is empty"));
    }
    let has = |key: &str| keys.get(key).is_some_and(|value| !value.is_empty());
    match field {
        KUBECONFIG if !has("value") && !has("kubeconfig") => {
            Some(format!("{place} has neither the key value nor kubeconfig"))
        }
        SOURCE => {
            let url = fleet.spec.source.git.as_ref().map(|git| git.url.as_str());
            let form = RepositoryUrl::split(url.unwrap_or_default()).form;
            let is_ssh = matches!(form, Form::Scp | Form::Scheme("ssh"));
            let missing = ["identity", "known_hosts"]
                .into_iter()
                .find(|key| !has(key));
            match missing.filter(|_| is_ssh) {
                Some(key) => Some(format!(
                    "{place} has no key {key}, which an SSH address needs"
                )),
                None => Credential::read(&place, keys)
                    .err()
                    .map(|error| error.to_string()),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fleet(url: &str) -> Fleet {
        let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "a"},
            "spec": {"source": {"git": {"url": url, "secretRef": {"name": "git"}}},
                "cluster": {"kubeconfigSecretRef": {"name": "there"}}}});
        serde_json::from_value(fleet).expect("a Fleet")
    }

    #[test]
    fn keys_that_are_missing_are_named() {
        let (ssh, web) = (fleet("ssh://git@h/r"), fleet("https://h/r"));
        assert_eq!(named(&ssh), [("git", SOURCE), ("there", KUBECONFIG)]);
        let keys = |names: &[&str]| -> BTreeMap<String, Vec<u8>> {
            let pairs = names.iter().map(|name| ((*name).to_owned(), b"x".to_vec()));
            pairs.collect()
        };
        let found = fault(&ssh, SOURCE, "git", &keys(&["identity"]));
        assert_eq!(
            found.as_deref(),
            Some("Secret git has no key known_hosts, which an SSH address needs")
        );
        let found = fault(&web, SOURCE, "git", &keys(&["bearerToken", "password"]));
        assert!(found.is_some_and(|why| why.contains("keep one")));
        assert_eq!(
            fault(&web, SOURCE, "git", &keys(&["username", "password"])),
            None
        );
        let found = fault(&web, KUBECONFIG, "there", &keys(&["config"]));
        assert!(found.is_some_and(|why| why.contains("neither")));
        assert!(fault(&web, "spec.checks.secretRef", "x", &keys(&[])).is_some());
    }
}
