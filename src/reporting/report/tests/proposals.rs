//! Proposals, as tests make them of a whole fleet.

use super::*;
use crate::plan::Present;

/// The check of `new` as a proposal where `before` is applied.
pub(super) fn proposed(
    new: &Compiled,
    set: &ApplySet,
    before: Option<&Plan>,
    check: impl FnOnce(Proposal<'_>) -> Check,
) -> Check {
    let present = Present::of(before);
    let objects = |namespaces: &BTreeSet<&str>| {
        let objects = new.objects.iter();
        let near = objects.filter(|object| namespaces.contains(&*object.id.namespace));
        near.cloned().collect()
    };
    let digest = new.clone().digest(|object| present.propose(object, set));
    check(Proposal {
        digest: &digest,
        objects: &objects,
    })
}

#[test]
fn a_change_whose_lines_are_not_known_is_told_too() {
    let set = ApplySet::new("f", "default");
    let old = compiled(&config_map("a", "x"));
    let applied = plan::against_none(&old.objects, &old.graph, &set);
    let new = compiled(&config_map("a", "z"));
    let none = Approvals::default();
    let check = |before: Option<&Plan>| {
        proposed(&new, &set, before, |proposal| {
            super::super::plan(&Merge {
                fleet: set.fleet(),
                revision: "r",
                proposal,
                comparison: Comparison::Applied("o", Some(&applied)),
                base: None,
                approvals: &none,
                waiting: &BTreeSet::new(),
                prune: true,
                settle: Duration::ZERO,
                ways: ApprovalWays::default(),
            })
        })
    };
    let (with_lines, without) = (check(Some(&applied)), check(None));
    assert_eq!(without.title, with_lines.title);
    assert!(
        without.title.contains("1 object changed"),
        "{}",
        without.title
    );
}
