//! The part of an object that a write is about.

/// Which part of an object a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All but the status, where that is a subresource.
    Main,
    /// The status.
    Status,
    /// Who has to have done with the content of a namespace.
    Finalize,
}

impl Part {
    /// The subresource's name; empty for the object itself.
    pub(super) const fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
        }
    }
}
