//! URIs as Go's `net/url` reads them, which the API server uses for the format `uri` and for `url` in
//! rules.
//!
//! In: a text. Out: its parts, or nothing where `url.ParseRequestURI` refuses it. It does not resolve
//! or normalize.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What is escaped in a path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// The parts of a URI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uri {
    /// In lower case; empty for an absolute path.
    pub scheme: String,
    /// With its port.
    pub host: String,
    /// As it was written.
    path: String,
    query: String,
}

/// Reads an absolute URI or an absolute path. A fragment counts as part of what comes before it.
pub fn parse(text: &str) -> Option<Uri> {
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control()) {
        return None;
    }
    if text == "*" {
        return Some(Uri {
            path: "*".into(),
            ..Uri::default()
        });
    }
    let (scheme, rest) = scheme(text)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut uri = Uri {
        scheme: scheme.to_ascii_lowercase(),
        query: query.into(),
        ..Uri::default()
    };
    if !rest.starts_with('/') {
        // `mailto:a@b` has nothing but a scheme for the server's eyes.
        return (!scheme.is_empty()).then_some(uri);
    }
    uri.path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at_checked(end)?;
            uri.host = host(authority)?;
            path.into()
        }
        None => rest.into(),
    };
    unescaped(&uri.path)?;
    Some(uri)
}

/// A scheme and what follows; an empty scheme when there is none.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let end = text.find(|c| !allowed(c)).unwrap_or(text.len());
    let (scheme, rest) = text.split_at_checked(end)?;
    match rest.strip_prefix(':') {
        Some(_) if scheme.is_empty() => None,
        Some(rest) if scheme.starts_with(|c: char| c.is_ascii_alphabetic()) => Some((scheme, rest)),
        _ => Some(("", text)),
    }
}

/// The host of `user@host:port`, with its port.
fn host(authority: &str) -> Option<String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let in_user = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(in_user) || unescaped(user).is_none() {
        return None;
    }
    let port = match host.strip_prefix('[') {
        Some(inner) => inner.rsplit_once(']')?.1,
        None => host
            .rfind(':')
            .and_then(|at| host.get(at..))
            .unwrap_or_default(),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    if !digits.chars().all(|c| c.is_ascii_digit()) || (digits == port && !port.is_empty()) {
        return None;
    }
    let in_host = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c)
    };
    let decoded = unescaped(host)?;
    let plain = host.chars().all(in_host) && (!host.contains('%') || !decoded.is_ascii());
    plain.then_some(decoded)
}

/// A text with its `%xx` decoded; nothing if one of them is invalid.
fn unescaped(text: &str) -> Option<String> {
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let decoded = || percent_decode_str(text).decode_utf8_lossy().into_owned();
    text.split('%').skip(1).all(is_escape).then(decoded)
}

impl Uri {
    /// Without a fragment.
    pub fn without_fragment(text: &str) -> Option<Self> {
        parse(text.split_once('#').map_or(text, |(before, _)| before))
    }

    /// The host without port and brackets.
    pub fn hostname(&self) -> &str {
        match self.host.strip_prefix('[') {
            Some(inner) => inner.split_once(']').map_or(inner, |(name, _)| name),
            None => self
                .host
                .split_once(':')
                .map_or(&self.host, |(name, _)| name),
        }
    }

    /// The port, as it was written.
    pub fn port(&self) -> &str {
        let after = match self.host.rsplit_once(']') {
            Some((_, after)) => after,
            None => &self.host,
        };
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }

    /// The path with `%xx` where a path needs them.
    pub fn escaped_path(&self) -> String {
        let is_valid = |b: u8| b.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*[]%".contains(&b);
        if self.path.bytes().all(is_valid) {
            return self.path.clone();
        }
        let decoded = unescaped(&self.path).unwrap_or_default();
        utf8_percent_encode(&decoded, IN_PATH).to_string()
    }

    /// The parameters of the query, by key.
    pub fn query(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in self
            .query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let read = |text: &str| unescaped(&text.replace('+', " "));
            if let (Some(key), Some(value)) = (read(key), read(value)) {
                found.entry(key).or_default().push(value);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_parts_of_a_uri() {
        let uri = parse("HTTPS://me@[fe80::1]:8443/a b/c?x=1&y=a+b&x=%32").unwrap();
        assert_eq!(uri.scheme, "https");
        assert_eq!(
            (uri.host.as_str(), uri.hostname(), uri.port()),
            ("[fe80::1]:8443", "fe80::1", "8443")
        );
        assert_eq!(uri.escaped_path(), "/a%20b/c");
        let query: Vec<_> = uri.query().into_iter().collect();
        assert_eq!(
            query,
            [
                ("x".into(), vec!["1".into(), "2".into()]),
                ("y".into(), vec!["a b".into()])
            ]
        );
        assert_eq!(parse("/a/b").unwrap().escaped_path(), "/a/b");
        assert_eq!(Uri::without_fragment("http://x#y").unwrap().host, "x");
    }

    #[test]
    fn what_is_refused() {
        for text in [
            "",
            "a",
            "a b",
            ":x",
            "http://a:b/",
            "http://a b/",
            "http://x#y",
            "/a%2",
            "http://[::1/",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in [
            "https://",
            "foo:bar",
            "http://x/a b",
            "/",
            "*",
            "http://a:/",
            "http://é/",
        ] {
            assert!(parse(text).is_some(), "{text}");
        }
    }
}
