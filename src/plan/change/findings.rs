//! The consequences of a change as findings about the new object, with the line to edit.

use serde_json::{Value as Json, json};

use super::{Consequence, consequences};
use crate::model::{Change, Finding, Object};

/// The consequences of changing `old` to `new`, where `old` is an object with the same name as it was sent.
#[must_use]
pub fn between(old: &Json, new: &Object) -> Vec<Consequence> {
    consequences(old, &placed(new))
}

/// The object as JSON, with its namespace.
#[must_use]
pub fn placed(object: &Object) -> Json {
    let mut json = object.node.to_json();
    if let Some(metadata) = json["metadata"].as_object_mut() {
        metadata.insert("namespace".to_owned(), json!(object.id.namespace));
    }
    json
}

impl Consequence {
    /// U01 or U02, at the place in `object` to edit.
    #[must_use]
    pub fn finding(&self, object: &Object) -> Finding {
        let finding = match self.change {
            Change::Replace => Finding::error("U01", self.message()),
            _ => Finding::warning("U02", self.message()),
        };
        finding
            .at(object.node.nearest(&self.field).origin.span())
            .of(&object.id)
            .field(&self.field)
            .help(self.help())
    }
}
