//! Pauses, addresses and settings that can and cannot be used, and what is shown of them.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::model::ErrorClass;

/// 1970-01-01 00:16:40.
fn now() -> Timestamp {
    Timestamp::from_second(1_000).unwrap()
}

fn wait(value: &str) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert(RETRY_AFTER, HeaderValue::from_str(value).unwrap());
    retry_after(&headers, now()).map(|wait| wait.as_secs())
}

#[test]
fn the_pause_is_seconds_or_until_a_date() {
    assert_eq!(wait("0"), Some(0));
    assert_eq!(wait(" 120 "), Some(120));
    assert_eq!(wait("Thu, 01 Jan 1970 00:17:10 GMT"), Some(31));
    assert_eq!(wait("Thu, 01 Jan 1970 00:00:10 GMT"), Some(1));
    assert_eq!(retry_after(&HeaderMap::new(), now()), None);
}

#[test]
fn no_pause_is_read_from_anything_else() {
    for value in [
        "",
        "soon",
        "-1",
        "1.5",
        "99999999999999999999999",
        "1970-01-01",
    ] {
        assert_eq!(wait(value), None, "{value:?}");
    }
}

#[test]
fn an_address_with_credentials_or_of_another_kind_is_invalid_and_not_repeated() {
    for text in [
        "http://u:s3cret@h/",
        "http://s3cret@h/",
        "ftp://s3cret/",
        "s3cret",
        "",
    ] {
        let error = address(text).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid, "{text}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

#[test]
fn an_address_is_shown_without_its_query() {
    let url = address("https://dcm:8443/api/v1alpha1/providers?id=s3cret#s3cret").unwrap();
    assert_eq!(shown(&url), "https://dcm:8443/api/v1alpha1/providers");
}

#[test]
fn a_token_is_neither_shown_nor_sent_when_it_would_end_its_header() {
    let settings = Settings {
        token: Some("s3cret\r\nX: y".to_owned()),
        ..Settings::default()
    };
    let error = Registry::new(&settings).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    for text in [error.to_string(), format!("{settings:?}")] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    let sent = headers(Some("s3cret")).unwrap();
    assert!(!format!("{sent:?}").contains("s3cret"), "{sent:?}");
}

#[test]
fn a_file_that_holds_no_certificate_is_invalid() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.crt");
    let new = || {
        let authorities = Some(path.clone());
        Registry::new(&Settings {
            authorities,
            ..Settings::default()
        })
    };
    let missing = new().unwrap_err();
    assert_eq!(missing.class(), ErrorClass::Invalid);
    assert!(missing.to_string().contains("ca.crt"), "{missing}");
    std::fs::write(&path, "x").unwrap();
    let empty = new().unwrap_err();
    assert!(empty.to_string().contains("PEM"), "{empty}");
}
