//! The address of an API server, as Cluster API has it.
//!
//! In: a URL. Out: host and port, or why there is none. An IPv6 address loses its brackets: Cluster API joins host and
//! port itself. It does not know whose URL it is.

use core::net::IpAddr;

use serde_json::{Value, json};

/// The longest host that the schema accepts.
const LONGEST: usize = 512;

/// Host and port of a URL; the port of its scheme if it names none. `None` for no URL.
pub(super) fn read(url: &str) -> Option<Result<Value, String>> {
    let url = url.trim();
    (!url.is_empty()).then(|| parse(url))
}

fn parse(url: &str) -> Result<Value, String> {
    let uri: http::Uri = url.parse().map_err(|error| format!("{error}"))?;
    let default = match uri.scheme_str() {
        Some("https") => 443,
        Some("http") => 80,
        Some(scheme) => return Err(format!("its scheme is {scheme}, not https")),
        None => return Err("it has no scheme, such as https".to_owned()),
    };
    let host = uri.host().unwrap_or_default();
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = match bare {
        Some(address) => match address.parse::<IpAddr>() {
            Ok(_) => address,
            Err(_) => return Err(format!("{address} is not an IPv6 address")),
        },
        None => host,
    };
    if host.is_empty() || host.len() > LONGEST {
        return Err("it has no usable host".to_owned());
    }
    Ok(json!({"host": host, "port": port(&uri, default)?}))
}

/// The port that the URL names after its host.
fn port(uri: &http::Uri, default: u16) -> Result<u16, String> {
    let authority = uri.authority().map_or("", http::uri::Authority::as_str);
    let behind = authority.rsplit('@').next().unwrap_or_default();
    let named = match behind.rsplit_once(']') {
        Some((_, rest)) => rest.strip_prefix(':'),
        None => behind.rsplit_once(':').map(|(_, port)| port),
    };
    match named {
        None | Some("") => Ok(default),
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => Ok(port),
            _ => Err(format!("{port} is not a port")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CAPZ needs a port in the URL and cuts an IPv6 address at its first colon (facts/aro-controllers.md §3.1, 8).
    #[test]
    fn section_3_1_step_8_endpoints_may_have_no_port_and_may_be_ipv6() {
        let at = |host: &str, port: u16| Ok(json!({"host": host, "port": port}));
        let cases = [
            ("https://api.x.example:6443/", at("api.x.example", 6443)),
            ("https://api.x.example/", at("api.x.example", 443)),
            ("https://api.x.example", at("api.x.example", 443)),
            ("http://api.x.example", at("api.x.example", 80)),
            ("https://[fd00::1]:6443", at("fd00::1", 6443)),
            ("https://[fd00::1]/", at("fd00::1", 443)),
            (" https://10.0.0.1:6443 ", at("10.0.0.1", 6443)),
            ("https://user@api.x.example", at("api.x.example", 443)),
        ];
        for (url, expected) in cases {
            assert_eq!(read(url), Some(expected), "{url}");
        }
    }

    #[test]
    fn a_url_that_names_no_server_says_why() {
        assert_eq!(read(" "), None);
        for url in [
            "no url",
            "api.x.example:6443",
            "ftp://x",
            "https://",
            "https://x:0",
            "https://x:70000",
            "https://[x]:1",
            "/path",
            "https://x:y",
        ] {
            let found = read(url);
            assert!(
                matches!(&found, Some(Err(why)) if !why.is_empty()),
                "{url}: {found:?}"
            );
        }
    }
}
