//! What became of each object, second by second.
//!
//! In: changes of objects, in the order in which they came. Out: events in the order in which they are
//! shown. Within one second only the last word on an object counts: what was seen of it in between
//! depends on who had his turn first.

use std::collections::BTreeMap;

use crate::apply::State;

/// One object reached a state, `at` seconds after the start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) at: u64,
    pub(super) object: String,
    pub(super) state: State,
    pub(super) message: String,
}

/// The second of the last of the changes.
pub(super) fn end(changes: &[Event]) -> u64 {
    changes.last().map_or(0, |event| event.at)
}

/// What is known so far, by object.
#[derive(Debug, Default)]
pub(super) struct Events(BTreeMap<String, Course>);

#[derive(Debug, Default)]
struct Course {
    /// That it was sent is reported whatever happened to it within the same second.
    applied: Option<Event>,
    /// At most one for each second.
    states: Vec<Event>,
}

impl Events {
    /// Takes in one event, no earlier than those before.
    pub(super) fn note(&mut self, event: Event) {
        let course = self.0.entry(event.object.clone()).or_default();
        if event.state == State::Applied {
            course.applied.get_or_insert(event);
            return;
        }
        if course.states.last().is_some_and(|last| last.at == event.at) {
            course.states.pop();
        }
        course.states.push(event);
    }

    /// The changes of state, by second, object and state.
    pub(super) fn changes(&self) -> Vec<Event> {
        let mut changes: Vec<Event> = Vec::new();
        for course in self.0.values() {
            changes.extend(course.applied.clone());
            let mut states = course.states.clone();
            states.dedup_by(|next, before| next.state == before.state);
            changes.extend(states);
        }
        changes.sort();
        changes
    }

    /// Takes in the events of other objects. One object may be in two parts of a fleet, where the same happens to it.
    pub(super) fn add(&mut self, others: Self) {
        for (object, course) in others.0 {
            self.0.entry(object).or_insert(course);
        }
    }

    /// The last word on an object.
    pub(super) fn last(&self, object: &str) -> Option<&Event> {
        let course = self.0.get(object)?;
        course.states.last().or(course.applied.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Applied, Failed, Progressing, Ready, Waiting};

    fn changes(seen: &[(u64, &str, State)]) -> Vec<(u64, String, State)> {
        let mut events = Events::default();
        for (at, object, state) in seen {
            events.note(event(*at, object, *state, ""));
        }
        let changes = events.changes().into_iter();
        changes
            .map(|event| (event.at, event.object, event.state))
            .collect()
    }

    fn event(at: u64, object: &str, state: State, message: &str) -> Event {
        Event {
            at,
            object: object.to_owned(),
            state,
            message: message.to_owned(),
        }
    }

    fn is(at: u64, object: &str, state: State) -> (u64, String, State) {
        (at, object.to_owned(), state)
    }

    #[test]
    fn within_a_second_the_last_state_counts_in_any_order() {
        let one = changes(&[(0, "a", Applied), (0, "b", Ready), (0, "a", Waiting)]);
        let more = [
            (0, "b", Progressing),
            (0, "a", Applied),
            (0, "a", Progressing),
            (0, "a", Waiting),
            (0, "b", Ready),
        ];
        assert_eq!(changes(&more), one);
        let expected = [is(0, "a", Applied), is(0, "a", Waiting), is(0, "b", Ready)];
        assert_eq!(one, expected);
    }

    #[test]
    fn events_are_sorted_by_second_object_and_state() {
        let seen = [
            (0, "b", Progressing),
            (0, "b", Applied),
            (0, "a", Failed),
            (7, "a", Ready),
            (5, "b", Ready),
        ];
        let expected = [
            is(0, "a", Failed),
            is(0, "b", Applied),
            is(0, "b", Progressing),
            is(5, "b", Ready),
            is(7, "a", Ready),
        ];
        assert_eq!(changes(&seen), expected);
    }

    #[test]
    fn what_falls_back_within_a_second_did_not_change() {
        let seen = [(1, "a", Waiting), (5, "a", Ready), (5, "a", Waiting)];
        assert_eq!(changes(&seen), [is(1, "a", Waiting)]);
        let back = [(1, "a", Waiting), (5, "a", Ready), (6, "a", Waiting)];
        assert_eq!(changes(&back).len(), 3);
    }

    #[test]
    fn that_it_was_applied_is_reported_once() {
        let seen = [(0, "a", Failed), (1, "a", Applied), (2, "a", Applied)];
        assert_eq!(changes(&seen), [is(0, "a", Failed), is(1, "a", Applied)]);
    }

    #[test]
    fn another_message_is_no_change_but_the_last_one_is_known() {
        let mut events = Events::default();
        for (at, message) in [(1, "no owner"), (7, "no secret")] {
            events.note(event(at, "a", Waiting, message));
        }
        assert_eq!(events.changes(), [event(1, "a", Waiting, "no owner")]);
        assert_eq!(events.last("a"), Some(&event(7, "a", Waiting, "no secret")));
        assert_eq!(events.last("b"), None);
    }
}
