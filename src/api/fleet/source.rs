//! The source of a fleet's definitions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SecretName;
use crate::api::period::Period;
use crate::model::{Finding, Node, Path, TagRange};

/// The source of the definitions: a git repository or a directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Source {
    /// A git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// A directory that another program updates.
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
    /// The ref to follow.
    #[serde(default, rename = "ref")]
    pub reference: GitReference,
    /// The fleet's directory in the repository; defaults to its root.
    #[serde(default)]
    pub path: String,
    /// The interval between fetches.
    #[serde(default = "minute")]
    pub interval: Period,
    /// Directories in the repository with more overlays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<String>,
    /// Secret with the credential for the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,
    /// Required signatures; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
}

fn minute() -> Period {
    Period::minutes(1)
}

/// The ref to follow: a branch, a tag, a range of tags or a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct GitReference {
    /// The head of a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// A tag; it is followed when it is moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The tag with the highest version in this range, such as `1.x` or `>=1.2 <2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,
    /// A commit ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The branch `main`.
impl Default for GitReference {
    fn default() -> Self {
        Self {
            branch: Some("main".to_owned()),
            tag: None,
            semver: None,
            commit: None,
        }
    }
}

/// The finding (S04) for a range of tags that is none.
pub(super) fn findings(document: &Node) -> Vec<Finding> {
    let at = ["spec", "source", "git", "ref", "semver"];
    let Some((node, written)) = document
        .at(&at)
        .and_then(|node| Some((node, node.as_str()?)))
    else {
        return Vec::new();
    };
    let Err(why) = written.parse::<TagRange>() else {
        return Vec::new();
    };
    let message = format!("{written:?} is not a range of versions: {why}");
    let finding = Finding::error("S04", message).at(node.span());
    let finding = finding.field(&Path::dotted(&at.join(".")));
    vec![finding.help("write a range such as 1.x, ~1.4 or >=1.2 <2")]
}

/// Required signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verify {
    /// What must be signed.
    #[serde(default)]
    pub mode: VerifyMode,
    /// Public keys, OpenPGP or SSH.
    #[schemars(length(min = 1))]
    pub keys: Vec<String>,
}

/// What must be signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VerifyMode {
    /// The synced commit.
    #[default]
    Head,
    /// The followed tag.
    Tag,
    /// Both.
    TagAndHead,
}

/// A directory that another program updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directory {
    /// Its path; symbolic links are resolved at each read.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Directories with more overlays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<String>,
}
