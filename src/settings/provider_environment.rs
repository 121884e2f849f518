//! The environment of DCM's own provider, which deployments have already: `SP_*` and `DCM_*`.
//!
//! In: variables. Out: the settings with their values in place of those of the document. It does not know what the settings are for.

use serde_json::{Map, Value as Json, json};

use crate::api::fleet::ServiceProvider;

/// Variables, and the fields that they set.
const ALIASES: [(&str, &str); 17] = [
    ("SP_NAME", "/name"),
    ("SP_DISPLAY_NAME", "/displayName"),
    ("SP_CLUSTER_NAMESPACE", "/namespace"),
    ("SP_BASE_DOMAIN", "/baseDomain"),
    ("SP_DEFAULT_INFRA_ENV", "/bareMetal/infraEnv"),
    ("SP_AGENT_NAMESPACE", "/bareMetal/agentNamespace"),
    ("SP_INFRA_ENV_LABEL_KEY", "/bareMetal/infraEnvLabelKey"),
    (
        "SP_KUBEVIRT_INFRA_KUBECONFIG",
        "/kubeVirt/kubeconfigSecretRef/name",
    ),
    ("SP_KUBEVIRT_INFRA_NAMESPACE", "/kubeVirt/namespace"),
    ("SP_CONSOLE_URI_PATTERN", "/consoleURL"),
    ("DCM_REGISTRATION_URL", "/registration/url"),
    ("SP_ENDPOINT", "/registration/endpoint"),
    ("SP_REGION", "/registration/region"),
    ("SP_ZONE", "/registration/zone"),
    ("SP_NATS_URL", "/messaging/url"),
    ("SP_STATUS_DEBOUNCE_INTERVAL", "/messaging/debounce"),
    ("SP_STATUS_RESYNC_INTERVAL", "/messaging/resync"),
];
/// The variable with a list of platforms.
const PLATFORMS: &str = "SP_ENABLED_PLATFORMS";
/// Fields that are needed beside others, with the variable that sets each.
const PAIRS: [(&str, &str, &str); 6] = [
    ("/registration", "url", "DCM_REGISTRATION_URL"),
    ("/registration", "endpoint", "SP_ENDPOINT"),
    ("/messaging", "url", "SP_NATS_URL"),
    (
        "/kubeVirt",
        "kubeconfigSecretRef",
        "SP_KUBEVIRT_INFRA_KUBECONFIG",
    ),
    ("/kubeVirt", "namespace", "SP_KUBEVIRT_INFRA_NAMESPACE"),
    ("", "namespace", "SP_CLUSTER_NAMESPACE"),
];

/// The variables of the service provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderEnvironment {
    set: Vec<(&'static str, String)>,
    /// `SP_SERVER_ADDRESS`.
    pub address: Option<String>,
    /// `SP_PULL_SECRET_FILE`.
    pub pull_secret_file: Option<std::path::PathBuf>,
    /// `SP_PULL_SECRET`, in base64. The one setting that is a secret in the environment, for deployments that have it there.
    pub pull_secret: Option<Secret>,
}

/// A value that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl ProviderEnvironment {
    pub(super) fn from(variable: &impl Fn(&str) -> Option<String>) -> Self {
        let names = ALIASES.iter().map(|(name, _)| *name).chain([PLATFORMS]);
        Self {
            set: names
                .filter_map(|name| Some((name, variable(name)?)))
                .collect(),
            address: variable("SP_SERVER_ADDRESS"),
            pull_secret_file: variable("SP_PULL_SECRET_FILE").map(Into::into),
            pull_secret: variable("SP_PULL_SECRET").map(Secret),
        }
    }

    /// The settings with the values of the variables.
    pub(super) fn onto(&self, settings: &ServiceProvider) -> Result<ServiceProvider, String> {
        if self.set.is_empty() {
            return Ok(settings.clone());
        }
        let mut json = serde_json::to_value(settings).unwrap_or_default();
        for (name, value) in &self.set {
            let field = ALIASES.iter().find(|(alias, _)| alias == name);
            match field {
                Some((_, pointer)) => set(&mut json, pointer, json!(value)),
                None => set(
                    &mut json,
                    "/platforms",
                    value.split(',').map(str::trim).collect(),
                ),
            }
        }
        let missing = PAIRS.iter().find(|(parent, field, _)| {
            let parent = json.pointer(parent).filter(|parent| !parent.is_null());
            parent.is_some_and(|parent| parent[field].is_null())
        });
        if let Some((parent, field, variable)) = missing {
            let path = format!("{parent}/{field}").replace('/', ".");
            return Err(format!(
                "the service provider lacks a setting: set {variable}, or spec.serviceProvider{path}"
            ));
        }
        let names: Vec<&str> = self.set.iter().map(|(name, _)| *name).collect();
        serde_json::from_value(json)
            .map_err(|error| format!("a variable of {} is not valid: {error}", names.join(", ")))
    }
}

/// Sets a value, and makes the objects above it.
fn set(json: &mut Json, pointer: &str, value: Json) {
    let mut at = json;
    for part in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = Json::Object(Map::new());
        }
        at = &mut at[part];
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn settings(set: &[(&str, &str)]) -> Result<ServiceProvider, String> {
        let variable = |name: &str| {
            let found = set.iter().find(|(one, _)| *one == name)?;
            Some(found.1.to_owned())
        };
        let environment = ProviderEnvironment::from(&variable);
        environment.onto(&ServiceProvider::default())
    }

    #[test]
    fn variables_come_before_the_document() {
        let found = settings(&[
            ("SP_NAME", "other"),
            ("SP_CLUSTER_NAMESPACE", "guests"),
            ("SP_ENABLED_PLATFORMS", "kubevirt, baremetal"),
            ("SP_AGENT_NAMESPACE", "agents"),
            ("DCM_REGISTRATION_URL", "http://dcm:8080/api/v1alpha1"),
            ("SP_ENDPOINT", "http://sp:8080"),
            ("SP_NATS_URL", "nats://nats:4222"),
            ("SP_STATUS_DEBOUNCE_INTERVAL", "500ms"),
        ])
        .unwrap();
        assert_eq!((&*found.name, &*found.namespace), ("other", "guests"));
        assert_eq!(found.platforms.unwrap().len(), 2);
        assert_eq!(found.bare_metal.agent_namespace.as_deref(), Some("agents"));
        assert_eq!(found.registration.unwrap().endpoint, "http://sp:8080");
        assert_eq!(found.messaging.unwrap().debounce.0.as_millis(), 500);
        assert_eq!(settings(&[]), Ok(ServiceProvider::default()));
    }

    #[test]
    fn what_is_missing_beside_a_variable_is_named() {
        let error = settings(&[("DCM_REGISTRATION_URL", "http://dcm")]).unwrap_err();
        assert_eq!(
            error,
            "the service provider lacks a setting: set SP_ENDPOINT, or spec.serviceProvider.registration.endpoint"
        );
        let error = settings(&[("SP_STATUS_RESYNC_INTERVAL", "1m")]).unwrap_err();
        assert!(error.contains("SP_NATS_URL"), "{error}");
        let error = settings(&[("SP_ENABLED_PLATFORMS", "aws")]).unwrap_err();
        assert!(error.contains("SP_ENABLED_PLATFORMS"), "{error}");
    }

    #[test]
    fn a_secret_of_the_environment_is_not_shown() {
        let environment = ProviderEnvironment::from(&|name| {
            (name == "SP_PULL_SECRET").then(|| "hunter2".to_owned())
        });
        assert!(!format!("{environment:?}").contains("hunter2"));
    }
}
