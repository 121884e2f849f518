//! Durations as people write them: `90s`, `2m`, `1h30m`, `500ms`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::model::cut;

/// A duration that is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period(pub Duration);

const UNITS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

impl Period {
    /// A period of whole minutes.
    #[must_use]
    pub const fn minutes(minutes: u64) -> Self {
        Self(Duration::from_secs(minutes * 60))
    }
}

/// The error for text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration such as 90s, 2m or 1h30m")]
pub struct NotAPeriod(String);

impl FromStr for Period {
    type Err = NotAPeriod;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let not = || NotAPeriod(text.to_owned());
        let (mut rest, mut total) = (text, 0_u64);
        while !rest.is_empty() {
            let (number, after) = split(rest, |c| c.is_ascii_digit());
            let (unit, after) = split(after, |c| c.is_ascii_alphabetic());
            let (_, millis) = UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .ok_or_else(not)?;
            let number: u64 = number.parse().map_err(|_| not())?;
            total = number
                .checked_mul(*millis)
                .and_then(|part| total.checked_add(part))
                .ok_or_else(not)?;
            rest = after;
        }
        if text.is_empty() {
            return Err(not());
        }
        Ok(Self(Duration::from_millis(total)))
    }
}

fn split(text: &str, takes: impl Fn(char) -> bool) -> (&str, &str) {
    cut::until(text, |c| !takes(c))
}

/// Writes the largest units that lose nothing: `1h30m`, `90s` as `1m30s`.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, millis) in UNITS.iter().rev() {
            if rest >= *millis {
                write!(f, "{}{unit}", rest / millis)?;
                rest %= millis;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Period {
    type Error = NotAPeriod;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

impl JsonSchema for Period {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^([0-9]{1,9}(ms|s|m|h))+$"})
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn periods_are_read_and_written() {
        for (text, millis, written) in [
            ("90s", 90_000, "1m30s"),
            ("2m", 120_000, "2m"),
            ("1h30m", 5_400_000, "1h30m"),
            ("500ms", 500, "500ms"),
            ("0s", 0, "0s"),
        ] {
            let period: Period = text.parse().unwrap();
            assert_eq!(period.0, Duration::from_millis(millis), "{text}");
            assert_eq!(period.to_string(), written);
        }
    }

    #[test]
    fn what_is_no_period_is_refused() {
        for text in [
            "",
            "1",
            "m",
            "1 m",
            "-1m",
            "1.5h",
            "1d",
            "99999999999999999999s",
            "1mm",
        ] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }
}
