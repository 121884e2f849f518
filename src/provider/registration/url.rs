//! The addresses of the registry and of this provider.
//!
//! In: addresses from the settings. Out: the addresses to send to and to advertise. It does not know if anybody answers there.

use thiserror::Error;

/// The longest address, in bytes.
const LONGEST: usize = 2048;
/// The path below which DCM and this provider serve their APIs.
const API: &str = "/api/v1alpha1";

/// Returns the address that registrations are posted to. The registry serves its API below `/api/v1alpha1`: that is added
/// to an address without a path.
///
/// # Errors
///
/// Returns why the text is no base address.
pub fn registry_url(base: &str) -> Result<String, UrlError> {
    let base = Base::parse(base)?;
    let path = if base.path.is_empty() { API } else { base.path };
    Ok(format!("{}{path}/providers", base.origin))
}

/// Returns the address of the clusters of this provider, which the registry hands on.
///
/// # Errors
///
/// Returns why the text is no base address.
pub fn clusters_endpoint(base: &str) -> Result<String, UrlError> {
    let Base { origin, path } = Base::parse(base)?;
    Ok(format!("{origin}{path}{API}/clusters"))
}

/// An address that paths are added to.
struct Base<'a> {
    /// The scheme, host and port.
    origin: &'a str,
    /// The path without a slash at its end.
    path: &'a str,
}

impl<'a> Base<'a> {
    fn parse(text: &'a str) -> Result<Self, UrlError> {
        if text.len() > LONGEST {
            return Err(UrlError::TooLong);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Unprintable);
        }
        if text.contains(['?', '#']) {
            return Err(UrlError::NotABase);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        if !["http", "https"].contains(&scheme) {
            return Err(UrlError::Scheme);
        }
        let authority = rest.split('/').next().unwrap_or_default();
        check_authority(authority)?;
        let origin = scheme.len() + "://".len() + authority.len();
        let (origin, path) = text.split_at_checked(origin).ok_or(UrlError::Host)?;
        let path = path.trim_end_matches('/');
        Ok(Self { origin, path })
    }
}

fn check_authority(authority: &str) -> Result<(), UrlError> {
    if authority.contains('@') {
        return Err(UrlError::Credentials);
    }
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address stand in brackets.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_host = !host.is_empty() && (is_bracketed || !host.contains([':', '[', ']']));
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if is_host && port.is_none_or(is_port) {
        return Ok(());
    }
    Err(UrlError::Host)
}

/// The reason why a text is no base address. The text is not repeated, since it may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// It is too long.
    #[error("the address is longer than 2,048 bytes; shorten it")]
    TooLong,
    /// It has spaces, control characters or characters beyond ASCII.
    #[error("the address has spaces or characters beyond ASCII; write it as http://HOST:PORT")]
    Unprintable,
    /// It has a query or a fragment.
    #[error("the address has a query or a fragment, and paths are added to it; remove both")]
    NotABase,
    /// It does not begin with a known scheme.
    #[error("the address does not begin with http:// or https://; write it as http://HOST:PORT")]
    Scheme,
    /// It has no host, or a port that is none.
    #[error("the address has no host, or no valid port; write it as http://HOST:PORT")]
    Host,
    /// It has a user name or a password.
    #[error("the address contains a user name or a password, which would be advertised; remove it")]
    Credentials,
}
