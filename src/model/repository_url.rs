//! The address of a repository in its parts.
//!
//! In: what a person or a forge wrote. Out: scheme, user, host, port and path. It judges nothing: each adapter says
//! which addresses it accepts.

use core::net::IpAddr;

use crate::model::cut;

/// A URL, `user@host:path`, or a path on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryUrl<'a> {
    /// The way it is written.
    pub form: Form<'a>,
    /// The part before the last `@` of the authority; it may contain a password.
    pub user: Option<&'a str>,
    /// Without brackets; empty for a path on this machine.
    pub host: &'a str,
    /// As it is written, even if it is no number.
    pub port: Option<&'a str>,
    /// As it is written; without a query, except where it is part of the path.
    pub path: &'a str,
}

/// The ways to write the address of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<'a> {
    /// `scheme://`.
    Scheme(&'a str),
    /// `user@host:path`, which is SSH.
    Scp,
    /// A path on this machine.
    Path,
}

impl<'a> RepositoryUrl<'a> {
    /// Splits an address.
    #[must_use]
    pub fn split(text: &'a str) -> Self {
        if let Some((scheme, rest)) = text.split_once("://") {
            // Only the web has queries: a server of SSH gets all of it as the path.
            let (rest, _) = match scheme {
                "https" | "http" => cut::until(rest, |c| matches!(c, '?' | '#')),
                _ => (rest, ""),
            };
            let (authority, path) = cut::until(rest, |c| c == '/');
            let (user, host) = user_and_host(authority);
            let (host, port) = host_and_port(host);
            let form = Form::Scheme(scheme);
            return Self {
                form,
                user,
                host,
                port,
                path,
            };
        }
        let Some((place, path)) = scp_place(text) else {
            return Self {
                form: Form::Path,
                user: None,
                host: "",
                port: None,
                path: text,
            };
        };
        let (user, host) = user_and_host(place);
        Self {
            form: Form::Scp,
            user,
            host: host.trim_matches(['[', ']']),
            port: None,
            path,
        }
    }

    /// Returns true if it is a directory of this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.form, Form::Path | Form::Scheme("file"))
    }

    /// Returns true for HTTP, encrypted or not.
    #[must_use]
    pub fn is_web(&self) -> bool {
        matches!(self.form, Form::Scheme("https" | "http"))
    }

    /// The host in lower case, an IPv6 address in brackets; `None` if it is not the name of a host.
    #[must_use]
    pub fn host_name(&self) -> Option<String> {
        let is_sound = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        let is_name = !self.host.is_empty() && self.host.chars().all(is_sound);
        let host = self.host.to_lowercase();
        is_name.then(|| {
            if host.contains(':') {
                format!("[{host}]")
            } else {
                host
            }
        })
    }

    /// The web server, such as `https://host:port`; the default port for SSH. `None` if it names no server.
    #[must_use]
    pub fn server(&self) -> Option<String> {
        self.server_on(&self.host_name()?)
    }

    /// The same with another host; `None` if the port is not a number.
    #[must_use]
    pub fn server_on(&self, host: &str) -> Option<String> {
        let scheme = match self.form {
            Form::Scheme("http") => "http",
            _ => "https",
        };
        Some(match self.port.filter(|_| self.is_web()) {
            None | Some("") => format!("{scheme}://{host}"),
            Some(port) => format!("{scheme}://{host}:{}", port.parse::<u16>().ok()?),
        })
    }

    /// The parts of the path without `%` escapes and without empty ones; `None` if an escape is invalid or hides a
    /// control character.
    #[must_use]
    pub fn segments(&self) -> Option<Vec<String>> {
        let parts = self.path.split('/').filter(|part| !part.is_empty());
        if self.form == Form::Path {
            return Some(parts.map(str::to_owned).collect());
        }
        let text = |part| String::from_utf8(without_escapes(part)?).ok();
        let segments: Option<Vec<String>> = parts.map(text).collect();
        segments.filter(|all| !all.iter().any(|part| part.contains(char::is_control)))
    }
}

/// Returns true if a host, with or without brackets, is this machine.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The bytes with `%41`-like escapes decoded; `None` if one is invalid.
#[must_use]
pub fn without_escapes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    Some(bytes)
}

/// The parts of `host:path`. It is a path if a `/` comes before; `[` and `]` enclose an IPv6 address.
fn scp_place(text: &str) -> Option<(&str, &str)> {
    let first = text.split('/').next().unwrap_or_default();
    let colon = first.find(':')?;
    let bracket = text.find('[').filter(|start| *start < colon);
    let end = bracket.and_then(|_| text.find("]:"));
    let (place, path) = text.split_at_checked(end.map_or(colon, |end| end + 1))?;
    Some((place, path.strip_prefix(':')?))
}

/// A user may contain `@`.
fn user_and_host(authority: &str) -> (Option<&str>, &str) {
    match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    }
}

fn host_and_port(host: &str) -> (&str, Option<&str>) {
    match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match host.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (host, None),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_split_and_not_judged() {
        let https = Form::Scheme("https");
        let ssh = Form::Scheme("ssh");
        for (text, form, user, host, port, path) in [
            ("https://h/o/r?x#y", https, None, "h", None, "/o/r"),
            (
                "https://u:p@h:1/r",
                https,
                Some("u:p"),
                "h",
                Some("1"),
                "/r",
            ),
            ("https://[::1]:8/r", https, None, "::1", Some("8"), "/r"),
            ("https:///r", https, None, "", None, "/r"),
            (
                "ssh://a@b@h:x/~u/r?",
                ssh,
                Some("a@b"),
                "h",
                Some("x"),
                "/~u/r?",
            ),
            ("ssh://h:/r", ssh, None, "h", Some(""), "/r"),
            ("@h:r", Form::Scp, Some(""), "h", None, "r"),
            ("git@h:/o/r:2", Form::Scp, Some("git"), "h", None, "/o/r:2"),
            ("git@[::1]:o/r", Form::Scp, Some("git"), "::1", None, "o/r"),
            ("bot:pw@h:r", Form::Scp, None, "bot", None, "pw@h:r"),
            ("./a:b", Form::Path, None, "", None, "./a:b"),
            ("", Form::Path, None, "", None, ""),
        ] {
            let expected = RepositoryUrl {
                form,
                user,
                host,
                port,
                path,
            };
            assert_eq!(RepositoryUrl::split(text), expected, "{text}");
        }
    }

    #[test]
    fn a_server_has_a_host_name() {
        for (text, server) in [
            ("https://GIT.example:443/r", Some("https://git.example:443")),
            ("http://[::1]:80/r", Some("http://[::1]:80")),
            ("ssh://git@h:7999/r", Some("https://h")),
            ("git@h:o/r", Some("https://h")),
            ("https://h:x/r", None),
            ("https://evil.example\\@h/r", Some("https://h")),
            ("https://h\\.evil.example/r", None),
            ("https://h%2eexample/r", None),
            ("https://ho\tst/r", None),
            ("https://", None),
            ("/srv/r", None),
        ] {
            let found = RepositoryUrl::split(text).server();
            assert_eq!(found.as_deref(), server, "{text}");
        }
    }

    #[test]
    fn escapes_are_of_urls_alone() {
        let segments = |text| RepositoryUrl::split(text).segments();
        let of = |parts: &[&str]| Some(parts.iter().map(|part| (*part).to_owned()).collect());
        assert_eq!(
            segments("https://h//a%20b/%2f/c+d/"),
            of(&["a b", "/", "c+d"])
        );
        assert_eq!(segments("git@h:a%20b"), of(&["a b"]));
        assert_eq!(segments("/srv/a%20b"), of(&["srv", "a%20b"]));
        for invalid in ["%", "%4", "%zz", "%ff", "%00", "%4é"] {
            let url = format!("https://h/{invalid}");
            assert_eq!(RepositoryUrl::split(&url).segments(), None, "{invalid}");
        }
    }
}
