//! String formats that the API server checks.
//!
//! In: a format's name and a text. Out: whether the text has it. The API server ignores formats that
//! it does not know, `int32` and `int64` among them, and before 1.35 the `k8s-*` names. Dashes in a
//! name do not count: `date-time` is `datetime`.
//!
//! Left out: the API server also checks `isbn`, `isbn10`, `isbn13`, `creditcard` and `ssn`. Here any text
//! has these formats.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use regex::Regex;

use super::uri;

/// Formats by name without dashes, and what decides about them.
type Format = (&'static str, fn(&str) -> bool);

const FORMATS: &[Format] = &[
    ("bsonobjectid", |text| hex(text, 24)),
    ("byte", is_base64),
    ("cidr", is_cidr),
    ("creditcard", |_| true),
    ("date", is_date),
    ("datetime", is_date_time),
    ("duration", is_duration),
    ("email", is_email),
    ("hexcolor", is_hex_color),
    ("hostname", is_hostname),
    ("ipv4", |text| is_ipv4(text)),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("isbn", |_| true),
    ("isbn10", |_| true),
    ("isbn13", |_| true),
    ("mac", is_mac),
    ("password", |_| true),
    ("rgbcolor", is_rgb_color),
    ("ssn", |_| true),
    ("uri", |text| uri::parse(text).is_some()),
    ("uuid", |text| is_uuid(text, None)),
    ("uuid3", |text| is_uuid(text, Some('3'))),
    ("uuid4", |text| is_uuid(text, Some('4'))),
    ("uuid5", |text| is_uuid(text, Some('5'))),
];

fn find(format: &str) -> Option<fn(&str) -> bool> {
    let name = format.replace('-', "");
    let (_, fits) = FORMATS.iter().find(|(known, _)| *known == name)?;
    Some(*fits)
}

/// Whether the format is checked at all.
pub fn is_known(format: &str) -> bool {
    find(format).is_some()
}

/// Whether `text` has the format; any text has one that is not known.
pub fn fits(format: &str, text: &str) -> bool {
    find(format).is_none_or(|fits| fits(text))
}

fn hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Standard alphabet, padded; line breaks are allowed as in Go.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && body
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// Leading zeros are tolerated, as Kubernetes does.
fn is_ipv4(text: &str) -> bool {
    sloppy_ipv4(text).is_some() || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok())
}

fn sloppy_ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u8> = text
        .split('.')
        .map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten()
        })
        .collect::<Option<_>>()?;
    <[u8; 4]>::try_from(parts).ok().map(Ipv4Addr::from)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else {
        return false;
    };
    let digits = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_digit());
    let Some(prefix) = prefix.parse::<u32>().ok().filter(|_| digits) else {
        return false;
    };
    (sloppy_ipv4(address).is_some() && prefix <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && prefix <= 128)
}

fn is_date(text: &str) -> bool {
    let shape = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    shape && text.parse::<jiff::civil::Date>().is_ok()
}

/// RFC 3339 in any case; offsets are not looked at closely, as the API server does not.
fn is_date_time(text: &str) -> bool {
    static TIME: OnceLock<Option<Regex>> = OnceLock::new();
    let lower = text.to_lowercase();
    let Some((date, rest)) = lower.split_once('t') else {
        return false;
    };
    let time = rest.split('t').next().unwrap_or_default();
    let pattern = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
    let regex = TIME.get_or_init(|| Regex::new(pattern).ok());
    let parts = regex.as_ref().and_then(|regex| regex.captures(time));
    is_date(date)
        && parts.is_some_and(|parts| &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59")
}

/// Go's durations, and any text that holds a number with a unit.
fn is_duration(text: &str) -> bool {
    static UNIT: OnceLock<Option<Regex>> = OnceLock::new();
    let units = "ns|nano[a-z]*|us|µs|micro[a-z]*|ms|milli[a-z]*|s|sec[a-z]*|m|min[a-z]*|h|hr|hour[a-z]*|d|day[a-z]*|w|wk|week[a-z]*";
    let pattern = format!(r"(?i)[0-9][ \t\n\f\r]*({units})([^a-zµ]|$)");
    let regex = UNIT.get_or_init(|| Regex::new(&pattern).ok());
    text.trim_start_matches(['+', '-']) == "0"
        || regex.as_ref().is_none_or(|regex| regex.is_match(text))
}

fn is_email(text: &str) -> bool {
    let address = match text.rsplit_once('<') {
        Some((_, rest)) => match rest.strip_suffix('>') {
            Some(address) => address,
            None => return false,
        },
        None => text,
    };
    let atom = |part: &str| {
        !part.is_empty()
            && part.split('.').all(|word| !word.is_empty())
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c))
    };
    address
        .rsplit_once('@')
        .is_some_and(|(local, domain)| atom(local) && atom(domain))
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    hex(digits, 3) || hex(digits, 6)
}

/// Labels of letters, digits, symbols and inner dashes; a last label after a dot has two letters or
/// more and nothing else.
fn is_hostname(text: &str) -> bool {
    static HOST: OnceLock<Option<Regex>> = OnceLock::new();
    let label = r"[a-zA-Z0-9\p{S}\p{L}]";
    let pattern = format!(
        r"^({label}((-?{label}{{0,62}})?)|({label}(([a-zA-Z0-9\-\p{{S}}\p{{L}}]{{0,61}}{label})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
    );
    let regex = HOST.get_or_init(|| Regex::new(&pattern).ok());
    text.len() <= 255
        && text.split('.').all(|part| part.len() <= 63)
        && regex.as_ref().is_none_or(|regex| regex.is_match(text))
}

/// `rgb(1, 2, 3)`
fn is_rgb_color(text: &str) -> bool {
    let inner = text
        .strip_prefix("rgb(")
        .and_then(|rest| rest.strip_suffix(')'));
    let is_part = |part: &str| {
        let part = part.trim_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let plain = part == "0" || !part.starts_with(['0', '+']);
        plain && part.parse::<u8>().is_ok()
    };
    inner.is_some_and(|inner| inner.split(',').count() == 3 && inner.split(',').all(is_part))
}

/// Six, eight or twenty octets with `:` or `-` between them, or the same with `.` after every second.
fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| hex(part, width))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

/// Dashes may be missing; a version constrains the thirteenth digit, 4 and 5 also the variant.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    static SHAPE: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{12}$";
    let regex = SHAPE.get_or_init(|| Regex::new(pattern).ok());
    let Some(parts) = regex.as_ref().and_then(|regex| regex.captures(text)) else {
        return false;
    };
    let variant = "89abAB".contains(&parts[2]) || version == Some('3');
    version.is_none_or(|version| parts[1].starts_with(version) && variant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_knows_its_own() {
        let table = [
            ("date-time", "2024-02-29T10:00:00Z", "2023-02-29T10:00:00Z"),
            (
                "date-time",
                "2024-01-01t10:00:00.5+02:00",
                "2024-01-01 10:00:00Z",
            ),
            ("date", "2024-01-31", "2024-1-31"),
            ("uuid", "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10", "3f0c7d3e"),
            (
                "uuid4",
                "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
                "3f0c7d3e-52a4-3b6b-9a51-2f1f0d9c7a10",
            ),
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv6", "fe80::1", "fe80::1::2"),
            ("cidr", "10.0.0.0/16", "10.0.0.0/33"),
            ("mac", "00:1a:2b:3c:4d:5e", "00:1a:2b:3c:4d"),
            ("hostname", "a-b.example.com", "-a.example.com"),
            ("email", "a@example.com", "a.example.com"),
            ("uri", "https://example.com/x", "example com"),
            ("byte", "YWJj", "YWJ"),
            ("duration", "1h30m", "soon"),
            ("duration", "22 ns", "22 parsecs?"),
            ("hexcolor", "#fff", "#ffg"),
            ("rgbcolor", "rgb(255, 0,1)", "rgb(256,0,0)"),
            ("rgbcolor", "rgb( 1 , 2 , 3 )", "rgb(01,0,0)"),
        ];
        for (format, good, bad) in table {
            assert!(fits(format, good), "{format}: {good}");
            assert!(!fits(format, bad), "{format}: {bad}");
        }
    }

    #[test]
    fn numeric_formats_are_not_checked() {
        assert!(!is_known("int32"));
        assert!(!is_known("no-such-format"));
    }
}
