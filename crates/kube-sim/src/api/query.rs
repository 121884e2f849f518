//! The parameters of a request.
//!
//! In: the query of a URL. Out: texts, flags and numbers by their names, read as Go's server reads them.
//! It does not know which parameters there are.

use super::path::decode;
use super::status::Refusal;

/// The parameters of a request, in their order; a name may be there more than once.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part of a URL after the question mark.
    pub(super) fn read(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let read = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| decode(&text.replace('+', " "));
            (plain(key), plain(value))
        };
        Self(pairs.map(read).collect())
    }

    /// Every value of a parameter.
    pub(super) fn all(&self, key: &str) -> Vec<&str> {
        let found = self.0.iter().filter(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// The first value of a parameter, if it is given at all.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, empty when it is not given.
    pub(super) fn text(&self, key: &str) -> &str {
        self.get(key).unwrap_or_default()
    }

    /// Whether a parameter is given and neither `0` nor `false`; an empty one is true.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// The whole number that a parameter gives.
    ///
    /// # Errors
    /// 400 for what is none.
    pub(super) fn number(&self, key: &str) -> Result<Option<i64>, Refusal> {
        let parsed = self.get(key).map(|text| {
            let parsed = text.parse::<i64>();
            parsed.map_err(|_| Refusal::bad_request(not_parsed("ParseInt", text)))
        });
        parsed.transpose()
    }
}

/// A resource version as text: none for an empty one.
///
/// # Errors
/// The error message of Go's parser.
pub(super) fn version(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    // A sign is no part of a version.
    let parsed = text.parse().ok().filter(|_| !text.starts_with('+'));
    parsed
        .map(Some)
        .ok_or_else(|| not_parsed("ParseUint", text))
}

/// The message of Go's `strconv` for a text that is not a number, or is out of range.
fn not_parsed(function: &str, text: &str) -> String {
    let digits = text
        .strip_prefix(['-', '+'])
        .filter(|_| function == "ParseInt");
    let digits = digits.unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = match is_number {
        true => "value out of range",
        false => "invalid syntax",
    };
    format!("strconv.{function}: parsing {text:?}: {why}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn escapes_are_undone_and_names_may_repeat() {
        let query = Query::read("&dryRun=All&labelSelector=a%20in+%28b%2Cc%29&dryRun=x&watch");
        assert_eq!(query.text("labelSelector"), "a in (b,c)");
        assert_eq!(query.all("dryRun"), ["All", "x"]);
        assert_eq!(query.get("watch"), Some(""));
        assert_eq!(query.get("limit"), None);
    }

    #[test]
    fn a_present_flag_is_true_unless_it_is_false_or_zero() {
        let query = Query::read("a&b=0&c=False&d=no");
        assert!(query.flag("a") && query.flag("d"));
        assert!(!query.flag("b") && !query.flag("c") && !query.flag("e"));
    }

    #[test]
    fn numbers_are_whole() {
        let query = Query::read("a=-1&b=x&c=&d=99999999999999999999");
        assert_eq!(query.number("a").unwrap(), Some(-1));
        assert_eq!(query.number("e").unwrap(), None);
        for (key, message) in [
            ("b", r#"strconv.ParseInt: parsing "x": invalid syntax"#),
            ("c", r#"strconv.ParseInt: parsing "": invalid syntax"#),
            (
                "d",
                r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#,
            ),
        ] {
            assert_eq!(query.number(key).unwrap_err().message, message);
        }
        assert_eq!(version("7"), Ok(Some(7)));
        assert_eq!(version(""), Ok(None));
        assert!(version("+7").is_err() && version("-7").is_err());
    }
}
