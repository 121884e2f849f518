//! Lines that nearly approve a loss.
//!
//! In: what a line says, and the losses that need approval. Out: the loss that is probably meant, and what is wrong. It does
//! not know where the line stands.

use super::approval::{Verb, What};
use crate::plan::losses::Unit;
use crate::schema;

/// What is wrong with an approval, and what is probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NearMiss {
    /// In words that follow "approves nothing:".
    pub(crate) fault: String,
    /// The approval to write instead.
    pub(crate) meant: What,
}

impl NearMiss {
    /// Finds what `said` probably means among `asked`; it is what follows the key of a trailer or the command of a comment.
    pub(crate) fn of(said: &str, asked: &[What]) -> Option<Self> {
        let words: Vec<&str> = said.split_whitespace().collect();
        let (verb, name) = match words.as_slice() {
            [name] => (None, *name),
            [verb, name, ..] => (Some(*verb), *name),
            [] => return None,
        };
        let losses: Vec<(&What, Verb, &Unit)> = asked
            .iter()
            .filter_map(|what| what.loss().map(|(verb, unit)| (what, verb, unit)))
            .collect();
        let found = losses
            .iter()
            .find_map(|(what, asked, unit)| Some((fault(verb, name, *asked, unit)?, *what)));
        let nearest = || {
            let names = losses.iter().map(|(_, _, unit)| unit.to_string());
            let names: Vec<String> = names.collect();
            let near = schema::nearest(name, names.iter().map(String::as_str))?;
            let (what, ..) = losses
                .iter()
                .find(|(_, _, unit)| unit.to_string() == near)?;
            Some(("nothing of that name goes".to_owned(), *what))
        };
        let (fault, what) = found.or_else(nearest)?;
        Some(Self {
            fault,
            meant: what.clone(),
        })
    }
}

/// What is wrong if `unit` is meant; `None` if it is not.
fn fault(verb: Option<&str>, name: &str, asked: Verb, unit: &Unit) -> Option<String> {
    let full = unit.to_string();
    let (_, short) = full.split_once('/')?;
    if name == full {
        return Some(match verb {
            None => format!("it does not say that it approves the {}", asked.noun()),
            Some(verb) if verb != asked.word() && verb.eq_ignore_ascii_case(asked.word()) => {
                format!("`{}` is written in lower case", asked.word())
            }
            Some(verb) if verb == asked.word() => {
                "the words are right, but not their place: not quoted, indented or in code, and in a commit message in the last paragraph, after an empty line".to_owned()
            }
            Some(_) => format!("what needs approval is its {}", asked.noun()),
        });
    }
    if name.eq_ignore_ascii_case(&full) {
        return Some("the name is written in another case".to_owned());
    }
    if name.eq_ignore_ascii_case(short) {
        return Some("the name lacks its namespace".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_says_what_is_wrong_and_what_to_write() {
        let asked = ["release c/prod-1", "delete c/prod-2", "rename c/prod-3/mp1"];
        let asked: Vec<What> = asked.iter().filter_map(|what| What::parse(what)).collect();
        for (said, fault, meant) in [
            (
                "delete c/prod-1",
                "what needs approval is its release",
                "release c/prod-1",
            ),
            (
                "release c/prod-1",
                "the words are right, but not their place: not quoted, indented or in code, and in a commit message in the last paragraph, after an empty line",
                "release c/prod-1",
            ),
            (
                "Release c/prod-1",
                "`release` is written in lower case",
                "release c/prod-1",
            ),
            (
                "c/prod-1",
                "it does not say that it approves the release",
                "release c/prod-1",
            ),
            (
                "delete C/Prod-2",
                "the name is written in another case",
                "delete c/prod-2",
            ),
            (
                "delete prod-2",
                "the name lacks its namespace",
                "delete c/prod-2",
            ),
            (
                "rename prod-3/mp1",
                "the name lacks its namespace",
                "rename c/prod-3/mp1",
            ),
            (
                "delete c/prd-2",
                "nothing of that name goes",
                "delete c/prod-2",
            ),
        ] {
            let found = NearMiss::of(said, &asked).expect("a near miss");
            assert_eq!(
                (&*found.fault, &*found.meant.to_string()),
                (fault, meant),
                "{said}"
            );
        }
        for said in ["", "delete other/thing", "delete all of it"] {
            assert_eq!(NearMiss::of(said, &asked), None, "{said}");
        }
        assert_eq!(NearMiss::of("delete prod-2", &[]), None);
    }
}
