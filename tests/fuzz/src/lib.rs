//! The pure modules of Capstan and nothing else: they need neither a cluster nor git, so a fuzzer that is
//! built anew on a fresh machine is built in a minute.
//!
//! What the targets hold true is here too, with the reason beside it.

// Some of it is used only by other modules.
#![allow(unused_imports)]

#[path = "../../../src/api/mod.rs"]
pub mod api;
#[path = "../../../src/compile/mod.rs"]
pub mod compile;
#[path = "../../../src/expand/mod.rs"]
pub mod expand;
#[path = "../../../src/graph/mod.rs"]
pub mod graph;
#[path = "../../../src/model/mod.rs"]
pub mod model;
#[path = "../../../src/overlay/mod.rs"]
pub mod overlay;
#[path = "../../../src/rules/mod.rs"]
pub mod rules;
#[path = "../../../src/schema/mod.rs"]
pub mod schema;
#[path = "../../../src/yaml/mod.rs"]
pub mod yaml;

#[cfg(feature = "strangers")]
#[path = "../../../src/admission/mod.rs"]
pub mod admission;
#[cfg(feature = "strangers")]
#[path = "../../../src/health/mod.rs"]
pub mod health;
#[cfg(feature = "strangers")]
#[path = "../../../src/plan/mod.rs"]
pub mod plan;
#[cfg(feature = "strangers")]
#[path = "strangers/mod.rs"]
pub mod adapters;

use std::sync::Arc;

use model::{Finding, Node};

/// The documents in `text`, and what is wrong with it.
#[must_use]
pub fn documents(path: &str, text: &[u8]) -> (Vec<Node>, Vec<Finding>) {
    yaml::read(&Arc::from(path), text)
}

/// A finding can be fixed: it has a message and a place.
///
/// # Panics
/// When it does not.
pub fn can_be_mended(finding: &Finding) {
    assert!(!finding.message.is_empty(), "{finding:?}");
    if let Some(span) = &finding.span {
        let (start, end) = (span.start, span.end);
        assert!(start.line > 0 && start.column > 0 && start <= end, "{finding:?}");
    }
}

/// Reading, writing and reading again gives the same value; otherwise the rendered output would be wrong.
///
/// # Panics
/// When it is not.
pub fn is_a_fixed_point(documents: &[Node]) {
    let values: Vec<_> = documents.iter().map(Node::to_json).collect();
    let text = yaml::write(&values);
    let (again, findings) = self::documents("written.yaml", text.as_bytes());
    assert!(findings.is_empty(), "{findings:?}\n{text}");
    let read: Vec<_> = again.iter().map(Node::to_json).collect();
    assert_eq!(values, read, "{text}");
    assert_eq!(text, yaml::write(&read));
}
