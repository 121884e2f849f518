//! Literal durations and timestamps in rules.
//!
//! In: a string. Out: whether it has the form that an API server can parse (Go's `time.ParseDuration`,
//! RFC 3339).

use std::sync::LazyLock;

use regex::Regex;

static DURATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$").ok()
});

static TIMESTAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let (date, time) = ("[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}");
    Regex::new(&format!(
        r"^{date}T{time}([.,][0-9]+)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})$"
    ))
    .ok()
});

/// Whether `function`, `duration` or `timestamp`, can parse `text`.
pub(super) fn is_time(function: &str, text: &str) -> bool {
    let form = match function {
        "duration" => &DURATION,
        _ => &TIMESTAMP,
    };
    form.as_ref().is_none_or(|form| form.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_known_by_their_form() {
        for text in ["0", "1h30m", "-1.5h", ".5s", "1µs", "1.s"] {
            assert!(is_time("duration", text), "{text}");
        }
        for text in ["", "1", "1d", "h", "1 h", "1h-2m"] {
            assert!(!is_time("duration", text), "{text}");
        }
        assert!(is_time("timestamp", "2024-01-02T03:04:05.5+02:00"));
        for text in ["2024-01-02", "2024-01-02T03:04:05", "2024-01-02 03:04:05Z"] {
            assert!(!is_time("timestamp", text), "{text}");
        }
    }
}
