//! Durations in Go's format: `1h30m`, `90s`, `1.5h`.

use crate::model::cut;

const UNITS: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// The number of seconds in `text`; none if it is not a duration.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0.0);
    }
    let (mut rest, mut sum) = (rest, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let (unit, after) = cut::until(after, |c| c.is_ascii_digit() || c == '.');
        let (_, of) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum += number.parse::<f64>().ok()? * of;
        rest = after;
    }
    (!text.trim_start_matches(['+', '-']).is_empty()).then_some(sign * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_units() {
        for (text, expected) in [
            ("1h30m", Some(5400.0)),
            ("1.5h", Some(5400.0)),
            ("90s", Some(90.0)),
            ("-2m", Some(-120.0)),
            ("0", Some(0.0)),
            ("60000000\u{3bc}s", Some(60.0)),
            ("", None),
            ("-", None),
            ("5", None),
            ("m", None),
            ("1d", None),
            ("1h ", None),
            ("1.2.3s", None),
        ] {
            assert_eq!(seconds(text), expected, "{text:?}");
        }
    }
}
