//! The ids of the rules that more than one place names: where a finding is made, and where one is looked for.
//!
//! The rule book has a page for each. An id that one file alone names stays a literal there.

/// An AROCluster or AROControlPlane that no Cluster names.
pub const UNNAMED_PART: &str = "D05";
/// An AROMachinePool that no MachinePool names.
pub const UNNAMED_POOL: &str = "D06";
/// A node pool whose version is too far from its cluster's.
pub const POOL_TOO_FAR: &str = "N08";
/// A patch that cannot be applied.
pub const UNAPPLICABLE_PATCH: &str = "O02";
/// A Secret in git that is not encrypted.
pub const SECRET_IN_GIT: &str = "P01";
/// A reference to an object that does not exist.
pub const MISSING_REFERENCE: &str = "R01";
/// An object that is defined twice.
pub const DEFINED_TWICE: &str = "R03";
/// A dependency outside that is not listed.
pub const UNLISTED_DEPENDENCY: &str = "R04";
/// A listed object outside that nothing needs, or that the fleet has.
pub const UNNEEDED_OUTSIDE: &str = "R05";
/// A field that the schema does not have.
pub const UNKNOWN_FIELD: &str = "S01";
/// A value of another type.
pub const WRONG_TYPE: &str = "S02";
/// A required field that is missing.
pub const MISSING_FIELD: &str = "S03";
/// A value that is not valid.
pub const INVALID_VALUE: &str = "S04";
/// An object outside of its tenant's namespaces.
pub const FOREIGN_NAMESPACE: &str = "T02";
/// An object of a kind that its tenant does not allow.
pub const FOREIGN_KIND: &str = "T03";
/// An object in a subscription that is not its tenant's.
pub const FOREIGN_SUBSCRIPTION: &str = "T04";
/// An identity that is used from a namespace that it does not allow.
pub const FOREIGN_IDENTITY: &str = "T07";
/// An identity that authenticates as Capstan with a client ID of another namespace.
pub const FOREIGN_CLIENT: &str = "T08";
/// An object that leaves the fleet although others use it.
pub const USED: &str = "U07";
/// A change of a field that cannot change.
pub const IMMUTABLE_FIELD: &str = "U01";
/// A change that replaces nodes.
pub const REPLACED_NODES: &str = "U02";
/// A change of a control plane's version that Azure refuses.
pub const CLUSTER_UPGRADE: &str = "U05";
/// A change of a node pool's version that Azure refuses.
pub const POOL_UPGRADE: &str = "U06";
/// A file that is neither YAML nor JSON.
pub const UNREADABLE_FILE: &str = "Y01";
/// A version without quotes.
pub const UNQUOTED_VERSION: &str = "Y11";
/// A file without a document.
pub const NO_DOCUMENT: &str = "Y13";
/// A file of another tool.
pub const FOREIGN_FILE: &str = "Y16";
