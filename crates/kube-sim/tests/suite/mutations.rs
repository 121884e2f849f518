//! The conformance suite can fail: the simulator is broken on purpose, one rule at a time, and every
//! time some behaviour has to notice.
//!
//! A mutation is one place of the source and what it is replaced with. It is made in a copy, which
//! holds the library and what the behaviours need, so that not much is built anew for each. As it is
//! minutes all the same, this is left to CI: `cargo test --test suite mutations -- --ignored`.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

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
        file: "src/apply/mod.rs",
        from: "shed(merged, &last.fields, &owned, types)",
        to: "drop(owned);\n merged",
    },
    Mutation {
        rule: "a field of another manager is a conflict",
        file: "src/apply/mod.rs",
        from: "owners.yield_to(&changes, force)?;",
        to: "owners.yield_to(&changes, true)?;",
    },
    Mutation {
        rule: "lists with keys are merged item by item",
        file: "src/typed/merge.rs",
        from: "lists(old, new, types).map_or_else(|| config.clone(), Value::Array)",
        to: "Value::Array([old, new].concat())",
    },
    Mutation {
        rule: "a change of the spec counts a generation",
        file: "src/api/strategy.rs",
        from: "json!(generation + 1)",
        to: "json!(generation)",
    },
    Mutation {
        rule: "an update is based on the stored version",
        file: "src/api/write.rs",
        from: "version if version == live.version => Ok(()),",
        to: "_ if live.version > 0 => Ok(()),",
    },
    Mutation {
        rule: "later pages show the state of the first",
        file: "src/api/list.rs",
        from: "Some(version) => collection.history.undo(version)?,",
        to: "Some(_) => collection.history.undo(u64::MAX)?,",
    },
    Mutation {
        rule: "unknown fields are pruned",
        file: "src/api/strategy.rs",
        from: "unknown.extend(prune(&custom.schema, object));",
        to: "unknown.extend(prune(&custom.schema, &mut object.clone()));",
    },
    Mutation {
        rule: "defaults are filled in",
        file: "src/api/strategy.rs",
        from: "apply_defaults(&custom.schema, object);\n        }\n        Kinship",
        to: "}\n        Kinship",
    },
    Mutation {
        rule: "what leaves a selector is sent as deleted",
        file: "src/api/watch.rs",
        from: r#"(Some(before), None) => lines.object("DELETED", &before.at(event.version())),"#,
        to: "(Some(_), None) => {}",
    },
    Mutation {
        rule: "rules of a kind are evaluated",
        file: "src/verdict.rs",
        from: "violations.extend(failures.violations);",
        to: "drop(failures.violations);",
    },
    Mutation {
        rule: "finalizers hold an object",
        file: "src/api/delete.rs",
        from: "!metadata::finalizers(object).is_empty() ||",
        to: "false ||",
    },
    Mutation {
        rule: "what is in alternatives only checks",
        file: "../kube-schema/src/reading.rs",
        from: "if !self.checks {",
        to: "if self.depth > 0 || !self.checks {",
    },
    Mutation {
        rule: "a definition leaves out empty fields",
        file: "src/api/strategy.rs",
        from: "true => definition_form::settle(&mut decoded),",
        to: "true => drop(definition_form::settle),",
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
#[ignore = "builds the library once for each mutation"]
fn every_mutation_of_the_simulator_is_noticed() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    copy_into(&dir);
    let (green, output) = conformance(&dir);
    assert!(green, "it fails without a mutation:\n{output}");
    let unnoticed = MUTATIONS.iter().filter(|mutation| {
        let began = Instant::now();
        let path = dir.join("crates/kube-sim").join(mutation.file);
        let source = std::fs::read_to_string(&path).expect("it was copied");
        put(&path, &source.replace(mutation.from, mutation.to));
        let (green, output) = conformance(&dir);
        put(&path, &source);
        let failed = output.lines().filter(|line| line.ends_with("... FAILED"));
        let (rule, noticed) = (mutation.rule, failed.count());
        assert!(green || noticed > 0, "{rule} does not build:\n{output}");
        let seconds = began.elapsed().as_secs();
        eprintln!("{rule}: {noticed} behaviours differ ({seconds} s)");
        green
    });
    let unnoticed: Vec<&str> = unnoticed.map(|mutation| mutation.rule).collect();
    assert!(unnoticed.is_empty(), "nobody noticed: {unnoticed:?}");
}

/// Makes `dir` a workspace of the two libraries, with the behaviours. What an earlier run left there is
/// used again, also what it left mutated: that differs from the source, and is replaced.
fn copy_into(dir: &Path) {
    let root = house().ancestors().nth(2).expect("the workspace's root");
    for part in ["crates/kube-schema", "crates/kube-sim", "tests/kubernetes"] {
        mirror(&root.join(part), &dir.join(part));
    }
    let read = |file| std::fs::read_to_string(root.join(file)).expect("it is there");
    put(&dir.join("Cargo.lock"), &read("Cargo.lock"));
    let manifest = read("Cargo.toml");
    let lints = manifest
        .split("\n\n")
        .filter(|part| part.starts_with("[workspace.lints"));
    let lints: Vec<&str> = lints.collect();
    let members = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]";
    let manifest = format!("{members}\n\n{}\n", lints.join("\n\n"));
    put(&dir.join("Cargo.toml"), &manifest);
}

/// Whether the simulator of the copy in `dir` behaves as expected, and the output. The real server
/// stays out of it, and dependencies are not built again.
fn conformance(dir: &Path) -> (bool, String) {
    // The variables that cargo sets for this test make some dependencies build again.
    let of_this = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    let mut cargo = Command::new(env!("CARGO"));
    for name in of_this {
        cargo.env_remove(name);
    }
    let output = cargo
        .args([
            "test",
            "--offline",
            "-p",
            "kube-sim",
            "--test",
            "suite",
            "conformance",
        ])
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", dir.join("target"))
        .env("XDG_CACHE_HOME", dir.join("no-cache"))
        .env_remove("CAPSTAN_REQUIRE")
        .env_remove("CAPSTAN_WRITE")
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .expect("cargo runs");
    let printed = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&printed).into_owned(),
    )
}

/// Makes `to` what `from` is.
fn mirror(from: &Path, to: &Path) {
    if from.is_file() {
        return put(to, &std::fs::read_to_string(from).expect("it is text"));
    }
    std::fs::create_dir_all(to).expect("a directory");
    for gone in entries(to).filter(|name| !from.join(name).exists()) {
        let gone = to.join(gone);
        match gone.is_file() {
            true => std::fs::remove_file(gone).expect("removed"),
            false => std::fs::remove_dir_all(gone).expect("removed"),
        }
    }
    for name in entries(from) {
        mirror(&from.join(&name), &to.join(&name));
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = OsString> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name())
}

/// Writes a file, but for one that holds this already: what is written is built again.
fn put(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
    if std::fs::read_to_string(path).ok().as_deref() != Some(content) {
        std::fs::write(path, content).expect("written");
    }
}
