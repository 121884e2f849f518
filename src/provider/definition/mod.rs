//! The definition of a cluster that was asked for over the API: the same format as one that a person writes.
//!
//! In: a request, the image of its release, and the provider's settings. Out: the text of a file, and its place. It does not know where the
//! file goes, or what it expands to.

use jiff::Timestamp;

use super::capabilities::Platform;
use super::labels;
use super::problem::Problem;
use super::request::{Machines, Request};
use crate::api::fleet::{ProviderPlatform, ServiceProvider};
use crate::api::labels::{REQUEST, REQUEST_KEY, REQUESTED_AT, REQUESTED_VERSION};
use crate::yaml::{Yaml, block, field, flow, text};

/// HyperShift's namespace of a control plane is `<namespace>-<name>`, which must be a valid name.
const LONGEST_NAMESPACE: usize = 63;

/// A request that was accepted, about to become a definition.
pub struct Accepted<'a> {
    /// The ID of the instance.
    pub instance: &'a str,
    /// The request.
    pub request: &'a Request,
    /// The image of its release.
    pub image: &'a str,
    /// The digest of its `Idempotency-Key`, if it has one.
    pub key: Option<&'a str>,
    /// The time of the request.
    pub at: Timestamp,
}

/// The platform of a request.
#[must_use]
pub fn platform(request: &Request, settings: &ServiceProvider) -> Platform {
    request.platform.unwrap_or(match settings.default_platform {
        ProviderPlatform::KubeVirt => Platform::KubeVirt,
        ProviderPlatform::BareMetal => Platform::BareMetal,
    })
}

/// The path of an instance's definition, from the root of the repository; `root` is the fleet's path.
#[must_use]
pub fn path(instance: &str, root: &str, settings: &ServiceProvider) -> String {
    let directory = &settings.directory;
    let root = root.trim_matches('/');
    if root.is_empty() || root == "." {
        format!("{directory}/{instance}.yaml")
    } else {
        format!("{root}/{directory}/{instance}.yaml")
    }
}

/// Checks what a request leaves to the provider's settings.
///
/// # Errors
/// 400 with what is missing, or 422 if the settings have no place for the platform.
pub fn check(request: &Request, settings: &ServiceProvider) -> Result<(), Problem> {
    let namespace = &settings.namespace;
    let whole = format!("{namespace}-{}", request.name);
    if whole.len() > LONGEST_NAMESPACE {
        let most = LONGEST_NAMESPACE.saturating_sub(namespace.len() + 1);
        let detail = format!(
            "metadata.name must have at most {most} characters: {whole:?} names the namespace of its control plane"
        );
        return Err(Problem::invalid(detail));
    }
    if platform(request, settings) == Platform::BareMetal {
        let place = &settings.bare_metal;
        if place.agent_namespace.is_none() {
            let detail =
                "unsupported platform \"baremetal\": this provider has no namespace of agents";
            return Err(Problem::unprocessable(detail));
        }
        if request.infra_env.is_none() && place.infra_env.is_none() {
            let detail =
                "infra_env is required: set provider_hints.acm.infra_env or SP_DEFAULT_INFRA_ENV";
            return Err(Problem::invalid(detail));
        }
        if request
            .agent_labels
            .contains_key(&place.infra_env_label_key)
        {
            let detail = format!(
                "the agent label {} is that of the InfraEnv: set infra_env instead",
                place.infra_env_label_key
            );
            return Err(Problem::invalid(detail));
        }
    }
    if request.base_domain.is_none() && settings.base_domain.is_none() {
        return Err(Problem::invalid("base_domain is required"));
    }
    Ok(())
}

/// The text of the definition. The request passed [`check`].
#[must_use]
pub fn text_of(accepted: &Accepted, settings: &ServiceProvider) -> String {
    let Accepted {
        instance,
        request,
        image,
        ..
    } = accepted;
    let labels = labels::of(instance).into_iter();
    let labels = labels.map(|(key, value)| text(&key, Some(&value)));
    let sent = request.sent.to_string();
    let at = accepted.at.strftime("%FT%TZ").to_string();
    let annotations = [
        text(REQUESTED_AT, Some(&at)),
        text(REQUESTED_VERSION, Some(&request.version)),
        text(REQUEST_KEY, accepted.key),
        text(REQUEST, Some(&sent)),
    ];
    let metadata = [
        text("name", Some(&request.name)),
        text("namespace", Some(&settings.namespace)),
        block("labels", labels),
        block("annotations", annotations),
    ];
    let pool = [
        text("name", Some(&request.name)),
        number("replicas", request.worker.count.or(Some(1))),
        nodes(request, settings),
    ];
    let pool = Yaml::Block(pool.into_iter().flatten().collect());
    let spec = [
        text("platform", Some("HyperShift")),
        block("hyperShift", cluster(request, image, settings)),
        Some(field("nodePools", Yaml::List(vec![pool]))),
        text("deletionPolicy", Some("Delete")),
    ];
    let document = [
        text("apiVersion", Some("capstan.dev/v1alpha1")),
        text("kind", Some("ClusterDefinition")),
        block("metadata", metadata),
        block("spec", spec),
    ];
    Yaml::Block(document.into_iter().flatten().collect()).document()
}

fn cluster(
    request: &Request,
    image: &str,
    settings: &ServiceProvider,
) -> Vec<Option<(String, Yaml)>> {
    let domain = request
        .base_domain
        .as_ref()
        .or(settings.base_domain.as_ref());
    let ssh_key = settings
        .ssh_key_ref
        .as_ref()
        .map(|secret| secret.name.as_str());
    let (infrastructure, place) = match platform(request, settings) {
        Platform::KubeVirt => {
            let elsewhere = settings.kube_virt.as_ref().and_then(|cluster| {
                let secret = flow(
                    "kubeconfigSecretRef",
                    [text("name", Some(&cluster.kubeconfig_secret_ref.name))],
                );
                flow(
                    "kubeVirt",
                    [secret, text("namespace", Some(&cluster.namespace))],
                )
            });
            ("KubeVirt", elsewhere)
        }
        Platform::BareMetal => {
            let namespace = settings.bare_metal.agent_namespace.as_deref();
            ("Agent", flow("agent", [text("namespace", namespace)]))
        }
    };
    let Machines { cpu, memory, .. } = &request.control_plane;
    vec![
        text("infrastructure", Some(infrastructure)),
        flow("release", [text("image", Some(image))]),
        text("baseDomain", domain.map(String::as_str)),
        flow(
            "pullSecretRef",
            [text("name", Some(&settings.pull_secret()))],
        ),
        flow("sshKeyRef", [text("name", ssh_key)]),
        flow(
            "controlPlane",
            [number("cpu", *cpu), text("memory", memory.as_deref())],
        ),
        place,
    ]
}

/// The machines of the node pool. What the request leaves open has the defaults of every definition.
fn nodes(request: &Request, settings: &ServiceProvider) -> Option<(String, Yaml)> {
    let Machines {
        cpu,
        memory,
        storage,
        ..
    } = &request.worker;
    match platform(request, settings) {
        Platform::KubeVirt => {
            let volume = flow("rootVolume", [text("size", storage.as_deref())]);
            flow(
                "kubeVirt",
                [
                    number("cores", *cpu),
                    text("memory", memory.as_deref()),
                    volume,
                ],
            )
        }
        Platform::BareMetal => {
            let place = &settings.bare_metal;
            let infra_env = request.infra_env.as_ref().or(place.infra_env.as_ref());
            let is_usual = place.infra_env_label_key
                == crate::api::fleet::BareMetal::default().infra_env_label_key;
            let mut labels = request.agent_labels.clone();
            if let (false, Some(name)) = (is_usual, infra_env) {
                labels.insert(place.infra_env_label_key.clone(), name.clone());
            }
            let labels = labels.iter().map(|(key, value)| text(key, Some(value)));
            let infra_env = infra_env.filter(|_| is_usual).map(String::as_str);
            flow(
                "agent",
                [text("infraEnv", infra_env), flow("labels", labels)],
            )
        }
    }
}

fn number(name: &str, value: Option<u32>) -> Option<(String, Yaml)> {
    value.map(|value| field(name, Yaml::Scalar(value.into())))
}

#[cfg(test)]
mod tests;
