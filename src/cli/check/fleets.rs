//! Fleets: the Secrets that they name, and the servers that take these credentials.
//!
//! In: the Fleets of the component's namespaces and of `--fleet`. Out: an item for each fault, and one for what works. It does not
//! know whether a Fleet is applied.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use serde_json::Value as Json;

use super::item::Item;
use super::servers::{self, Answers, Usable};
use super::subject::Subject;
use crate::adapters::git::Credential;
use crate::adapters::kubernetes::{Error, Right, lacking, secret_keys, whoami};
use crate::api::fleet::Fleet;
use crate::cli::install::FleetPlace;
use crate::health::Live;
use crate::model::{ErrorClass, Form, ObjectId, RepositoryUrl};

const ID: &str = "secrets";
/// The most Fleets that are checked, and at the same time. Each takes 20 seconds at most.
const MOST: usize = 50;
const WIDTH: usize = 16;

/// Checks the Fleets that are there, unless it is before an installation, and those of `--fleet`.
pub(super) async fn check(subject: &Subject<'_>, is_before: bool) -> Vec<Item> {
    let set = subject.set;
    let (mut items, mut fleets) = (Vec::new(), Vec::new());
    for place in &set.places {
        match fleets_of(subject, place, is_before).await {
            Ok(found) => fleets.extend(found.into_iter().map(|fleet| (place, fleet))),
            Err(error) => items.push(Item::unknown(ID, &error)),
        }
    }
    if set.places.is_empty() || fleets.is_empty() && (is_before || !items.is_empty()) {
        return items;
    }
    let count = fleets.len();
    let checks = fleets.iter().take(MOST);
    let caller = whoami(subject.client).await;
    let reader = Reader {
        caller: caller.as_deref(),
        is_before,
    };
    let checks = checks.map(|(place, fleet)| one(subject, place, fleet, reader));
    let checks = futures::stream::iter(checks).buffered(WIDTH);
    let (mut usable, mut sources, mut forges) = (0, 0, 0);
    let checked: Vec<Checked> = checks.collect().await;
    for one in checked {
        usable += one.secrets;
        sources += one.answers.sources;
        forges += one.answers.forges;
        items.extend(one.items.into_iter().chain(one.answers.items));
    }
    if count > MOST {
        let message = format!("only {MOST} of {count} Fleets are checked");
        let help = "the status of the others says what is wrong";
        items.push(Item::doubtful(ID, message, help));
    }
    if !items.iter().any(|item| item.is_of(ID)) {
        let message = match usable {
            0 => "no Fleet names a Secret".to_owned(),
            usable => format!("usable: {usable}, of {count} Fleets"),
        };
        items.push(Item::fine(ID, message));
    }
    if sources > 0 {
        let message = format!("answer: {sources}, of {count} Fleets");
        items.push(Item::fine(servers::SOURCES, message));
    }
    if forges > 0 {
        let message = format!("take checks: {forges}, of {count} Fleets");
        items.push(Item::fine(servers::FORGES, message));
    }
    items
}

/// The Fleets of a place: those in the cluster, and in their stead those of `--fleet`.
async fn fleets_of(
    subject: &Subject<'_>,
    place: &FleetPlace,
    is_before: bool,
) -> Result<Vec<Json>, Error> {
    let is_here = |object: &&Json| {
        let live = Live(object);
        live.kind() == "Fleet" && live.namespace() == place.namespace
    };
    let written = subject.set.objects.iter().filter(is_here).cloned();
    let written: Vec<Json> = written.collect();
    if is_before {
        return Ok(written);
    }
    let mut all = subject.probe.fleets(&place.namespace).await?;
    all.retain(|live| {
        written
            .iter()
            .all(|one| Live(one).name() != Live(live).name())
    });
    all.extend(written);
    Ok(all)
}

/// The result for a Fleet: the faults of its Secrets, the number of those without one, and what servers answer.
#[derive(Default)]
struct Checked {
    items: Vec<Item>,
    secrets: usize,
    answers: Answers,
}

/// The user who reads the Secrets.
#[derive(Clone, Copy)]
struct Reader<'a> {
    /// The user who checks, if that is known.
    caller: Option<&'a str>,
    /// Nothing is installed yet.
    is_before: bool,
}

/// Checks a Fleet. Servers are asked only with credentials that are there, and that the daemon may read: whoever writes the Fleet chooses
/// the server.
async fn one(
    subject: &Subject<'_>,
    place: &FleetPlace,
    object: &Json,
    reader: Reader<'_>,
) -> Checked {
    let id = Live(object).id();
    let mut checked = Checked::default();
    let Ok(fleet) = serde_json::from_value::<Fleet>(object.clone()) else {
        let help = "its status says what to change";
        let item = Item::doubtful(ID, format!("{id} is not usable"), help);
        checked.items.push(item);
        return checked;
    };
    let mut faults = Vec::new();
    for (name, field) in named(&fleet) {
        let unread = unreadable(subject, place, (&id, name, field), reader).await;
        let fault = match unread {
            None => secret_fault(subject, &id, &fleet, (name, field)).await,
            unread => unread,
        };
        match fault {
            None => checked.secrets += 1,
            Some(item) => {
                checked.items.push(item);
                faults.push(field);
            }
        }
    }
    // Without a credential of its own, the forge gets that of the source.
    let has_own = fleet.spec.checks.secret_ref.is_some();
    let of_forge = if has_own { CHECKS } else { SOURCE };
    let usable = Usable {
        source: !faults.contains(&SOURCE),
        forge: !faults.contains(&of_forge),
    };
    checked.answers = servers::check(subject, place, object, &usable).await;
    checked
}

/// The fault of a Secret that the daemon may not read. Its account has no rights before it is installed.
async fn unreadable(
    subject: &Subject<'_>,
    place: &FleetPlace,
    (id, name, field): (&ObjectId, &str, &str),
    reader: Reader<'_>,
) -> Option<Item> {
    if reader.is_before {
        return None;
    }
    let right = Right {
        resource: "secrets".to_owned(),
        name: name.to_owned(),
        namespace: id.namespace.clone(),
        verb: "get".to_owned(),
        ..Right::default()
    };
    let daemon = place.daemon();
    let asked = (reader.caller != Some(&*daemon)).then_some(&*daemon);
    match lacking(subject.client, &[right], asked).await {
        Ok(missing) if missing.is_empty() => None,
        Ok(_) => {
            let message = format!("{id}: {daemon} may not read Secret {name}");
            let help =
                format!("correct {field} of the Fleet, or install with --fleet and this Fleet");
            Some(Item::wrong(ID, message, help))
        }
        // A cluster without reviews has no rights, either.
        Err(error) if error.class() == ErrorClass::Gone => None,
        Err(error) => Some(Item::unknown(ID, &error)),
    }
}

/// The fault of a Secret that a Fleet names in a field.
async fn secret_fault(
    subject: &Subject<'_>,
    id: &ObjectId,
    fleet: &Fleet,
    (name, field): (&str, &str),
) -> Option<Item> {
    let keys = secret_keys(subject.client, &id.namespace, name).await;
    let fault = match &keys {
        Ok(keys) => fault(fleet, field, name, keys)?,
        Err(error) => error.to_string(),
    };
    let help = format!("correct the Secret, or {field} of the Fleet");
    Some(Item::wrong(ID, format!("{id}: {fault}"), help))
}

/// The Secrets that a Fleet names, with the fields that name them.
fn named(fleet: &Fleet) -> Vec<(&str, &'static str)> {
    let spec = &fleet.spec;
    let git = spec.source.git.as_ref();
    let named = [
        (git.and_then(|git| git.secret_ref.as_ref()), SOURCE),
        (spec.checks.secret_ref.as_ref(), CHECKS),
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
const CHECKS: &str = "spec.checks.secretRef";
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
        KUBECONFIG if !has("value") && !has("kubeconfig") && keys.len() > 1 => Some(format!(
            "{place} has neither the key value nor kubeconfig, and more than one key"
        )),
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
                // Capstan makes tokens from these keys. The request to the server shows whether they work.
                None if has("githubAppID") || has("azureIdentityType") => None,
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
        let app = keys(&["githubAppID", "githubAppPrivateKey"]);
        assert_eq!(fault(&web, SOURCE, "git", &app), None);
        let found = fault(&web, KUBECONFIG, "there", &keys(&["config", "more"]));
        assert!(found.is_some_and(|why| why.contains("neither")));
        assert_eq!(fault(&web, KUBECONFIG, "there", &keys(&["config"])), None);
        assert!(fault(&web, "spec.checks.secretRef", "x", &keys(&[])).is_some());
    }
}
