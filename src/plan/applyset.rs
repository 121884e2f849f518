//! The ApplySet that the objects of a fleet are members of (KEP-3659).
//!
//! In: a fleet's name and namespace. Out: the id that members are labelled with, and the name of the
//! parent ConfigMap. It does not know: what the parent holds.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::model::ObjectId;

/// The set of objects one fleet owns. Its parent is the ConfigMap `capstan-<fleet>` in `namespace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplySet {
    fleet: String,
    namespace: String,
}

impl ApplySet {
    /// The set of `fleet`, its parent in `namespace`.
    pub fn new(fleet: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            fleet: fleet.into(),
            namespace: namespace.into(),
        }
    }

    /// The fleet.
    #[must_use]
    pub fn fleet(&self) -> &str {
        &self.fleet
    }

    /// The namespace of the parent.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The parent ConfigMap.
    #[must_use]
    pub fn parent(&self) -> ObjectId {
        let name = format!("capstan-{}", self.fleet);
        ObjectId::new("", "ConfigMap", self.namespace.as_str(), name)
    }

    /// The value of the members' part-of label: `applyset-<base64(sha256(name.namespace.kind.group))>-v1`.
    #[must_use]
    pub fn id(&self) -> String {
        let ObjectId {
            name, namespace, ..
        } = self.parent();
        let parent = format!("{name}.{namespace}.ConfigMap.");
        format!(
            "applyset-{}-v1",
            URL_SAFE_NO_PAD.encode(Sha256::digest(parent))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_a_valid_label_value_of_the_kep_s_form() {
        let id = ApplySet::new("prod", "capstan-system").id();
        assert!(id.starts_with("applyset-") && id.ends_with("-v1"));
        assert!(id.len() <= 63 && !id.contains('='));
        assert_ne!(id, ApplySet::new("prod", "other").id());
    }
}
