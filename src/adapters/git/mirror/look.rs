//! What one look at the other side found, between what is followed and the rest.

use super::reference::Fetched;
use super::selection::Selection;
use crate::adapters::git::remote::{Connection, Listing};

/// What a look at the other side found, when what is followed is here.
pub(super) enum Look<'m> {
    /// All is as it was.
    Same(Fetched),
    /// The rest is to be brought.
    New(Box<News<'m>>),
}

/// What the other side has.
pub(super) struct News<'m> {
    pub(super) connection: Connection<'m>,
    pub(super) selection: Selection,
    /// The refs that were kept before this look.
    pub(super) before: Listing,
    /// Those that were kept when what is followed was here.
    pub(super) kept: Listing,
    pub(super) requests: usize,
}
