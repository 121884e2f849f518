//! What the person chooses: flags, checked as far as they go into names.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;

use super::forge::Ci;

/// An address where nobody can publish an image.
pub(super) const IMAGE: &str = concat!("registry.example.com/capstan:", env!("CARGO_PKG_VERSION"));

#[derive(Debug, Args)]
pub(in crate::cli) struct InitArgs {
    /// The directory of the fleet, created if it does not exist
    #[arg(default_value = ".")]
    pub(in crate::cli) path: PathBuf,
    /// The environment of the cluster: the value of its label `env`, and the name of the overlay that selects it
    #[arg(long, default_value = "dev", value_parser = label)]
    pub(in crate::cli) environment: String,
    /// The name of the cluster, which has one node pool of two nodes [default: ENVIRONMENT-1]
    #[arg(long, value_parser = cluster)]
    pub(in crate::cli) name: Option<String>,
    /// The Azure region
    #[arg(long, default_value = "uksouth")]
    pub(in crate::cli) location: String,
    /// The Azure subscription; without it a placeholder is written
    #[arg(long, value_name = "ID", value_parser = uuid)]
    pub(in crate::cli) subscription_id: Option<String>,
    /// The Entra tenant of the subscription; without it a placeholder is written
    #[arg(long, value_name = "ID", value_parser = uuid)]
    pub(in crate::cli) tenant_id: Option<String>,
    /// The client ID of the identity that creates the encryption keys; without it the identity is expected on the
    /// management cluster
    #[arg(long, value_name = "ID", value_parser = uuid, requires = "tenant_id")]
    pub(in crate::cli) client_id: Option<String>,
    /// The forge of the CI file [default: that of the git remote `origin`]
    #[arg(long, value_enum)]
    pub(in crate::cli) forge: Option<Ci>,
    /// The image of Capstan in the CI file
    #[arg(long, default_value = IMAGE, value_parser = image)]
    pub(in crate::cli) image: String,
}

impl InitArgs {
    /// The name of the cluster.
    pub(super) fn name(&self) -> String {
        let first = || format!("{}-1", self.environment);
        self.name.clone().unwrap_or_else(first)
    }
}

/// A name that is valid for a label and a file, and still for a cluster with `-1` behind it.
fn label(text: &str) -> Result<String, String> {
    name(text, 1..=52)
}

/// A name that is valid for a cluster.
fn cluster(text: &str) -> Result<String, String> {
    name(text, 3..=54)
}

fn name(text: &str, lengths: RangeInclusive<usize>) -> Result<String, String> {
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
    let (least, most) = (lengths.start(), lengths.end());
    match starts && text.chars().all(sound) && !text.ends_with('-') && lengths.contains(&text.len())
    {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "use {least} to {most} lower-case letters, digits and `-`; start with a letter and do not end with `-`"
        )),
    }
}

/// The reference of an image, which goes into CI files as it is.
fn image(text: &str) -> Result<String, String> {
    let sound = |c: char| c.is_ascii_alphanumeric() || "._-/:@+".contains(c);
    match text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(sound) {
        true => Ok(text.to_owned()),
        false => Err("not the name of an image such as registry.example.com/capstan:0.1.0".into()),
    }
}

/// An ID as Azure writes them.
fn uuid(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let digits = text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    match digits && lengths == [8, 4, 4, 4, 12] {
        true => Ok(text.to_owned()),
        false => Err("not an ID such as 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10".into()),
    }
}
