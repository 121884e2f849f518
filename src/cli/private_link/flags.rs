//! The flags of the controllers of private clusters.
//!
//! In: the command line. Out: the mode, and the place of the management side. It does not know what runs.

use std::fmt;

use clap::{Args, ValueEnum};

use crate::adapters::kubernetes::Group;
use crate::api::fleet::Mode;
use crate::api::kinds::INFRASTRUCTURE;
use crate::model::{ObjectId, is_dns_label, is_dns_subdomain};
use crate::reconcile::private_link::Management;

/// The flags of the controllers of private clusters.
#[derive(Debug, Args)]
pub(in crate::cli) struct PrivateLinkArgs {
    /// Whether the controllers of private clusters act beside HyperShift's
    #[arg(
        long = "private-link",
        value_enum,
        default_value_t,
        value_name = "MODE"
    )]
    pub(in crate::cli) mode: LinkMode,
    #[command(flatten)]
    place: PlaceArgs,
}

/// The flags that say where the management side of private clusters is.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct PlaceArgs {
    /// The subscription of the management cluster, for private-link-platform
    #[arg(long, value_name = "ID", value_parser = uuid)]
    private_link_subscription_id: Option<String>,
    /// The resource group of the load balancers of the management cluster, and of the Private Link Services
    #[arg(long, value_name = "NAME", value_parser = resource_group)]
    private_link_resource_group: Option<String>,
    /// The resource group of the virtual network of the management cluster [default: that of the load balancers]
    #[arg(long, value_name = "NAME", value_parser = resource_group)]
    private_link_network_resource_group: Option<String>,
    /// The AzureClusterIdentity of the management side, NAME or NAMESPACE/NAME
    #[arg(long, value_name = "IDENTITY", value_parser = identity)]
    private_link_identity: Option<Identity>,
}

/// Whether the controllers of private clusters act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LinkMode {
    /// Step back from a cluster while HyperShift's controllers connect it
    #[default]
    Auto,
    /// Act, whatever HyperShift's controllers do
    On,
}

impl From<LinkMode> for Mode {
    fn from(mode: LinkMode) -> Self {
        match mode {
            LinkMode::Auto => Self::Auto,
            LinkMode::On => Self::On,
        }
    }
}

/// The name of an AzureClusterIdentity, and its namespace if it has one.
#[derive(Clone, Debug)]
struct Identity {
    namespace: Option<String>,
    name: String,
}

impl PrivateLinkArgs {
    /// Refuses flags that mean nothing to the controllers that run.
    pub(in crate::cli) fn check(&self, groups: &[Group]) -> anyhow::Result<()> {
        let runs = groups.contains(&Group::PrivateLinkPlatform);
        self.place.check("--only", runs)?;
        if runs {
            self.place.require()?;
        }
        let has_links = groups.iter().any(|group| *group != Group::Aro);
        anyhow::ensure!(
            self.mode == LinkMode::Auto || has_links,
            "--private-link is for the controllers of private clusters: choose one with --only, or remove the flag"
        );
        Ok(())
    }

    /// The place of the management side. An identity without a namespace is in `namespace`.
    pub(in crate::cli) fn management(&self, namespace: &str) -> Option<Management> {
        self.place.management(namespace)
    }
}

impl PlaceArgs {
    /// The flags, each with its value.
    fn flags(&self) -> [(&'static str, Option<String>); 4] {
        let identity = self.private_link_identity.as_ref();
        [
            (
                "--private-link-subscription-id",
                self.private_link_subscription_id.clone(),
            ),
            (
                "--private-link-resource-group",
                self.private_link_resource_group.clone(),
            ),
            ("--private-link-identity", identity.map(ToString::to_string)),
            (NETWORK, self.private_link_network_resource_group.clone()),
        ]
    }

    /// Refuses the controller that needs these flags without them.
    pub(in crate::cli) fn require(&self) -> anyhow::Result<()> {
        let missing = self
            .flags()
            .into_iter()
            .find(|(name, value)| *name != NETWORK && value.is_none());
        match missing {
            None => Ok(()),
            Some((name, _)) => anyhow::bail!(
                "{name} is missing: private-link-platform works in the management cluster's resource group alone"
            ),
        }
    }

    /// Refuses these flags without the controller that needs them, which `flag` chooses.
    pub(in crate::cli) fn check(&self, flag: &str, runs: bool) -> anyhow::Result<()> {
        for (name, value) in self.flags() {
            anyhow::ensure!(
                value.is_none() || runs,
                "{name} is for private-link-platform: add {flag} private-link-platform, or remove the flag"
            );
        }
        Ok(())
    }

    /// The same flags for a process.
    pub(in crate::cli) fn arguments(&self) -> Vec<String> {
        let flags = self.flags().into_iter();
        flags
            .filter_map(|(name, value)| Some(format!("{name}={}", value?)))
            .collect()
    }

    fn management(&self, namespace: &str) -> Option<Management> {
        let identity = self.private_link_identity.as_ref()?;
        let namespace = identity.namespace.as_deref().unwrap_or(namespace);
        let resource_group = self.private_link_resource_group.clone()?;
        let network = self.private_link_network_resource_group.clone();
        Some(Management {
            subscription: self.private_link_subscription_id.clone()?,
            network_resource_group: network.unwrap_or_else(|| resource_group.clone()),
            resource_group,
            identity: ObjectId::new(
                INFRASTRUCTURE,
                "AzureClusterIdentity",
                namespace,
                identity.name.as_str(),
            ),
        })
    }
}

const NETWORK: &str = "--private-link-network-resource-group";

/// As it is written in a flag.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

fn uuid(text: &str) -> Result<String, String> {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hex = text.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    if lengths == [8, 4, 4, 4, 12] && is_hex {
        Ok(text.to_owned())
    } else {
        Err("it must be a UUID, such as 550e8400-e29b-41d4-a716-446655440000".to_owned())
    }
}

fn resource_group(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.()".contains(c);
    let is_valid =
        (1..=90).contains(&text.len()) && text.chars().all(is_allowed) && !text.ends_with('.');
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err("it must be the name of a resource group: 1 to 90 of a-z, A-Z, 0-9, -, _, (, ) and ., without a period at its end".to_owned())
    }
}

fn identity(text: &str) -> Result<Identity, String> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, text),
    };
    let is_valid = namespace.is_none_or(is_dns_label) && is_dns_subdomain(name);
    if !is_valid {
        return Err("it must be NAME or NAMESPACE/NAME of an AzureClusterIdentity".to_owned());
    }
    Ok(Identity {
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    })
}
