//! Losses of earlier revisions that nobody approved yet.

use super::*;
use crate::apply::Unapproved;
use crate::plan::losses::Unit;

fn parsed(what: &str) -> What {
    What::parse(what).expect("a loss")
}

/// A loss as an approval names it, with the new name behind `->`.
fn loss(text: &str) -> Unapproved {
    let (what, to) = match text.split_once(" -> ") {
        Some((what, to)) => (what, Some(to)),
        None => (text, None),
    };
    let what = parsed(what);
    let (verb, unit) = what.loss().expect("a loss of one");
    Unapproved {
        verb,
        unit: unit.clone(),
        to: to.map(|to| Box::new(Unit::parse(to).expect("a unit"))),
        without_commits: false,
    }
}

/// The plan check of a change that has nothing to do with the loss, whose commits say `own`.
fn told(waiting: &[&str], own: &[&str], old: &str, new: &str) -> Check {
    let set = ApplySet::new("f", "default");
    let old = compiled(old);
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let mut new = compiled(new);
    new.findings.clear();
    let own: BTreeSet<What> = own.iter().map(|one| parsed(one)).collect();
    let given = own.iter().map(|what| Approval {
        what: what.clone(),
        ..deletes("c/any", "0123456789abcdef")
    });
    proposed(&new, &set, Some(&before), |proposal| {
        super::super::plan(&Merge {
            fleet: "f",
            revision: "r",
            proposal,
            comparison: Comparison::Applied("o", Some(&before)),
            base: None,
            approvals: &Approvals {
                given: given.collect(),
                own: own.clone(),
                ..Approvals::default()
            },
            waiting: &waiting.iter().map(|one| loss(one)).collect(),
            prune: true,
            settle: Duration::ZERO,
            ways: ApprovalWays::default(),
        })
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
    let text = "Kept in the cluster since an earlier revision, so that this commit takes it back and makes no new one. This plan does not know what its files change of it, such as a pool that they leave out; `capstan plan --against live` does:\n\n- cluster c/one\n\n";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    assert!(!check.summary.contains("waits for approval"));
    assert!(!check.summary.contains("create"), "{}", check.summary);
    assert_eq!(
        check.title,
        "takes 1 cluster back, and what changes of it is not known"
    );
}

/// A cluster and its network, in a resource group that stays.
fn cluster(name: &str) -> String {
    format!(
        "---
apiVersion: redhatopenshift.azure.com/v1api20240610preview
kind: HcpOpenShiftCluster
metadata: {{name: {name}, namespace: c}}
spec:
  owner: {{name: rg}}
  location: uksouth
  properties:
    version: {{id: '4.20', channelGroup: stable}}
    platform: {{outboundType: LoadBalancer, subnetReference: {{name: s}}}}
    api: {{visibility: Public}}
    network: {{hostPrefix: 23}}
"
    )
}

#[test]
fn what_was_never_made_is_not_lost() {
    let fleet = |name: &str| config_map("a", "x") + &cluster(name);
    let waiting = ["rename c/one -> c/two"];
    // The rename is taken back.
    let check = told(&waiting, &[], &fleet("two"), &fleet("one"));
    let warned = (CheckState::Success, Some(CheckDetail::Warnings));
    assert_eq!((check.state, check.detail), warned);
    assert_eq!(
        check.title,
        "takes 1 cluster back, and what changes of it is not known"
    );
    assert!(!check.summary.contains("create"), "{}", check.summary);
    assert!(!check.summary.contains("c/two"), "{}", check.summary);
    // Both names: the second cluster is made.
    let both = fleet("one") + &cluster("two");
    let check = told(&waiting, &[], &fleet("two"), &both);
    assert!(check.title.starts_with("1 cluster new"), "{}", check.title);
    assert!(
        check.title.contains("takes 1 cluster back"),
        "{}",
        check.title
    );
    // The cluster gets a third name.
    let check = told(&waiting, &[], &fleet("two"), &fleet("three"));
    assert_eq!(check.detail, Some(CheckDetail::Approval));
    assert_eq!(check.title, "needs approval: 1 cluster renamed");
    let line = "cluster c/one is renamed to c/three: a second cluster is made, which starts empty; the first goes on running in Azure";
    assert!(check.summary.contains(line), "{}", check.summary);
    assert!(!check.summary.contains("c/two"), "{}", check.summary);
    assert!(
        !check.summary.contains("earlier revision"),
        "{}",
        check.summary
    );
    let check = told(&waiting, &["rename c/one"], &fleet("two"), &fleet("three"));
    assert_eq!((check.state, check.detail), (CheckState::Success, None));
    // It goes altogether.
    let check = told(&waiting, &[], &fleet("two"), &config_map("a", "x"));
    assert_eq!(check.title, "needs approval: 1 cluster released");
    let line = "`Capstan-Approve: release c/one`";
    assert!(check.summary.contains(line), "{}", check.summary);
    assert!(!check.summary.contains("c/two"), "{}", check.summary);
    // Another change has nothing to do with it.
    let check = told(
        &waiting,
        &[],
        &fleet("two"),
        &(fleet("two") + &config_map("b", "y")),
    );
    assert_eq!(check.title, "1 object new");
    let line = "cluster c/one is kept: its rename to c/two needs approval";
    assert!(check.summary.contains(line), "{}", check.summary);
}
