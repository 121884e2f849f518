//! How one place of a built-in kind merges.

/// What is known of one place of a built-in kind.
#[derive(Debug)]
pub(super) enum Shape {
    /// A scalar, a list that is one value, or a struct of plain fields.
    Plain,
    /// A string.
    Text,
    /// A struct; fields that are not named are plain.
    Struct(&'static [(&'static str, &'static Self)]),
    /// A struct that has the named fields only.
    Closed(&'static [(&'static str, &'static Self)]),
    /// A map with free keys.
    Map(&'static Self),
    /// A map that is one value.
    Atomic,
    /// A list whose items are their own keys.
    Set,
    /// A list whose items have these key fields.
    Keyed(&'static [&'static str], &'static Self),
    /// A whole object of which only the metadata is known.
    Object,
    /// Anything; maps merge member by member, all keys are free.
    Deduced,
    /// Anything, as one value.
    Untyped,
}
