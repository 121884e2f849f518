//! `capstan install`: manifests.

use clap::{Args, ValueEnum};

use super::args::OnFailure;
use super::exit::Exit;
use super::ui::Ui;
use crate::admission::{Installation, manifests};
use crate::model::is_dns_label;
use crate::settings::Environment;
use crate::yaml;

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    /// The component to install; this version has only `admission`
    #[arg(long, value_enum, value_name = "COMPONENT")]
    component: Component,
    /// The namespace to install it in, which must exist [default: CAPSTAN_NAMESPACE, else capstan-system]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<String>,
    /// The container image of Capstan. The default is a placeholder: set an image that your cluster can pull
    #[arg(
        long,
        default_value = concat!("registry.example.com/capstan:", env!("CARGO_PKG_VERSION")),
        value_name = "IMAGE",
        value_parser = image
    )]
    image: String,
    /// How many pods serve it
    #[arg(long, default_value_t = 2, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    replicas: u16,
    /// What happens to a change that cannot be checked
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    failure_policy: OnFailure,
    /// A user whose changes are not checked; may be repeated [default: the service account `capstan` of the namespace,
    /// for a daemon that applies what it has checked]
    #[arg(long, value_name = "USER", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    exempt: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Component {
    /// The admission webhook
    Admission,
}

/// The name of a namespace.
fn namespace(text: &str) -> Result<String, String> {
    match is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "a namespace has at most 63 lower-case letters, digits and hyphens, and starts and ends with a letter or digit; {text:?} does not"
        )),
    }
}

/// The name of an image.
fn image(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(char::is_whitespace) {
        true => Err("an image has no spaces and is not empty".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Prints the manifests of a component.
pub(super) fn run(args: &InstallArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let Component::Admission = args.component;
    let namespace = args.namespace.as_ref().unwrap_or(&environment.namespace);
    self::namespace(namespace).map_err(|why| anyhow::anyhow!("CAPSTAN_NAMESPACE: {why}"))?;
    let exempt = match args.exempt.as_slice() {
        [] => vec![format!("system:serviceaccount:{namespace}:capstan")],
        users => users.to_vec(),
    };
    let installation = Installation {
        namespace: namespace.clone(),
        image: args.image.clone(),
        replicas: args.replicas,
        failure_policy: args.failure_policy.into(),
        exempt,
    };
    ui.data(&yaml::write(&manifests(&installation)))?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kubernetes_refuses_are_refused() {
        assert_eq!(namespace("capstan-system").as_deref(), Ok("capstan-system"));
        assert!(namespace("bad ns").is_err() && namespace("").is_err());
        assert_eq!(image("a/b:c").as_deref(), Ok("a/b:c"));
        assert!(image("").is_err() && image("a b").is_err());
    }
}
