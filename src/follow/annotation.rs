//! The annotation on the parent that approves losses of what is applied.
//!
//! In: the annotation as the parent has it. Out: a text to take off the parent. It counts only then: so it counts once, and
//! for no later revision. It does not know what the text says.

/// How far the annotation is.
#[derive(Default)]
pub(super) struct Annotation {
    text: Option<String>,
    /// It is being taken off, or that failed just now.
    is_busy: bool,
    /// The last attempt failed, and a warning says so.
    is_failing: bool,
}

impl Annotation {
    /// The parent has this one, or none.
    pub(super) fn seen(&mut self, text: Option<String>) {
        self.text = text;
    }

    /// Begins to take it off; `None` if there is none, or that is under way.
    pub(super) fn begin(&mut self) -> Option<String> {
        let text = self.text.clone().filter(|_| !self.is_busy)?;
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

    /// It is not on the parent any more. The watch may not say so yet.
    pub(super) fn ended(&mut self, text: &str) {
        (self.is_busy, self.is_failing) = (false, false);
        self.text.take_if(|seen| seen == text);
    }
}
