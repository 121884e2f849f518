//! How long a certificate is valid.
//!
//! In: an X.509 certificate in DER. Out: two times. It reads no other field, and verifies nothing.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The times from which and until which a certificate is valid; `None` if it cannot be read.
pub(super) fn of(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate, _) = value(certificate)?;
    let (_, mut fields, _) = value(certificate)?;
    if fields.first() == Some(&VERSION) {
        (_, _, fields) = value(fields)?;
    }
    // The serial number, the algorithm and the issuer.
    for _ in 0..3 {
        (_, _, fields) = value(fields)?;
    }
    let (tag, validity, _) = value(fields)?;
    if tag != SEQUENCE {
        return None;
    }
    let (tag, from, rest) = value(validity)?;
    let from = time(tag, from)?;
    let (tag, until, _) = value(rest)?;
    Some((from, time(tag, until)?))
}

/// The tag and the content of the first value, and what follows it.
fn value(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ 0..0x80 => (short, rest),
        long => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            let is_small = (1..=4).contains(&digits.len());
            let length = digits
                .iter()
                .fold(0, |sum, digit| (sum << 8) | usize::from(*digit));
            (is_small.then_some(length)?, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// A time, whose year has two digits or four (RFC 5280 §4.1.2.5).
fn time(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let text = match (tag, text.get(..2)?) {
        (UTC_TIME, year) if year < "50" => format!("20{text}"),
        (UTC_TIME, _) => format!("19{text}"),
        (GENERALIZED_TIME, _) => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", &text).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn the_times_of_a_certificate_are_read() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["one.example".to_owned()]).unwrap();
        params.not_before = date_time_ymd(1998, 3, 4);
        params.not_after = date_time_ymd(2061, 12, 31);
        let certificate = params.self_signed(&key).unwrap();
        let (from, until) = of(certificate.der()).unwrap();
        assert_eq!(from.to_string(), "1998-03-04T00:00:00Z");
        assert_eq!(until.to_string(), "2061-12-31T00:00:00Z");
    }

    #[test]
    fn what_is_no_certificate_has_no_times() {
        for garbage in [
            &b""[..],
            b"0",
            b"\x30\x84\xff\xff\xff\xff",
            &[0x30; 64],
            b"hello",
        ] {
            assert_eq!(of(garbage), None);
        }
    }
}
