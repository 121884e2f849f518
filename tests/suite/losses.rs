//! What a pull request loses, over real pushes: a check that is not a success before somebody approves exactly that.

use capstan::adapters::git::Files;
use capstan::model::{Check, CheckState};

use crate::daemon::{DEFINITION, PLAN, SYNC, World, identity};

/// What the fleet has at first.
fn fleet() -> Files {
    let two = format!(
        "{DEFINITION}    replicas: 2\n  - {{name: mp2, version: 4.20.17, vmSize: Standard_D8s_v3, replicas: 3}}\n"
    );
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}\n";
    let all = serde_json::json!({});
    [
        ("clusters/one.yaml", two),
        ("clusters/two.yaml", named("two")),
        ("shared/namespace.yaml", namespace.to_owned()),
        ("shared/identity.yaml", identity(&all).to_string()),
    ]
    .map(|(path, text)| (path.to_owned(), text))
    .into()
}

fn named(name: &str) -> String {
    DEFINITION.replace("name: one", &format!("name: {name}"))
}

type Change = fn(&mut Files);

fn edit(files: &mut Files, path: &str, old: &str, new: &str) {
    let text = files.get_mut(path).expect("a file");
    assert!(text.contains(old), "{path} has no {old}");
    *text = text.replace(old, new);
}

/// A pull request: its branch, what it does, how its title begins, and what its text says.
const LOSSES: [(&str, Change, &str, &str); 7] = [
    (
        "removed",
        |files| drop(files.remove("clusters/two.yaml")),
        "needs approval: 1 cluster released",
        "- cluster clusters/two is released: it goes on running in Azure; nobody manages, patches or deletes it\n",
    ),
    (
        "pool-removed",
        |files| {
            edit(
                files,
                "clusters/one.yaml",
                "  - {name: mp2, version: 4.20.17, vmSize: Standard_D8s_v3, replicas: 3}\n",
                "",
            )
        },
        "needs approval: 1 pool deleted (3 nodes)",
        "- node pool clusters/one/mp2 is deleted: its 3 nodes and what runs on them go\n",
    ),
    (
        "pool-renamed",
        |files| edit(files, "clusters/one.yaml", "name: mp2", "name: mp3"),
        "needs approval: 1 pool renamed (3 nodes)",
        "- node pool clusters/one/mp2 is renamed to clusters/one/mp3: new nodes are made; of the old pool, its 3 nodes and what runs on them go\n",
    ),
    (
        "renamed",
        |files| edit(files, "clusters/two.yaml", "name: two", "name: three"),
        "needs approval: 1 cluster renamed",
        "- cluster clusters/two is renamed to clusters/three: a second cluster is made, which starts empty; the first goes on running in Azure; nobody manages, patches or deletes it\n",
    ),
    (
        "skipping",
        |files| edit(files, "clusters/two.yaml", "\"4.20\"", "\"4.23\""),
        "2 errors; 1 cluster refused",
        "U05",
    ),
    (
        "shared-removed",
        |files| {
            files.remove("shared/namespace.yaml");
            files.remove("shared/identity.yaml");
        },
        "2 errors; no fleet change",
        "U07 Namespace//clusters leaves the fleet, but is used by Cluster/clusters/one (clusters/one.yaml:",
    ),
    (
        "several",
        |files| {
            edit(files, "clusters/one.yaml", "    replicas: 2\n", "");
            edit(files, "clusters/one.yaml", "name: mp1", "name: mp9");
            edit(
                files,
                "clusters/one.yaml",
                "Standard_D4s_v3",
                "Standard_D16s_v3",
            );
            files.remove("clusters/two.yaml");
        },
        "needs approval: 1 cluster released, 1 pool renamed (2 nodes)",
        "`Capstan-Approve: rename clusters/one/mp1`",
    ),
];

#[test]
fn no_loss_is_green_before_somebody_approves_exactly_that() {
    let mut world = World::on(None);
    let first = world.push_saying("begin", "main", None, &fleet());
    world.start(3000);
    world.wait(&first, SYNC, CheckState::Success);
    for (branch, change, title, text) in LOSSES {
        let mut files = fleet();
        change(&mut files);
        let branch = format!("pr/{branch}");
        let head = world.push_saying("change it", &branch, Some(&first), &files);
        let check = world.wait(&head, PLAN, CheckState::Failure);
        assert!(check.title.starts_with(title), "{branch}: {}", check.title);
        assert!(check.summary.contains(text), "{branch}: {}", check.summary);
        assert!(!check.title.contains("about"), "{branch}: {}", check.title);
        // The check says what to write, and that is enough.
        let lines = check.summary.lines();
        let lines = lines.filter_map(|line| line.strip_prefix("- `Capstan-Approve: "));
        let lines: Vec<String> = lines
            .map(|line| format!("Capstan-Approve: {}\n", line.trim_end_matches('`')))
            .collect();
        assert_eq!(lines.is_empty(), title.contains("error"), "{branch}");
        if !lines.is_empty() {
            let message = format!("change it\n\n{}", lines.concat());
            let head = world.push_saying(&message, &branch, Some(&first), &files);
            let check = world.wait(&head, PLAN, CheckState::Success);
            let title = title.trim_start_matches("needs approval: ");
            assert!(check.title.starts_with(title), "{branch}: {}", check.title);
            assert!(
                check.summary.contains("when you squash"),
                "{}",
                check.summary
            );
        }
    }
    // What is no loss stays quiet: another name of a file.
    let mut files = fleet();
    let text = files.remove("clusters/two.yaml").expect("a file");
    files.insert("clusters/uk/two.yaml".to_owned(), text);
    let moved = world.push_saying("move it", "pr/moved", Some(&first), &files);
    let check = world.wait(&moved, PLAN, CheckState::Success);
    assert_eq!(check.title, "1 file moved");
}

/// The approval is in the commits of the pull request; whoever squashes writes a message of their own.
#[test]
fn an_approval_that_a_squash_dropped_is_asked_for_again() {
    let mut world = World::on(None);
    let first = world.push_saying("begin", "main", None, &fleet());
    world.start(3000);
    world.wait(&first, SYNC, CheckState::Success);
    let mut files = fleet();
    edit(&mut files, "clusters/two.yaml", "name: two", "name: three");
    let approving = "rename it\n\nCapstan-Approve: rename clusters/two\n";
    let head = world.push_saying(approving, "pr/rename", Some(&first), &files);
    world.wait(&head, PLAN, CheckState::Success);

    let squashed = world.push_saying("rename it (#1)", "main", Some(&first), &files);
    let check = world.wait(&squashed, SYNC, CheckState::Failure);
    says(
        &check,
        "- cluster clusters/two is kept: its rename to clusters/three needs approval\n",
    );
    says(&check, "`Capstan-Approve: rename clusters/two`");
    // A pull request that takes the rename back loses nothing: the new name was never made.
    let undo = world.push_saying("undo it", "pr/undo", Some(&squashed), &fleet());
    let check = world.wait(&undo, PLAN, CheckState::Success);
    assert_eq!(
        check.title,
        "takes 1 cluster back, and what changes of it is not known"
    );
    // Neither half happened, and a near miss is told from an approval.
    let near = "really\n\nCapstan-Approve: release clusters/two\n";
    let near = world.push_saying(near, "main", Some(&squashed), &files);
    let held = "Cluster/clusters/three failed: it is clusters/two under another name";
    let check = world.wait_saying(&near, SYNC, held);
    assert_eq!(check.state, CheckState::Failure);
    let again = world.push_saying(approving, "main", Some(&near), &files);
    let check = world.wait(&again, SYNC, CheckState::Success);
    says(&check, "the rename of clusters/two was approved by");
    says(&check, "Cluster/clusters/two: released");
}

/// A cluster was removed and nobody approved that. A later pull request has nothing to do with it, and may approve it.
#[test]
fn what_is_kept_shows_in_the_plan_of_a_later_pull_request() {
    let mut world = World::on(None);
    let first = world.push_saying("begin", "main", None, &fleet());
    world.start(3000);
    world.wait(&first, SYNC, CheckState::Success);
    let mut files = fleet();
    files.remove("clusters/two.yaml");
    let removed = world.push_saying("remove it", "main", Some(&first), &files);
    world.wait(&removed, SYNC, CheckState::Failure);
    let config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n";
    files.insert("a.yaml".to_owned(), config.to_owned());
    let head = world.push_saying("add it", "pr/other", Some(&removed), &files);
    let waits = "- cluster clusters/two is kept: its release needs approval\n";
    let check = world.wait_saying(&head, PLAN, waits);
    assert_eq!(check.state, CheckState::Success);
    assert_eq!(check.title, "1 object new");
    let approving = "add it\n\nCapstan-Approve: release clusters/two\n";
    let head = world.push_saying(approving, "pr/other", Some(&removed), &files);
    let check = world.wait_saying(&head, PLAN, "- cluster clusters/two is released: ");
    assert_eq!(check.title, "1 object new; approves 1 earlier loss");
    assert!(
        !check.summary.contains("approves nothing"),
        "{}",
        check.summary
    );
    let merged = world.push_saying(approving, "main", Some(&removed), &files);
    let check = world.wait(&merged, SYNC, CheckState::Success);
    says(&check, "the release of clusters/two was approved by");
}

/// Their control plane need not name its cluster, as in what people write before they know Capstan.
#[test]
fn a_hand_written_cluster_is_told_of_as_a_defined_one_is() {
    let rendered = std::process::Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args(["render", "tests/definition.yaml"])
        .output()
        .expect("it runs");
    let text = String::from_utf8(rendered.stdout).expect("UTF-8");
    let text = without_labels(&text);
    let mut world = World::on(None);
    let files = |text: &str| -> Files { [("hand.yaml".to_owned(), text.to_owned())].into() };
    let first = world.push_saying("begin", "main", None, &files(&text));
    world.start(3000);
    world.wait(&first, SYNC, CheckState::Success);
    let upgraded = text.replace("4.20.17", "4.20.18");
    let head = world.push_saying("upgrade", "pr/upgrade", Some(&first), &files(&upgraded));
    let check = world.wait(&head, PLAN, CheckState::Success);
    assert!(
        check.title.starts_with("1 pool rolled (2 nodes); about "),
        "{}",
        check.title
    );
    says(
        &check,
        "Touches 1 of 1 cluster: clusters/one; 2 nodes are replaced.",
    );
    says(&check, "**clusters/one**");
    let kept = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: default}}\n";
    let head = world.push_saying("remove", "pr/remove", Some(&first), &files(kept));
    let check = world.wait(&head, PLAN, CheckState::Failure);
    assert!(
        check
            .title
            .starts_with("needs approval: 1 cluster released"),
        "{}",
        check.title
    );
}

/// Objects without the labels that a definition gives them.
fn without_labels(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        let is_label = line.contains("cluster.x-k8s.io/cluster-name:")
            || line.contains("app.kubernetes.io/managed-by:");
        if !is_label {
            kept += line;
            kept.push('\n');
        }
    }
    kept.replace("  labels:\n", "")
}

#[track_caller]
fn says(check: &Check, words: &str) {
    assert!(check.summary.contains(words), "{}", check.summary);
}

/// The same of hosted clusters, which need not be in Azure.
#[test]
fn the_losses_of_hosted_clusters_are_no_success_either() {
    let example = |name: &str| {
        let root = env!("CARGO_MANIFEST_DIR");
        let path = format!("{root}/examples/hypershift/{name}.yaml");
        std::fs::read_to_string(path).expect("the example is readable")
    };
    let files: Files = ["kubevirt", "agent"]
        .map(|name| (format!("clusters/{name}.yaml"), example(name)))
        .into();
    let mut world = World::on(None);
    let first = world.push_saying("begin", "main", None, &files);
    world.start(3000);
    let done = world.wait(&first, SYNC, CheckState::Success);
    assert_eq!(done.title, "4/4 ready");
    let removed: Change = |files| drop(files.remove("clusters/agent.yaml"));
    let renamed: Change = |files| {
        edit(
            files,
            "clusters/kubevirt.yaml",
            "name: workers",
            "name: others",
        )
    };
    let immutable: Change = |files| {
        edit(
            files,
            "clusters/kubevirt.yaml",
            "lab.example.com",
            "other.example.com",
        )
    };
    for (branch, change, title, text) in [
        (
            "removed",
            removed,
            "needs approval: 1 cluster released",
            "- cluster clusters/lab-agent is released: it goes on running; nobody manages, patches or deletes it\n",
        ),
        (
            "renamed",
            renamed,
            "needs approval: 1 pool renamed (3 nodes)",
            "- node pool clusters/lab-kubevirt/workers is renamed to clusters/lab-kubevirt/others: new nodes are made; of the old pool, its 3 nodes and what runs on them go\n",
        ),
        ("immutable", immutable, "1 error", "U01"),
    ] {
        let mut changed = files.clone();
        change(&mut changed);
        let branch = format!("pr/{branch}");
        let head = world.push_saying("change it", &branch, Some(&first), &changed);
        let check = world.wait(&head, PLAN, CheckState::Failure);
        assert!(check.title.starts_with(title), "{branch}: {}", check.title);
        assert!(check.summary.contains(text), "{branch}: {}", check.summary);
    }
}
