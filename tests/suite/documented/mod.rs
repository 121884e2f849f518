//! The README and the pages of `docs/` are true of the program: what they show of its output, the
//! pages that are generated, their links, and their YAML. With `CAPSTAN_WRITE=1` in the environment
//! output and generated pages are rewritten; read the diff.

mod commands;
mod console;
mod markdown;
mod reasons;
mod troubleshooting;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use capstan::api::{cluster_definition, fleet, overlay};

use crate::real;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and every page of `docs/` and `docs/checks/`.
fn pages() -> Vec<PathBuf> {
    let directories = ["docs", "docs/checks"].map(|directory| root().join(directory));
    let entries = directories.map(|directory| fs::read_dir(directory).expect("it is readable"));
    let mut pages: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// Holds a page to what `renew` makes of it, or writes that.
fn hold(page: &Path, renew: impl FnOnce(&str) -> String) {
    // Two tests may renew different parts of one page.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let old = fs::read_to_string(page).expect("the page is readable");
    let new = renew(&old);
    if std::env::var_os("CAPSTAN_WRITE").is_some() {
        fs::write(page, &new).expect("the page is writable");
        return;
    }
    let mut lines = old.lines().zip(new.lines());
    let difference = lines.find(|(old, new)| old != new);
    assert!(
        old == new,
        "{} is out of date: run with CAPSTAN_WRITE=1; first difference: {difference:?}",
        page.display()
    );
}

#[test]
fn shown_output_is_the_output_of_the_command() {
    for page in pages() {
        hold(&page, console::renew);
    }
}

#[test]
fn the_page_of_commands_is_generated_from_the_command_line() {
    hold(&root().join("docs/commands.md"), |_| commands::page());
}

#[test]
fn the_troubleshooting_page_lists_every_known_cause() {
    let page = root().join("docs/troubleshooting.md");
    hold(&page, troubleshooting::renew);
}

#[test]
fn the_page_of_the_controllers_lists_every_reason() {
    hold(&root().join("docs/controllers.md"), reasons::renew);
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page is readable");
        for link in markdown::links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a directory").join(path),
            };
            let there = match anchor {
                "" => target.exists(),
                anchor => fs::read_to_string(&target)
                    .is_ok_and(|text| markdown::anchors(&text).any(|found| found == anchor)),
            };
            if !there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn documents_of_ours_are_read_without_a_finding() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut read = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page is readable");
        for yaml in markdown::blocks(&text, "yaml") {
            if !yaml.starts_with("apiVersion: capstan.dev/") {
                continue;
            }
            let file = directory.path().join("document.yaml");
            fs::write(&file, &yaml).expect("written");
            for document in real::documents(&file) {
                let json = document.to_json();
                let findings = match json["kind"].as_str().unwrap_or_default() {
                    "ClusterDefinition" => cluster_definition::read(&document).1,
                    "Overlay" => overlay::read(&document).1,
                    "Fleet" => fleet::read(&document).1,
                    kind => panic!("{}: kind {kind}", page.display()),
                };
                assert_eq!(findings, [], "{}:\n{yaml}", page.display());
                read += 1;
            }
        }
    }
    assert!(read >= 3, "only {read} documents are shown");
}

#[test]
fn the_readme_is_short() {
    let size = fs::metadata(root().join("README.md")).expect("there").len();
    assert!(size <= 8 * 1024, "{size} bytes; details belong in docs/");
}
