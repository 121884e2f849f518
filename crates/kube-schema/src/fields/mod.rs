//! Sets of fields, as `metadata.managedFields` keeps them.
//!
//! In: FieldsV1 JSON. Out: [`FieldSet`], a tree with union, difference and intersection, and FieldsV1
//! JSON again. It does not know values or types: which fields a value has is `typed`'s to say.

mod cover;
mod element;
mod set;

pub use element::Element;
pub use set::{FieldPath, FieldSet};
#[cfg(test)]
mod tests;
