//! The settings of a connection to NATS.
//!
//! In: addresses, credentials and the authorities that are trusted. Out: addresses without credentials, and
//! the options of the client. Credentials in an address are moved to the options, so that no log shows them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{ConnectOptions, ServerAddr};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::error::Error;
use super::link::Link;
use crate::model::without_escapes;

/// The longest attempt to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// The pause between two questions whether the server is there; it is given up when it does not answer two.
const PING: Duration = Duration::from_secs(10);
/// The pause before the first attempt after a connection; it doubles with each that fails.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The settings of a connection.
#[derive(Clone)]
pub struct Settings {
    /// The addresses, `nats://HOST:PORT` or `tls://HOST:PORT`; one of them may be a list with commas.
    pub servers: Vec<String>,
    /// The proof of who connects, unless an address holds it.
    pub credentials: Credentials,
    /// A file of PEM certificates that are trusted instead of the system's. It requires TLS, and is read
    /// again for every connection.
    pub authorities: Option<PathBuf>,
    /// The name under which the server lists the connection.
    pub name: String,
}

/// The proof of who connects.
#[derive(Clone, Default)]
pub enum Credentials {
    /// None: the server lets everybody in.
    #[default]
    None,
    /// A file with a JWT and the seed of an nkey, as `nsc` writes it. It is read once.
    File(PathBuf),
    /// A token.
    Token(String),
    /// A user and a password.
    Password {
        /// The name of the user.
        user: String,
        /// The password of the user.
        password: String,
    },
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("credentials", &self.credentials)
            .field("authorities", &self.authorities)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Token(_) => f.write_str("Token"),
            Self::Password { .. } => f.write_str("Password"),
        }
    }
}

/// The addresses, and the one proof of who connects that they or the settings hold.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) servers: Vec<ServerAddr>,
    credentials: Credentials,
}

impl Target {
    pub(super) fn new(settings: &Settings) -> Result<Self, Error> {
        let mut target = Self {
            servers: Vec::new(),
            credentials: settings.credentials.clone(),
        };
        let addresses = settings.servers.iter().flat_map(|list| list.split(','));
        for (index, address) in addresses.enumerate() {
            target.add(index + 1, address.trim())?;
        }
        if target.servers.is_empty() {
            return Err(unusable(
                "no address is given; give one as nats://HOST:PORT",
            ));
        }
        Ok(target)
    }

    /// The addresses, as errors show them.
    pub(super) fn shown(&self) -> String {
        let shown: Vec<&str> = self.servers.iter().map(ServerAddr::as_url_str).collect();
        shown.join(", ")
    }

    fn add(&mut self, number: usize, address: &str) -> Result<(), Error> {
        // The address may hold a password, also in an error.
        let wrong = |cause: &str| unusable(&format!("address {number} {cause}"));
        let parsed: ServerAddr = address
            .parse()
            .map_err(|_| wrong("is not nats://HOST:PORT or tls://HOST:PORT"))?;
        let is_known = matches!(parsed.scheme(), "nats" | "tls") && !parsed.host().is_empty();
        if !is_known {
            return Err(wrong("is not nats://HOST:PORT or tls://HOST:PORT"));
        }
        let held = held(&parsed).ok_or_else(|| wrong("has an invalid %-escape before the @"))?;
        let mut url = parsed.into_inner();
        if url.set_username("").and(url.set_password(None)).is_err() {
            return Err(wrong("is not nats://HOST:PORT or tls://HOST:PORT"));
        }
        self.take(held)
            .map_err(|()| wrong("holds other credentials than the settings or another address"))?;
        let server = ServerAddr::from_url(url).map_err(|_| wrong("is of no known kind"))?;
        self.servers.push(server);
        Ok(())
    }

    fn take(&mut self, held: Credentials) -> Result<(), ()> {
        match (&self.credentials, &held) {
            (_, Credentials::None) => {}
            (Credentials::None, _) => self.credentials = held,
            (Credentials::Token(one), Credentials::Token(other)) if one == other => {}
            (
                Credentials::Password { user, password },
                Credentials::Password {
                    user: other_user,
                    password: other_password,
                },
            ) if user == other_user && password == other_password => {}
            _ => return Err(()),
        }
        Ok(())
    }
}

/// The credentials in an address; `None` if an escape is invalid.
fn held(address: &ServerAddr) -> Option<Credentials> {
    let text = |part: &str| String::from_utf8(without_escapes(part)?).ok();
    let user = text(address.username().unwrap_or_default())?;
    match address.password() {
        Some(password) => Some(Credentials::Password {
            user,
            password: text(password)?,
        }),
        None if user.is_empty() => Some(Credentials::None),
        None => Some(Credentials::Token(user)),
    }
}

/// The options of a client that tries to connect for ever.
pub(super) fn options(
    settings: &Settings,
    target: &Target,
    link: &Arc<Link>,
) -> Result<ConnectOptions, Error> {
    let mut options = watched(ConnectOptions::new(), link)
        .name(&settings.name)
        .retry_on_initial_connect()
        .connection_timeout(CONNECT)
        .ping_interval(PING)
        .reconnect_delay_callback(pause)
        // The addresses of the settings are those that network policies allow.
        .ignore_discovered_servers()
        .subscription_capacity(16);
    if let Some(path) = &settings.authorities {
        check_authorities(path)?;
        options = options.add_root_certificates(path.clone());
    }
    let requires_tls = target.servers.iter().any(ServerAddr::tls_required);
    let options = options.require_tls(requires_tls || settings.authorities.is_some());
    authenticated(options, &target.credentials)
}

/// Tells the link what happens.
fn watched(options: ConnectOptions, link: &Arc<Link>) -> ConnectOptions {
    let (of_events, of_attempts) = (link.clone(), link.clone());
    options
        .event_callback(move |event| {
            of_events.event(&event);
            std::future::ready(())
        })
        .reconnect_to_server_callback(move |servers, _| {
            of_attempts.attempted(&servers);
            let is_closed = of_attempts.state().borrow().is_closed;
            async move {
                // The client tries for ever, also when nobody uses it any more.
                if is_closed {
                    std::future::pending::<()>().await;
                }
                None
            }
        })
}

fn authenticated(
    options: ConnectOptions,
    credentials: &Credentials,
) -> Result<ConnectOptions, Error> {
    Ok(match credentials {
        Credentials::None => options,
        Credentials::Token(token) => options.token(token.clone()),
        Credentials::Password { user, password } => {
            options.user_and_password(user.clone(), password.clone())
        }
        Credentials::File(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| unreadable("credentials", path, &error.to_string()))?;
            let wrong = "it holds no JWT and seed as nsc writes them";
            options
                .credentials(&text)
                .map_err(|_| unreadable("credentials", path, wrong))?
        }
    })
}

fn check_authorities(path: &Path) -> Result<(), Error> {
    let wrong = |cause: &str| unreadable("certificate authorities", path, cause);
    let pem = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match found {
        Ok(all) if !all.is_empty() => Ok(()),
        _ => Err(wrong("it is not a list of PEM certificates")),
    }
}

/// The pause before an attempt, which is counted from 1 since the last connection.
fn pause(attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 2_u32.saturating_pow(doublings);
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

fn unreadable(what: &str, path: &Path, cause: &str) -> Error {
    unusable(&format!("the file of {what} {}: {cause}", path.display()))
}

fn unusable(cause: &str) -> Error {
    Error::Setting {
        cause: cause.to_owned(),
    }
}
