//! What an error of Entra ID means.
//!
//! In: an error of azure_identity. Out: its class, and what Entra ID says about it.

use crate::model::{AdapterError, ErrorClass};

/// Entra ID refuses with a status of the client's side, and explains it; everything else may pass.
fn class(error: &azure_core::Error) -> ErrorClass {
    let status = chain(error).find_map(|here| {
        let here = here.downcast_ref::<azure_core::Error>()?;
        here.http_status().map(u16::from)
    });
    match status {
        Some(408 | 429) => ErrorClass::Transient,
        Some(400..500) => ErrorClass::Denied,
        None if explanation(error).is_some() => ErrorClass::Denied,
        _ => ErrorClass::Transient,
    }
}

/// An error and what caused it.
fn chain(error: &azure_core::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error as &dyn std::error::Error), |here| here.source())
}

/// What Entra ID says, without the IDs of the request that follow. An answer with escaped characters is not
/// understood by azure_identity 1.0, whose error then repeats it.
fn explanation(error: &azure_core::Error) -> Option<String> {
    let texts = chain(error).map(ToString::to_string);
    texts.into_iter().find_map(|text| {
        let said = text.get(text.find("AADSTS")?..)?;
        let end = ["Trace ID", "\\r", "\\n", "\r", "\n", "\""];
        let end = end.iter().filter_map(|mark| said.find(mark)).min();
        Some(said.get(..end.unwrap_or(said.len()))?.trim().to_owned())
    })
}

/// The error of a request for a token.
pub(super) fn refused(error: &azure_core::Error) -> AdapterError {
    failed(class(error), error)
}

/// The error of a credential that cannot be made.
pub(super) fn invalid(error: &azure_core::Error) -> AdapterError {
    failed(ErrorClass::Invalid, error)
}

fn failed(class: ErrorClass, error: &azure_core::Error) -> AdapterError {
    let said = explanation(error).unwrap_or_else(|| {
        let text = error.to_string();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        line.unwrap_or_default().to_owned()
    });
    AdapterError::new(class, format!("cannot get a token of Entra ID: {said}"))
}
