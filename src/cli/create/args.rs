//! Flags. Their values are checked as those of a definition, not here.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, Error, Subcommand};

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateArgs {
    #[command(subcommand)]
    pub(super) what: What,
}

#[derive(Debug, Subcommand)]
pub(super) enum What {
    /// Write the definition of a hosted cluster
    Cluster {
        #[command(subcommand)]
        infrastructure: Infrastructure,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Infrastructure {
    /// Write the definition of a hosted cluster on self-managed Azure
    ///
    /// The network, the identities and the issuer exist already. The definition is checked as `capstan validate` checks it, and
    /// written to standard output, or to a file, or into a fleet. No cluster is read or changed. Exits with 2 when a flag is
    /// wrong, with 1 when the definition does not fit the fleet.
    Azure(Box<AzureArgs>),
    /// Write the definition of a hosted cluster whose nodes are virtual machines of the management cluster
    ///
    /// The definition is checked as `capstan validate` checks it, and written to standard output, or to a file, or into a fleet.
    /// No cluster is read or changed. Exits with 2 when a flag is wrong, with 1 when the definition does not fit the fleet.
    #[command(name = "kubevirt")]
    KubeVirt(KubeVirtArgs),
    /// Write the definition of a hosted cluster on machines that the assisted installer has found
    ///
    /// The definition is checked as `capstan validate` checks it, and written to standard output, or to a file, or into a fleet.
    /// No cluster is read or changed. Exits with 2 when a flag is wrong, with 1 when the definition does not fit the fleet.
    Agent(AgentArgs),
    /// Anything else, so that the message can say what there is.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// The flags of all infrastructures.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// The name of the cluster
    #[arg(long)]
    pub(super) name: String,
    /// The namespace of its objects in the management cluster; if absent, `default`
    #[arg(long)]
    pub(super) namespace: Option<String>,
    /// The domain of which the cluster's own is a part: `api.NAME.DOMAIN`
    #[arg(long, value_name = "DOMAIN")]
    pub(super) base_domain: String,
    /// The Secret with the pull secret, in the cluster's namespace
    #[arg(long, value_name = "SECRET")]
    pub(super) pull_secret: String,
    /// The OpenShift release: X.Y.Z, or an image
    #[arg(long, value_name = "RELEASE")]
    pub(super) release: String,
    /// The Secret with the public SSH key of the nodes in `id_rsa.pub`, in the cluster's namespace
    #[arg(long, value_name = "SECRET")]
    pub(super) ssh_key: Option<String>,
    /// The number of nodes of the node pool `workers`; if absent, 2
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) node_pool_replicas: Option<String>,
    /// The processors that the API server and etcd request, each, such as 4
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    pub(super) control_plane_cpu: Option<String>,
    /// The memory that the API server and etcd request, each, such as 16Gi
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    pub(super) control_plane_memory: Option<String>,
    /// A label of the definition, which overlays select by; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Vec<String>,
    /// What happens to the cluster when its definition is removed; if absent, `Orphan`
    #[arg(long, value_name = "POLICY", value_parser = Listed(&["Orphan", "Delete"]))]
    pub(super) deletion_policy: Option<String>,
    #[command(flatten)]
    pub(super) target: Target,
}

/// Where the definition is written.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// Write to this file, which must not exist [default: standard output, with --commit clusters/NAME.yaml of the fleet]
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Write the file into a fleet, check the whole fleet with it, and commit only this file to the current branch. Nothing is
    /// pushed, and hooks of git are not run
    #[arg(long)]
    pub(super) commit: bool,
    /// The fleet's directory, with --commit [default: .]
    #[arg(short = 'C', value_name = "PATH", requires = "commit")]
    pub(super) path: Option<PathBuf>,
    /// With --commit, an additional directory of Overlay documents; may be repeated
    #[arg(long, value_name = "DIR", requires = "commit")]
    pub(super) overlays: Vec<PathBuf>,
    /// With --commit, a Fleet document, for its tenancy and rule settings
    #[arg(long, value_name = "FILE", requires = "commit")]
    pub(super) fleet: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct KubeVirtArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The processors of a node; if absent, 2
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) cores: Option<String>,
    /// The memory of a node; if absent, 8Gi
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    pub(super) memory: Option<String>,
    /// The size of a node's disk; if absent, 32Gi
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    pub(super) root_volume_size: Option<String>,
    /// The storage class of a node's disk; if absent, the default of the cluster with the virtual machines
    #[arg(long, value_name = "CLASS")]
    pub(super) root_volume_storage_class: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct AgentArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The namespace of the Agent objects
    #[arg(long, value_name = "NAMESPACE")]
    pub(super) agent_namespace: String,
    /// The InfraEnv of the agents to choose from
    #[arg(long, value_name = "NAME")]
    pub(super) infra_env: Option<String>,
    /// A label of the agents to choose from; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) agent_label: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct AzureArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The Azure region
    #[arg(long, value_name = "REGION")]
    pub(super) location: String,
    /// The Azure subscription of the nodes
    #[arg(long, value_name = "ID")]
    pub(super) subscription_id: String,
    /// The Entra tenant of the subscription
    #[arg(long, value_name = "ID")]
    pub(super) tenant_id: String,
    /// The resource group of the nodes
    #[arg(long, value_name = "NAME")]
    pub(super) resource_group: String,
    /// The ARM ID of the virtual network
    #[arg(long, value_name = "ID")]
    pub(super) vnet_id: String,
    /// The ARM ID of the nodes' subnet in it
    #[arg(long, value_name = "ID")]
    pub(super) subnet_id: String,
    /// The ARM ID of the network security group of the subnet
    #[arg(long, value_name = "ID")]
    pub(super) security_group_id: String,
    /// The issuer of the cluster's service account tokens, which Entra trusts
    #[arg(long, value_name = "URL")]
    pub(super) issuer_url: String,
    /// The Secret with the private key in `key` that signs service account tokens, in the cluster's namespace
    #[arg(long, value_name = "SECRET")]
    pub(super) service_account_signing_key: String,
    /// The client ID of the managed identity of an operator; once for each of imageRegistry, ingress, file, disk,
    /// nodePoolManagement, cloudProvider and network, and for a private connection controlPlaneOperator and, with `--api-shape
    /// proposal`, privateLinkService
    #[arg(long, value_name = "NAME=CLIENT_ID", required = true)]
    pub(super) workload_identity: Vec<String>,
    /// The size of the nodes' virtual machines, such as Standard_D4s_v5
    #[arg(long, value_name = "SIZE")]
    pub(super) vm_size: String,
    /// The size of the nodes' disks in GiB; if absent, 120
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) os_disk_size: Option<String>,
    /// The domain for the names of the cluster's endpoints. For a cluster that is not public it becomes a private DNS zone, so the
    /// cluster's own domain must not be in it
    #[arg(long, value_name = "DOMAIN")]
    pub(super) external_dns_domain: Option<String>,
    /// Where the API server can be reached from; if absent, `Public`
    #[arg(long, value_name = "ACCESS", value_parser = Listed(&["Public", "PublicAndPrivate", "Private"]))]
    pub(super) endpoint_access: Option<String>,
    /// The ARM ID of an existing subnet of the management cluster's network for the addresses of the Private Link Service
    #[arg(long, value_name = "ID")]
    pub(super) private_connectivity_nat_subnet_id: Option<String>,
    /// The subscriptions that may connect besides the cluster's own
    #[arg(
        long,
        value_name = "ID,...",
        value_delimiter = ',',
        requires = "private_connectivity_nat_subnet_id"
    )]
    pub(super) private_connectivity_allowed_subscriptions: Vec<String>,
    /// The AzureClusterIdentity, `NAME` or `NAMESPACE/NAME`, with which the Private Endpoint and its DNS zones are made; if absent,
    /// Azure Service Operator uses its own credential
    #[arg(long, value_name = "IDENTITY")]
    pub(super) identity_ref: Option<String>,
    /// The Secret with the credential of Azure Service Operator for the same, in the cluster's namespace, instead of an identity
    #[arg(long, value_name = "SECRET")]
    pub(super) credential_from: Option<String>,
    /// How the HyperShift of the management cluster names the fields of private connections; if absent, `landed`
    #[arg(long, value_name = "SHAPE", value_parser = Listed(&["landed", "proposal"]))]
    pub(super) api_shape: Option<String>,
}

/// Values that help and completion list. Another one is refused with all other mistakes, not before them.
#[derive(Clone, Copy)]
struct Listed(&'static [&'static str]);

impl TypedValueParser for Listed {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}
