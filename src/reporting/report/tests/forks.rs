//! What the check of a fork says: its findings, what leaves with its files, and lines that would approve something.

use super::*;

const OTHERS: &str = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: two, namespace: c, annotations: {capstan.dev/deletion-policy: Delete}}}\n---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: three, namespace: c}}\n";

/// The definition of a cluster with these node pools.
fn definition(pools: &[&str]) -> String {
    let text = include_str!("../../../../tests/definition.yaml");
    let (before, pool) = text
        .find("  - name: mp1")
        .and_then(|at| text.split_at_checked(at))
        .expect("a pool");
    let pools = pools.iter().map(|name| pool.replace("mp1", name));
    before.to_owned() + &pools.collect::<String>()
}

fn none() -> ForkLines {
    ForkLines::default()
}

#[test]
fn a_fork_is_told_its_findings_and_nothing_of_what_is_applied() {
    let base = base_of(compiled(&config_map("a", "x")));
    let of = |text: &str, is_partial| forked(&compiled(text), Some(&base), is_partial, &none());
    let good = of(&config_map("b", "x"), false);
    assert_eq!((good.state, good.detail), (CheckState::Success, None));
    assert_eq!(
        good.title,
        "no errors; from a fork, so only its files were checked"
    );
    assert_eq!(
        good.summary,
        "No branch of the repository has this commit, so it is treated as a fork's: only its files were checked. Secrets, the cluster, what is applied, tenants and approvals were not looked at.\n\n"
    );
    let bad = of("kind: ConfigMap\n", false);
    assert_eq!((bad.state, bad.annotations.len()), (CheckState::Failure, 1));
    assert!(
        bad.title.starts_with("1 error; from a fork"),
        "{}",
        bad.title
    );
    // An overlay of the daemon's machine may mend it.
    let partial = of("kind: ConfigMap\n", true);
    let warned = (CheckState::Success, Some(CheckDetail::Warnings));
    assert_eq!((partial.state, partial.detail), warned);
    // Nobody knows what it had.
    let alone = forked(&compiled(&config_map("b", "x")), None, false, &none());
    assert_eq!((alone.state, alone.detail), warned);
    assert!(
        alone
            .summary
            .contains("nobody compared which clusters leave")
    );
}

#[test]
fn a_fork_that_empties_the_fleet_fails_as_a_branch_does() {
    let base = base_of(compiled(&config_map("a", "x")));
    let emptied = forked(&compile(&Tree::default(), &[]), Some(&base), false, &none());
    assert_eq!(emptied.state, CheckState::Failure);
    assert_eq!(emptied.title, "the fleet has no objects any more");
    assert!(emptied.summary.contains("Restore the files"));
    let empty = base_of(compile(&Tree::default(), &[]));
    let still = forked(
        &compile(&Tree::default(), &[]),
        Some(&empty),
        false,
        &none(),
    );
    assert_eq!(still.state, CheckState::Success, "it was so before");
}

#[test]
fn the_clusters_and_pools_that_leave_with_the_files_of_a_fork_are_listed() {
    let all = definition(&["mp1", "mp2"]) + OTHERS;
    let base = base_of(compiled(&all));
    let of = |text: &str| forked(&compiled(text), Some(&base), false, &none());
    let approval = (CheckState::Failure, Some(CheckDetail::Approval));
    let kept = of(&all);
    assert_eq!((kept.state, kept.detail), (CheckState::Success, None));

    // A definition with its pools, and hand-written ones.
    let gone = of(&config_map("a", "x"));
    assert_eq!((gone.state, gone.detail), approval);
    assert!(
        gone.title
            .starts_with("3 clusters leave the fleet; no errors; from a fork"),
        "{}",
        gone.title
    );
    let lines = "Leaves the fleet with these files:\n\n- cluster c/two: deleted, once somebody who may write to the repository approves (`Capstan-Approve: delete c/two`)\n- cluster c/three: released; it goes on running in Azure, and nobody manages, patches or deletes it, once somebody who may write to the repository approves (`Capstan-Approve: release c/three`)\n- cluster clusters/one: released; it goes on running in Azure, and nobody manages, patches or deletes it, once somebody who may write to the repository approves (`Capstan-Approve: release clusters/one`)\n\n";
    assert!(gone.summary.contains(lines), "{}", gone.summary);

    let two = OTHERS.split("---\n").nth(1).unwrap_or_default();
    let released = of(&(definition(&["mp1", "mp2"]) + "---\n" + two));
    assert_eq!((released.state, released.detail), approval);
    assert!(released.title.starts_with("1 cluster leaves the fleet; "));

    let without_pool = of(&(definition(&["mp1"]) + OTHERS));
    assert_eq!((without_pool.state, without_pool.detail), approval);
    assert!(
        without_pool
            .title
            .starts_with("1 node pool leaves the fleet; ")
    );
    let line = "- node pool clusters/one/mp2: deleted, with its nodes, once somebody who may write to the repository approves (`Capstan-Approve: delete clusters/one/mp2`)\n";
    assert!(without_pool.summary.contains(line), "{without_pool:#?}");

    // Its files have errors that an overlay of the daemon's machine may mend.
    let partial = forked(&compiled("kind: ConfigMap\n"), Some(&base), true, &none());
    assert_eq!((partial.state, partial.detail), approval);
    let line = "Leaves the fleet with these files, where what cannot be read counts as gone:";
    assert!(partial.summary.contains(line), "{partial:#?}");
}

#[test]
fn what_is_not_removed_needs_no_approval() {
    let base = base_of(compiled(&(config_map("a", "x") + OTHERS)));
    let new = compiled(&config_map("a", "x"));
    let of = |prune, max_clusters| {
        let allowed = DeletionGuard {
            max_clusters,
            ..DeletionGuard::default()
        };
        fork(&ForkMerge {
            fleet: "f",
            revision: "r",
            checked: &new,
            holdings: &holdings(&new),
            base: Some(&base),
            lines: &none(),
            is_partial: false,
            unread: &Holdings::default(),
            prune,
            allowed,
        })
    };
    let warned = (CheckState::Success, Some(CheckDetail::Warnings));
    let (kept, allowed) = (of(false, 0), of(true, 2));
    assert_eq!((kept.state, kept.detail), warned);
    assert_eq!((allowed.state, allowed.detail), warned);
    let line = "- cluster c/two: kept in the cluster, since `spec.apply.prune` is off\n";
    assert!(kept.summary.contains(line), "{}", kept.summary);
}

#[test]
fn a_line_of_a_fork_that_would_approve_something_is_quoted_and_fails() {
    let base = base_of(compiled(&config_map("a", "x")));
    let new = compiled(&config_map("a", "z"));
    let lines = ForkLines {
        approving: vec!["Capstan-Approve: delete c/two".to_owned()],
        unclear: vec!["> Capstan-Approve: delete c/one".to_owned()],
    };
    let check = forked(&new, Some(&base), true, &lines);
    assert_eq!((check.state, check.detail), (CheckState::Failure, None));
    let title =
        "1 line of a fork approves nothing; no errors; from a fork, so only its files were checked";
    assert_eq!(check.title, title);
    for line in [
        "- \"Capstan-Approve: delete c/two\" approves nothing in the commit of a fork. Remove it: a squash or a rebase would carry it over\n",
        "Capstan-Approve: delete c/one\" looks like an approval and is none\n",
    ] {
        assert!(check.summary.contains(line), "{}", check.summary);
    }
    let unclear = ForkLines {
        approving: Vec::new(),
        ..lines
    };
    let check = forked(&new, Some(&base), false, &unclear);
    let warned = (CheckState::Success, Some(CheckDetail::Warnings));
    assert_eq!((check.state, check.detail), warned);
}
