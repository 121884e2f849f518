//! The field managers under which embedded resources are applied.

/// Applies the items of a list. It is CAPZ's own, so that after a handover in either direction a field that leaves the list is
/// removed.
pub const CAPZ: &str = "capz-manager";
/// Applies what is added to an item. CAPZ does not take away what it owns.
pub const EMBEDDED: &str = "capstan-embedded";
