//! What `.capstanignore` leaves out: gitignore syntax, at the fleet's path and in any directory
//! below it, the nearer file first.
//!
//! In: the text of ignore files. Out: whether a path is left out. It does not know where the text
//! comes from.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The name of an ignore file.
pub(super) const FILE: &str = ".capstanignore";

/// The rules that hold in one directory: its own ignore file over those of the directories above.
pub(super) struct Rules<'above> {
    above: Option<&'above Self>,
    directory: &'above str,
    own: Gitignore,
}

impl<'above> Rules<'above> {
    /// The rules in `text`, of the file in `directory`, over those of the directories above. A line that is no
    /// pattern is left out and named in the second value.
    pub(super) fn read(
        text: &str,
        directory: &'above str,
        above: Option<&'above Self>,
    ) -> (Self, Option<String>) {
        let mut builder = GitignoreBuilder::new(".");
        let mut fault = None;
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            if let Err(cause) = builder.add_line(None, line) {
                fault.get_or_insert_with(|| format!("line {}: {cause}", at + 1));
            }
        }
        let own = builder.build().unwrap_or_else(|cause| {
            fault.get_or_insert_with(|| cause.to_string());
            Gitignore::empty()
        });
        let rules = Self {
            above,
            directory,
            own,
        };
        (rules, fault)
    }

    /// Whether `path`, which lies below this directory, is left out.
    pub(super) fn leave_out(&self, path: &str, is_directory: bool) -> bool {
        let inner = path
            .strip_prefix(self.directory)
            .unwrap_or(path)
            .trim_start_matches('/');
        match self.own.matched(inner, is_directory) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self
                .above
                .is_some_and(|above| above.leave_out(path, is_directory)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rules;

    #[test]
    fn a_nearer_file_overrules_a_farther_one() {
        let (far, _) = Rules::read("*.yaml\n!keep.yaml\n/only-here\n", "fleet", None);
        let (near, _) = Rules::read("!*.yaml\nkeep.yaml\n", "fleet/a", Some(&far));
        assert!(far.leave_out("fleet/x.yaml", false));
        assert!(!far.leave_out("fleet/keep.yaml", false));
        assert!(!near.leave_out("fleet/a/x.yaml", false));
        assert!(near.leave_out("fleet/a/keep.yaml", false));
        assert!(far.leave_out("fleet/only-here", true));
        assert!(!near.leave_out("fleet/a/only-here", true));
    }

    #[test]
    fn a_directory_pattern_leaves_files_of_that_name_alone() {
        let (rules, fault) = Rules::read("\u{feff}drafts/\n", "", None);
        assert_eq!(fault, None);
        assert!(rules.leave_out("drafts", true));
        assert!(!rules.leave_out("drafts", false));
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_hold() {
        let (rules, fault) = Rules::read("a.yaml\nb{.yaml\n", "", None);
        assert!(fault.is_some_and(|fault| fault.starts_with("line 2: ")));
        assert!(rules.leave_out("a.yaml", false));
    }
}
