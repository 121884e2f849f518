//! The port for whole objects of the management cluster, the content of Secrets included.
//!
//! In: what names an object. Out: the object as it is now. Only an adapter that needs the content of a Secret at this
//! moment asks: nothing that it reads here is kept in a snapshot, or written to a log.

use futures::future::BoxFuture;

use super::{AdapterError, ObjectId};

/// Reads objects of the management cluster.
pub trait ObjectReader: Send + Sync {
    /// The object; `None` if it does not exist.
    ///
    /// # Errors
    /// When the cluster does not answer, or refuses.
    fn read(
        &self,
        id: &ObjectId,
    ) -> BoxFuture<'static, Result<Option<serde_json::Value>, AdapterError>>;
}
