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
    /// Which part. This version prints only the admission webhook; the others follow
    #[arg(long, value_enum, value_name = "COMPONENT")]
    component: Component,
    /// The namespace to install it in, which must exist [default: CAPSTAN_NAMESPACE, else capstan-system]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<String>,
    /// The image with the program
    #[arg(
        long,
        default_value = concat!("registry.example.com/capstan:", env!("CARGO_PKG_VERSION")),
        value_name = "IMAGE",
        value_parser = word
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
    #[arg(long, value_name = "USER", value_parser = word)]
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
            "{text:?} names no namespace: at most 63 lower-case letters, digits and inner hyphens"
        )),
    }
}

/// A text without spaces that is not empty.
fn word(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(char::is_whitespace) {
        true => Err("it is empty, or contains a space".to_owned()),
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
        assert_eq!(word("a/b:c").as_deref(), Ok("a/b:c"));
        assert!(word("").is_err() && word("a b").is_err());
    }
}
