//! Losses of earlier revisions that nobody approved yet.

use super::*;

/// The plan check of a change that has nothing to do with the loss, whose commits say `own`.
fn told(waiting: &[&str], own: &[&str], old: &str, new: &str) -> Check {
    let set = ApplySet::new("f", "default");
    let old = compiled(old);
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let parsed = |all: &[&str]| -> BTreeSet<What> {
        let all = all.iter().map(|one| What::parse(one).expect("a loss"));
        all.collect()
    };
    let own = parsed(own);
    let given = own.iter().map(|what| Approval {
        what: what.clone(),
        ..deletes("c/any", "0123456789abcdef")
    });
    super::super::plan(&Merge {
        set: &set,
        revision: "r",
        compiled: &compiled(new),
        comparison: Comparison::Applied("o", Some(&before)),
        base: None,
        approvals: &Approvals {
            given: given.collect(),
            own: own.clone(),
            ..Approvals::default()
        },
        waiting: &parsed(waiting),
        prune: true,
        settle: Duration::ZERO,
        ways: ApprovalWays::default(),
    })
}

fn changed(waiting: &[&str], own: &[&str]) -> Check {
    told(waiting, own, &config_map("a", "x"), &config_map("a", "z"))
}

#[test]
fn a_plan_names_what_waits_since_an_earlier_revision_and_does_not_fail() {
    let check = changed(&["release c/one"], &[]);
    assert_eq!((check.state, check.detail), (CheckState::Success, None));
    assert_eq!(check.title, "1 object changed");
    assert_eq!(check.button, None);
    let text = "1 loss waits for approval since an earlier revision, and not because of this commit:\n\n- cluster c/one is kept: its release needs approval\n\nTo approve it here, end the message of a commit and of a merge or a squash in this line:\n\n- `Capstan-Approve: release c/one`\n\n";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    let check = changed(&["delete c/one", "delete c/two/mp1"], &[]);
    let text = "2 losses wait for approval since an earlier revision";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    assert!(
        !changed(&[], &[])
            .summary
            .contains("since an earlier revision")
    );
}

#[test]
fn a_line_that_approves_what_waits_is_of_use() {
    let check = changed(&["release c/one"], &["release c/one"]);
    assert_eq!((check.state, check.detail), (CheckState::Success, None));
    assert_eq!(check.title, "1 object changed; approves 1 earlier loss");
    let text = "- the release of c/one was approved by Ada \\<ada@example.com> in the message of 0123456789\n\nApproved, and done once this is merged, although it left the fleet with an earlier revision:\n\n- cluster c/one is released: it goes on running in Azure; nobody manages, patches or deletes it\n\nKeep this line at the end of the message when you squash:\n\n- `Capstan-Approve: release c/one`\n\n";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    // What is nearly right is not useless, either.
    let check = changed(&["release c/one"], &["delete c/one"]);
    assert_eq!(check.detail, Some(CheckDetail::Warnings));
    let line = "approves nothing: what needs approval is its release. Write `Capstan-Approve: release c/one`";
    assert!(check.summary.contains(line), "{}", check.summary);
    let check = changed(&[], &["release c/one"]);
    let line = "approves nothing: no cluster of that name leaves the fleet";
    assert!(check.summary.contains(line), "{}", check.summary);
}

#[test]
fn what_comes_back_does_not_wait_any_more() {
    let cluster = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: one, namespace: c}}\n";
    let old = config_map("a", "x");
    let check = told(&["release c/one"], &[], &old, &(old.clone() + cluster));
    let text = "Kept in the cluster since an earlier revision, so that this commit takes it back and makes no new one:\n\n- cluster c/one\n\n";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    assert!(!check.summary.contains("waits for approval"));
}
