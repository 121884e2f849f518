//! The annotation on the parent that approves losses of what is applied.
//!
//! In: the annotation as the parent has it. Out: a text to take off the parent. It counts only then: so it counts once, and
//! for no later revision. It does not know what the text says.

/// How far the annotation is.
#[derive(Default)]
pub(super) struct Annotation {
    /// What it says, and the revision that was applied when it was seen first: whoever set it knew of no later one.
    text: Option<(String, String)>,
    /// It is being taken off, or that failed just now.
    is_busy: bool,
    /// The last attempt failed, and a warning says so.
    is_failing: bool,
}

impl Annotation {
    /// The parent has this one, or none, while it names this revision as applied.
    pub(super) fn seen(&mut self, text: Option<String>, applying: &str) {
        let known = self.text.as_ref().map(|(text, _)| text);
        if known != text.as_ref() {
            self.text = text.map(|text| (text, applying.to_owned()));
        }
    }

    /// Begins to take it off; `None` if there is none, or that is under way.
    pub(super) fn begin(&mut self) -> Option<String> {
        let (text, _) = self.text.clone().filter(|_| !self.is_busy)?;
        self.is_busy = true;
        Some(text)
    }

    /// That failed. Returns true if that is new.
    pub(super) const fn failed(&mut self) -> bool {
        !std::mem::replace(&mut self.is_failing, true)
    }

    /// Lets what failed be tried again.
    pub(super) const fn retry(&mut self) {
        self.is_busy = false;
    }

    /// It is not on the parent any more. The watch may not say so yet. Returns the revision that was applied when it was seen.
    pub(super) fn ended(&mut self, text: &str) -> Option<String> {
        (self.is_busy, self.is_failing) = (false, false);
        let ended = self.text.take_if(|(seen, _)| seen == text);
        ended.map(|(_, revision)| revision)
    }
}
