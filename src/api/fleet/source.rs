//! The source of a fleet's definitions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use serde_json::json;

use super::SecretName;
use crate::api::document;
use crate::api::period::Period;
use crate::model::{Finding, Key, Message, Node, Path, PublicKey, TagRange, Value, rule_id};

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

/// The path of the directory that stands for no source: no file has this name.
const NOWHERE: &str = "\0";

impl Directory {
    /// Returns true if it stands for no source.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        self.path == NOWHERE
    }
}

/// Gives the document of a service provider that writes to the hub, and names no source, one that is none.
pub(super) fn supply(document: &mut Node) {
    let is_direct = document
        .at(&["spec", "serviceProvider"])
        .is_some_and(|provider| matches!(provider.text(&["writeMode"]), None | Some("direct")));
    if !is_direct || document.at(&["spec", "source"]).is_some() {
        return;
    }
    let none = json!({"directory": {"path": NOWHERE}});
    if let Some(spec) = document::child(document, "spec")
        && let Value::Map(fields) = &mut spec.value
    {
        let key = Key {
            name: "source".into(),
            origin: spec.origin.clone(),
        };
        fields.insert(key, Node::from_json(&none, &spec.origin));
    }
}

/// The findings (S04) that the schema has no words for.
pub(super) fn findings(document: &Node) -> Vec<Finding> {
    let Some(git) = document.at(&["spec", "source", "git"]) else {
        return pull_requests(document).into_iter().collect();
    };
    let (range, mode) = (range(git), mode(git));
    range.into_iter().chain(mode).chain(keys(git)).collect()
}

fn finding(node: &Node, field: &Path, message: impl Into<Message>, help: &str) -> Finding {
    let finding = Finding::error(rule_id::INVALID_VALUE, message).at(node.span());
    finding.field(field).help(help)
}

/// Pull requests are to be checked, but there is no repository that has some.
fn pull_requests(document: &Node) -> Option<Finding> {
    document.at(&["spec", "source", "directory"])?;
    let node = document.at(&["spec", "checks", "pullRequests"])?;
    let enabled = node.get("enabled").map(|enabled| &enabled.value);
    if matches!(enabled, Some(Value::Bool(false))) || node.value == Value::Null {
        return None;
    }
    let message = "a directory has no pull requests that could be checked";
    let help = "remove pullRequests, or follow the repository with source.git";
    let field = Path::dotted("spec.checks.pullRequests");
    Some(finding(node, &field, message, help))
}

/// The path of a field of the repository.
fn at(field: &str) -> Path {
    Path::dotted(&format!("spec.source.git.{field}"))
}

/// The finding (S04) for a range of tags that cannot be read.
fn range(git: &Node) -> Option<Finding> {
    let node = git.at(&["ref", "semver"])?;
    let written = node.as_str()?;
    let why = written.parse::<TagRange>().err()?;
    let message = format!("{written:?} is not a range of versions: {why}");
    let help = "write a range such as 1.x, ~1.4 or >=1.2 <2";
    Some(finding(node, &at("ref.semver"), message, help))
}

/// A tag must be signed, but no tag is followed.
fn mode(git: &Node) -> Option<Finding> {
    let node = git.at(&["verify", "mode"])?;
    let mode = node
        .as_str()
        .filter(|mode| ["Tag", "TagAndHead"].contains(mode))?;
    let follows = |field| git.at(&["ref", field]).is_some();
    if follows("tag") || follows("semver") {
        return None;
    }
    let message = format!("mode {mode} verifies the followed tag, but ref follows no tag");
    let help = "set ref.tag or ref.semver, or mode: Head";
    Some(finding(node, &at("verify.mode"), message, help))
}

/// Keys that cannot be read.
fn keys(git: &Node) -> Vec<Finding> {
    let keys = git.at(&["verify", "keys"]).and_then(Node::as_list);
    let keys = keys.into_iter().flatten().enumerate();
    let unreadable = |(index, node): (usize, &Node)| {
        let why = PublicKey::read(node.as_str()?).err()?;
        let help = "paste what `gpg --armor --export KEY` prints, or the line of a file such as \
                    id_ed25519.pub";
        let field = at("verify.keys").index(index);
        Some(finding(node, &field, format!("the key is {why}"), help))
    };
    keys.filter_map(unreadable).collect()
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
    /// Its path; symbolic links are resolved at each read. It may be a part of a checkout.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Directories in the same checkout with more overlays; relative paths count from `path`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<String>,
}
