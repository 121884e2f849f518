//! A sequence of requests, as it is generated and as it is kept.
//!
//! A request may speak of what it cannot know: of the object as the server last showed it. In its
//! body the texts `$version`, `$stale`, `$uid`, `$managers`, `$managers but ann`, `$default` and
//! `$kube-system` are placeholders for the present resource version, the first one, the uid, the managedFields,
//! these without one manager's, and for the uids of two namespaces.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verb {
    Apply,
    Create,
    Replace,
    Merge,
    Strategic,
    Patch,
    Delete,
    Get,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) verb: Verb,
    /// `things/a`, `things/a/status`.
    pub(super) path: String,
    /// `fieldManager=ann&force=true`
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) query: String,
    /// Whether the body is merged into the object as it was last seen, as a controller does that
    /// reads, changes and writes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) onto_live: bool,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub(super) body: Json,
}

impl Step {
    /// Which object it is about: the path without the subresource.
    pub(super) fn object(&self) -> &str {
        self.path.trim_end_matches("/status")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A sequence as JSON, a step a line.
pub(super) fn written(sequence: &[Step]) -> String {
    let line = |step: &Step| format!("  {}", serde_json::to_string(step).expect("JSON"));
    let lines: Vec<String> = sequence.iter().map(line).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}
