//! Whose turn it is to be planned: branches of the repository and forks do not wait for each other.
//!
//! In: looks at the repository, and plans that begin, end or take too long. Out: whether another may begin. It does not
//! know which candidate is next.

use std::collections::BTreeSet;

/// How many plans of branches are made after one look at the repository.
pub(crate) const ROUND: usize = 20;
/// The same for forks: each costs a download and a process.
pub(crate) const FORK_ROUND: usize = 10;
/// How many plans that took too long may still run beside the one that began after them.
const MOST_OVERDUE: usize = 1;

/// Who pushed a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Somebody who may push to a branch.
    Own,
    /// Anybody.
    Fork,
}

/// The plans of one lane: one at a time, and a few after each look.
#[derive(Debug, Default)]
struct Turns {
    /// The one that is being made.
    current: Option<u64>,
    /// Those that take too long, and are not waited for.
    overdue: BTreeSet<u64>,
    left: usize,
}

/// The plans of both lanes, each with a number.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    own: Turns,
    fork: Turns,
    begun: u64,
}

impl Lanes {
    fn turns(&mut self, lane: Lane) -> &mut Turns {
        match lane {
            Lane::Own => &mut self.own,
            Lane::Fork => &mut self.fork,
        }
    }

    /// Another look at the repository was taken.
    pub(crate) const fn looked(&mut self) {
        (self.own.left, self.fork.left) = (ROUND, FORK_ROUND);
    }

    /// Makes room for one more plan.
    pub(crate) fn extend(&mut self, lane: Lane) {
        let turns = self.turns(lane);
        turns.left = turns.left.max(1);
    }

    /// Returns true if another plan may begin.
    pub(crate) fn is_free(&self, lane: Lane) -> bool {
        let turns = match lane {
            Lane::Own => &self.own,
            Lane::Fork => &self.fork,
        };
        turns.current.is_none() && turns.left > 0 && turns.overdue.len() <= MOST_OVERDUE
    }

    /// A plan begins; returns its number.
    pub(crate) fn begin(&mut self, lane: Lane) -> u64 {
        self.begun += 1;
        let number = self.begun;
        self.turns(lane).current = Some(number);
        number
    }

    /// The plan with this number ended. `is_counted` says whether it is one of the few after each look.
    pub(crate) fn end(&mut self, lane: Lane, number: u64, is_counted: bool) {
        let turns = self.turns(lane);
        turns.current.take_if(|current| *current == number);
        turns.overdue.remove(&number);
        turns.left = turns.left.saturating_sub(usize::from(is_counted));
    }

    /// The plan with this number takes too long. Returns true if it has not ended.
    pub(crate) fn overdue(&mut self, lane: Lane, number: u64) -> bool {
        let turns = self.turns(lane);
        let is_current = turns
            .current
            .take_if(|current| *current == number)
            .is_some();
        if is_current {
            turns.overdue.insert(number);
        }
        is_current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_do_not_wait_for_each_other() {
        let mut lanes = Lanes::default();
        assert!(!lanes.is_free(Lane::Own) && !lanes.is_free(Lane::Fork));
        lanes.looked();
        let fork = lanes.begin(Lane::Fork);
        assert!(lanes.is_free(Lane::Own) && !lanes.is_free(Lane::Fork));
        let own = lanes.begin(Lane::Own);
        lanes.end(Lane::Fork, fork, true);
        assert!(!lanes.is_free(Lane::Own) && lanes.is_free(Lane::Fork));
        lanes.end(Lane::Own, own, true);
        assert!(lanes.is_free(Lane::Own));
    }

    #[test]
    fn a_few_plans_are_made_after_each_look() {
        for (lane, round) in [(Lane::Own, ROUND), (Lane::Fork, FORK_ROUND)] {
            let mut lanes = Lanes::default();
            lanes.looked();
            for _ in 0..round {
                assert!(lanes.is_free(lane));
                let number = lanes.begin(lane);
                lanes.end(lane, number, true);
            }
            assert!(!lanes.is_free(lane));
            lanes.extend(lane);
            assert!(lanes.is_free(lane), "somebody asked");
            lanes.looked();
            assert!(lanes.is_free(lane));
        }
    }

    #[test]
    fn what_takes_too_long_is_not_waited_for_and_does_not_pile_up() {
        let mut lanes = Lanes::default();
        lanes.looked();
        let first = lanes.begin(Lane::Own);
        assert!(lanes.overdue(Lane::Own, first));
        assert!(!lanes.overdue(Lane::Own, first), "once");
        assert!(lanes.is_free(Lane::Own));
        let second = lanes.begin(Lane::Own);
        assert!(lanes.overdue(Lane::Own, second));
        assert!(!lanes.is_free(Lane::Own), "two still run");
        lanes.end(Lane::Own, first, true);
        let third = lanes.begin(Lane::Own);
        lanes.end(Lane::Own, second, true);
        assert!(!lanes.is_free(Lane::Own), "the third is being made");
        lanes.end(Lane::Own, third, true);
        assert!(lanes.is_free(Lane::Own));
        assert!(!lanes.overdue(Lane::Own, third), "it ended in time");
    }
}
