//! What the parts of a hosted cluster have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::patterns::{IMAGE, PATCH_VERSION, REPOSITORY, SUBDOMAIN};

/// An OpenShift release: a version, or an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// `X.Y.Z`, which becomes the image `<repository>:X.Y.Z-multi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = PATCH_VERSION))]
    pub version: Option<String>,
    /// The image, as an alternative to `version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = IMAGE), length(min = 1, max = 253))]
    pub image: Option<String>,
    /// The repository of the images of versions.
    #[serde(default = "release_repository")]
    #[schemars(regex(pattern = REPOSITORY), length(min = 1, max = 200))]
    pub repository: String,
}

fn release_repository() -> String {
    "quay.io/openshift-release-dev/ocp-release".to_owned()
}

/// A Secret in the cluster's namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretRef {
    /// Its name.
    #[schemars(regex(pattern = SUBDOMAIN), length(min = 1, max = 253))]
    pub name: String,
}
