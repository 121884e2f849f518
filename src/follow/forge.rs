//! What the forge is asked, and when.
//!
//! In: that a question begins or ends. Out: whether to ask, and how long to pause before. It does not know what is answered.

use std::collections::BTreeSet;
use std::time::Duration;

/// The first pause before the forge is asked how commits came in; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
/// How many commits are kept of which the forge said how they came in.
const MOST_ATTRIBUTED: usize = 10_000;
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// See the module.
#[derive(Debug)]
pub(crate) struct ForgeQuestions {
    /// It was asked whether checks can be written.
    is_probed: bool,
    /// What an earlier process left pending could not be read yet.
    is_earlier_unknown: bool,
    /// It is being asked how commits came in.
    is_attributing: bool,
    /// The pause before it is asked that again.
    pause: Duration,
    /// The commits of which it said that.
    attributed: BTreeSet<String>,
}

impl Default for ForgeQuestions {
    fn default() -> Self {
        Self {
            is_probed: false,
            is_earlier_unknown: false,
            is_attributing: false,
            pause: FIRST_PAUSE,
            attributed: BTreeSet::new(),
        }
    }
}

impl ForgeQuestions {
    /// Returns true the first time: it is to be asked whether checks can be written.
    pub(crate) const fn begin_probe(&mut self) -> bool {
        !std::mem::replace(&mut self.is_probed, true)
    }

    /// What an earlier process left pending cannot be read now.
    pub(crate) const fn defer_earlier(&mut self) {
        self.is_earlier_unknown = true;
    }

    /// Returns true if what an earlier process left pending is to be read once more.
    pub(crate) const fn begin_earlier(&mut self) -> bool {
        std::mem::replace(&mut self.is_earlier_unknown, false)
    }

    /// Begins to ask how commits came in, and returns how long to pause before; `None` if that is being asked.
    pub(crate) fn begin_attribution(&mut self) -> Option<Duration> {
        if self.is_attributing {
            return None;
        }
        let pause = self.pause;
        self.is_attributing = true;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }

    /// Takes in of which commits the forge said how they came in. Those of long ago are forgotten.
    pub(crate) fn note_attributed(&mut self, commits: BTreeSet<String>) {
        if self.attributed.len() >= MOST_ATTRIBUTED {
            self.attributed.clear();
        }
        self.attributed.extend(commits);
    }

    /// The commits of which the forge said how they came in.
    pub(crate) const fn attributed(&self) -> &BTreeSet<String> {
        &self.attributed
    }

    /// The question how commits came in was answered, or was not.
    pub(crate) const fn end_attribution(&mut self) {
        self.is_attributing = false;
    }

    /// Nothing is open. The next question how commits came in comes as soon as the first did.
    pub(crate) const fn rest(&mut self) {
        if !self.is_attributing {
            self.pause = FIRST_PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_five_minutes_until_nothing_is_open() {
        let mut forge = ForgeQuestions::default();
        let pauses = [(); 7].map(|()| {
            let pause = forge.begin_attribution().map(|pause| pause.as_secs());
            assert_eq!(forge.begin_attribution(), None, "one at a time");
            forge.end_attribution();
            pause
        });
        let expected = [15, 30, 60, 120, 240, 300, 300];
        assert_eq!(pauses, expected.map(Some));
        forge.rest();
        assert_eq!(forge.begin_attribution(), Some(FIRST_PAUSE));
    }
}
