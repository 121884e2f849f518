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
    attribution: Attribution,
    /// The pause before it is asked that again.
    pause: Duration,
    /// The commits of which it said that.
    attributed: BTreeSet<String>,
}

/// How far the question is how commits came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribution {
    /// Nothing is asked. The number is that of the last alarm.
    Idle(u64),
    /// It is asked once the alarm with this number goes off.
    Waiting(u64),
    /// It is being asked.
    UnderWay(u64),
}

impl Attribution {
    const fn number(self) -> u64 {
        match self {
            Self::Idle(number) | Self::Waiting(number) | Self::UnderWay(number) => number,
        }
    }
}

impl Default for ForgeQuestions {
    fn default() -> Self {
        Self {
            is_probed: false,
            is_earlier_unknown: false,
            attribution: Attribution::Idle(0),
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

    /// Returns how long to wait before it is asked how commits came in, and the number of the alarm; `None` if that is set, or
    /// it is being asked.
    pub(crate) fn wait_for_attribution(&mut self) -> Option<(Duration, u64)> {
        let Attribution::Idle(last) = self.attribution else {
            return None;
        };
        let (pause, number) = (self.pause, last + 1);
        self.attribution = Attribution::Waiting(number);
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        Some((pause, number))
    }

    /// The alarm with this number went off. Returns true if it is to be asked how commits came in.
    pub(crate) fn begin_attribution(&mut self, number: u64) -> bool {
        let begins = self.attribution == Attribution::Waiting(number);
        if begins {
            self.attribution = Attribution::UnderWay(number);
        }
        begins
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

    /// These were acted upon.
    pub(crate) fn forget_attributed(&mut self, commits: &BTreeSet<String>) {
        self.attributed.retain(|commit| !commits.contains(commit));
    }

    /// The question how commits came in was answered, or was not.
    pub(crate) const fn end_attribution(&mut self) {
        self.attribution = Attribution::Idle(self.attribution.number());
    }

    /// Nothing is open. The next question how commits came in comes as soon as the first did.
    pub(crate) const fn rest(&mut self) {
        self.pause = FIRST_PAUSE;
        if let Attribution::Waiting(number) = self.attribution {
            self.attribution = Attribution::Idle(number);
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
            let (pause, number) = forge.wait_for_attribution().expect("nothing is asked");
            assert_eq!(forge.wait_for_attribution(), None, "one at a time");
            assert!(forge.begin_attribution(number) && !forge.begin_attribution(number));
            assert_eq!(forge.wait_for_attribution(), None, "it is being asked");
            forge.end_attribution();
            pause.as_secs()
        });
        assert_eq!(pauses, [15, 30, 60, 120, 240, 300, 300]);
        let (_, late) = forge.wait_for_attribution().expect("nothing is asked");
        forge.rest();
        let (pause, number) = forge.wait_for_attribution().expect("nothing is asked");
        assert_eq!(pause, FIRST_PAUSE, "nobody waits for the long one");
        assert!(!forge.begin_attribution(late) && forge.begin_attribution(number));
    }
}
