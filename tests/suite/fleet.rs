//! Small fleets: a definition to start from, an overlay, and their files in memory or on disk.

use std::path::Path;
use std::sync::Arc;

use capstan::api::fleet::FleetPolicy;
use capstan::compile::{Compiled, check_by, compile_by};
use capstan::model::Tree;
use tempfile::TempDir;

/// A sound definition of the cluster `one`. Its node pool comes last, so that a test may write on.
pub(crate) const DEFINITION: &str = include_str!("../definition.yaml");

/// An overlay with this in its spec, which begins on line 5.
pub(crate) fn overlay(spec: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {{name: base}}\nspec:\n{spec}  selector: {{}}\n"
    )
}

/// A fleet of these files in memory.
pub(crate) fn tree(files: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<[u8]>)>) -> Tree {
    let files = files.into_iter();
    let files = files.map(|(path, text)| (Arc::from(path.as_ref()), Arc::from(text.as_ref())));
    Tree {
        files: files.collect(),
        ..Tree::default()
    }
}

/// What a fleet becomes. It has the same findings part by part.
pub(crate) fn compiled(tree: &Tree, overlays: &[Tree]) -> Compiled {
    compiled_by(&FleetPolicy::default(), tree, overlays)
}

/// The same, with a Fleet document.
pub(crate) fn compiled_by(policy: &FleetPolicy, tree: &Tree, overlays: &[Tree]) -> Compiled {
    let compiled = compile_by(policy, tree, overlays);
    assert_eq!(
        compiled.checked,
        check_by(policy, tree, overlays),
        "as a whole, and in parts"
    );
    compiled
}

/// A directory of these files.
pub(crate) fn directory(
    files: impl IntoIterator<Item = (impl AsRef<Path>, impl AsRef<[u8]>)>,
) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("written");
    }
    directory
}
