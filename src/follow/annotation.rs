//! The annotation on the parent that approves losses of what is applied.
//!
//! In: the annotation as the parent has it. Out: a text to take off the parent. It counts only then: so it counts once, and
//! for no later revision. It does not know what the text says.

/// How far the annotation is.
#[derive(Default)]
pub(super) struct Annotation {
    /// What it says, and the revision that was applied when it was seen first: whoever set it knew of no later one.
    text: Option<(String, String)>,
    /// The same while it is being taken off, or that failed just now: the watch may say before that it is gone.
    taken: Option<(String, String)>,
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
        let taken = self.text.clone().filter(|_| self.taken.is_none())?;
        let (text, _) = self.taken.insert(taken);
        Some(text.clone())
    }

    /// That failed. Returns true if that is new.
    pub(super) const fn failed(&mut self) -> bool {
        !std::mem::replace(&mut self.is_failing, true)
    }

    /// Lets what failed be tried again.
    pub(super) fn retry(&mut self) {
        self.taken = None;
    }

    /// It is not on the parent any more. The watch may not say so yet. Returns the revision that was applied when it was seen.
    pub(super) fn ended(&mut self, text: &str) -> Option<String> {
        self.is_failing = false;
        self.text.take_if(|(seen, _)| seen == text);
        self.taken.take().map(|(_, revision)| revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_for_what_was_applied_when_it_was_seen_also_if_the_watch_is_first() {
        let mut annotation = Annotation::default();
        assert_eq!(annotation.begin(), None);
        let text = || Some("delete c/one".to_owned());
        annotation.seen(text(), "a");
        annotation.seen(text(), "b");
        assert_eq!(annotation.begin(), text());
        assert_eq!(annotation.begin(), None, "it is being taken off");
        annotation.seen(None, "b");
        assert_eq!(annotation.ended("delete c/one").as_deref(), Some("a"));
        assert_eq!(annotation.begin(), None);
        annotation.seen(text(), "b");
        assert_eq!(annotation.begin(), text());
        annotation.retry();
        assert_eq!(annotation.begin(), text());
        assert_eq!(annotation.ended("delete c/one").as_deref(), Some("b"));
        assert_eq!(annotation.begin(), None, "the watch may say so later");
    }
}
