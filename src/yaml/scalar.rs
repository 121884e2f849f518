//! Plain scalars as Kubernetes tools read them.
//!
//! In: the text of a scalar without quotes. Out: its value. The rules are those of YAML 1.1 as
//! go-yaml 2 (behind sigs.k8s.io/yaml and so kubectl) applies them: `on` is a boolean, `0644` is
//! octal, `1_000` is a thousand, dates and times of day stay text.

use std::borrow::Cow;

use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};

use crate::model::Value;

/// The value of a plain scalar.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        _ => number(text).unwrap_or_else(|| string(text)),
    }
}

/// The text as a string.
pub(super) fn string(text: &str) -> Value {
    Value::String(Cow::Owned(text.to_owned()))
}

/// The text that base64 stands for, as Kubernetes tools take `!!binary`: line ends do not count, and JSON has
/// U+FFFD for bytes that are not UTF-8. None for invalid base64.
pub(super) fn binary(text: &str) -> Option<Value> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, config);
    let bytes = engine.decode(text.replace(['\r', '\n'], "")).ok()?;
    let mut decoded = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        decoded.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Some(Value::String(Cow::Owned(decoded)))
}

/// Whether YAML reads this as a number that JSON cannot represent.
pub(super) fn is_beyond_json(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

fn number(text: &str) -> Option<Value> {
    match text.as_bytes().first()? {
        b'.' => float(text, text),
        b'0'..=b'9' | b'+' | b'-' if text.contains('_') => digits(text, &text.replace('_', "")),
        b'0'..=b'9' | b'+' | b'-' => digits(text, text),
        _ => None,
    }
}

/// The number that `plain` spells, written as `text`.
fn digits(text: &str, plain: &str) -> Option<Value> {
    let (sign, unsigned) = match plain.split_at_checked(1) {
        Some((sign @ ("+" | "-"), rest)) => (sign, rest),
        _ => ("", plain),
    };
    let (digits, radix) = radix(unsigned);
    // The standard library's parser would accept a second sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    if let Ok(int) = i64::from_str_radix(&format!("{sign}{digits}"), radix) {
        return Some(Value::Int(int));
    }
    match u64::from_str_radix(digits, radix) {
        Ok(large) if sign.is_empty() => Some(Value::Float(large as f64, text.into())),
        _ => float(text, plain),
    }
}

/// The digits without their prefix, and their radix.
fn radix(unsigned: &str) -> (&str, u32) {
    let Some(rest) = unsigned.strip_prefix('0').filter(|rest| !rest.is_empty()) else {
        return (unsigned, 10);
    };
    let signs = [(['x', 'X'], 16), (['o', 'O'], 8), (['b', 'B'], 2)];
    let mut found = signs.into_iter().filter_map(|(sign, radix)| {
        let digits = rest.strip_prefix(sign)?;
        (!digits.is_empty()).then_some((digits, radix))
    });
    found.next().unwrap_or((rest, 8))
}

fn float(text: &str, plain: &str) -> Option<Value> {
    if !is_decimal(plain) {
        return None;
    }
    let float: f64 = plain.parse().ok()?;
    float.is_finite().then(|| Value::Float(float, text.into()))
}

/// Whether the text has the form `[-+]?(\.d+|d+(\.d*)?)([eE][-+]?d+)?`.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent = exponent.map_or("0", |text| text.strip_prefix(['+', '-']).unwrap_or(text));
    let is_digit = |byte: u8| byte.is_ascii_digit();
    mantissa.bytes().any(is_digit)
        && mantissa.bytes().all(|byte| is_digit(byte) || byte == b'.')
        && mantissa.matches('.').count() <= 1
        && !exponent.is_empty()
        && exponent.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn int(text: &str, expected: i64) {
        assert_eq!(resolve(text), Value::Int(expected), "{text}");
    }

    #[track_caller]
    fn float(text: &str, expected: f64) {
        assert_eq!(resolve(text), Value::Float(expected, text.into()), "{text}");
    }

    #[test]
    fn whole_numbers_come_in_four_radixes() {
        int("0", 0);
        int("00", 0);
        int("-0", 0);
        int("+1", 1);
        int("010", 8);
        int("0644", 420);
        int("-010", -8);
        int("0o17", 15);
        int("0x1f", 31);
        int("0X1F", 31);
        int("-0x1f", -31);
        int("0b101", 5);
        int("1_000", 1000);
        int("9223372036854775807", i64::MAX);
        int("-9223372036854775808", i64::MIN);
    }

    #[test]
    fn other_numbers_keep_their_text() {
        float("4.20", 4.2);
        float("08", 8.0);
        float("1.", 1.0);
        float(".5", 0.5);
        float("-.5", -0.5);
        float("1e3", 1000.0);
        float("1E-3", 0.001);
        float("1_000.5", 1000.5);
        float("18446744073709551615", 18_446_744_073_709_551_615.0);
        float("-9223372036854775809", -9_223_372_036_854_775_809.0);
        float("123456789012345678901234567890", 1.234_567_890_123_456_8e29);
    }

    #[test]
    fn booleans_and_null_have_many_spellings() {
        for text in ["y", "Yes", "on", "TRUE"] {
            assert_eq!(resolve(text), Value::Bool(true), "{text}");
        }
        for text in ["N", "no", "Off", "false"] {
            assert_eq!(resolve(text), Value::Bool(false), "{text}");
        }
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(resolve(text), Value::Null, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_number_is_text() {
        for text in [
            "4.20.17",
            "12:30",
            "2026-01-31",
            "0x",
            "0xg",
            "1e",
            "e3",
            ".",
            "+",
            "-",
            "+-1",
            "0x-1",
            "--1",
            "1e999",
            "._5",
            "0o8",
            "nO",
            "tRue",
            "10.0.0.0/16",
            "1 000",
            "٣",
        ] {
            assert_eq!(resolve(text), string(text), "{text}");
        }
    }

    #[test]
    fn binary_is_decoded_as_kubectl_decodes_it() {
        for (text, expected) in [
            ("aGVsbG8=", "hello"),
            ("aGVs\nbG8=\n", "hello"),
            // Bits that no byte has are ignored.
            ("aGVsbG9=", "hello"),
            ("", ""),
            ("/v9h", "\u{fffd}\u{fffd}a"),
        ] {
            assert_eq!(binary(text), Some(string(expected)), "{text}");
        }
        for text in ["aGVsbG8", "aGVs bG8=", "a_==", "hello!"] {
            assert_eq!(binary(text), None, "{text}");
        }
    }

    #[test]
    fn infinity_and_nan_are_known() {
        for text in [".inf", "-.Inf", "+.INF", ".nan", ".NaN"] {
            assert!(is_beyond_json(text), "{text}");
        }
        for text in ["inf", "-.nan", ".infinite"] {
            assert!(!is_beyond_json(text), "{text}");
        }
    }
}
