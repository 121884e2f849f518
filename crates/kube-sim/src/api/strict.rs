//! What is done about fields that a type does not know, and about those that are there twice:
//! `fieldValidation`.
//!
//! In: what a client sent. Out: the object as its type holds it and the warnings about what was lost, or
//! under strict validation the refusal. It does not know where else a write may fail.

use serde_json::Value;

use super::commit::Write;
use super::document::{Document, Repeated};
use super::kinds;
use super::options::FieldValidation;
use super::status::Refusal;
use super::strategy;

/// The object that `sent` is, and what to warn of. `patched` is set when it is what a patch made of an
/// object.
///
/// # Errors
/// For a value of a wrong type, and under strict validation for fields that are unknown or there twice:
/// 400 for what is sent, 422 for what a patch made.
pub(super) fn decode(
    write: Write<'_>,
    sent: Document,
    patched: bool,
) -> Result<(Value, Vec<String>), Refusal> {
    let (version, kind) = kinds::type_of(&sent.value);
    let claimed = (version.to_owned(), kind.to_owned());
    let shown = patched.then(|| sent.value.clone());
    let refuse = |why: &str| match &shown {
        Some(shown) => Refusal::patch_failed(shown, why),
        None => kinds::undecodable(write.resource, (&claimed.0, &claimed.1), why),
    };
    let decoded = strategy::decode(write.resource, sent.value);
    let (object, unknown) = decoded.map_err(|why| refuse(&why))?;
    let mut faults = sent.repeated.faults();
    faults.extend_from_slice(&unknown);
    match write.options.validation {
        FieldValidation::Ignore => Ok((object, Vec::new())),
        FieldValidation::Strict if !faults.is_empty() => {
            let why = format!("strict decoding error: {}", faults.join(", "));
            Err(refuse(&why))
        }
        FieldValidation::Warn | FieldValidation::Strict => {
            let repeated = sent.repeated.warnings().iter().cloned();
            Ok((object, repeated.chain(unknown).collect()))
        }
    }
}

/// What to warn of before a configuration is applied; unknown fields are refused by the managers.
///
/// # Errors
/// 400 under strict validation when fields are there twice.
pub(super) fn applied(write: Write<'_>, repeated: &Repeated) -> Result<Vec<String>, Refusal> {
    match write.options.validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Strict if !repeated.is_empty() => {
            let faults = repeated.faults().join(", ");
            let why =
                format!("error strict decoding YAML: error converting YAML to JSON: {faults}");
            Err(Refusal::bad_request(why))
        }
        FieldValidation::Warn | FieldValidation::Strict => Ok(repeated.warnings().to_vec()),
    }
}
