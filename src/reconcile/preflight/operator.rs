//! One installation of Azure Service Operator, as its Deployment describes it.
//!
//! In: the Deployment, and the names of the keys of its Secret. Out: who installed it, which version it is, what keeps
//! it from running, and how it is set up. Values of the Secret are never known. It does not know what is wrong with them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::labels::{INFRASTRUCTURE_AZURE, PROVIDER};
use crate::model::ObjectId;

/// The name of its Deployment.
pub(crate) const DEPLOYMENT: &str = "azureserviceoperator-controller-manager";
/// The label and its value that the Helm chart and the manifests of ASO set.
pub(crate) const LABEL: (&str, &str) = ("app.kubernetes.io/name", "azure-service-operator");
/// The Secret with its settings and its global credential.
pub(crate) const SETTINGS: &str = "aso-controller-settings";
/// The namespace of CAPZ, which brings ASO along.
const CAPZ: &str = "capz-system";
const RELEASE: &str = "meta.helm.sh/release-name";
const VERSION: &str = "app.kubernetes.io/version";

/// Who installed it, and so where its settings are changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Installer {
    Capz,
    /// The release of the Helm chart.
    Helm(String),
    Unknown,
}

/// The names of the keys of [`SETTINGS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    Named(BTreeSet<String>),
    Missing,
    /// They cannot be seen, for this reason.
    Unseen(String),
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Unset,
    /// The Deployment has it.
    Is(String),
    /// It stands in a Secret or ConfigMap, which is not read.
    Elsewhere,
}

/// An installation.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(super) id: ObjectId,
    pub(super) version: String,
    pub(super) installer: Installer,
    /// The value of `--crd-pattern`; `None` if it has no such argument.
    pub(super) pattern: Option<String>,
    /// Why it does not run; empty if it does.
    pub(super) trouble: String,
    pub(super) keys: Keys,
    container: Value,
}

impl Operator {
    /// What `deployment` says.
    pub(crate) fn read(deployment: &Value, keys: Keys) -> Self {
        let metadata = &deployment["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let container = manager(deployment);
        Self {
            version: version(&container, &metadata["labels"]),
            installer: installer(metadata, &namespace),
            pattern: argument(&container, "crd-pattern"),
            trouble: trouble(deployment),
            id: ObjectId::new("apps", "Deployment", namespace, name),
            keys,
            container,
        }
    }

    /// A setting: a variable of the container, else a key of its Secret.
    pub(super) fn setting(&self, name: &str) -> Setting {
        let variables = self.container["env"].as_array().into_iter().flatten();
        let variable = variables.rev().find(|one| one["name"] == name);
        if let Some(value) = variable.and_then(|one| one["value"].as_str()) {
            return match value.trim() {
                "" => Setting::Unset,
                value => Setting::Is(value.to_owned()),
            };
        }
        let reference = variable.map(|one| &one["valueFrom"]["secretKeyRef"]);
        let key = match reference {
            Some(reference) if reference["name"] == SETTINGS => reference["key"].as_str(),
            Some(_) => return Setting::Elsewhere,
            None => Some(name),
        };
        match key {
            Some(key) if self.has_key(key) => Setting::Elsewhere,
            _ => Setting::Unset,
        }
    }

    pub(super) fn has_key(&self, name: &str) -> bool {
        matches!(&self.keys, Keys::Named(keys) if keys.contains(name))
    }
}

/// The container of the operator itself.
pub(super) fn manager(deployment: &Value) -> Value {
    let containers = deployment.pointer("/spec/template/spec/containers");
    let containers = containers.and_then(Value::as_array);
    let containers = containers.map(Vec::as_slice).unwrap_or_default();
    let named = containers.iter().find(|one| one["name"] == "manager");
    named
        .or_else(|| containers.first())
        .cloned()
        .unwrap_or_default()
}

/// The tag of the image; without one, the version that its label names.
pub(super) fn version(container: &Value, labels: &Value) -> String {
    let image = container["image"].as_str().unwrap_or_default();
    let image = image.split('@').next().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let tag = name.split_once(':').map(|(_, tag)| tag);
    let tag = tag.or_else(|| labels[VERSION].as_str());
    tag.unwrap_or_default().to_owned()
}

fn installer(metadata: &Value, namespace: &str) -> Installer {
    let release = metadata["annotations"][RELEASE].as_str();
    match release {
        Some(release) => Installer::Helm(release.to_owned()),
        None if metadata["labels"][PROVIDER] == INFRASTRUCTURE_AZURE || namespace == CAPZ => {
            Installer::Capz
        }
        None => Installer::Unknown,
    }
}

/// The value of an argument, written as `--name=value` or as two.
pub(super) fn argument(container: &Value, name: &str) -> Option<String> {
    let list = |field: &str| {
        let list = container[field].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).collect::<Vec<_>>()
    };
    let words = [list("command"), list("args")].concat();
    let mut found = None;
    for (place, word) in words.iter().enumerate() {
        let word = word.strip_prefix('-').unwrap_or(word);
        match word.strip_prefix('-').unwrap_or(word).strip_prefix(name) {
            Some("") => found = words.get(place + 1).copied(),
            Some(value) => found = value.strip_prefix('=').or(found),
            None => {}
        }
    }
    found.map(str::to_owned)
}

/// Why it has no ready pod; empty if it has one.
pub(super) fn trouble(deployment: &Value) -> String {
    let number = |path: &str| deployment.pointer(path).and_then(Value::as_i64);
    if number("/status/readyReplicas").unwrap_or(0) > 0 {
        return String::new();
    }
    if number("/spec/replicas") == Some(0) {
        return "it is scaled to zero".to_owned();
    }
    let conditions = deployment.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let bad = |one: &&Value| match one["type"].as_str() {
        Some("ReplicaFailure") => one["status"] == "True",
        Some("Available" | "Progressing") => one["status"] == "False",
        _ => false,
    };
    let said = conditions
        .filter(bad)
        .filter_map(|one| one["message"].as_str());
    // A condition that says what failed is worth more than that something did.
    let longest = said.max_by_key(|message| message.len());
    longest.map_or_else(
        || "it has no ready pod".to_owned(),
        |message| format!("it has no ready pod: {}", message.trim_end_matches('.')),
    )
}
