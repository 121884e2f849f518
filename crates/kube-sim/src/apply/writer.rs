//! Who writes, what, where and when.

use kube_schema::{Element, FieldSet, Managed, Operation};

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint<'a> {
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The fields that a write here leaves as they are, as paths of names: nobody comes to own them
    /// or what is below them.
    pub resets: &'a [&'a [&'a str]],
}

impl Endpoint<'_> {
    /// The fields of [`Self::resets`].
    pub(super) fn left_alone(self) -> FieldSet {
        let path = |names: &&[&str]| names.iter().map(|name| Element::field(*name)).collect();
        self.resets.iter().map(path).collect()
    }
}

/// Who writes, what, where and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// `group/version` of what is written.
    pub api_version: &'a str,
    /// Where it is written to.
    pub endpoint: Endpoint<'a>,
    /// Now, RFC 3339 in UTC and whole seconds.
    pub time: &'a str,
}

impl Writer<'_> {
    /// An entry of the managed fields.
    pub(super) fn entry(&self, operation: Operation, fields: FieldSet) -> Managed {
        Managed {
            manager: self.manager.into(),
            operation,
            api_version: self.api_version.into(),
            subresource: self.endpoint.subresource.into(),
            fields,
            time: self.time.into(),
        }
    }
}
