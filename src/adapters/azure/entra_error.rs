//! What an error of Entra ID means.
//!
//! In: an error of azure_identity. Out: its class, and what Entra ID says about it.

use crate::model::{AdapterError, ErrorClass};

/// Entra ID refuses with a status of the client's side, and explains it. What answers for a managed identity explains
/// nothing, and means a refusal by two of them: a proxy on the way may give the others. Everything else may pass.
fn class(error: &azure_core::Error) -> ErrorClass {
    let status = chain(error).find_map(|here| {
        let here = here.downcast_ref::<azure_core::Error>()?;
        here.http_status().map(u16::from)
    });
    match status {
        Some(408 | 429) => ErrorClass::Transient,
        Some(400 | 401) => ErrorClass::Denied,
        Some(400..500) | None if explanation(error).is_some() => ErrorClass::Denied,
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

#[cfg(test)]
mod tests {
    use azure_core::error::ErrorKind;

    use super::*;

    #[test]
    fn what_does_not_come_from_entra_id_refuses_nothing() {
        let class = |status: u16, text: &'static str| {
            let kind = ErrorKind::HttpResponse {
                status: status.into(),
                error_code: None,
                raw_response: None,
            };
            refused(&azure_core::Error::with_message(kind, text)).class()
        };
        let unassigned = "The requested identity has not been assigned to this resource";
        for (status, text, expected) in [
            (400, unassigned, ErrorClass::Denied),
            (403, "The request failed: no route", ErrorClass::Transient),
            (404, "The request failed: no page", ErrorClass::Transient),
            (410, "The request failed: in update", ErrorClass::Transient),
            (403, "AADSTS53003: blocked", ErrorClass::Denied),
            (502, "a gateway error", ErrorClass::Transient),
        ] {
            assert_eq!(class(status, text), expected, "{status} {text}");
        }
    }
}
