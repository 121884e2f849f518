//! The bytes of an answer, all of them there.

use std::collections::VecDeque;

use super::fault::Fault;

/// The rest of an answer.
pub(super) struct Body(VecDeque<Vec<u8>>);

impl Body {
    /// The next bytes; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.0.pop_front())
    }

    /// These bytes, `size` at a time.
    pub(super) fn of(bytes: &[u8], size: usize) -> Self {
        Self(bytes.chunks(size).map(<[u8]>::to_vec).collect())
    }
}
