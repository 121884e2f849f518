//! What checks say of commits, word for word.

mod asking;
mod base;
mod forks;
mod holders;
mod hostile;
mod kept;
mod pools;
mod proposals;
mod unread;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::parts::MOST_LINES;
use super::*;
use crate::api::fleet::DeletionGuard;
use crate::apply::AppliedState;
use crate::apply::{ClusterSummary, PruneStatus, Summary};
use crate::compile::{Allowed, Checked, Compiled, compile};
use crate::model::{Check, CheckDetail, CheckState, Finding, ObjectId, Tree};
use crate::plan::approvals::{Approval, Approvals, Doubt, ForkLines, How, What};
use crate::plan::{self, ApplySet, Plan};
use proposals::proposed;

fn compiled(text: &str) -> Compiled {
    let tree = Tree {
        files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
        ..Tree::default()
    };
    compile(&tree, &[])
}

/// The plan check of `new`, where `old` is applied.
fn check_of(new: &Compiled, old: Option<(&str, &Compiled)>) -> Check {
    let set = ApplySet::new("f", "default");
    let applied = old.map(|(name, old)| {
        let plan = plan::against_none(&old.objects, &old.graph, &set);
        (name, plan)
    });
    let applied = applied.as_ref().map(|(name, plan)| (*name, Some(plan)));
    merged(&set, new, applied, None, &Approvals::default())
}

/// The plan check of `new` merged onto `base`.
fn merged(
    set: &ApplySet,
    new: &Compiled,
    applied: Option<(&str, Option<&Plan>)>,
    base: Option<&Base>,
    approvals: &Approvals,
) -> Check {
    let before = applied.and_then(|(_, plan)| plan);
    proposed(new, set, before, |proposal| {
        super::plan(&Merge {
            fleet: set.fleet(),
            revision: "r",
            proposal,
            comparison: applied.map_or(Comparison::Nothing, |(name, plan)| {
                Comparison::Applied(name, plan)
            }),
            base,
            approvals,
            waiting: &BTreeSet::new(),
            prune: true,
            settle: Duration::from_secs(120),
            ways: ApprovalWays::default(),
        })
    })
}

fn tree(files: &[(&str, &str)]) -> Tree {
    let files = files.iter();
    let files = files.map(|(path, text)| (Arc::from(*path), Arc::from(text.as_bytes())));
    Tree {
        files: files.collect(),
        ..Tree::default()
    }
}

fn holdings(compiled: &Compiled) -> Holdings {
    let held = compiled.objects.iter().filter_map(HeldObject::of);
    Holdings::of(&held.collect::<Vec<_>>())
}

fn base_of(compiled: Compiled) -> Base {
    Base {
        name: "the branch main".to_owned(),
        commit: "abc".to_owned(),
        has_objects: !compiled.objects.is_empty(),
        holdings: Arc::new(holdings(&compiled)),
        findings: compiled.checked.findings.into(),
    }
}

/// The plan check of a fork's `new` on `base`, with these lines in its messages.
fn forked(new: &Compiled, base: Option<&Base>, is_partial: bool, lines: &ForkLines) -> Check {
    fork(&ForkMerge {
        fleet: "f",
        revision: "r",
        checked: new,
        holdings: &holdings(new),
        base,
        lines,
        is_partial,
        unread: &Holdings::default(),
        prune: true,
        allowed: DeletionGuard::default(),
    })
}

/// An approval of a deletion in a commit.
fn deletes(cluster: &str, commit: &str) -> Approval {
    Approval {
        what: What::deletion(cluster).expect("a name"),
        how: How::Trailer,
        who: "Ada <ada@example.com>".to_owned(),
        at: Some(jiff::Timestamp::UNIX_EPOCH),
        commit: commit.to_owned(),
    }
}

/// The check of a revision that is ready.
fn done() -> Check {
    let state = CheckState::Success;
    parts::check("c".to_owned(), "r", state, "3/3 ready", String::new())
}

fn config_map(name: &str, data: &str) -> String {
    format!(
        "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{k: {data}}}}}\n"
    )
}

fn id(name: &str) -> ObjectId {
    ObjectId::new("", "ConfigMap", "default", name)
}

fn summary(failed: Vec<(ObjectId, String)>) -> Summary {
    Summary {
        ready: 1,
        total: 3,
        stage: "Vault".to_owned(),
        left: Duration::from_secs(90),
        failed,
        terminal: false,
    }
}

#[test]
fn a_plan_says_what_is_created_changed_and_removed() {
    let old =
        compiled(&(config_map("same", "x") + &config_map("other", "x") + &config_map("gone", "x")));
    let new =
        compiled(&(config_map("new", "x") + &config_map("same", "x") + &config_map("other", "z")));
    let check = check_of(&new, Some(("abc", &old)));
    assert_eq!(
        (check.state, check.context.as_str()),
        (CheckState::Success, "capstan/f/plan")
    );
    assert_eq!(check.title, "1 object deleted, 1 changed, 1 new");
    assert_eq!(
        check.summary,
        "Compared with the applied revision abc.\n\nNo cluster is touched; no node goes or is replaced.\n\n- create ConfigMap/default/new\n- delete ConfigMap/default/gone\n\n**outside clusters**\n\n- `a.yaml:6`: `\"x\"` → `\"z\"`: `data.k of ConfigMap/default/other`\n\n"
    );
    let same = check_of(&old, Some(("abc", &old)));
    assert_eq!(same.title, "no fleet change");
    assert_eq!((same.state, same.detail), (CheckState::Success, None));
    let first = check_of(&old, None);
    assert_eq!(first.title, "3 objects new");
    let begins = "No revision is applied to compare it with.\n\nNo cluster is touched; no node goes or is replaced.\n\n- create ";
    assert!(first.summary.starts_with(begins), "{}", first.summary);
}

#[test]
fn a_plan_that_empties_the_fleet_fails() {
    let old = compiled(&config_map("a", "x"));
    let none = compiled("# nothing\n");
    let check = check_of(&none, Some(("abc", &old)));
    assert_eq!(check.state, CheckState::Failure);
    assert_eq!(check.title, "the fleet has no objects any more");
    let first = check_of(&none, None);
    assert_eq!(first.state, CheckState::Success);
}

/// A whole cluster with one node pool, which has two nodes.
fn cluster(version: &str, size: &str) -> Compiled {
    let text = include_str!("../../../../tests/definition.yaml");
    let text = text
        .replace("4.20.17", version)
        .replace("Standard_D4s_v3", size);
    compiled(&format!("{text}    replicas: 2\n"))
}

#[test]
fn a_plan_that_rolls_nodes_says_how_many_and_where() {
    let old = cluster("4.20.17", "Standard_D4s_v3");
    let check = check_of(&cluster("4.20.18", "Standard_D4s_v3"), Some(("o", &old)));
    assert_eq!(check.state, CheckState::Success);
    assert_eq!(
        check.title,
        "1 pool rolled (2 nodes); about 8 min; 1 warning"
    );
    let expected = "- a.yaml:14:14: U02 spec.properties.version.id of HcpOpenShiftClustersNodePool/clusters/one-mp1 changes from \"4.20.17\" to \"4.20.18\": an upgrade replaces every node of the node pool";
    assert!(check.summary.contains(expected), "{}", check.summary);
    let noted = &check.annotations[0];
    assert_eq!((noted.line, noted.level.as_str()), (14, "warning"));
}

#[test]
fn a_plan_that_would_replace_something_fails_at_its_line() {
    let old = cluster("4.20.17", "Standard_D4s_v3");
    let check = check_of(&cluster("4.20.18", "Standard_D8s_v3"), Some(("o", &old)));
    assert_eq!(check.state, CheckState::Failure);
    assert_eq!(check.title, "1 error; 1 pool replaced (2 nodes); 1 warning");
    let expected = "- a.yaml:15:13: U01 spec.properties.platform.vmSize of HcpOpenShiftClustersNodePool/clusters/one-mp1 cannot be changed from \"Standard_D4s_v3\" to \"Standard_D8s_v3\": Azure does not allow changes after the node pool is created (Capstan never replaces a cluster or a part of one: add it under a new name and remove the old one)";
    assert!(check.summary.contains(expected), "{}", check.summary);
    let noted = &check.annotations[0];
    assert_eq!((noted.line, noted.level.as_str()), (15, "error"));
}

/// Azure refuses them, and the plan has both values.
#[test]
fn versions_that_azure_refuses_fail_at_their_line() {
    let with = |cluster: &str, pool: &str| {
        let text = include_str!("../../../../tests/definition.yaml");
        let text = text.replace("\"4.20\"", &format!("{cluster:?}"));
        compiled(&text.replace("4.20.17", pool))
    };
    for (old, new, title) in [
        (
            ("4.21", "4.20.17"),
            ("4.20", "4.20.17"),
            "1 error; 1 cluster refused",
        ),
        (
            ("4.20", "4.20.17"),
            ("4.23", "4.20.17"),
            "2 errors; 1 cluster refused",
        ),
        (
            ("4.20", "4.20.17"),
            ("4.20", "4.21.3"),
            "1 error; 1 pool rolled",
        ),
    ] {
        let (old, new) = (with(old.0, old.1), with(new.0, new.1));
        let check = check_of(&new, Some(("o", &old)));
        assert_eq!(check.state, CheckState::Failure, "{title}");
        assert!(check.title.starts_with(title), "{}", check.title);
    }
    let check = check_of(
        &with("4.21", "4.20.17"),
        Some(("o", &with("4.20", "4.20.17"))),
    );
    assert_eq!(check.state, CheckState::Success, "{}", check.summary);
}

/// Git would no longer describe the fleet.
#[test]
fn what_others_use_does_not_leave_without_a_word() {
    let text = include_str!("../../../../tests/definition.yaml");
    let namespace = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}\n";
    let old = compiled(&format!("{text}{namespace}"));
    let check = check_of(&compiled(text), Some(("o", &old)));
    assert_eq!(check.state, CheckState::Failure);
    assert_eq!(check.title, "1 error; no fleet change");
    let line = "U07 Namespace//clusters leaves the fleet, but is used by Cluster/clusters/one (a.yaml:4), ";
    assert!(check.summary.contains(line), "{}", check.summary);
}

/// What a line sets in many objects is one finding and one entry.
#[test]
fn a_changed_line_is_reported_once() {
    let text = include_str!("../../../../tests/definition.yaml");
    let moved = compiled(&text.replace("uksouth", "ukwest"));
    let check = check_of(&moved, Some(("o", &compiled(text))));
    assert_eq!(check.annotations.len(), 1, "{}", check.summary);
    let noted = &check.annotations[0];
    assert_eq!((noted.line, noted.level.as_str()), (7, "error"));
    assert!(
        noted
            .message
            .contains("fields cannot be changed from \"uksouth\" to \"ukwest\": spec.location of "),
        "{}",
        noted.message
    );
    let entry = "**clusters/one**\n\n- `a.yaml:7`, which cannot be changed (";
    assert_eq!(check.summary.matches(entry).count(), 1, "{}", check.summary);
    assert_eq!(
        check.summary.matches("- `a.yaml:").count(),
        1,
        "{}",
        check.summary
    );
}

#[test]
fn a_plan_with_errors_says_only_those_with_their_lines() {
    let broken = compiled("kind: ConfigMap\n");
    let check = check_of(&broken, None);
    assert_eq!(
        (check.state, check.title.as_str()),
        (CheckState::Failure, "1 error")
    );
    assert!(
        check.summary.starts_with("- a.yaml:1:1: Y09 "),
        "{}",
        check.summary
    );
    assert_eq!(check.annotations.len(), 1);
    let refused = refused("f", "r", &broken, Some("abc"));
    assert_eq!(refused.title, "not applied: 1 error");
    assert!(
        refused
            .summary
            .starts_with("The last good revision abc stays applied.")
    );
}

#[test]
fn progress_lists_clusters_failures_and_what_is_left_behind() {
    let cluster = ClusterSummary {
        id: ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", "one"),
        summary: summary(Vec::new()),
        elapsed: Duration::ZERO,
    };
    let bad = |name: &str| (id(name), "Bad:\n  |very| bad. Make it good".to_owned());
    let failed = vec![bad("a"), bad("b")];
    let graph = compiled(&(config_map("other", "x") + &config_map("a", "x"))).graph;
    let (state, summary) = (CheckState::Pending, summary(failed));
    let leaving = BTreeMap::from([
        (id("gone"), PruneStatus::Gone),
        (id("kept"), PruneStatus::Held("it is needed".to_owned())),
        (id("later"), PruneStatus::ReleaseAfter(id("other"))),
    ]);
    let shown = (&summary, &[cluster][..]);
    let check = progress("f", "r", state, shown, &leaving, &graph);
    let annotation = &check.annotations[0];
    assert_eq!((&*annotation.path, annotation.line), ("a.yaml", 4));
    assert_eq!(
        check.title,
        "1/3 ready, ConfigMap/default/a failed: Bad: |very| bad; 1 object no longer in the fleet but kept"
    );
    assert_eq!(
        check.summary,
        "\
| cluster | ready | waiting for |
|---|---|---|
| one | 1/3 | Vault |

- ConfigMap/default/a (a.yaml:4), ConfigMap/default/b failed: Bad: |very| bad. Make it good

No longer in the fleet:

- ConfigMap/default/gone: deleted
- ConfigMap/default/kept: kept: it is needed
- ConfigMap/default/later: waits for ConfigMap/default/other to be released
"
    );
}

#[test]
fn a_plan_says_what_becomes_of_a_cluster_that_leaves() {
    let cluster = |name: &str, policy: &str| {
        format!(
            "---\n{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: {name}, namespace: c, annotations: {{capstan.dev/deletion-policy: {policy}}}}}}}\n"
        )
    };
    let old =
        compiled(&(config_map("a", "x") + &cluster("one", "Orphan") + &cluster("two", "Delete")));
    let new = compiled(&config_map("a", "x"));
    let check = check_of(&new, Some(("abc", &old)));
    let expected = "2 losses need approval:\n\n- cluster c/one is released: it goes on running in Azure; nobody manages, patches or deletes it\n- cluster c/two is deleted: what runs on it goes\n\nTo approve, push a commit whose message ends in these lines, and repeat the lines in the message of a merge or a squash:\n\n- `Capstan-Approve: release c/one`\n- `Capstan-Approve: delete c/two`\n";
    assert!(check.summary.contains(expected), "{}", check.summary);
}

#[test]
fn a_cluster_that_is_released_takes_its_parts_along() {
    let part = |group: &str, kind: &str, annotations: &str| {
        format!(
            "---\n{{apiVersion: {group}, kind: {kind}, metadata: {{name: one, namespace: c, labels: {{cluster.x-k8s.io/cluster-name: one}}, annotations: {{{annotations}}}}}}}\n"
        )
    };
    let orphan = "capstan.dev/deletion-policy: Orphan";
    let parts = part("cluster.x-k8s.io/v1beta2", "Cluster", orphan)
        + &part("cluster.x-k8s.io/v1beta2", "MachinePool", "")
        + &part(
            "infrastructure.cluster.x-k8s.io/v1beta2",
            "AROMachinePool",
            "",
        );
    let old = compiled(&(config_map("a", "x") + &parts));
    let set = ApplySet::new("f", "default");
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let released = Approvals {
        given: vec![Approval::flag(
            What::parse("release c/one").expect("a name"),
        )],
        ..Approvals::default()
    };
    let new = compiled(&config_map("a", "x"));
    let check = merged(&set, &new, Some(("abc", Some(&before))), None, &released);
    assert_eq!(check.title, "1 cluster released");
    let expected = "Approved:\n\n- cluster c/one is released: it goes on running in Azure; nobody manages, patches or deletes it\n";
    assert!(check.summary.contains(expected), "{}", check.summary);
    // Its parts are no news of their own.
    assert!(!check.summary.contains("MachinePool"), "{}", check.summary);
}

#[test]
fn lists_do_not_grow_without_end() {
    let leaving: BTreeMap<ObjectId, PruneStatus> = (0..MOST_LINES + 7)
        .map(|at| {
            (
                id(&format!("c{at}")),
                PruneStatus::Deleting("being deleted, held by a".to_owned()),
            )
        })
        .collect();
    let check = progress(
        "f",
        "r",
        CheckState::Success,
        (&summary(Vec::new()), &[]),
        &leaving,
        &compiled("").graph,
    );
    assert!(
        check.summary.ends_with("- and 7 more\n"),
        "{}",
        check.summary
    );
    assert_eq!(check.summary.matches("- ").count(), MOST_LINES + 1);
    assert!(
        check.summary.contains(": being deleted, held by a\n"),
        "{}",
        check.summary
    );
}

#[test]
fn kinds_that_cannot_be_seen_are_in_the_check() {
    let bare = || stuck("f", "r", CheckState::Pending, "why");
    assert_eq!(unseen(bare(), &BTreeMap::new()), bare());
    let kind = ("resources.azure.com".to_owned(), "ResourceGroup".to_owned());
    let why = "cannot call a webhook of the cluster: <b>no</b>".to_owned();
    let check = unseen(bare(), &[(kind, why)].into());
    let line = "\nNot seen:\n\n- ResourceGroup: cannot call a webhook of the cluster: ";
    assert!(check.summary.contains(line), "{}", check.summary);
    assert!(check.summary.contains("\\<b>no"), "{}", check.summary);
}

#[test]
fn only_the_commit_s_own_faults_are_failures() {
    let fault = |message: &str, is_of_the_commit| Fault {
        summary: "the revision cannot be read",
        message: message.to_owned(),
        is_of_the_commit,
    };
    let path = fault("no directory \"fleet\" in commit r", true);
    let check = unreadable("f", "r", &path, None);
    assert_eq!(check.state, CheckState::Failure);
    assert!(
        check
            .summary
            .starts_with("Nothing is applied: no good revision is known.")
    );
    assert!(
        check.summary.contains("no directory \"fleet\""),
        "{}",
        check.summary
    );
    let bug = broken_plan("f", "r", &fault("a bug; please report it", false));
    assert_eq!(bug.state, CheckState::Error);
    assert_eq!(bug.summary, "a bug; please report it");
}

#[test]
fn what_is_suspended_says_since_when_and_how_to_go_on() {
    let check = superseded("f", "r", "0123456789abcdef", "1/3 ready");
    let paused = paused("f", check.clone(), "then", &AppliedState::This);
    assert_eq!(paused.title, format!("suspended; {}", check.title));
    let text = "The fleet has been suspended since then: nothing is applied, repaired or removed. `capstan resume --name f` continues.\n\n";
    assert_eq!(paused.summary, format!("{text}{}", check.summary));
}

#[test]
fn what_was_superseded_says_by_what() {
    let check = superseded("f", "r", "0123456789abcdef", "1/3 ready");
    assert_eq!(check.title, "superseded by 0123456789 at 1/3 ready");
    assert_eq!(check.detail, Some(CheckDetail::Superseded));
}

#[test]
fn what_an_overlay_brings_is_told_once_with_its_clusters() {
    let mut finding = Finding::warning("N08", "too new");
    finding.clusters = ["n/a", "n/b"].map(str::to_owned).to_vec();
    let finding = finding.at(&crate::model::Span::new(&Arc::from("o.yaml"), 3, 1, 2));
    let compiled = Compiled::from(Checked {
        findings: vec![finding],
        ..Checked::default()
    });
    let check = check_of(&compiled, None);
    assert_eq!(check.annotations[0].message, "N08 too new, in n/a and n/b");
    let line = "- o.yaml:3:1: N08 too new, in n/a and n/b\n";
    assert!(check.summary.starts_with(line), "{}", check.summary);
}

#[test]
fn what_is_allowed_is_told_with_its_reason() {
    let span = crate::model::Span::new(&Arc::from("a.yaml"), 3, 1, 2);
    let compiled = Compiled::from(Checked {
        allowed: vec![Allowed {
            finding: Finding::warning("N08", "too new").at(&span),
            reason: "we follow".to_owned(),
            by: span,
        }],
        ..Checked::default()
    });
    let expected = "\n1 warning allowed:\n\n- N08 too new: we follow\n";
    for check in [
        check_of(&compiled, None),
        refused("f", "r", &compiled, None),
    ] {
        assert!(check.summary.ends_with(expected), "{}", check.summary);
        assert!(check.annotations.is_empty());
    }
}

#[test]
fn a_deletion_without_approval_fails_and_says_what_to_write() {
    let cluster = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: two, namespace: c, annotations: {capstan.dev/deletion-policy: Delete}}}\n";
    let set = ApplySet::new("f", "default");
    let old = compiled(&(config_map("a", "x") + cluster));
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let new = compiled(&config_map("a", "x"));
    let of =
        |approvals: &Approvals| merged(&set, &new, Some(("o", Some(&before))), None, approvals);
    let check = of(&Approvals::default());
    assert_eq!(
        (check.state, check.detail),
        (CheckState::Failure, Some(CheckDetail::Approval))
    );
    assert_eq!(check.title, "needs approval: 1 cluster deleted");
    let text = "1 loss needs approval:\n\n- cluster c/two is deleted: what runs on it goes\n\nTo approve, push a commit whose message ends in this line, and repeat the line in the message of a merge or a squash:\n\n- `Capstan-Approve: delete c/two`\n\n";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    let approved = Approvals {
        given: vec![deletes("c/two", "0123456789abcdef")],
        own: [What::deletion("c/two").expect("a name")].into(),
        ..Approvals::default()
    };
    let check = of(&approved);
    assert_eq!((check.state, check.detail), (CheckState::Success, None));
    assert_eq!(check.title, "1 cluster deleted; about 10 min");
    let line = "Approved:\n\n- cluster c/two is deleted: what runs on it goes\n\n- the deletion of c/two was approved by Ada \\<ada@example.com> in the message of 0123456789\n\nKeep this line at the end of the message when you squash:\n\n- `Capstan-Approve: delete c/two`\n\n";
    assert!(check.summary.starts_with(line), "{}", check.summary);
    let mistyped = Approvals {
        own: [What::deletion("c/tow").expect("a name")].into(),
        unclear: vec!["Capstan-Aprove: delete c/two".to_owned()],
        ..approved
    };
    let check = of(&mistyped);
    assert_eq!(check.detail, Some(CheckDetail::Warnings));
    for line in [
        "- \"Capstan-Aprove: delete c/two\" is not an approval: in the last paragraph of a commit message, write `Capstan-Approve: delete NAMESPACE/NAME`\n",
        "- \"Capstan-Approve: delete c/tow\" approves nothing: no cluster of that name leaves the fleet\n",
    ] {
        assert!(check.summary.contains(line), "{}", check.summary);
    }
}

#[test]
fn a_plan_says_which_clusters_it_touches_and_how_long_it_takes() {
    let first = check_of(&cluster("4.20.17", "Standard_D4s_v3"), None);
    assert_eq!(first.title, "1 cluster new; about 21 min");
    let reach = "Touches 1 of 1 cluster: clusters/one; 2 nodes are new. It takes about 21 min until all is ready, as long as Azure usually needs.\n";
    assert!(first.summary.contains(reach), "{}", first.summary);
}
