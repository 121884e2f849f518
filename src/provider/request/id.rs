//! The IDs of instances.

use super::{NAME, NAMES};
use crate::provider::problem::Problem;

/// The ID that no instance has: a path of the API has its place.
const RESERVED: &str = "health";

/// Returns true if a text can be the ID of an instance.
#[must_use]
pub fn is_instance_id(text: &str) -> bool {
    text.len() <= 63 && NAMES.is_match(text)
}

/// The ID that the client chose; `None` if it chose none.
///
/// # Errors
/// 400 if it cannot be one.
pub fn instance_id(chosen: Option<&str>) -> Result<Option<String>, Problem> {
    let Some(id) = chosen.filter(|id| !id.is_empty()) else {
        return Ok(None);
    };
    if !is_instance_id(id) {
        return Err(Problem::invalid(format!("id must match pattern: {NAME}")));
    }
    if id == RESERVED {
        return Err(Problem::invalid(
            "id must not be \"health\", which is a path of this API",
        ));
    }
    Ok(Some(id.to_owned()))
}
