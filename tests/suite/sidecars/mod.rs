//! Capstan beside other engines and in CI systems: as a plugin of Argo CD, its readiness rules elsewhere, and the files
//! for CI.

mod argocd;
mod ci;
mod git_sync;
mod health;
mod objects;
mod plugin;
mod pruning;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file of the project.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The first document of a YAML file.
fn yaml(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).expect("the file is readable");
    serde_yaml::from_str(&text).expect("YAML")
}

/// Runs a command in `directory` with `capstan` on the PATH and only these variables besides.
fn run(command: &[&str], directory: &Path, variables: &BTreeMap<&str, &str>) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_capstan")).parent();
    let program = program.expect("a directory").display();
    Command::new(command[0])
        .args(&command[1..])
        .current_dir(directory)
        .env_clear()
        .env("PATH", format!("{program}:/usr/local/bin:/usr/bin:/bin"))
        .envs(variables)
        .output()
        .expect("it runs")
}
