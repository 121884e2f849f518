//! Random courses. Whatever happens, at rest: every head has one check, which has ended; what is applied is the newest good
//! commit; and no restart changes that. At any time: nothing is applied that was not accepted, a check that has ended is not
//! pending again unless somebody asked, and the followed ref does not wait for a candidate.

#![allow(clippy::unwrap_used)]

mod world;

use proptest::prelude::*;

use self::world::{Kind, LIMITS, PLAN, Proposal, SYNC, World};
use crate::model::CheckState;

fn step(world: &mut World, what: u8, which: u8) {
    let which = usize::from(which);
    match what % 32 {
        0..10 => world.end(which),
        10..14 => world.pass_time(),
        14 | 15 => world.push(Kind::Good),
        16 => world.push(Kind::Broken),
        17 => world.push(Kind::Empty),
        18 => world.push(Kind::Hidden(3)),
        19 => world.push_back(),
        20 => world.propose(which, Proposal::Good),
        21 => world.propose(which, Proposal::Conflict),
        22 => world.propose(which, Proposal::Passing(2)),
        23 => world.propose(which, Proposal::Hostile),
        24 => world.propose(which, Proposal::Deletes),
        25 => world.propose(which, Proposal::Approves),
        26 => world.close_proposal(which % 4),
        27 => world.hint(),
        28 => world.rerun(which % 5),
        29 => match which % 4 {
            0 => world.suspend(true),
            1 => world.suspend(false),
            2 => world.comment(),
            _ => world.press(),
        },
        30 => match which % 3 {
            0 => world.is_forge_away = true,
            1 => world.is_forge_away = false,
            _ => world.end_runner(),
        },
        _ => world.restart(),
    }
}

/// What the check of the followed commit says in the end.
fn expected(kind: Kind, is_check_only: bool) -> CheckState {
    match kind {
        Kind::Good | Kind::Hidden(_) => CheckState::Success,
        Kind::Empty if is_check_only => CheckState::Success,
        Kind::Broken | Kind::Empty => CheckState::Failure,
    }
}

fn check(steps: &[(u8, u8)], is_check_only: bool) -> Result<(), TestCaseError> {
    let mut world = World::new(is_check_only);
    for (what, which) in steps {
        step(&mut world, *what, *which);
    }
    world.come_to_rest();
    prop_assert_eq!(&world.faults, &Vec::<String>::new());
    let (head, kind) = world.history.last().unwrap().clone();
    let sync = world.check(SYNC, &head).map(|check| check.state);
    let wanted = expected(kind, is_check_only);
    prop_assert_eq!(sync, Some(wanted), "{:?} {}", kind, head);
    if wanted == CheckState::Success && !is_check_only {
        prop_assert_eq!(world.applied.as_ref(), Some(&head));
    }
    for (name, (commit, proposal)) in &world.proposals {
        let plan = world.check(PLAN, commit);
        let state = plan.map(|check| check.state);
        let expected = match proposal {
            Proposal::Conflict => CheckState::Failure,
            _ => CheckState::Success,
        };
        if *proposal == Proposal::Deletes && world.commented.contains(commit) {
            let asked = plan.map(|check| &*check.asked);
            prop_assert_eq!(asked, Some(&[][..]), "{} was approved", name);
        }
        // Whatever takes too long ends as well, and so does what never ends.
        let is_limited = plan.is_some_and(|check| check.input.as_deref() == Some(LIMITS));
        prop_assert!(
            is_limited || state == Some(expected),
            "{} {:?} {:?}",
            name,
            proposal,
            state
        );
    }
    for check in world.checks() {
        let is_ended = check.state != CheckState::Pending;
        prop_assert!(
            is_ended,
            "{} {} {}",
            check.context,
            check.revision,
            check.title
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_head_has_one_check_that_has_ended(
        steps in prop::collection::vec((any::<u8>(), any::<u8>()), 0..80),
    ) {
        check(&steps, false)?;
    }

    #[test]
    fn a_fleet_that_is_only_checked_has_its_checks_and_asks_nothing_of_a_cluster(
        steps in prop::collection::vec((any::<u8>(), any::<u8>()), 0..80),
    ) {
        check(&steps, true)?;
    }
}
