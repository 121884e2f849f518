//! Which fleets a survey reads.

/// The choice of fleets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetChoice {
    /// The name of one fleet; `None` for all.
    pub fleet: Option<String>,
    /// The namespace to look for parents in if they cannot be listed everywhere.
    pub namespace: String,
}
