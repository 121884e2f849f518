//! Which GitHub App works in a repository.
//!
//! In: the keys of a Secret, or files of the same names, as Flux has them. Out: an [`App`] in one repository. Its
//! tokens are for the server that the API belongs to, and for no other.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Url;

use super::App;
use crate::adapters::checks::forge::{Repository, Transport};
use crate::model::{AdapterError, Clock, ErrorClass, is_loopback};

const ID: &str = "githubAppID";
const INSTALLATION: &str = "githubAppInstallationID";
const KEY: &str = "githubAppPrivateKey";
const API: &str = "githubAppBaseURL";

/// The API of github.com.
const CLOUD: &str = "https://api.github.com/";

/// The keys of a GitHub App.
pub struct AppKeys {
    /// Where they are, for messages.
    place: String,
    /// The number of the app, or its client id.
    id: String,
    installation: Option<u64>,
    key: String,
    api: Url,
}

impl AppKeys {
    /// What all keys of an app begin with.
    pub const PREFIX: &str = "githubApp";

    /// Reads the keys of `place`; `None` if none of them is of an app.
    ///
    /// # Errors
    /// When another is missing beside it, or its value cannot be used.
    pub fn read(
        place: &str,
        keys: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<Self>, AdapterError> {
        read(place, keys).map_err(|fault| invalid(place, &fault))
    }

    /// The app in a repository, on the server of its API.
    ///
    /// # Errors
    /// When the repository is on another server, or the private key cannot be used.
    pub fn app(
        &self,
        repository: Repository,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Result<App, AdapterError> {
        let repository = self.served(repository);
        let repository = repository.map_err(|fault| invalid(&self.place, &fault))?;
        let app = App::new(&self.id, &self.key, repository, transport, clock);
        let app = app.map_err(|error| invalid(&self.place, &format!("key {KEY}: {error}")))?;
        Ok(app.installed_as(self.installation))
    }

    /// The same repository with the API of the keys.
    fn served(&self, repository: Repository) -> Result<Repository, String> {
        let (own, asked) = (server(&self.api), &repository.id.host);
        match own == *asked {
            true => Ok(repository.with_api(self.api.clone())),
            false => Err(format!(
                "the tokens of the GitHub App are for {own}, not for {asked}; set {API} to the API of {asked}, such \
                 as https://{asked}/api/v3"
            )),
        }
    }
}

fn invalid(place: &str, fault: &str) -> AdapterError {
    AdapterError::new(ErrorClass::Invalid, format!("{place}: {fault}"))
}

fn read(place: &str, keys: &BTreeMap<String, Vec<u8>>) -> Result<Option<AppKeys>, String> {
    let [id, installation, key, api] = [
        text(keys, ID)?,
        text(keys, INSTALLATION)?,
        text(keys, KEY)?,
        text(keys, API)?,
    ];
    let (id, key) = match (id, key) {
        (Some(id), Some(key)) => (id, key),
        (None, None) if installation.is_none() && api.is_none() => return Ok(None),
        (id, _) => {
            let missing = if id.is_none() { ID } else { KEY };
            return Err(format!("it has keys of a GitHub App but not {missing}"));
        }
    };
    let installation = installation.map(|number| match number.parse() {
        Ok(number) => Ok(number),
        Err(_) => Err(format!("key {INSTALLATION}: {number:?} is not a number")),
    });
    Ok(Some(AppKeys {
        place: place.to_owned(),
        id: id.to_owned(),
        installation: installation.transpose()?,
        key: key.to_owned(),
        api: address(api.unwrap_or(CLOUD))?,
    }))
}

fn text<'a>(keys: &'a BTreeMap<String, Vec<u8>>, key: &str) -> Result<Option<&'a str>, String> {
    let value = keys.get(key).map(|value| std::str::from_utf8(value));
    let value = value.transpose();
    let value = value.map_err(|_| format!("key {key}: it is not UTF-8"))?;
    Ok(value.map(str::trim).filter(|value| !value.is_empty()))
}

/// The address of an API. It gets the private key's signature, so it is encrypted, or on this machine.
fn address(written: &str) -> Result<Url, String> {
    let wrong = || {
        format!(
            "key {API}: it is not the https:// address of an API, such as https://github.example.com/api/v3"
        )
    };
    let url = Url::parse(written).map_err(|_| wrong())?;
    let is_safe = url.scheme() == "https"
        || url.scheme() == "http" && is_loopback(url.host_str().unwrap_or_default());
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    match is_safe && is_plain && url.fragment().is_none() {
        true => Ok(url),
        false => Err(wrong()),
    }
}

/// The server of the repositories of an API (forges.md §10): the cloud has the two on different hosts.
fn server(api: &Url) -> String {
    let host = api.host_str().unwrap_or_default();
    let own = host.strip_prefix("api.");
    let own = own.filter(|own| *own == "github.com" || own.ends_with(".ghe.com"));
    own.unwrap_or(host).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::ForgeKind;

    const PEM: &str = include_str!("tests/app-key-pkcs1.pem");

    fn read(keys: &[(&str, &str)]) -> Result<Option<AppKeys>, String> {
        let keys = keys.iter();
        let keys = keys.map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        AppKeys::read("Secret/fleets/git", &keys.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_keys_are_those_of_flux() {
        assert!(read(&[("password", "x"), (ID, "\n")]).unwrap().is_none());
        let keys = [(ID, "12345\n"), (KEY, PEM), (INSTALLATION, "7")];
        let keys = read(&keys).unwrap().unwrap();
        assert_eq!((keys.id.as_str(), keys.installation), ("12345", Some(7)));
        assert_eq!(keys.api.as_str(), CLOUD);
    }

    #[test]
    fn what_does_not_fit_is_reported_by_its_key() {
        for (keys, expected) in [
            (&[(ID, "1")][..], "but not githubAppPrivateKey"),
            (&[(KEY, "hunter2")], "but not githubAppID"),
            (&[(INSTALLATION, "7")], "but not githubAppID"),
            (
                &[(ID, "1"), (KEY, "hunter2"), (INSTALLATION, "x")],
                "key githubAppInstallationID: \"x\" is not a number",
            ),
            (
                &[(ID, "1"), (KEY, "hunter2"), (API, "http://h/api/v3")],
                "key githubAppBaseURL: it is not the https:// address",
            ),
            (
                &[(ID, "1"), (KEY, "hunter2"), (API, "https://hunter2@h/")],
                "key githubAppBaseURL",
            ),
        ] {
            let message = read(keys).err().unwrap();
            assert!(message.starts_with("Secret/fleets/git: "), "{message}");
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn tokens_are_for_the_server_of_the_api_alone() {
        for (api, address, expected) in [
            (
                None,
                "https://github.com/o/r",
                Some("https://api.github.com/repos/o/r"),
            ),
            (
                None,
                "git@github.com:o/r",
                Some("https://api.github.com/repos/o/r"),
            ),
            (None, "https://github.com.example.com/o/r", None),
            (None, "https://github.com@example.com/o/r", None),
            (None, "https://ghe.example.com/o/r", None),
            (None, "https://api.github.com/o/r", None),
            (
                Some("https://api.x.ghe.com"),
                "https://x.ghe.com/o/r",
                Some("https://api.x.ghe.com/repos/o/r"),
            ),
            (Some("https://api.x.ghe.com"), "https://y.ghe.com/o/r", None),
            (
                Some("https://ghe.example.com/api/v3/"),
                "https://GHE.example.com:8443/o/r.git",
                Some("https://ghe.example.com/api/v3/repos/o/r"),
            ),
            (
                Some("https://ghe.example.com/api/v3"),
                "https://github.com/o/r",
                None,
            ),
        ] {
            let mut keys = vec![(ID, "1"), (KEY, PEM)];
            keys.extend(api.map(|api| (API, api)));
            let keys = read(&keys).unwrap().unwrap();
            let found = keys.served(Repository::of(ForgeKind::GitHub, address).unwrap());
            let found = found.map(|repository| repository.url(&[]).to_string());
            assert_eq!(found.as_deref().ok(), expected, "{address}");
            if let Err(error) = found {
                assert!(error.contains("set githubAppBaseURL"), "{error}");
            }
        }
    }
}
