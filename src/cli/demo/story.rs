//! The files of the tour and what happens to them.

use std::path::Path;

use anyhow::Context as _;

use crate::adapters::checks::{self, NOTES_REF};
use crate::adapters::git::Author;
pub(super) use crate::adapters::git::Files;
use crate::cli::ui::Ui;
use crate::model::CheckState;
use crate::model::cut::head;

/// The directory of shipped overlays below the demo's.
pub(super) const SHIPPED: &str = "overlays";

/// `examples/fleet`, so that the demo needs nothing but the program.
const FLEET: &[(&str, &str)] = &[
    (
        "shared.yaml",
        include_str!("../../../examples/fleet/shared.yaml"),
    ),
    (
        "overlays/fleet.yaml",
        include_str!("../../../examples/fleet/overlays/fleet.yaml"),
    ),
    (
        "clusters/prod/prod-uks-1.yaml",
        include_str!("../../../examples/fleet/clusters/prod/prod-uks-1.yaml"),
    ),
    (
        "clusters/prod/prod-weu-1.yaml",
        include_str!("../../../examples/fleet/clusters/prod/prod-weu-1.yaml"),
    ),
    (
        "clusters/dev/dev-uks.yaml",
        include_str!("../../../examples/fleet/clusters/dev/dev-uks.yaml"),
    ),
    (
        "clusters/dev/dev-weu-1.yaml",
        include_str!("../../../examples/fleet/clusters/dev/dev-weu-1.yaml"),
    ),
    (
        "raw/stage-weu-1.yaml",
        include_str!("../../../examples/fleet/raw/stage-weu-1.yaml"),
    ),
];

/// `overlays/`.
const OVERLAYS: &[(&str, &str)] = &[
    (
        "dev-autoscaling.yaml",
        include_str!("../../../overlays/dev-autoscaling.yaml"),
    ),
    (
        "dev-small.yaml",
        include_str!("../../../overlays/dev-small.yaml"),
    ),
    (
        "private-api.yaml",
        include_str!("../../../overlays/private-api.yaml"),
    ),
    (
        "prod-baseline.yaml",
        include_str!("../../../overlays/prod-baseline.yaml"),
    ),
];

/// Writes the shipped overlays below `dir` and returns the files of the fleet.
pub(super) fn write_overlays(dir: &Path) -> anyhow::Result<Files> {
    let shipped = dir.join(SHIPPED);
    std::fs::create_dir(&shipped).with_context(|| format!("cannot make {}", shipped.display()))?;
    for (name, text) in OVERLAYS {
        std::fs::write(shipped.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(FLEET
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect())
}

/// Shows what the repository holds, and one definition whole.
pub(super) fn introduce(ui: &Ui, files: &Files) -> anyhow::Result<()> {
    for (path, text) in files {
        ui.tell(&format!("  {path:<32} {:>5} lines", text.lines().count()))?;
    }
    ui.tell("\n  clusters/prod/prod-uks-1.yaml:")?;
    let mut lines = files["clusters/prod/prod-uks-1.yaml"].lines();
    lines.try_for_each(|line| ui.tell(&format!("    {line}")))
}

/// The fleet with one more node pool in dev-uks-1.
pub(super) fn with_node_pool(files: &Files) -> Files {
    let pool =
        "  - name: mp2\n    version: 4.20.17\n    vmSize: Standard_D8s_v3\n    replicas: 2\n";
    let file = "clusters/dev/dev-uks.yaml";
    let (first, rest) = files[file]
        .split_once("---\n")
        .unwrap_or((&files[file], ""));
    let mut grown = files.clone();
    grown.insert(file.to_owned(), format!("{first}{pool}---\n{rest}"));
    grown
}

/// The fleet with one more cluster, written in a hurry.
pub(super) fn with_mistakes(files: &Files) -> Files {
    let text = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: dev-weu-2
  namespace: clusters
  labels: {env: dev, region: westeurope}
spec:
  location: westeurope
  version: {id: 4.20}
  nodePools:
  - name: mp1
    version: 4.20.17
    vmsize: Standard_D4s_v3
";
    let mut bad = files.clone();
    bad.insert("clusters/dev/dev-weu-2.yaml".to_owned(), text.to_owned());
    bad
}

/// Whether the note of `revision` is pushed and has no pending check. The daemon shows a check before it is
/// pushed.
pub(super) fn is_published(author: &Author, revision: &str) -> bool {
    let note = author.note(NOTES_REF, revision);
    let checks = note.ok().flatten().map(|note| checks::read(&note));
    checks.is_some_and(|checks| {
        checks
            .iter()
            .all(|check| check.state != CheckState::Pending)
    })
}

/// The checks of `revision`, read from its note.
pub(super) fn note_line(author: &Author, revision: &str) -> anyhow::Result<String> {
    let note = author
        .note(NOTES_REF, revision)?
        .context("the commit has no note")?;
    let checks = checks::read(&note);
    let lines: Vec<String> = checks
        .iter()
        .map(|check| format!("{} {:?}: {}", check.context, check.state, check.title))
        .collect();
    Ok(format!("{}  {}", head(revision, 10), lines.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
        let tree = crate::adapters::git::directory::read(&root).expect("it is there");
        tree.files
            .keys()
            .map(|path| {
                path.trim_start_matches(dir)
                    .trim_start_matches('/')
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn the_demo_carries_every_file_of_the_example() {
        let mut carried: Vec<&str> = FLEET.iter().map(|(path, _)| *path).collect();
        carried.sort_unstable();
        assert_eq!(names("examples/fleet"), carried);
        assert_eq!(
            names("overlays"),
            OVERLAYS.iter().map(|(path, _)| *path).collect::<Vec<_>>()
        );
    }
}
