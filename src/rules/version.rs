//! Versions of OpenShift.

use std::fmt;

/// `X.Y.Z`, optionally with a pre-release: `4.21.0-rc.1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Version {
    /// X, Y and Z.
    pub(super) numbers: (u64, u64, u64),
    /// The pre-release after `-`; empty for a release.
    pub(super) before: String,
}

impl Version {
    /// Reads a version; none if the text is anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (numbers, before) = match text.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before)),
            None => (text, None),
        };
        let mut parts = numbers.split('.').map(number);
        let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
        let sound = before.is_none_or(|before| before.split('.').all(is_identifier));
        (parts.next().is_none() && sound).then(|| Self {
            numbers: (major, minor, patch),
            before: before.unwrap_or_default().to_owned(),
        })
    }

    /// The same with build metadata, which does not count: `4.21.0+build`.
    pub(super) fn parse_with_build(text: &str) -> Option<Self> {
        let (version, build) = match text.split_once('+') {
            Some((version, build)) => (version, Some(build)),
            None => (text, None),
        };
        let is_sound = build.is_none_or(|build| build.split('.').all(is_word));
        Self::parse(version).filter(|_| is_sound)
    }

    /// Whether it is older than the release `other`; a pre-release of `other` is.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        match self.numbers == other.numbers {
            true => !self.before.is_empty(),
            false => self.numbers < other.numbers,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        match self.before.as_str() {
            "" => Ok(()),
            before => write!(f, "-{before}"),
        }
    }
}

/// `X.Y`, by which Azure compares versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Minor {
    pub(super) major: u64,
    pub(super) minor: u64,
}

impl Minor {
    /// Reads a version as Azure does: with or without a patch version, a pre-release and a `v`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let numbers = text.split(['-', '+']).next()?;
        let parts: Vec<u64> = numbers.split('.').map(number).collect::<Option<_>>()?;
        match *parts.as_slice() {
            [major] => Some(Self { major, minor: 0 }),
            [major, minor] | [major, minor, _] => Some(Self { major, minor }),
            _ => None,
        }
    }

    /// The minor version `by` later.
    pub(super) const fn later(self, by: u64) -> Self {
        let minor = self.minor.saturating_add(by);
        Self { minor, ..self }
    }
}

impl From<(u64, u64)> for Minor {
    fn from((major, minor): (u64, u64)) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let leading = text.len() > 1 && text.starts_with('0');
    (digits && !leading).then(|| text.parse().ok())?
}

fn is_word(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !text.is_empty() && text.chars().all(allowed)
}

fn is_identifier(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    is_word(text) && (!digits || text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_three_numbers_and_a_suffix_are_a_version() {
        for text in ["4.20.8", "4.21.0-rc.1", "4.21.0-0.nightly-2026-01-02"] {
            assert_eq!(Version::parse(text).unwrap().to_string(), text);
        }
        let wrong = [
            "",
            "4",
            "4.20",
            "4.20.8.1",
            "4.020.8",
            "v4.20.8",
            "4.20.8-",
            "4.20.8-01",
            "4.20.8+a",
            "4.20. 8",
            "4.20.99999999999999999999",
        ];
        for text in wrong {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        let with_build = Version::parse_with_build("4.21.0-rc.1+b.1");
        assert_eq!(with_build.unwrap().to_string(), "4.21.0-rc.1");
        for text in ["4.21.0+", "4.21.0+a..b", "4.21+a"] {
            assert_eq!(Version::parse_with_build(text), None, "{text}");
        }
    }

    #[test]
    fn what_comes_before_a_release_is_below_it() {
        let below = |one: &str, other: &str| {
            Version::parse(one)
                .unwrap()
                .is_below(&Version::parse(other).unwrap())
        };
        assert!(below("4.20.8-rc.1", "4.20.8") && below("4.20.7", "4.20.8"));
        assert!(!below("4.20.8", "4.20.8") && !below("4.21.0-rc.1", "4.20.8"));
    }
}
