//! Names that several parts of the document use.

/// The name of the security scheme.
pub(super) const BEARER: &str = "bearer";
/// The tag of what is done with clusters.
pub(super) const CLUSTERS: &str = "clusters";
/// The tag of what the provider says of itself.
pub(super) const PROVIDER: &str = "provider";
