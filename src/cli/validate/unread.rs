//! Overlays that a part of a fleet needs and that were not read with it.
//!
//! In: what was asked for, and what was found. Out: a hint. It looks for directories named `overlays` beside what
//! was read and above it, and does not read them.

use std::path::{Path, PathBuf};

use crate::api::kinds::CAPSTAN;
use crate::cli::fleet::{Fleet, FleetArgs};
use crate::compile::Checked;
use crate::model::{ObjectId, rule_id};

/// The most directories above the one that is read.
const MAX_LEVELS: usize = 4;

/// A hint if definitions lack fields that overlays outside of `args.path` may set.
pub(super) fn hint(args: &FleetArgs, fleet: &Fleet) -> Option<String> {
    if !lacks_fields(&fleet.compiled) {
        return None;
    }
    let overlays = overlays_above(args)?;
    let above = overlays.parent()?;
    let [overlays, above] = [&overlays, above].map(|path| fleet.paths().shown_at(path));
    Some(format!(
        "the overlays in {overlays} were not read: they may set missing fields\n\
         validate {above} instead, or add `--overlays {overlays}`"
    ))
}

fn lacks_fields(compiled: &Checked) -> bool {
    let is_ours = |id: &ObjectId| id.is(CAPSTAN, "ClusterDefinition");
    let mut findings = compiled.findings.iter();
    findings.any(|one| one.id == rule_id::MISSING_FIELD && one.object.as_ref().is_some_and(is_ours))
}

/// The nearest directory of overlays above `args.path` in its repository that is not read.
fn overlays_above(args: &FleetArgs) -> Option<PathBuf> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let at = real(&args.path)?;
    let read: Vec<PathBuf> = args.overlays.iter().filter_map(|path| real(path)).collect();
    // A repository ends at its root.
    let is_root = |path: &Path| path.join(".git").exists();
    // A fleet with overlays of its own is whole.
    if at.join("overlays").is_dir() {
        return None;
    }
    let inside = at.ancestors().take(MAX_LEVELS + 1);
    let end = inside
        .clone()
        .position(is_root)
        .map_or(usize::MAX, |at| at + 1);
    let candidates = inside.take(end).skip(1).map(|above| above.join("overlays"));
    let is_unread = |path: &PathBuf| {
        path.is_dir() && !at.starts_with(path) && !read.iter().any(|one| path.starts_with(one))
    };
    candidates.into_iter().find(is_unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlays_above_are_found_unless_they_are_read() {
        let place = tempfile::tempdir().expect("a directory");
        let root = std::fs::canonicalize(place.path()).expect("a path");
        for directory in [
            "overlays",
            "fleet/.git",
            "fleet/overlays/prod",
            "fleet/clusters",
        ] {
            std::fs::create_dir_all(root.join(directory)).expect("created");
        }
        std::fs::write(root.join("fleet/clusters/one.yaml"), "").expect("written");
        let found = |path: &str, overlays: &[&str]| {
            let args = FleetArgs {
                path: root.join(path),
                overlays: overlays.iter().map(|path| root.join(path)).collect(),
                fleet: None,
            };
            overlays_above(&args)
        };
        let overlays = Some(root.join("fleet/overlays"));
        assert_eq!(found("fleet/clusters/one.yaml", &[]), overlays);
        assert_eq!(found("fleet/clusters", &[]), overlays);
        assert_eq!(found("fleet/clusters", &["fleet/overlays"]), None);
        assert_eq!(found("fleet", &[]), None, "it ends at the repository");
        assert_eq!(found("fleet/overlays/prod", &[]), None);
        std::fs::create_dir(root.join("fleet/clusters/overlays")).expect("created");
        assert_eq!(found("fleet/clusters", &[]), None, "it has its own");
    }
}
