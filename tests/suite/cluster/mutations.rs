//! The conformance suite can fail: the simulator is broken on purpose, one rule at a time, and every
//! time some behaviour has to notice.
//!
//! A mutation is one place of the source and what it is replaced with. The program is built anew for
//! each, so this is left to CI: `cargo test --test suite mutations -- --ignored`.

use std::path::{Path, PathBuf};
use std::process::Command;

struct Mutation {
    /// The rule that it breaks.
    rule: &'static str,
    file: &'static str,
    /// Occurs once in the file.
    from: &'static str,
    to: &'static str,
}

const MUTATIONS: &[Mutation] = &[
    Mutation {
        rule: "fields that nobody applies any more are removed",
        file: "src/schema/apply/mod.rs",
        from: "Some(last) => shed(merged, &last.fields, &owners.all_fields(), types),",
        to: "Some(_) => merged,",
    },
    Mutation {
        rule: "a field of another manager is a conflict",
        file: "src/schema/apply/mod.rs",
        from: "owners.yield_to(&mine, &changes, force)?;",
        to: "owners.yield_to(&mine, &changes, true)?;",
    },
    Mutation {
        rule: "lists with keys are merged item by item",
        file: "src/schema/typed/merge.rs",
        from: "lists(old, new, types).map_or_else(|| config.clone(), Value::Array)",
        to: "Value::Array([old, new].concat())",
    },
    Mutation {
        rule: "a change of the spec counts a generation",
        file: "src/adapters/sim/api/strategy.rs",
        from: "json!(generation + 1)",
        to: "json!(generation)",
    },
    Mutation {
        rule: "an update is based on the stored version",
        file: "src/adapters/sim/api/write.rs",
        from: "version if version == live.version => Ok(()),",
        to: "_ if live.version > 0 => Ok(()),",
    },
    Mutation {
        rule: "later pages show the state of the first",
        file: "src/adapters/sim/api/list.rs",
        from: "Some(version) => collection.history.undo(version)?,",
        to: "Some(_) => Default::default(),",
    },
    Mutation {
        rule: "unknown fields are pruned",
        file: "src/adapters/sim/api/strategy.rs",
        from: "unknown.extend(prune(&custom.schema, object));",
        to: "unknown.extend(prune(&custom.schema, &mut object.clone()));",
    },
    Mutation {
        rule: "defaults are filled in",
        file: "src/adapters/sim/api/strategy.rs",
        from: "apply_defaults(&custom.schema, object);\n        }\n        Kinship",
        to: "}\n        Kinship",
    },
    Mutation {
        rule: "what leaves a selector is told as deleted",
        file: "src/adapters/sim/api/watch.rs",
        from: r#"(Some(before), None) => lines.object("DELETED", &before.at(event.version())),"#,
        to: "(Some(_), None) => {}",
    },
    Mutation {
        rule: "rules of a kind are evaluated",
        file: "src/schema/verdict.rs",
        from: "violations.extend(failures.violations);",
        to: "drop(failures.violations);",
    },
    Mutation {
        rule: "finalizers hold an object",
        file: "src/adapters/sim/api/delete.rs",
        from: "!metadata::finalizers(object).is_empty() ||",
        to: "false ||",
    },
];

fn house() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_mutation_is_of_the_source_as_it_is() {
    for Mutation {
        rule, file, from, ..
    } in MUTATIONS
    {
        let source = std::fs::read_to_string(house().join(file));
        let source = source.unwrap_or_else(|error| panic!("{rule}: {file}: {error}"));
        assert_eq!(
            source.matches(from).count(),
            1,
            "{rule}: {from:?} in {file}"
        );
    }
}

#[test]
#[ignore = "builds the program once for each mutation"]
fn every_mutation_of_the_simulator_is_noticed() {
    let dir = tempfile::tempdir().expect("a directory");
    for part in [
        "Cargo.toml",
        "Cargo.lock",
        "src",
        "tests",
        "crds",
        "examples",
        "overlays",
        "README.md",
    ] {
        copy(&house().join(part), &dir.path().join(part));
    }
    let (green, said) = conformance(dir.path());
    assert!(green, "it fails without a mutation:\n{said}");
    let unnoticed = MUTATIONS.iter().filter(|mutation| {
        let path = dir.path().join(mutation.file);
        let source = std::fs::read_to_string(&path).expect("it was copied");
        std::fs::write(&path, source.replace(mutation.from, mutation.to)).expect("written");
        let (green, said) = conformance(dir.path());
        std::fs::write(&path, source).expect("written");
        let noticed: Vec<&str> = said
            .lines()
            .filter(|line| line.ends_with("... FAILED"))
            .collect();
        eprintln!("{}: {} behaviours differ", mutation.rule, noticed.len());
        assert!(
            green || !noticed.is_empty(),
            "{} does not build:\n{said}",
            mutation.rule
        );
        green
    });
    let unnoticed: Vec<&str> = unnoticed.map(|mutation| mutation.rule).collect();
    assert!(unnoticed.is_empty(), "nobody noticed: {unnoticed:?}");
}

/// Whether the simulator of the copy in `dir` behaves as expected, and what was said. The real server
/// stays out of it, and dependencies are not built again.
fn conformance(dir: &Path) -> (bool, String) {
    let nowhere = dir.join("no-cache");
    let output = Command::new(env!("CARGO"))
        .args([
            "test",
            "--locked",
            "--offline",
            "--test",
            "suite",
            "cluster::conformance",
        ])
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", target())
        .env("XDG_CACHE_HOME", nowhere)
        .env_remove("CAPSTAN_REQUIRE")
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .expect("cargo runs");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// The directory in which this very test was built.
fn target() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_capstan"));
    program
        .ancestors()
        .nth(2)
        .expect("target/debug/capstan")
        .to_owned()
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        std::fs::copy(from, to).expect("copied");
        return;
    }
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}
