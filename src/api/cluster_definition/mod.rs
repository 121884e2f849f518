//! `ClusterDefinition`: the thirty lines a person writes for a cluster.

mod node_pool;
mod spec;

pub use node_pool::{Autoscaling, NodePool, OsDisk};
pub use spec::{
    Api, AzureEnvironment, ClusterDefinitionSpec, DeletionPolicy, Encryption, Etcd, ExistingVault,
    ExternalAuth, IdentityMode, IdentityRef, ManagedIdentities, Network, Phase, Platform, Version,
    Visibility,
};
