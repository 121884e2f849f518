//! Where a repository is.
//!
//! In: what a person wrote. Out: a path, an HTTPS or an SSH address, and the address as it may be shown:
//! a user, a password and a query are never part of that, since each may be a secret.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use reqwest::Url;

use super::Error;
use super::local::Local;
use crate::model::cut;
use crate::model::{Form, RepositoryUrl, is_loopback, without_escapes};

/// Which addresses a fleet may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those of servers and those on this machine: the fleet is a file or a flag of the operator.
    #[default]
    Anywhere,
    /// Those of servers alone: the fleet is a custom resource, whose author must not read the files of the
    /// daemon.
    Servers,
}

/// The address of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// As it may be shown.
    pub(super) shown: String,
    pub(super) place: Place,
}

/// Where it is and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A directory on this machine.
    Local(Local),
    /// A server that speaks HTTP.
    Http(HttpPlace),
    /// A server that speaks SSH.
    Ssh(SshPlace),
}

/// A repository behind HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HttpPlace {
    /// Without user, query and trailing `/`.
    pub(super) url: Url,
    /// The user in the address, as Azure DevOps writes its clone URLs.
    pub(super) user: Option<String>,
}

/// A repository behind SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SshPlace {
    pub(super) user: Option<String>,
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// As the server gets it.
    pub(super) path: String,
}

/// The address as it may be shown: without user, password and query.
#[must_use]
pub fn shown(written: &str) -> String {
    let (scheme, rest) = match written.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), written),
    };
    let rest = match scheme.is_empty() {
        true => rest,
        false => rest.split(['?', '#']).next().unwrap_or_default(),
    };
    let (host, path) = cut::until(rest, |c| c == '/');
    if !scheme.is_empty() && may_split_a_password(host, path) {
        return format!("{scheme}…").replace(char::is_control, "?");
    }
    // `git@host:path` shows its user: it is not a secret, and people expect to see it.
    let is_scp = scheme.is_empty() && host.contains(':');
    let host = match host.rsplit_once('@') {
        Some((user, host)) if is_scp && !user.contains(':') => format!("{user}@{host}"),
        Some((_, host)) if is_scp || !scheme.is_empty() => host.to_owned(),
        _ => host.to_owned(),
    };
    format!("{scheme}{host}{path}").replace(char::is_control, "?")
}

/// A password that contains `/` ends the authority too early: in `https://bot:hun/ter2@h/r` it is `bot:hun`.
fn may_split_a_password(authority: &str, path: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let host = host.rsplit_once(']').map_or(host, |(_, port)| port);
    let port = host.split_once(':').map_or("", |(_, port)| port);
    !port.bytes().all(|byte| byte.is_ascii_digit()) || (user.contains(':') && path.contains('@'))
}

impl Address {
    /// Reads a path, `file://` (of this machine, with `%` escapes), `https://`, `ssh://` or
    /// `user@host:path`. `http://` is for servers on this machine.
    pub(super) fn parse(written: &str, reach: Reach) -> Result<Self, Error> {
        let shown = shown(written);
        let place = place(written, &shown).map_err(|cause| Error::Address {
            url: shown.clone(),
            cause,
        })?;
        if reach == Reach::Servers && matches!(place, Place::Local(_)) {
            let cause = "a Fleet resource names a server, not a path on the daemon's machine";
            return Err(Error::Address {
                url: shown,
                cause: cause.to_owned(),
            });
        }
        Ok(Self { shown, place })
    }
}

/// Checks that this is the address of a repository that can be read.
///
/// # Errors
/// When it is not.
pub fn check_address(written: &str) -> Result<(), Error> {
    Address::parse(written, Reach::Anywhere).map(drop)
}

fn place(written: &str, shown: &str) -> Result<Place, String> {
    if written.contains(char::is_control) {
        return Err("it contains control characters".to_owned());
    }
    if let Some((transport, _)) = written.split_once("::")
        && transport.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !transport.is_empty()
    {
        return Err(format!(
            "the transport {transport}:: runs a program of this machine and is not allowed"
        ));
    }
    let url = RepositoryUrl::split(written);
    match url.form {
        Form::Scheme("file") => file(&url, shown),
        Form::Scheme(scheme @ ("https" | "http")) => http(scheme, written).map(Place::Http),
        Form::Scheme("ssh") => ssh(&url).map(Place::Ssh),
        Form::Scheme("git") => {
            Err("git:// is neither encrypted nor authenticated; use https:// or ssh://".to_owned())
        }
        Form::Scheme("git+ssh" | "ssh+git") => Err("write ssh:// instead".to_owned()),
        Form::Scheme(scheme) => Err(format!("unknown scheme {scheme}://")),
        Form::Scp => scp(&url).map(Place::Ssh),
        Form::Path if written.is_empty() => Err("it is empty".to_owned()),
        Form::Path => local(Path::new(written), shown),
    }
}

fn file(url: &RepositoryUrl<'_>, shown: &str) -> Result<Place, String> {
    let is_here = matches!(
        (url.user, url.host, url.port),
        (None, "" | "localhost", None)
    );
    if !is_here || url.path.is_empty() {
        return Err("file:// URLs are of this machine: file:///path".to_owned());
    }
    let path = without_escapes(url.path).ok_or("its % escapes are invalid")?;
    local(Path::new(&OsString::from_vec(path)), shown)
}

fn local(path: &Path, shown: &str) -> Result<Place, String> {
    let path: PathBuf = std::path::absolute(path).map_err(|cause| cause.to_string())?;
    Ok(Place::Local(Local {
        shown: shown.to_owned(),
        path,
    }))
}

fn http(scheme: &str, written: &str) -> Result<HttpPlace, String> {
    // The `url` crate would take `https:///host` for `https://host`.
    if written.starts_with(&format!("{scheme}:///")) {
        return Err("it has no host".to_owned());
    }
    let mut url = Url::parse(written).map_err(|cause| cause.to_string())?;
    if url.password().is_some() {
        return Err(
            "it contains a password; remove it, and store it in a Secret or a file as the \
                    documentation of sources describes"
                .to_owned(),
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(
            "it has a query or a fragment; a repository's address ends with its path".to_owned(),
        );
    }
    if scheme == "http" && !is_loopback(url.host_str().unwrap_or_default()) {
        return Err(
            "http:// is not encrypted and is only for servers on this machine; use https://"
                .to_owned(),
        );
    }
    let user = without_escapes(url.username()).and_then(|user| String::from_utf8(user).ok());
    let user = user.filter(|user| !user.is_empty());
    if url.set_username("").is_err() || url.path().trim_end_matches('/').is_empty() {
        return Err("it has no path".to_owned());
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(HttpPlace { url, user })
}

/// `[user@]host[:port]/path`. The path of `ssh://host/~user/x` is `~user/x`, as in git.
fn ssh(url: &RepositoryUrl<'_>) -> Result<SshPlace, String> {
    let path = without_escapes(url.path).and_then(|path| String::from_utf8(path).ok());
    let path = path.ok_or("its % escapes are invalid")?;
    let path = match path.strip_prefix('/') {
        Some(home) if home.starts_with('~') => home.to_owned(),
        _ => path,
    };
    if url.user.is_some_and(|user| user.contains(':')) {
        return Err("it contains a password; ssh authenticates with a key".to_owned());
    }
    let number = |port: &str| port.parse().ok().filter(|port| *port != 0);
    let port = match url.port.filter(|port| !port.is_empty()) {
        Some(text) => Some(number(text).ok_or("its port is not a number from 1 to 65535")?),
        None => None,
    };
    ssh_place(url, port, path)
}

/// `[user@]host:path`
fn scp(url: &RepositoryUrl<'_>) -> Result<SshPlace, String> {
    let first = url.path.split('/').next().unwrap_or_default();
    if url.user.is_none() && first.contains('@') {
        return Err("it contains a password; ssh authenticates with a key".to_owned());
    }
    ssh_place(url, None, url.path.to_owned())
}

/// What starts with `-` would be an option of ssh or of the server's program.
fn ssh_place(url: &RepositoryUrl<'_>, port: Option<u16>, path: String) -> Result<SshPlace, String> {
    let (user, host) = (url.user, url.host);
    if user == Some("") {
        return Err("its user is empty".to_owned());
    }
    let is_name = |text: &str, others: &str| {
        let sound = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
        !text.is_empty() && !text.starts_with('-') && text.chars().all(sound)
    };
    if !is_name(host, ".-_:") {
        return Err("its host is not a host name".to_owned());
    }
    if user.is_some_and(|user| !is_name(user, ".-_@+")) {
        return Err("its user contains characters that are not allowed".to_owned());
    }
    if path.trim_matches('/').is_empty() {
        return Err("it has no path".to_owned());
    }
    if path.starts_with('-') {
        return Err("its path starts with `-`".to_owned());
    }
    Ok(SshPlace {
        user: user.map(str::to_owned),
        host: host.to_ascii_lowercase(),
        port,
        path,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::model::ErrorClass;

    fn parse(written: &str) -> Address {
        Address::parse(written, Reach::Anywhere).unwrap()
    }

    fn cause(written: &str, reach: Reach) -> String {
        let error = Address::parse(written, reach).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid, "{written}");
        error.to_string()
    }

    #[test]
    fn local_paths_and_file_urls_are_read() {
        let path = |written| match parse(written).place {
            Place::Local(local) => local.path,
            other => panic!("{other:?}"),
        };
        assert_eq!(path("/srv/fleet.git"), Path::new("/srv/fleet.git"));
        assert_eq!(path("file:///srv/a%20b.git"), Path::new("/srv/a b.git"));
        assert_eq!(path("file://localhost/srv"), Path::new("/srv"));
        let odd = std::env::current_dir().unwrap().join("odd:name");
        assert_eq!(path("./odd:name"), odd);
        for written in ["/srv/x", "file:///srv/x", "x"] {
            let message = cause(written, Reach::Servers);
            assert!(message.contains("not a path on the daemon's machine"));
        }
    }

    /// (address, user, url): the spellings of the large forges.
    const HTTPS: &[(&str, &str, &str)] = &[
        ("https://github.com/o/r", "", "https://github.com/o/r"),
        (
            "https://GitHub.com/o/r.git/",
            "",
            "https://github.com/o/r.git",
        ),
        ("https://github.com:443/o/r", "", "https://github.com/o/r"),
        (
            "https://gitlab.com/foo/bar/baz.git",
            "",
            "https://gitlab.com/foo/bar/baz.git",
        ),
        (
            "https://dev.azure.com/org/My%20Proj/_git/repo",
            "",
            "https://dev.azure.com/org/My%20Proj/_git/repo",
        ),
        (
            "https://org@dev.azure.com/org/Proj/_git/repo",
            "org",
            "https://dev.azure.com/org/Proj/_git/repo",
        ),
        (
            "https://org.visualstudio.com/DefaultCollection/Proj/_git/repo.git",
            "",
            "https://org.visualstudio.com/DefaultCollection/Proj/_git/repo.git",
        ),
        (
            "https://h:7990/scm/~user/r.git",
            "",
            "https://h:7990/scm/~user/r.git",
        ),
        (
            "https://git.example/sub/o/r.git",
            "",
            "https://git.example/sub/o/r.git",
        ),
        ("https://u%40x@h/r", "u@x", "https://h/r"),
        (
            "http://localhost:8080/r.git",
            "",
            "http://localhost:8080/r.git",
        ),
        ("http://[::1]:80/r", "", "http://[::1]/r"),
    ];

    #[test]
    fn https_addresses_are_read() {
        for (written, user, url) in HTTPS {
            let address = parse(written);
            let Place::Http(place) = address.place else {
                panic!("{written}")
            };
            assert_eq!(place.url.as_str(), *url, "{written}");
            assert_eq!(place.user.as_deref().unwrap_or_default(), *user);
            assert!(!address.shown.contains('@'), "{}", address.shown);
        }
    }

    /// (address, user, host, port, path): the spellings of the large forges.
    const SSH: &[(&str, &str, &str, u16, &str)] = &[
        ("git@github.com:o/r.git", "git", "github.com", 0, "o/r.git"),
        (
            "ssh://git@github.com:22/o/r",
            "git",
            "github.com",
            22,
            "/o/r",
        ),
        (
            "ssh://git@ssh.github.com:443/o/r.git",
            "git",
            "ssh.github.com",
            443,
            "/o/r.git",
        ),
        (
            "git@altssh.gitlab.com:g/s/r.git",
            "git",
            "altssh.gitlab.com",
            0,
            "g/s/r.git",
        ),
        (
            "git@ssh.dev.azure.com:v3/org/Proj/repo",
            "git",
            "ssh.dev.azure.com",
            0,
            "v3/org/Proj/repo",
        ),
        (
            "org@vs-ssh.visualstudio.com:v3/org/My%20Proj/r",
            "org",
            "vs-ssh.visualstudio.com",
            0,
            "v3/org/My%20Proj/r",
        ),
        (
            "ssh://git@h:7999/~user/r.git",
            "git",
            "h",
            7999,
            "~user/r.git",
        ),
        ("ssh://h/a%20b", "", "h", 0, "/a b"),
        ("ssh://git@[::1]:2222/r", "git", "::1", 2222, "/r"),
        ("git@[::1]:r", "git", "::1", 0, "r"),
        ("my-name@@Host:r", "my-name@", "host", 0, "r"),
        ("host:r", "", "host", 0, "r"),
    ];

    #[test]
    fn ssh_addresses_are_read() {
        for (written, user, host, port, path) in SSH {
            let Place::Ssh(place) = parse(written).place else {
                panic!("{written}")
            };
            assert_eq!(
                place.user.as_deref().unwrap_or_default(),
                *user,
                "{written}"
            );
            assert_eq!(place.host, *host, "{written}");
            assert_eq!(place.port.unwrap_or_default(), *port, "{written}");
            assert_eq!(place.path, *path, "{written}");
        }
    }

    #[test]
    fn other_addresses_are_refused_with_the_reason() {
        for (written, reason) in [
            ("", "it is empty"),
            ("https://", "empty host"),
            ("http:///a", "it has no host"),
            ("https:///h/a", "it has no host"),
            ("https://h", "it has no path"),
            ("https://h/r?access_token=hunter2", "it has a query"),
            ("https://bot:hunter2@h/r", "it contains a password"),
            ("https://bot:hunter2/x@h/r", "invalid port number"),
            ("https://:hunter2@h/r", "it contains a password"),
            ("ssh://bot:hunter2@h/r", "it contains a password"),
            ("bot:hunter2@h:r", "it contains a password"),
            ("http://example.com/r", "http:// is not encrypted"),
            ("http://localhost.example.com/r", "http:// is not encrypted"),
            ("git://example.com/r", "git:// is neither encrypted"),
            ("ext::sh -c hunter2", "the transport ext:: runs a program"),
            ("fd::17", "the transport fd:: runs a program"),
            ("ftp://h/r", "unknown scheme ftp://"),
            ("git+ssh://h/r", "write ssh:// instead"),
            ("-oProxyCommand=x:r", "its host is not a host name"),
            ("-x@host:r", "its user contains"),
            ("ssh://-oProxyCommand=x/r", "its host is not a host name"),
            ("host:-r", "its path starts with `-`"),
            ("git@host:", "it has no path"),
            ("ssh://h:70000/r", "its port is not a number"),
            ("ssh://h/%zz", "its % escapes are invalid"),
            ("file://elsewhere/srv", "file:///path"),
            ("file:///broken%2", "its % escapes are invalid"),
            ("https://h/a\nb", "control characters"),
        ] {
            let message = cause(written, Reach::Anywhere);
            assert!(message.contains(reason), "{written:?}: {message}");
            let shows = message.contains("hunter2");
            assert!(!shows || written.starts_with("ext"), "{message}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        for (written, expected) in [
            (
                "https://ghp_hunter2@github.com/o/r",
                "https://github.com/o/r",
            ),
            ("https://a:b@h/r?token=c#d", "https://h/r"),
            ("https://bot:hun/ter2@h/r", "https://…"),
            ("ssh://bot:hun/ter2@h/r", "ssh://…"),
            ("https://bot:hun?ter2@h/r", "https://…"),
            ("https://bot:h@un/ter2@h/r", "https://…"),
            ("https://bot:h@u:n/ter2@h/r", "https://…"),
            (
                "https://h:7990/scm/~user/a@b",
                "https://h:7990/scm/~user/a@b",
            ),
            ("ssh://git@[::1]:2222/r", "ssh://[::1]:2222/r"),
            ("http://[::1]/r", "http://[::1]/r"),
            ("git@github.com:o/r", "git@github.com:o/r"),
            ("a:b@h:r", "h:r"),
            ("/srv/a@b", "/srv/a@b"),
        ] {
            assert_eq!(shown(written), expected);
        }
    }
}
