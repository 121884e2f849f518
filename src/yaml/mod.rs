//! Converts between YAML text and nodes. Reading never fails as a whole.
//!
//! In: the bytes of one file. Out: its documents as [`Node`](crate::model::Node)s in which every key
//! and value knows its line and column, and findings for what could not be read. The other way: JSON
//! values to a YAML stream that Kubernetes tools read back as the same values.
//!
//! It does not know what a document means or what other files contain.

mod builder;
mod comments;
mod documents;
mod entries;
mod form;
mod markers;
mod problems;
mod scalar;
mod syntax;
mod write;

pub use builder::File;
pub use comments::{Comment, comments};
pub use documents::{read, read_file, read_within};
pub use form::{Fields, Yaml, amount, block, field, flow, text};
pub use problems::problems;
pub use write::write;

#[cfg(test)]
mod tests;
