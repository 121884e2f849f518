//! The fields of HyperShift's HostedCluster and NodePool below `spec`.
//!
//! In: the text beside this file. Out: the JSON schemas. It does not know the rules between fields that the CRDs have in CEL.
//! Source: HyperShift's CRDs with the default set of features.

use serde_json::Value as Json;

use super::fields;
use super::platform::HYPERSHIFT;

const FIELDS: &str = include_str!("hyper_shift_fields.txt");

/// Platforms that are not in the table: the CRDs have them only with features in technology preview.
pub const PREVIEWED: [&str; 2] = ["GCP", "OpenStack"];

/// Fields of a HostedCluster on Azure in the shape of the proposal for private topologies, which the CRDs do not have.
pub const PROPOSED: [&str; 3] = [
    "spec.platform.azure.endpointAccess",
    "spec.platform.azure.privateConnectivity",
    "spec.platform.azure.azureAuthenticationConfig.workloadIdentities.privateLinkService",
];

/// The group, kind and version of an object.
pub type Id = [&'static str; 3];

/// The kinds in all their versions, with the JSON schema of their `spec`.
pub fn specs() -> impl Iterator<Item = (Id, Json)> {
    let kinds = FIELDS.split("\n\n").filter_map(|text| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut lines = lines.filter_map(|line| line.split_once(": "));
        let (kind, versions) = lines.next()?;
        let schema = fields::schema(lines);
        let versions = versions.split_whitespace();
        Some(versions.map(move |version| ([HYPERSHIFT, kind, version], schema.clone())))
    });
    kinds.flatten()
}
