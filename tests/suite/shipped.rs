//! What we ship for others to start from is read without a finding.

use std::path::{Path, PathBuf};

use capstan::api::{cluster_definition, overlay};
use capstan::expand::expand;

use crate::real;

fn files(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(directory).expect("the directory is readable");
    entries.map(|entry| entry.expect("entry").path()).collect()
}

#[test]
fn overlays_are_read() {
    let files = files("overlays");
    assert!(!files.is_empty());
    for file in files {
        for document in real::documents(&file) {
            let (overlay, findings) = overlay::read(&document);
            assert_eq!(findings, [], "{}", file.display());
            let name = overlay.name;
            assert_eq!(
                file.file_stem().and_then(|stem| stem.to_str()),
                Some(&*name)
            );
        }
    }
}

#[test]
fn the_quickstart_is_one_short_file_that_becomes_a_cluster() {
    let files = files("examples/quickstart");
    let [file] = files.as_slice() else {
        panic!("one file: {files:?}")
    };
    let text = std::fs::read_to_string(file).expect("the file is readable");
    assert!(text.lines().count() < 30);
    let documents = real::documents(file);
    let (definition, findings) = cluster_definition::read(&documents[0]);
    assert_eq!(findings, []);
    let (objects, findings) = expand(&definition.expect("a definition"));
    assert_eq!(findings, []);
    assert_eq!(objects.len(), 5);
}

#[test]
fn the_readme_shows_the_quickstart_as_it_is() {
    let quickstart = include_str!("../../examples/quickstart/cluster.yaml");
    let (_, definition) = quickstart.split_once('\n').expect("a comment comes first");
    assert!(include_str!("../../README.md").contains(definition));
}
