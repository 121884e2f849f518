//! Why an apply was refused.

use std::fmt;

use kube_schema::FieldPath;

/// A field that the configuration would take from another manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The other manager's name.
    pub manager: String,
    /// The other manager as messages name it: `"kubectl" using apps/v1`.
    pub named: String,
    /// The field.
    pub path: FieldPath,
}

/// `conflict with "kubectl" using apps/v1: .spec.replicas`
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conflict with {}: {}", self.named, self.path)
    }
}

/// Why nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Other managers own fields with other values; never empty.
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit the kind, each fault with its path.
    Unfit(Vec<String>),
}

/// The message of the API server's answer (409 for conflicts).
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflicts(conflicts) => match conflicts.as_slice() {
                [only] => write!(f, "Apply failed with 1 conflict: {only}"),
                all => {
                    write!(f, "Apply failed with {} conflicts: ", all.len())?;
                    f.write_str(&by_manager(all).join("\n"))
                }
            },
            Self::Unfit(faults) if faults.len() == 1 => f.write_str(&faults[0]),
            Self::Unfit(faults) => write!(f, "errors:\n  {}", faults.join("\n  ")),
        }
    }
}

/// A line for each manager, and one for each of its fields. Conflicts come sorted by manager.
fn by_manager(conflicts: &[Conflict]) -> Vec<String> {
    let mut lines = Vec::new();
    for chunk in conflicts.chunk_by(|a, b| a.named == b.named) {
        lines.push(format!("conflicts with {}:", chunk[0].named));
        lines.extend(chunk.iter().map(|conflict| format!("- {}", conflict.path)));
    }
    lines
}
