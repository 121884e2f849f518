//! `capstan plan --against` a revision or a directory, without a cluster, as a person or a CI system runs it.

mod check_mode;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::sources::repository::has;

/// A clone with the example fleet and its overlays, committed on `main`.
struct Clone {
    dir: TempDir,
}

impl Clone {
    /// `None` where there is no git.
    fn of_the_example() -> Option<Self> {
        let clone = Self::empty()?;
        for directory in ["examples/fleet", "overlays"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
            copy(
                &from,
                &clone.path(directory.trim_start_matches("examples/")),
            );
        }
        clone.commit("begin");
        Some(clone)
    }

    fn empty() -> Option<Self> {
        if !has("git", "git") {
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let clone = Self { dir };
        clone.git(&["init", "--quiet", "--initial-branch=main", "."]);
        Some(clone)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Replaces `old` in a file that has it.
    #[track_caller]
    fn edit(&self, path: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.path(path)).expect("readable");
        assert!(text.contains(old), "{path} has no {old}");
        self.write(path, &text.replace(old, new));
    }

    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(["-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_capstan"))
            .arg("plan")
            .args(arguments)
            .current_dir(self.dir.path())
            .env("NO_COLOR", "1")
            .env("KUBECONFIG", "/nowhere")
            .output()
            .expect("it runs")
    }

    /// What a plan prints, which ends with this code.
    #[track_caller]
    fn plan(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// What a plan complains about that cannot be made.
    #[track_caller]
    fn complaint(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert_eq!(output.stdout, b"");
        String::from_utf8(output.stderr).expect("UTF-8")
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("copied")),
        }
    }
}

/// A ConfigMap of this name, with a value.
fn config_map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{a: \"{value}\"}}\n"
    )
}

const UKS: &str = "fleet/clusters/prod/prod-uks-1.yaml";
const DEV: &str = "fleet/clusters/dev/dev-weu-1.yaml";
const WEU: &str = "fleet/clusters/prod/prod-weu-1.yaml";
const EXAMPLE: [&str; 5] = ["fleet", "--overlays", "overlays", "--against", "HEAD~1"];

/// A change of the example fleet: its name, the edit before it if it needs one, the edit, and the exit code.
type Case = (&'static str, fn(&Clone), fn(&Clone), i32);

const CASES: [Case; 8] = [
    (
        "a label",
        |_| {},
        |it| it.edit(UKS, "tier: web", "tier: api"),
        0,
    ),
    (
        "a scale",
        |_| {},
        |it| {
            it.edit(UKS, "max: 12", "max: 15");
            it.edit(WEU, "max: 12", "max: 15");
        },
        0,
    ),
    (
        "an upgrade",
        |_| {},
        |it| it.edit(UKS, "spec:\n", "spec:\n  version: {id: \"4.21\"}\n"),
        0,
    ),
    (
        "a downgrade",
        |_| {},
        |it| it.edit(UKS, "4.20.17", "4.20.16"),
        0,
    ),
    (
        "a CIDR",
        |_| {},
        |it| it.edit(WEU, "network: {", "network: {podCIDR: 10.132.0.0/14, "),
        1,
    ),
    (
        "a rename",
        |_| {},
        |it| it.edit(UKS, "name: prod-uks-1", "name: prod-uks-9"),
        1,
    ),
    (
        "a release",
        |_| {},
        |it| fs::remove_file(it.path(WEU)).expect("removed"),
        1,
    ),
    (
        "a deletion",
        |it| it.edit(DEV, "spec:\n", "spec:\n  deletionPolicy: Delete\n"),
        |it| fs::remove_file(it.path(DEV)).expect("removed"),
        1,
    ),
];

/// Exact texts are a matter of the report; here each kind of change is told from the others, in every format.
#[test]
fn each_kind_of_change_has_a_title_of_its_own() {
    let Some(clone) = Clone::of_the_example() else {
        return;
    };
    let mut titles: Vec<(String, &str)> = Vec::new();
    for (name, before, change, code) in CASES {
        before(&clone);
        clone.commit("before");
        change(&clone);
        clone.commit(name);
        let text = clone.plan(&EXAMPLE, code);
        let title = text.lines().next().expect("a title").to_owned();
        let json = clone.plan(&[&EXAMPLE[..], &["--format", "json"]].concat(), code);
        let json: Json = serde_json::from_str(&json).expect("JSON");
        assert_eq!(
            (&json["kind"], &json["title"]),
            (&"Plan".into(), &title.as_str().into()),
            "{name}"
        );
        let against = &json["against"];
        assert_eq!(against["revision"], clone.git(&["rev-parse", "HEAD~1"]));
        assert_eq!(against["includesUncommitted"], false);
        let state = if code == 0 { "success" } else { "failure" };
        assert_eq!(json["state"], state, "{name}");
        let markdown = clone.plan(&[&EXAMPLE[..], &["--format", "markdown"]].concat(), code);
        assert!(
            markdown.starts_with(&format!("### {title}\n")),
            "{name}: {markdown}"
        );
        clone.plan(
            &[&EXAMPLE[..], &["--exit-code"]].concat(),
            if code == 0 { 3 } else { code },
        );
        titles.push((title, name));
        clone.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    }
    for (at, (title, name)) in titles.iter().enumerate() {
        let twin = titles[..at].iter().find(|(other, _)| other == title);
        assert_eq!(twin, None, "{name}");
    }
}

#[test]
fn a_deletion_is_approved_by_a_trailer_or_a_flag() {
    let Some(clone) = Clone::of_the_example() else {
        return;
    };
    clone.edit(DEV, "spec:\n", "spec:\n  deletionPolicy: Delete\n");
    clone.commit("before");
    fs::remove_file(clone.path(DEV)).expect("removed");
    clone.commit("remove it");
    let text = clone.plan(&EXAMPLE, 1);
    let line = "Capstan-Approve: delete clusters/dev-weu-1";
    assert!(text.contains(line), "{text}");
    clone.plan(
        &[&EXAMPLE[..], &["--approve", "clusters/dev-weu-1"]].concat(),
        0,
    );
    clone.git(&[
        "commit",
        "--quiet",
        "--amend",
        "-m",
        &format!("remove it\n\n{line}"),
    ]);
    let text = clone.plan(&EXAMPLE, 0);
    assert!(text.contains("approved by Ada"), "{text}");
    // A forge checks out a merge of its own, of which the commit is not on the line of first parents.
    clone.git(&["checkout", "--quiet", "-b", "merge", "HEAD~1"]);
    clone.git(&[
        "merge",
        "--quiet",
        "--no-ff",
        "-m",
        "Merge 1 into main",
        "main",
    ]);
    let merged = clone.git(&["rev-parse", "HEAD"]);
    clone.git(&["branch", "--force", "main", "HEAD~1"]);
    clone.git(&["checkout", "--quiet", "--detach"]);
    let against_main = ["fleet", "--overlays", "overlays", "--against", "main"];
    let text = clone.plan(&against_main, 1);
    assert!(text.contains("a merge brought the commit in"), "{text}");
    clone.git(&["update-ref", "refs/remotes/pull/1/merge", &merged]);
    clone.plan(&against_main, 0);
}

#[test]
fn an_approval_of_what_stays_is_refused_beside_errors_too() {
    let Some(clone) = Clone::of_the_example() else {
        return;
    };
    let approve = [&EXAMPLE[..], &["--approve", "clusters/dev-weu-1"]].concat();
    for text in [config_map("a", "x"), "kind: ConfigMap\n".to_owned()] {
        clone.write("fleet/a.yaml", &text);
        clone.commit("add it");
        let error = clone.complaint(&approve);
        assert!(error.contains("it is still in the fleet"), "{error}");
    }
}

/// What others merged meanwhile is no change of a branch that does not have it yet.
#[test]
fn a_branch_behind_its_base_shows_only_its_own_changes() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("a.yaml", &config_map("kept", "x"));
    let start = clone.commit("begin");
    for number in 0..10 {
        clone.write(
            &format!("theirs-{number}.yaml"),
            &config_map(&format!("theirs-{number}"), "x"),
        );
        clone.commit("another");
    }
    clone.git(&["checkout", "--quiet", "-b", "ours", &start]);
    let none = clone.plan(&["--against", "main", "--exit-code"], 0);
    assert!(none.starts_with("no fleet change\n"), "{none}");
    clone.write("ours.yaml", &config_map("ours", "x"));
    clone.commit("ours");
    let head = clone.git(&["rev-parse", "main"]);
    let shows_ours = |text: &str| {
        assert!(text.starts_with("1 object new"), "{text}");
        assert!(
            text.contains("ConfigMap/default/ours") && !text.contains("theirs"),
            "{text}"
        );
    };
    let committed = clone.plan(&["--against", "main"], 0);
    shows_ours(&committed);
    assert!(
        committed.contains(&format!("Compared with the branch main at {head}.\n")),
        "{committed}"
    );
    assert!(!committed.contains("ncommitted"), "{committed}");
    // An untracked file is read, as `validate` does.
    clone.git(&["reset", "--quiet", "--soft", &start]);
    for add in [true, false] {
        let text = clone.plan(&["--against", "main", "--exit-code"], 3);
        shows_ours(&text);
        let note = "\nUncommitted changes are included.\n";
        let base =
            format!("Compared with the merge base of HEAD and the branch main at {start}.\n");
        assert!(text.contains(note) && text.contains(&base), "{text}");
        if add {
            clone.git(&["reset", "--quiet"]);
        }
    }
    // Nothing was written but what git writes.
    assert_eq!(clone.git(&["status", "--short"]), "?? ours.yaml");
}

#[test]
fn a_conflict_is_named() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("a.yaml", &config_map("a", "one"));
    let start = clone.commit("begin");
    clone.write("a.yaml", &config_map("a", "theirs"));
    clone.commit("theirs");
    clone.git(&["checkout", "--quiet", "-b", "ours", &start]);
    clone.write("a.yaml", &config_map("a", "ours"));
    clone.commit("ours");
    for exit_code in [&[][..], &["--exit-code"]] {
        let text = clone.plan(&[&["--against", "main"], exit_code].concat(), 1);
        assert_eq!(
            text,
            "merge conflict in 1 file\n\nBoth branches changed:\n\n- a.yaml\n"
        );
    }
}

#[test]
fn what_the_base_has_already_is_folded() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("a.yaml", "kind: ConfigMap\n");
    clone.commit("broken");
    clone.write("b.yaml", &config_map("b", "x"));
    clone.commit("sound");
    let text = clone.plan(&["--against", "HEAD~1"], 1);
    assert!(
        text.starts_with("the revision HEAD~1 has 1 error; none is from this commit\n"),
        "{text}"
    );
    clone.write("a.yaml", &config_map("a", "x"));
    clone.commit("mended");
    let text = clone.plan(&["--against", "HEAD~1"], 0);
    assert!(
        text.contains("Compared with an empty fleet, since the revision HEAD~1 at "),
        "{text}"
    );
}

#[test]
fn two_directories_are_compared_wherever_they_are() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("new/sub/a.yaml", &config_map("a", "new"));
    clone.write("new/b.yaml", &config_map("b", "same"));
    let other = tempfile::tempdir().expect("a directory");
    fs::create_dir(other.path().join("sub")).expect("made");
    fs::write(other.path().join("sub/a.yaml"), config_map("a", "old")).expect("written");
    fs::write(other.path().join("b.yaml"), config_map("b", "same")).expect("written");
    let there = other.path().to_str().expect("UTF-8");
    let text = clone.plan(&["new", "--against", there, "--exit-code"], 3);
    assert!(text.starts_with("1 object changed"), "{text}");
    assert!(
        text.contains(&format!("Compared with the directory at {there}.")),
        "{text}"
    );
    assert!(text.contains("new/sub/a.yaml:4"), "{text}");
    clone.plan(&["new", "--against", "./new", "--exit-code"], 0);
    clone.plan(&["new", "--against", "new", "--exit-code"], 0);
    let error = clone.complaint(&["new", "--against", "./nope"]);
    assert!(
        error.contains("./nope: no such file or directory"),
        "{error}"
    );
    let error = clone.complaint(&["new", "--against", "new/b.yaml"]);
    assert!(error.contains("no revision new/b.yaml"), "{error}");
    let text = clone.plan(
        &["new/sub/a.yaml", "--against", "./new/b.yaml", "--exit-code"],
        3,
    );
    assert!(text.starts_with("1 object deleted, 1 new"), "{text}");
}

#[test]
fn one_file_is_compared_with_itself_at_a_revision() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("f/a.yaml", &config_map("a", "old"));
    clone.write("f/b.yaml", &config_map("b", "old"));
    clone.commit("old");
    clone.write("f/a.yaml", &config_map("a", "new"));
    clone.write("f/b.yaml", &config_map("b", "new"));
    clone.commit("new");
    let text = clone.plan(&["f/a.yaml", "--against", "HEAD~1", "--exit-code"], 3);
    assert!(text.starts_with("1 object changed"), "{text}");
    assert!(!text.contains("b.yaml"), "{text}");
}

#[test]
fn every_fault_of_a_clone_says_what_to_do() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("fleet/a.yaml", &config_map("a", "x"));
    let error = clone.complaint(&["fleet", "--against", "HEAD"]);
    assert!(
        error.contains("no revision HEAD in fleet (there are none)"),
        "{error}"
    );
    clone.commit("one");
    let error = clone.complaint(&["fleet", "--against", "mian"]);
    assert!(
        error.contains("no revision mian in fleet (did you mean main? there is main)"),
        "{error}"
    );
    let error = clone.complaint(&["fleet", "--against", ""]);
    assert!(error.contains("--against is empty"), "{error}");
    let error = clone.complaint(&["fleet", "-l", "a=b", "--against", "main"]);
    assert!(error.contains("--selector"), "{error}");
    fs::create_dir(clone.path("main")).expect("made");
    let error = clone.complaint(&["fleet", "--against", "main"]);
    assert!(
        error.contains("write ./main for the directory, or main^0 for the revision"),
        "{error}"
    );
    clone.plan(&["fleet", "--against", "main^0"], 0);
    fs::remove_dir(clone.path("main")).expect("removed");
    let outside = tempfile::tempdir().expect("a directory");
    let outside = outside.path().to_str().expect("UTF-8");
    let error = clone.complaint(&[outside, "--against", "main"]);
    let expected = format!("no such directory, and {outside} is not in a git repository");
    assert!(error.contains(&expected), "{error}");
    let error = clone.complaint(&["nowhere", "--against", "main"]);
    assert!(
        error.contains("nowhere: no such file or directory"),
        "{error}"
    );
    clone.git(&["checkout", "--quiet", "--orphan", "other"]);
    clone.commit("alone");
    let error = clone.complaint(&["fleet", "--against", "main"]);
    assert!(error.contains("has no history in common with"), "{error}");
}

#[test]
fn a_shallow_clone_is_told_to_fetch_the_whole_history() {
    let Some(origin) = Clone::empty() else { return };
    for number in ["1", "2", "3"] {
        origin.write("a.yaml", &config_map("a", number));
        origin.commit(number);
    }
    origin.git(&["checkout", "--quiet", "-b", "ours", "HEAD~1"]);
    origin.write("b.yaml", &config_map("b", "x"));
    origin.commit("ours");
    let url = format!("file://{}", origin.dir.path().display());
    let dir = tempfile::tempdir().expect("a directory");
    let shallow = Clone { dir };
    let into = shallow.dir.path().to_str().expect("UTF-8");
    let clone = ["clone", "--quiet", "--depth=1", "--branch=ours", &url, into];
    origin.git(&clone);
    let advice = "which is a shallow clone; fetch the whole history: `git fetch --unshallow`, or in CI `fetch-depth: 0`";
    let error = shallow.complaint(&["--against", "origin/main"]);
    assert!(
        error.contains("the revision origin/main is not in .") && error.contains(advice),
        "{error}"
    );
    shallow.git(&[
        "fetch",
        "--quiet",
        "--depth=1",
        "origin",
        "main:refs/remotes/origin/main",
    ]);
    let error = shallow.complaint(&["--against", "origin/main"]);
    assert!(
        error.contains(" grew from is not in .") && error.contains(advice),
        "{error}"
    );
    shallow.git(&["fetch", "--quiet", "--unshallow", "origin"]);
    let text = shallow.plan(&["--against", "origin/main"], 0);
    assert!(text.starts_with("1 object new"), "{text}");
}

/// As in a container of a CI system, whose user is not the one who cloned.
#[test]
fn a_clone_of_another_user_is_read() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("a.yaml", &config_map("a", "x"));
    clone.commit("one");
    clone.write("a.yaml", &config_map("a", "y"));
    clone.commit("two");
    for path in [clone.path("."), clone.path(".git")] {
        if std::os::unix::fs::chown(path, Some(65_531), None).is_err() {
            eprintln!("skipped: only root may give a directory to another user");
            return;
        }
    }
    let text = clone.plan(&["--against", "HEAD~1"], 0);
    assert!(text.starts_with("1 object changed"), "{text}");
}

#[test]
fn the_exit_code_tells_changes_of_the_other_plans_too() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("a.yaml", &config_map("a", "x"));
    clone.plan(&["--exit-code"], 3);
    clone.plan(&[], 0);
    let markdown = clone.plan(&["--format", "markdown"], 0);
    assert!(
        markdown.starts_with("```text\nplan: 1 to create"),
        "{markdown}"
    );
    clone.write("b.yaml", "kind: ConfigMap\n");
    clone.plan(&["--exit-code"], 1);
    let error = clone.complaint(&["--approve", "c/one"]);
    assert!(
        error.contains("--approve needs --prune, or --against a revision"),
        "{error}"
    );
}

/// The settings of a Fleet document hold as they do for the daemon.
#[test]
fn a_fleet_document_says_whether_objects_are_removed() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("fleet/a.yaml", &config_map("a", "x"));
    clone.write("fleet/b.yaml", &config_map("b", "x"));
    clone.commit("two");
    fs::remove_file(clone.path("fleet/b.yaml")).expect("removed");
    clone.commit("one");
    let fleet = |apply: &str| {
        let text = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec:\n  source: {{git: {{url: \"https://git.example/f\"}}}}\n  apply: {apply}\n"
        );
        clone.write("fleet-document.yaml", &text);
    };
    let against = [
        "fleet",
        "--against",
        "HEAD~1",
        "--fleet",
        "fleet-document.yaml",
    ];
    fleet("{prune: true}");
    let removed = clone.plan(&against, 0);
    fleet("{prune: false}");
    let kept = clone.plan(&against, 0);
    assert!(
        kept.contains("`spec.apply.prune` is off") && !removed.contains("prune"),
        "{kept}{removed}"
    );
}
