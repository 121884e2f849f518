//! Where a fleet's definitions come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SecretName;
use crate::api::period::Period;

/// Where definitions come from: one of the two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Source {
    /// A git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// A directory that something else keeps up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<Directory>,
}

/// A git repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Git {
    /// Its URL: `https://`, `ssh://`, `file://` or a path.
    #[schemars(length(min = 1))]
    pub url: String,
    /// What of it is followed.
    #[serde(default, rename = "ref")]
    pub reference: GitReference,
    /// The directory in it that holds the fleet; default is the whole.
    #[serde(default)]
    pub path: String,
    /// How often it is looked at.
    #[serde(default = "minute")]
    pub interval: Period,
    /// Directories in it that hold overlays beside the fleet's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<String>,
    /// Secret with the credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,
    /// Whose signatures a commit needs; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
}

fn minute() -> Period {
    Period::minutes(1)
}

/// What of a repository is followed: one of the three.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct GitReference {
    /// The head of a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// A tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// One commit, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The branch `main`.
impl Default for GitReference {
    fn default() -> Self {
        Self {
            branch: Some("main".to_owned()),
            tag: None,
            commit: None,
        }
    }
}

/// Whose signatures a commit needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verify {
    /// What is verified.
    #[serde(default)]
    pub mode: VerifyMode,
    /// Public keys, OpenPGP or SSH.
    #[schemars(length(min = 1))]
    pub keys: Vec<String>,
}

/// What is verified of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VerifyMode {
    /// The commit that is synced.
    #[default]
    Head,
    /// The tag that is followed.
    Tag,
    /// Both.
    TagAndHead,
}

/// A directory that something else keeps up to date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directory {
    /// Where it is; links on the way are followed anew at each look.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Directories that hold overlays beside the fleet's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<String>,
}
