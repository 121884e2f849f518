//! What an error of a vault means.
//!
//! In: an error of the SDK, and what was asked of which vault. Out: what is in the way, and what a person can do about it.
//! Key Vault says in a code why it forbids something, and in its text who asked. Its text also has numbers of requests,
//! which change each time, so that it is not repeated.

use std::time::Duration;

use azure_core::Error;
use azure_core::error::ErrorKind;
use azure_core::http::StatusCode;
use azure_core::http::headers::{HeaderName, Headers};
use serde_json::Value;

use super::super::entra_error;
use super::address::Address;
use crate::model::{AdapterError, ErrorClass, KeyError, KeyFault, KeyRequest};

/// What a vault answered instead of a key.
struct Refusal {
    status: StatusCode,
    /// The innermost code of the error.
    code: String,
    message: String,
    retry_after: Option<Duration>,
}

/// Whether the vault answered that it has no such key.
pub(super) fn is_absent(error: &Error) -> bool {
    let refusal = refusal(error);
    refusal.is_some_and(|refusal| refusal.status == StatusCode::NotFound && refusal.code != VAULT)
}

/// The code of a vault that does not exist, where something else answers to its name.
const VAULT: &str = "VaultNotFound";

/// What it means that a request failed: what was to be done with the key, and the error.
pub(super) fn of(request: &KeyRequest, address: &Address, verb: &str, error: &Error) -> KeyError {
    if chain(error).any(|here| matches!(here.kind(), ErrorKind::Credential)) {
        return entra_error::refused(error).into();
    }
    let KeyRequest { vault, key, .. } = request;
    let Some(refusal) = refusal(error) else {
        return unreached(vault, address, error);
    };
    let Refusal { code, message, .. } = &refusal;
    let (fault, class, text) = match (u16::from(refusal.status), code.as_str()) {
        (_, "ForbiddenByFirewall" | "ForbiddenByConnection") => (
            KeyFault::NetworkDenied,
            ErrorClass::Denied,
            barred(vault, message),
        ),
        (403, _) => {
            let text = forbidden(request, verb, &refusal);
            (KeyFault::AccessDenied, ErrorClass::Denied, text)
        }
        (409, "ObjectIsDeletedButRecoverable" | "ObjectIsBeingDeleted" | "Conflict") => {
            let text = format!(
                "the key '{key}' was deleted, and the vault '{vault}' keeps its name for it: recover it with `az keyvault key recover --vault-name {vault} --name {key}`; once it is purged, a new one is created"
            );
            (KeyFault::Deleted, ErrorClass::Denied, text)
        }
        (_, VAULT) => (
            KeyFault::VaultNotFound,
            ErrorClass::Transient,
            missing(vault, address),
        ),
        (401, _) => {
            let text = format!(
                "the vault '{vault}' does not accept the token of {}: it trusts one tenant, and spec.tenantID of the identity must be that of the vault",
                who(request, message)
            );
            (KeyFault::AccessDenied, ErrorClass::Denied, text)
        }
        (status, _) => {
            let class = match status {
                408 | 429 | 500.. => ErrorClass::Transient,
                _ => ErrorClass::Invalid,
            };
            let said = if code.is_empty() { "no code" } else { code };
            let text =
                format!("cannot {verb} the key '{key}' in the vault '{vault}': {status} ({said})");
            (KeyFault::Other, class, text)
        }
    };
    let retry_after = refusal.retry_after;
    let error = AdapterError::new(class, text);
    KeyError {
        retry_after,
        ..KeyError::new(fault, error)
    }
}

/// The errors of the SDK in an error, from the outermost on.
fn chain(error: &Error) -> impl Iterator<Item = &Error> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    std::iter::from_fn(move || {
        let here = next?;
        next = here.source();
        Some(here)
    })
    .filter_map(|here| here.downcast_ref::<Error>())
}

fn refusal(error: &Error) -> Option<Refusal> {
    chain(error).find_map(|here| {
        let ErrorKind::HttpResponse {
            status,
            error_code,
            raw_response,
        } = here.kind()
        else {
            return None;
        };
        let body = raw_response.as_ref().map(|raw| raw.body().as_ref());
        let body: Value = serde_json::from_slice(body.unwrap_or_default()).unwrap_or_default();
        let inner = body
            .pointer("/error/innererror/code")
            .and_then(Value::as_str);
        let code = inner.or(error_code.as_deref()).unwrap_or_default();
        let message = body.pointer("/error/message").and_then(Value::as_str);
        Some(Refusal {
            status: *status,
            code: code.to_owned(),
            message: message.unwrap_or_default().to_owned(),
            retry_after: raw_response
                .as_ref()
                .and_then(|raw| retry_after(raw.headers())),
        })
    })
}

fn retry_after(headers: &Headers) -> Option<Duration> {
    let seconds = headers.get_optional_str(&HeaderName::from_static("retry-after"))?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Nobody answered.
fn unreached(vault: &str, address: &Address, error: &Error) -> KeyError {
    let whole = error as &(dyn std::error::Error + 'static);
    let causes = std::iter::successors(Some(whole), |here| here.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    let is_unknown = texts.iter().any(|text| text.contains("dns error"));
    if is_unknown {
        let error = AdapterError::new(ErrorClass::Transient, missing(vault, address));
        return KeyError::new(KeyFault::VaultNotFound, error);
    }
    let why = texts.last().cloned().unwrap_or_default();
    unreachable(format!(
        "cannot reach the vault '{vault}' at {}: {why}; {WHAT_TO_CHECK}",
        address.host
    ))
}

/// Nobody answered within this time. A part of it goes to the token.
pub(super) fn silent(vault: &str, seconds: u64) -> KeyError {
    unreachable(format!(
        "the vault '{vault}', or Entra ID, did not answer within {seconds} seconds; {WHAT_TO_CHECK}"
    ))
}

/// The usual reason is a private endpoint to which no route leads.
const WHAT_TO_CHECK: &str = "check the name of the vault, and that port 443 of its public or private endpoint is open to this process: the route to a private endpoint, its DNS zone privatelink.vaultcore.azure.net, firewalls and proxies";

fn unreachable(message: String) -> KeyError {
    let error = AdapterError::new(ErrorClass::Transient, message);
    KeyError::new(KeyFault::Unreachable, error)
}

fn missing(vault: &str, address: &Address) -> String {
    format!(
        "there is no vault '{vault}': {} is not known here. If the vault is new, this passes; otherwise check its name, and for a private endpoint that this process resolves names of privatelink.vaultcore.azure.net",
        address.host
    )
}

fn barred(vault: &str, message: &str) -> String {
    let from = after(message, "Client address:");
    let from = from.map_or_else(String::new, |from| format!(" ({from})"));
    format!(
        "the vault '{vault}' takes no connection from the network of this process{from}: run it where it reaches the private endpoint of the vault, or let the firewall of the vault admit its address"
    )
}

/// Which permission is missing, on what, for whom.
fn forbidden(request: &KeyRequest, verb: &str, refusal: &Refusal) -> String {
    let KeyRequest { vault, key, .. } = request;
    let who = who(request, &refusal.message);
    if refusal.code == "ForbiddenByPolicy" || refusal.code == "AccessDenied" {
        return format!(
            "{who} may not {verb} the key '{key}': the vault '{vault}' uses access policies, and needs one that gives it the key permissions get and create"
        );
    }
    format!(
        "{who} may not {verb} the key '{key}': assign it the role Key Vault Crypto Officer on the vault '{vault}'"
    )
}

/// The identity, with its principal if the vault says which one that is.
fn who(request: &KeyRequest, message: &str) -> String {
    let identity = &request.identity;
    let named = format!(
        "AzureClusterIdentity {}/{}",
        identity.namespace, identity.name
    );
    match after(message, "oid=") {
        Some(principal) => format!("{named} (principal {principal})"),
        None => named,
    }
}

/// The word after a mark: an ID, a name or an address.
fn after<'a>(message: &'a str, mark: &str) -> Option<&'a str> {
    let rest = message.split_once(mark)?.1.trim_start();
    let is_part = |c: char| c.is_ascii_alphanumeric() || ['-', '.', ':'].contains(&c);
    let word = rest.split(|c| !is_part(c)).next()?;
    (!word.is_empty()).then_some(word)
}
