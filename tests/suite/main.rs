//! All integration tests in one binary: a module per topic.

#![allow(clippy::panic, clippy::print_stderr, clippy::unwrap_used)]

mod against;
mod apply;
mod attacks;
mod cli;
mod cluster;
mod corpus;
mod crds;
mod create;
mod daemon;
mod documented;
mod embedded;
mod expand;
mod explain;
mod faults;
mod fleet;
mod follow;
mod forges;
mod inert;
mod init;
mod letters;
mod logs;
mod losses;
mod mistakes;
mod patience;
mod play;
mod private;
mod properties;
mod provenance;
mod real;
mod rehearsal;
mod reporting;
mod robust;
mod rules;
mod running;
mod selecting;
mod service_provider;
mod shipped;
mod sidecars;
mod sources;
mod terminal;
mod threads;
mod tls;
mod webhooks;

// Shared with the simulator's suite, which uses all of it.
#[path = "../../crates/kube-sim/tests/suite/difference.rs"]
#[allow(dead_code)]
mod difference;
#[path = "../../crates/kube-sim/tests/suite/kubernetes/mod.rs"]
#[allow(dead_code)]
mod kubernetes;
#[path = "../../crates/kube-sim/tests/suite/random.rs"]
#[allow(dead_code)]
mod random;
#[path = "../../crates/kube-sim/tests/suite/servers.rs"]
#[allow(dead_code)]
mod servers;

use std::collections::BTreeSet;
use std::path::Path;

/// Modules whose files belong to the simulator's suite.
const SHARED: [&str; 4] = ["difference", "kubernetes", "random", "servers"];

#[test]
fn every_file_here_is_a_module() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let on_disk: BTreeSet<String> = std::fs::read_dir(here)
        .expect("tests/suite is readable")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.is_dir() || path.extension().is_some_and(|ending| ending == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "main")
        .collect();
    let listed: BTreeSet<String> = include_str!("main.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .filter(|name| !SHARED.contains(name))
        .map(str::to_owned)
        .collect();
    assert_eq!(on_disk, listed);
}
