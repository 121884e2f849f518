//! When a credential expires.
//!
//! In: a certificate in PEM, or a token. Out: its end, if it can be read. Nothing is verified: the API server does that.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// Tags of ASN.1.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// When the first certificate of a PEM text ends.
pub(super) fn not_after(pem: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once(BEGIN)?;
    let (body, _) = rest.split_once(END)?;
    let body: String = body.split_whitespace().collect();
    let der = BASE64_STANDARD.decode(body).ok()?;
    let (certificate, _) = inside(&der, SEQUENCE)?;
    let (mut fields, _) = inside(certificate, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        fields = after(fields)?;
    }
    // Serial number, algorithm and issuer come before the validity.
    for _ in 0..3 {
        fields = after(fields)?;
    }
    let (validity, _) = inside(fields, SEQUENCE)?;
    time(after(validity)?)
}

/// When a JSON Web Token ends.
pub(super) fn token_expiry(token: &str) -> Option<Timestamp> {
    let claims = token.split('.').nth(1)?;
    let claims = BASE64_URL_SAFE_NO_PAD
        .decode(claims.trim_end_matches('='))
        .ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()
}

/// Tag, content and rest of the value that begins here.
fn value(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let length = bytes
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// Content and rest of a value with this tag.
fn inside(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = value(der)?;
    (found == tag).then_some((content, rest))
}

/// What comes after the value that begins here.
fn after(der: &[u8]) -> Option<&[u8]> {
    value(der).map(|(_, _, rest)| rest)
}

/// The time that begins here: `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`.
fn time(der: &[u8]) -> Option<Timestamp> {
    let (tag, content, _) = value(der)?;
    let digits = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    let whole = match tag {
        // Years from 50 on are of the last century.
        UTC_TIME if digits.starts_with(['5', '6', '7', '8', '9']) => format!("19{digits}"),
        UTC_TIME => format!("20{digits}"),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", whole).ok()?;
    time.to_zoned(TimeZone::UTC)
        .ok()
        .map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate as `openssl req -x509 -newkey ed25519 -days 3650` makes it, which ends at this time.
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIBrTCCAV+gAwIBAgIUCZPNf//nB20comJxVfDKDsuvDV4wBQYDK2VwMEwxMTAv\nBgNVBAMMKHN5c3RlbTpjdXN0b21lci1icmVhay1nbGFzczpzeXN0ZW0tYWRtaW4x\nFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMB4XDTI2MTEyMzE1MTA0M1oXDTM2MTEy\nMDE1MTA0M1owTDExMC8GA1UEAwwoc3lzdGVtOmN1c3RvbWVyLWJyZWFrLWdsYXNz\nOnN5c3RlbS1hZG1pbjEXMBUGA1UECgwOc3lzdGVtOm1hc3RlcnMwKjAFBgMrZXAD\nIQA1VyXABysoQ9732ErDJUC050v3JFNjGTWnXIft/H5snKNTMFEwHQYDVR0OBBYE\nFKfSvMZfRFaPtF6dRXt9GSJAog+xMB8GA1UdIwQYMBaAFKfSvMZfRFaPtF6dRXt9\nGSJAog+xMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2VwA0EA6E6uCilROTnW/87p/Ei+\n2ntur/swBsStRcPaYpKuIVcHP3wGrnmDGArs4C/oO7qTctL13jUepDy1smRq3jjY\nCg==\n-----END CERTIFICATE-----";
    const ENDS: &str = "2036-11-20T15:10:43Z";

    #[test]
    fn a_certificate_and_a_token_have_an_end() {
        assert_eq!(not_after(CERTIFICATE.as_bytes()), ENDS.parse().ok());
        let claims = BASE64_URL_SAFE_NO_PAD.encode(r#"{"exp":1767225600}"#);
        let end = token_expiry(&format!("head.{claims}.signature"));
        assert_eq!(end, "2026-01-01T00:00:00Z".parse().ok());
    }

    #[test]
    fn anything_else_has_none() {
        for token in ["", "opaque", "a.b.c", "a.e30.c", "a.W10.c"] {
            assert_eq!(token_expiry(token), None, "{token}");
        }
        assert_eq!(not_after(b""), None);
        assert_eq!(not_after(b"\xff"), None);
        for cut in 0..CERTIFICATE.len() {
            let broken = format!("{}\n{END}", CERTIFICATE.get(..cut).expect("ASCII"));
            assert!(
                not_after(broken.as_bytes()).is_none_or(|end| end == ENDS.parse().expect("a time"))
            );
        }
    }
}
