//! Times with microseconds, which have one spelling only.

use serde_json::Value;

use super::builtin::Builtin;

/// Where they are, by kind.
const TIMES: &[(&str, &[&str])] = &[
    ("Event", &["/eventTime", "/series/lastObservedTime"]),
    ("Lease", &["/spec/acquireTime", "/spec/renewTime"]),
];

/// Checks the times of an object.
///
/// # Errors
/// Says which time is not to the microsecond, in the words of Go's parser.
pub(super) fn check(row: &Builtin, object: &Value) -> Result<(), String> {
    let known = TIMES.iter().find(|(kind, _)| *kind == row.kind);
    let places = known.map_or(&[][..], |(_, places)| *places);
    let times = places
        .iter()
        .filter_map(|place| object.pointer(place)?.as_str());
    for time in times {
        if let Some((rest, wanted)) = fault(time) {
            return Err(format!(
                "parsing time {time:?} as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse {rest:?} as {wanted:?}"
            ));
        }
    }
    Ok(())
}

/// What follows the seconds and is no six digits, or follows those and is no zone; and what should be
/// there. What is wrong before that is left to the type.
fn fault(time: &str) -> Option<(&str, &'static str)> {
    const SECONDS: usize = "2006-01-02T15:04:05".len();
    let rest = time.get(SECONDS..)?;
    let digits = rest.strip_prefix('.').unwrap_or_default();
    let digits = digits.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        6 => None,
        more if more > 6 => Some((rest.get(7..)?, "Z07:00")),
        _ => Some((rest, ".000000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_six_digits_and_a_zone() {
        assert_eq!(fault("2026-01-02T03:04:05.123456Z"), None);
        assert_eq!(fault("2026-01-02T03:04:05.123456+01:00"), None);
        assert_eq!(fault("2026-01-02T03:04:05Z"), Some(("Z", ".000000")));
        assert_eq!(
            fault("2026-01-02T03:04:05.1234567Z"),
            Some(("7Z", "Z07:00"))
        );
    }
}
