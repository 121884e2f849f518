//! The order in which requests are checked: each namespace has its turn, and none takes all of the memory.
//!
//! In: requests that come, each with its namespace and what it costs, and those that are done. Out: which may go on now, and
//! which are refused because too many of their namespace are here. It does not know: the time, what is checked.

use std::collections::{HashMap, VecDeque};

/// The memory for all requests that are being checked.
const ROOM: usize = 72 << 20;
/// The part of it for one namespace.
const OF_ONE: usize = ROOM / 2;
/// How many requests of one namespace may be here.
const MOST_HERE: usize = 32;
/// How many bytes these may have.
const MOST_BYTES: usize = 8 << 20;

/// What a request takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The bytes of its objects, from the time when it comes.
    pub bytes: usize,
    /// The memory, as long as it is checked.
    pub memory: usize,
}

impl Cost {
    /// All that one namespace may take: its requests go on one by one, beside one of another namespace.
    pub const ALL_OF_ONE: Self = Self {
        bytes: 0,
        memory: OF_ONE,
    };
}

/// The requests that are here: each waits by a ticket or is being checked.
#[derive(Debug)]
pub struct Turns<T> {
    used: usize,
    namespaces: HashMap<String, Lane<T>>,
    /// The namespaces with requests that wait, in the order of their turns.
    order: VecDeque<String>,
}

#[derive(Debug)]
struct Lane<T> {
    used: usize,
    here: usize,
    bytes: usize,
    waiting: VecDeque<(T, Cost)>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            used: 0,
            namespaces: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self {
            used: 0,
            here: 0,
            bytes: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<T> Turns<T> {
    /// Lets a request wait. Returns false if too many of its namespace are here.
    pub fn enter(&mut self, namespace: &str, cost: Cost, ticket: T) -> bool {
        let lane = self.namespaces.entry(namespace.to_owned()).or_default();
        let is_full = lane.here >= MOST_HERE || lane.bytes.saturating_add(cost.bytes) > MOST_BYTES;
        if is_full && lane.here > 0 {
            return false;
        }
        lane.here += 1;
        lane.bytes += cost.bytes;
        lane.waiting.push_back((ticket, cost));
        if lane.waiting.len() == 1 {
            self.order.push_back(namespace.to_owned());
        }
        true
    }

    /// Forgets the requests of a namespace that nobody waits for any more.
    pub fn retain(&mut self, namespace: &str, is_wanted: impl Fn(&T) -> bool) {
        let Some(lane) = self.namespaces.get_mut(namespace) else {
            return;
        };
        let Lane {
            here,
            bytes,
            waiting,
            ..
        } = lane;
        waiting.retain(|(ticket, cost)| {
            let is_wanted = is_wanted(ticket);
            if !is_wanted {
                *here -= 1;
                *bytes -= cost.bytes;
            }
            is_wanted
        });
        if lane.waiting.is_empty() {
            self.order.retain(|one| one != namespace);
        }
        self.forget(namespace);
    }

    /// The next request that may go on, with its namespace and its cost. It stays here until it [leaves](Self::leave).
    pub fn go_on(&mut self) -> Option<(String, T, Cost)> {
        for _ in 0..self.order.len() {
            let namespace = self.order.pop_front()?;
            let lane = self.namespaces.get_mut(&namespace)?;
            let (ticket, cost) = lane.waiting.pop_front()?;
            // What needs more than there is goes on alone.
            let is_at_its_limit = lane.used > 0 && lane.used + cost.memory > OF_ONE;
            let is_full = self.used > 0 && self.used + cost.memory > ROOM;
            if !is_at_its_limit && !is_full {
                lane.used += cost.memory;
                self.used += cost.memory;
                if !lane.waiting.is_empty() {
                    self.order.push_back(namespace.clone());
                }
                return Some((namespace, ticket, cost));
            }
            lane.waiting.push_front((ticket, cost));
            if !is_at_its_limit {
                // It is its turn: nobody overtakes it.
                self.order.push_front(namespace);
                return None;
            }
            self.order.push_back(namespace);
        }
        None
    }

    /// A request that went on is done.
    pub fn leave(&mut self, namespace: &str, cost: Cost) {
        self.used = self.used.saturating_sub(cost.memory);
        if let Some(lane) = self.namespaces.get_mut(namespace) {
            lane.used = lane.used.saturating_sub(cost.memory);
            lane.here = lane.here.saturating_sub(1);
            lane.bytes = lane.bytes.saturating_sub(cost.bytes);
        }
        self.forget(namespace);
    }

    fn forget(&mut self, namespace: &str) {
        if self
            .namespaces
            .get(namespace)
            .is_some_and(|lane| lane.here == 0)
        {
            self.namespaces.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: Cost = Cost {
        bytes: 1 << 20,
        memory: 30 << 20,
    };
    const SMALL: Cost = Cost {
        bytes: 1 << 10,
        memory: 1 << 20,
    };

    fn all(turns: &mut Turns<u32>) -> Vec<u32> {
        let granted = std::iter::from_fn(|| turns.go_on());
        granted.map(|(_, ticket, _)| ticket).collect()
    }

    #[test]
    fn one_namespace_leaves_room_for_others() {
        let mut turns = Turns::default();
        for ticket in 0..8 {
            assert!(turns.enter("loud", LARGE, ticket));
        }
        assert!(!turns.enter("loud", LARGE, 8), "too many bytes");
        assert_eq!(all(&mut turns), [0], "two are more than its part");
        assert!(turns.enter("quiet", SMALL, 100));
        assert_eq!(all(&mut turns), [100]);
        turns.leave("loud", LARGE);
        assert_eq!(all(&mut turns), [1]);
    }

    #[test]
    fn what_takes_all_of_a_namespace_goes_one_by_one_beside_another() {
        let mut turns = Turns::default();
        for ticket in 0..MOST_HERE as u32 {
            assert!(turns.enter("loud", Cost::ALL_OF_ONE, ticket));
        }
        assert_eq!(all(&mut turns), [0]);
        assert!(turns.enter("quiet", Cost::ALL_OF_ONE, 100));
        assert!(turns.enter("third", Cost::ALL_OF_ONE, 200));
        assert_eq!(all(&mut turns), [100], "it does not wait for the others");
        turns.leave("loud", Cost::ALL_OF_ONE);
        assert_eq!(all(&mut turns), [200], "nor behind the rest of them");
    }

    #[test]
    fn namespaces_take_turns() {
        let mut turns = Turns::default();
        for ticket in 0..3 {
            for (namespace, first) in [("a", 0), ("b", 10), ("c", 20)] {
                assert!(turns.enter(namespace, LARGE, first + ticket));
            }
        }
        assert_eq!(all(&mut turns), [0, 10], "c waits for room");
        turns.leave("b", LARGE);
        assert_eq!(all(&mut turns), [20]);
        turns.leave("a", LARGE);
        assert_eq!(all(&mut turns), [11]);
        turns.leave("c", LARGE);
        assert_eq!(all(&mut turns), [1]);
    }

    #[test]
    fn what_needs_more_than_there_is_goes_on_alone() {
        let huge = Cost {
            bytes: MOST_BYTES + 1,
            memory: 2 * ROOM,
        };
        let mut turns = Turns::default();
        assert!(turns.enter("a", huge, 0) && turns.enter("b", SMALL, 1));
        assert_eq!(all(&mut turns), [0]);
        turns.leave("a", huge);
        assert_eq!(all(&mut turns), [1]);
    }

    #[test]
    fn who_stopped_waiting_takes_no_place() {
        let mut turns = Turns::default();
        for ticket in 0..MOST_HERE as u32 {
            assert!(turns.enter("a", SMALL, ticket));
        }
        assert!(!turns.enter("a", SMALL, 99));
        turns.retain("a", |ticket| *ticket == 3);
        assert!(turns.enter("a", SMALL, 99));
        assert_eq!(all(&mut turns), [3, 99]);
        for _ in 0..2 {
            turns.leave("a", SMALL);
        }
        assert!(turns.namespaces.is_empty() && turns.order.is_empty() && turns.used == 0);
    }
}
