//! What a check of a fleet costs, by its size, beside another program such as that of the release before.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::generate::definition;
use crate::process::{Cost, timed};

const SIZES: [usize; 4] = [100, 500, 2_000, 10_000];
/// Each command is run so often, the programs in turn; the median counts.
const RUNS: usize = 3;

/// Validates and renders fleets of `sizes` definitions, or of the usual sizes, with this program and with `other`.
pub(super) fn fleets(sizes: &[usize], other: Option<&Path>) {
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_capstan"));
    let programs: Vec<(&str, &Path)> = std::iter::once(("this", &*ours))
        .chain(other.map(|path| ("the other", path)))
        .collect();
    println!("| command | definitions | program | time | CPU | peak memory |");
    println!("|---|---|---|---|---|---|");
    for &size in if sizes.is_empty() { &SIZES } else { sizes } {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), size);
        for name in ["validate", "render"] {
            let mut costs: Vec<Vec<Cost>> = programs.iter().map(|_| Vec::new()).collect();
            for _ in 0..RUNS {
                for ((_, program), costs) in programs.iter().zip(&mut costs) {
                    let mut command = Command::new(program);
                    command.arg(name).arg(dir.path());
                    costs.push(timed(command, || {}));
                }
            }
            for ((program, _), costs) in programs.iter().zip(costs) {
                println!("| {name} | {size} | {program} | {} |", median(costs));
            }
        }
    }
}

/// A hundred definitions in each directory.
fn write(dir: &Path, size: usize) {
    for index in 0..size {
        let dir = dir.join(format!("{:03}", index / 100));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(format!("{index}.yaml")), whole(index)).unwrap();
    }
}

/// A definition that needs no overlay.
fn whole(index: usize) -> String {
    let identity = "  identityRef: {name: cluster-identity}\n  nodePools:";
    definition(index).replace("  nodePools:", identity)
}

fn median(mut costs: Vec<Cost>) -> String {
    costs.sort_by_key(|cost| cost.wall);
    let cost = costs.swap_remove(costs.len() / 2);
    let (cpu, memory) = cost.own.unwrap_or((Duration::ZERO, 0));
    format!(
        "{:.2} s | {:.2} s | {} MiB",
        cost.wall.as_secs_f64(),
        cpu.as_secs_f64(),
        memory >> 20
    )
}
