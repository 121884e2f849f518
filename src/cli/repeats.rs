//! Warnings and errors that repeat.
//!
//! In: the content of a line, and the time. Out: if it is written, and how many equal ones were left out since the last. It does
//! not know what lines say.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

/// The time in which a line is not written again; it doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// The longest such time. A line that was not repeated for so long is news again.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// The most lines that are remembered: each of them may be of an object.
const MOST: usize = 4_000;

/// The lines that were written lately.
#[derive(Default)]
pub(super) struct Repeats {
    hasher: RandomState,
    lines: Mutex<HashMap<u64, Line>>,
}

struct Line {
    written: Timestamp,
    /// When it last came, written or not.
    last: Timestamp,
    wait: Duration,
    left_out: u32,
}

impl Line {
    fn new(now: Timestamp) -> Self {
        Self {
            written: now,
            last: now,
            wait: FIRST_WAIT,
            left_out: 0,
        }
    }
}

impl Repeats {
    /// Returns how many equal lines were left out since the last that was written; `None` if this one is left out as well.
    pub(super) fn count(&self, line: &impl Hash, now: Timestamp) -> Option<u32> {
        let key = self.hasher.hash_one(line);
        let mut lines = self.lines.lock();
        if lines.len() >= MOST && !lines.contains_key(&key) {
            lines.retain(|_, line| has_passed(FIRST_WAIT, line.last, now).is_some_and(|it| !it));
            if lines.len() >= MOST {
                lines.clear();
            }
        }
        let line = lines
            .entry(key)
            .or_insert_with(|| Line::new(Timestamp::MIN));
        // A clock that was set back says nothing either.
        if has_passed(LONGEST_WAIT, line.last, now).unwrap_or(true) {
            *line = Line::new(now);
            return Some(0);
        }
        line.last = now;
        if has_passed(line.wait, line.written, now) == Some(false) {
            line.left_out = line.left_out.saturating_add(1);
            return None;
        }
        line.written = now;
        line.wait = (line.wait * 2).min(LONGEST_WAIT);
        Some(std::mem::take(&mut line.left_out))
    }
}

/// Returns true if `wait` has passed since `start`; `None` if `start` is to come.
fn has_passed(wait: Duration, start: Timestamp, now: Timestamp) -> Option<bool> {
    let passed = Duration::try_from(now.duration_since(start)).ok()?;
    Some(passed >= wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("a time")
    }

    #[test]
    fn an_error_that_repeats_is_written_less_and_less_often_and_counted() {
        let repeats = Repeats::default();
        let mut written = Vec::new();
        for second in (0..2 * 3600).step_by(10) {
            if let Some(left_out) = repeats.count(&"denied", after(second)) {
                written.push((second, left_out));
            }
        }
        let expected = [
            (0, 0),
            (60, 5),
            (180, 11),
            (420, 23),
            (900, 47),
            (1860, 95),
            (3780, 191),
        ];
        assert_eq!(written, expected);
        assert_eq!(repeats.count(&"gone", after(7200)), Some(0));
        assert_eq!(
            repeats.count(&"denied", after(11_000)),
            Some(0),
            "it is news again"
        );
        assert_eq!(repeats.count(&"denied", after(11_001)), None);
        assert_eq!(
            repeats.count(&"denied", after(5)),
            Some(0),
            "the clock was set back"
        );
    }

    #[test]
    fn it_remembers_a_bounded_number_of_lines() {
        let repeats = Repeats::default();
        for number in 0..3 * MOST {
            assert_eq!(repeats.count(&number, after(0)), Some(0));
        }
        assert!(repeats.lines.lock().len() <= MOST);
    }
}
