//! Label selectors, read as k8s.io/apimachinery `labels` reads them.
//!
//! In: the text of a selector. Out: its conditions, or what is wrong with it, in the same words. It does
//! not know objects.

use super::names;
use super::select::{Requirement, Selector};

/// Reads a label selector such as `a=b,c in (d,e),!f`.
///
/// # Errors
/// Says what was found and what was expected.
pub(super) fn read(text: &str) -> Result<Selector, String> {
    let mut parser = Parser {
        words: words(text),
        at: 0,
    };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Word::End => return Ok(Selector::of(requirements)),
            word if word.names() || word == Word::Sign("!") => {}
            word => {
                return Err(format!(
                    "found '{word}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
        let requirement = parser.requirement();
        requirements
            .push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
        match parser.next() {
            Word::End => return Ok(Selector::of(requirements)),
            Word::Sign(",") => {}
            word => return Err(format!("found '{word}', expected: ',' or 'end of string'")),
        }
        let word = parser.peek();
        if !word.names() && word != Word::Sign("!") {
            return Err(format!("found '{word}', expected: identifier after ','"));
        }
    }
}

/// What a selector consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<'a> {
    /// `in` and `notin` too: where no operator is allowed they are names.
    Name(&'a str),
    /// One of [`SIGNS`], or characters of which none begins.
    Sign(&'a str),
    End,
}

impl Word<'_> {
    fn names(&self) -> bool {
        matches!(self, Self::Name(_))
    }
}

impl std::fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(text) | Self::Sign(text) => f.write_str(text),
            Self::End => Ok(()),
        }
    }
}

/// The signs, those of two characters first.
const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return words;
        }
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let end = match sign {
            Some(sign) => sign.len(),
            None => rest
                .find([' ', '\t', '\r', '\n', '=', '!', '(', ')', ',', '<', '>'])
                .unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        words.push(sign.map_or(Word::Name(word), |_| Word::Sign(word)));
        rest = after;
    }
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Word<'a> {
        self.words.get(self.at).copied().unwrap_or(Word::End)
    }

    fn next(&mut self) -> Word<'a> {
        let word = self.peek();
        self.at += 1;
        word
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Word::Sign("!");
        if absent {
            self.next();
        }
        let key = match self.next() {
            Word::Name(key) => key,
            word => return Err(format!("found '{word}', expected: identifier")),
        };
        check("<nil>", key, &names::qualified(key))?;
        let key = key.to_owned();
        if absent {
            return Ok(Requirement::Absent(key));
        }
        if matches!(self.peek(), Word::End | Word::Sign(",")) {
            return Ok(Requirement::Exists(key));
        }
        let operator = self.next();
        let values = match operator {
            Word::Name("in" | "notin") => self.values()?,
            Word::Sign("=" | "==" | "!=" | "<" | ">") => vec![self.exact()?],
            word => {
                return Err(format!(
                    "found '{word}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        self.condition(operator, key, values)
    }

    fn condition(
        &self,
        operator: Word<'_>,
        key: String,
        values: Vec<String>,
    ) -> Result<Requirement, String> {
        let bound = || match values[0].parse() {
            Ok(bound) => Ok(bound),
            Err(_) => Err(format!(
                "values[0]: Invalid value: {:?}: for 'Gt', 'Lt' operators, the value must be an integer",
                values[0]
            )),
        };
        for (at, value) in values.iter().enumerate() {
            let place = format!("values[{at}][{key}]");
            check(&place, value, &names::label_value(value))?;
        }
        Ok(match operator {
            Word::Sign("<") => Requirement::Less(key, bound()?),
            Word::Sign(">") => Requirement::Greater(key, bound()?),
            Word::Name("notin") | Word::Sign("!=") => Requirement::NotIn(key, values),
            _ => Requirement::In(key, values),
        })
    }

    /// The value after `=`: none is the empty one.
    fn exact(&mut self) -> Result<String, String> {
        match self.peek() {
            Word::End | Word::Sign(",") => Ok(String::new()),
            Word::Name(value) => {
                self.next();
                Ok(value.to_owned())
            }
            word => Err(format!("found '{word}', expected: identifier")),
        }
    }

    /// The values between parentheses, sorted, each once; between two commas is the empty one.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Word::Sign("(") => {}
            word => return Err(format!("found '{word}' expected: '('")),
        }
        let mut values = Vec::new();
        loop {
            let value = match self.peek() {
                Word::Name(value) => {
                    self.next();
                    value
                }
                Word::Sign("," | ")") => "",
                word if values.is_empty() => {
                    return Err(format!("found '{word}', expected: ',', ')' or identifier"));
                }
                word => return Err(format!("found '{word}', expected: ',', or identifier")),
            };
            values.push(value.to_owned());
            match self.next() {
                Word::Sign(",") => {}
                Word::Sign(")") => break,
                word => return Err(format!("found '{word}', expected: ',' or ')'")),
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }
}

fn check(place: &str, text: &str, complaints: &[String]) -> Result<(), String> {
    match complaints {
        [] => Ok(()),
        some => Err(format!(
            "{place}: Invalid value: {text:?}: {}",
            some.join("; ")
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn matches(selector: &str, pairs: &[(&str, &'static str)]) -> bool {
        read(selector).unwrap().matches(|key| {
            pairs
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
        })
    }

    #[test]
    fn every_form_is_read() {
        let pairs = [
            ("env", "prod"),
            ("tier", "3"),
            ("example.com/team", ""),
            ("in", "x"),
        ];
        for yes in [
            "",
            "env=prod",
            "env==prod",
            "env = prod",
            "env in (test, prod)",
            "env notin (test)",
            "absent notin (test)",
            "absent!=x",
            "env,!absent",
            "tier>2,tier<4",
            "example.com/team=",
            "example.com/team in (,a)",
            "example.com/team in ()",
            "example.com/team in (a,,b)",
            "in,in in (x)",
            "in in (in,x)",
        ] {
            assert!(matches(yes, &pairs), "{yes}");
        }
        for no in [
            "env=test",
            "env!=prod",
            "!env",
            "absent",
            "absent=",
            "env in (test)",
            "env in ()",
            "tier>3",
            "env>1",
            "env=prod,tier=4",
        ] {
            assert!(!matches(no, &pairs), "{no}");
        }
    }

    #[test]
    fn an_invalid_selector_is_reported() {
        for (bad, why) in [
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            (
                "=",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            (
                "!",
                "unable to parse requirement: found '', expected: identifier",
            ),
            (
                "a in b",
                "unable to parse requirement: found 'b' expected: '('",
            ),
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "a in (",
                "unable to parse requirement: found '', expected: ',', ')' or identifier",
            ),
            (
                "a in (b,",
                "unable to parse requirement: found '', expected: ',', or identifier",
            ),
            (
                "a is (b)",
                "unable to parse requirement: found 'is', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ] {
            assert_eq!(read(bad).unwrap_err(), why, "{bad}");
        }
        assert!(
            read("a=-")
                .unwrap_err()
                .contains("values[0][a]: Invalid value: \"-\": a valid label")
        );
        assert!(
            read("-a")
                .unwrap_err()
                .contains("<nil>: Invalid value: \"-a\": name part")
        );
    }
}
