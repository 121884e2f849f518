//! The newest commit of the followed ref, and which one is examined.
//!
//! In: where the ref leads, and examinations that end. Out: the commit to examine next. It does not know what an examination
//! is.

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// Where the ref leads.
    newest: Option<String>,
    /// The commit that was examined last, or is being examined; `None` as well if it is to be examined again.
    examined: Option<String>,
    is_examining: bool,
}

impl Heads {
    /// Takes in where the ref leads. Returns true if it led elsewhere before.
    pub(crate) fn look(&mut self, newest: &str) -> bool {
        let before = self.newest.replace(newest.to_owned());
        before.is_some_and(|before| before != newest)
    }

    /// Where the ref leads, once that is known.
    pub(crate) fn newest(&self) -> Option<&str> {
        self.newest.as_deref()
    }

    /// The commit that was examined last, or is being examined.
    pub(crate) fn examined(&self) -> Option<&str> {
        self.examined.as_deref()
    }

    /// Returns true if the ref leads to this commit.
    pub(crate) fn is_newest(&self, commit: &str) -> bool {
        self.newest() == Some(commit)
    }

    /// Returns true while a commit is examined.
    pub(crate) const fn is_examining(&self) -> bool {
        self.is_examining
    }

    /// Returns true if the commit that was examined last, or is being examined, is the newest.
    pub(crate) fn is_current(&self) -> bool {
        self.newest == self.examined
    }

    /// Begins to examine the newest commit, and returns it. `None` if it was examined, or while another is: who pushes often
    /// is not examined twice at a time, and what was examined last is what came last.
    pub(crate) fn begin(&mut self) -> Option<String> {
        if self.is_examining || self.is_current() {
            return None;
        }
        let newest = self.newest.clone()?;
        (self.is_examining, self.examined) = (true, Some(newest.clone()));
        Some(newest)
    }

    /// Ends the examination.
    pub(crate) const fn end(&mut self) {
        self.is_examining = false;
    }

    /// Has this commit examined again, if it was examined last and none is being examined.
    pub(crate) fn again(&mut self, commit: &str) -> bool {
        let is_wanted = !self.is_examining && self.examined() == Some(commit);
        if is_wanted {
            self.examined = None;
        }
        is_wanted
    }

    /// Has whatever was examined last examined again, unless a commit is being examined.
    pub(crate) fn renew(&mut self) {
        if !self.is_examining {
            self.examined = None;
        }
    }

    /// Where the ref leads, and what was examined last.
    #[cfg(test)]
    pub(crate) fn set(&mut self, newest: &str, examined: &str) {
        self.look(newest);
        self.examined = Some(examined.to_owned());
    }

    /// A commit is being examined, or none.
    #[cfg(test)]
    pub(crate) const fn set_examining(&mut self, is_examining: bool) {
        self.is_examining = is_examining;
    }

    /// What was examined last.
    #[cfg(test)]
    pub(crate) fn set_examined(&mut self, examined: &str) {
        self.examined = Some(examined.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_newest_commit_is_examined_once_and_one_at_a_time() {
        let mut heads = Heads::default();
        assert_eq!(heads.begin(), None, "nothing is known");
        assert!(!heads.look("a"), "it led nowhere before");
        assert_eq!(heads.begin().as_deref(), Some("a"));
        assert!(heads.look("b") && heads.look("c"));
        assert_eq!(heads.begin(), None, "a is being examined");
        assert!(!heads.again("a"));
        heads.end();
        assert_eq!(heads.begin().as_deref(), Some("c"), "b was passed over");
        heads.end();
        assert_eq!(heads.begin(), None);
        assert!(!heads.again("a") && heads.again("c"));
        assert_eq!(heads.begin().as_deref(), Some("c"));
    }

    proptest! {
        /// Whatever happens, the newest commit is the one that was examined last once no other is examined.
        #[test]
        fn the_newest_commit_is_examined_in_the_end(steps in prop::collection::vec(0..5u8, 0..40)) {
            let mut heads = Heads::default();
            let mut under_way: Option<String> = None;
            for (at, step) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => drop(heads.look(&(at / 3).to_string())),
                    2 => heads.renew(),
                    3 => {
                        let examined = heads.examined().map(str::to_owned);
                        heads.again(&examined.unwrap_or_default());
                    }
                    _ => {
                        heads.end();
                        under_way = None;
                    }
                }
                let next = heads.begin();
                prop_assert!(next.is_none() || under_way.is_none(), "two at a time");
                under_way = next.or(under_way);
                prop_assert_eq!(heads.is_examining(), under_way.is_some());
            }
            heads.end();
            let last = heads.begin();
            prop_assert!(heads.is_current());
            prop_assert!(last.is_none() || last.as_deref() == heads.newest());
        }
    }
}
