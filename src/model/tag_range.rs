//! A range of versions, and which of a repository's tags is the newest in it.
//!
//! In: a range as people write it, and names of tags. Out: the tag. Tags that are not versions do not count.
//! Semantics: Semantic Versioning 2.0 and the ranges of Cargo and npm, where they agree. A pre-release is only
//! in a range that names one of the same version.

use std::fmt;
use std::str::FromStr;

use semver::{Version, VersionReq};

/// A range of versions: `1.x`, `>=1.2 <2`, `~1.4 || ^2.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRange {
    written: String,
    alternatives: Vec<VersionReq>,
}

impl FromStr for TagRange {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let alternatives = written.split("||").map(alternative);
        Ok(Self {
            written: written.to_owned(),
            alternatives: alternatives.collect::<Result<_, _>>()?,
        })
    }
}

impl fmt::Display for TagRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl TagRange {
    /// The tag with the highest version in the range. `v1.2.3` and `1.2.3` are versions.
    pub fn newest<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let versions = tags
            .into_iter()
            .filter_map(|tag| Some((version(tag)?, tag)));
        let inside = versions.filter(|(version, _)| self.has(version));
        inside.max().map(|(_, tag)| tag)
    }

    /// Whether this tag is a version in the range.
    pub fn contains(&self, tag: &str) -> bool {
        version(tag).is_some_and(|version| self.has(&version))
    }

    fn has(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|one| one.matches(version))
    }
}

fn version(tag: &str) -> Option<Version> {
    Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()
}

/// One range. Its parts may be separated by commas or spaces. A version without an operator is that version,
/// and `1.2` is any patch of it.
fn alternative(written: &str) -> Result<VersionReq, String> {
    let mut parts: Vec<String> = Vec::new();
    for word in written.split([',', ' ']).filter(|word| !word.is_empty()) {
        let is_operator = |text: &str| text.chars().all(|c| "<>=~^".contains(c));
        match parts.last_mut().filter(|last| is_operator(last)) {
            Some(operator) => operator.push_str(word),
            None => parts.push(word.to_owned()),
        }
    }
    if parts.is_empty() {
        return Err("the range is empty; write `*` for every version".to_owned());
    }
    let parts = parts.iter().map(|part| {
        let digits = part.trim_start_matches(['<', '>', '=', '~', '^']);
        let operator = part.strip_suffix(digits).unwrap_or_default();
        let version = digits.strip_prefix('v').unwrap_or(digits);
        let is_plain = operator.is_empty() && !version.contains(['*', 'x', 'X']);
        format!("{}{version}", if is_plain { "=" } else { operator })
    });
    let range = parts.collect::<Vec<_>>().join(", ");
    VersionReq::parse(&range).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TAGS: &[&str] = &[
        "v0.9.0",
        "v1.0.0",
        "1.1.0",
        "v1.2.0",
        "v1.2.3",
        "v1.10.0",
        "v2.0.0-rc.1",
        "v2.0.0-rc.2",
        "v3.0.0",
        "latest",
        "v1",
        "release-4.0.0",
    ];

    #[test]
    fn the_newest_tag_of_a_range_is_found() {
        for (range, tag) in [
            ("*", Some("v3.0.0")),
            ("1.x", Some("v1.10.0")),
            ("1.2.*", Some("v1.2.3")),
            ("1.2", Some("v1.2.3")),
            ("v1.2.0", Some("v1.2.0")),
            ("1.2.1", None),
            ("~1.2.0", Some("v1.2.3")),
            ("^1.1", Some("v1.10.0")),
            (">=1.0.0 <1.2.0", Some("1.1.0")),
            (">= 1.0.0, < 1.2.0", Some("1.1.0")),
            ("<1 || ~1.2", Some("v1.2.3")),
            (">1.10.0 <3", None),
            (">=2.0.0-rc.0 <3", Some("v2.0.0-rc.2")),
            ("9", None),
        ] {
            let parsed: TagRange = range.parse().unwrap();
            assert_eq!(parsed.newest(TAGS.iter().copied()), tag, "{range}");
        }
    }

    #[test]
    fn what_is_no_range_is_explained() {
        for range in ["", "||", "latest", "1.2.3 - 2", ">=", "1.2.3.4", "=>1"] {
            assert!(range.parse::<TagRange>().is_err(), "{range}");
        }
    }
}
