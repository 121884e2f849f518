//! Settings that can and cannot be used, and what is shown of them.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::model::ErrorClass;

fn settings(servers: &[&str]) -> Settings {
    Settings {
        servers: servers.iter().map(|&server| server.to_owned()).collect(),
        credentials: Credentials::None,
        authorities: None,
        name: "capstan".to_owned(),
    }
}

fn password() -> Credentials {
    Credentials::Password {
        user: "user".to_owned(),
        password: "s3cret".to_owned(),
    }
}

#[test]
fn addresses_are_shown_and_kept_without_credentials() {
    let lists = [
        "nats://user:s3cret@a:4222, tls://user:s3cret@b:4443",
        "c:4222",
    ];
    let target = Target::new(&settings(&lists)).unwrap();
    assert_eq!(target.shown(), "nats://a:4222, tls://b:4443, nats://c:4222");
    assert!(!format!("{target:?}").contains("s3cret"), "{target:?}");
    assert!(format!("{target:?}").contains("Password"), "{target:?}");
}

#[test]
fn nothing_shows_the_credentials_of_the_settings() {
    let tokens = [Credentials::Token("s3cret".to_owned()), password()];
    for credentials in tokens {
        let servers = vec!["nats://s3cret@a:1".to_owned()];
        let shown = Settings {
            credentials,
            servers,
            ..settings(&[])
        };
        assert!(!format!("{shown:?}").contains("s3cret"), "{shown:?}");
    }
}

#[test]
fn addresses_of_other_kinds_are_invalid_and_not_repeated() {
    let unusable = [
        "",
        "nats://",
        "ws://s3cret:1",
        "http://s3cret",
        "nats://u:s3cret@a:99999",
        "://",
        "nats://%zz@a",
    ];
    for address in unusable {
        let error = Target::new(&settings(&[address])).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid, "{address}");
        assert!(error.to_string().contains("address 1"), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    let none = Target::new(&settings(&[])).unwrap_err();
    assert!(none.to_string().contains("no address"), "{none}");
}

#[test]
fn there_is_one_proof_of_who_connects() {
    let mut same = settings(&["nats://user:s3cret@a", "nats://user:s3cr%65t@b", "nats://c"]);
    same.credentials = password();
    assert!(Target::new(&same).is_ok());
    let mut other = settings(&["nats://other:s3cret@a"]);
    other.credentials = password();
    for settings in [other, settings(&["nats://user:s3cret@a", "nats://t0ken@b"])] {
        let error = Target::new(&settings).unwrap_err().to_string();
        assert!(error.contains("other credentials"), "{error}");
        assert!(
            !error.contains("s3cret") && !error.contains("t0ken"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_are_invalid_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    for text in [None, Some("s3cret")] {
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let credentials = Settings {
            credentials: Credentials::File(path.clone()),
            ..settings(&["nats://127.0.0.1:1"])
        };
        let authorities = Settings {
            authorities: Some(path.clone()),
            ..settings(&["nats://127.0.0.1:1"])
        };
        for settings in [credentials, authorities] {
            let error = Messenger::start(&settings).await.err().unwrap();
            assert_eq!(error.class(), ErrorClass::Invalid);
            assert!(error.to_string().contains("/file"), "{error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}
