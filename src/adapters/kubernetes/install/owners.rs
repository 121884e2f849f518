//! The other managers of objects that are to be installed.
//!
//! In: an API server's refusal of an apply, or a live object. Out: managers with their fields. It does not know what is done
//! about them.

use std::collections::BTreeMap;
use std::fmt;

use kube::core::Status;
use kube_schema::{Element, Managed};
use serde_json::Value as Json;

use super::INSTALLER;
use crate::adapters::kubernetes::Error;
use crate::model::ObjectId;
use crate::model::words::said;

/// The most fields of a manager that a message names.
const MOST_FIELDS: usize = 5;

/// An object that was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Other managers own fields of it.
    #[error(
        "{object}: {owners}; use --force to take them over, or leave them to it and change the object there"
    )]
    Owned {
        /// The object.
        object: ObjectId,
        /// The managers with their fields.
        owners: Owners,
    },
    /// The request failed.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// Managers, each with the fields that it owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners(BTreeMap<String, Vec<String>>);

impl Owners {
    /// The managers that an API server names when it refuses an apply; `None` if it refused for another reason.
    pub(super) fn of_conflict(status: &Status) -> Option<Self> {
        let details = status.details.as_ref().filter(|_| status.code == 409)?;
        let mut owners = Self::default();
        for cause in &details.causes {
            if cause.reason == "FieldManagerConflict" {
                let manager = cause.message.split('"').nth(1).unwrap_or("another manager");
                let fields = owners.0.entry(said(manager)).or_default();
                fields.push(said(&cause.field));
            }
        }
        (!owners.0.is_empty()).then_some(owners)
    }
}

/// `kubectl owns .spec.replicas and .spec.paused`
impl fmt::Display for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (manager, fields)) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            let named = &fields[..fields.len().min(MOST_FIELDS)];
            write!(f, "{separator}{manager} owns {}", named.join(", "))?;
            if let Some(more @ 1..) = fields.len().checked_sub(MOST_FIELDS) {
                write!(f, " and {more} more")?;
            }
        }
        Ok(())
    }
}

/// The managers other than ours that set the group of a CustomResourceDefinition: whoever sets it brought the kind.
#[must_use]
pub fn suppliers(definition: &Json) -> Vec<String> {
    let group = [Element::field("spec"), Element::field("group")];
    let managers = Managed::read(definition).unwrap_or_default();
    let owners = managers.iter().filter(|entry| entry.owns(&group));
    let mut others: Vec<String> = owners.map(|entry| said(&entry.manager)).collect();
    if others.iter().any(|manager| manager == INSTALLER) {
        return Vec::new();
    }
    if others.is_empty() {
        others.push("another manager".to_owned());
    }
    others
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conflict(causes: &[(&str, &str)]) -> Status {
        let causes = causes.iter().map(|(manager, field)| {
            json!({"reason": "FieldManagerConflict", "field": field,
                "message": format!("conflict with \"{manager}\" using apps/v1")})
        });
        let causes: Vec<Json> = causes.collect();
        let status = json!({"status": "Failure", "code": 409, "reason": "Conflict",
            "message": "Apply failed", "details": {"causes": causes}});
        serde_json::from_value(status).expect("a status")
    }

    #[test]
    fn owners_are_named_with_their_fields_up_to_a_limit() {
        let one = [("kubectl", ".spec.replicas"), ("helm", ".spec.paused")];
        let owners = Owners::of_conflict(&conflict(&one)).map(|owners| owners.to_string());
        let expected = "helm owns .spec.paused; kubectl owns .spec.replicas";
        assert_eq!(owners.as_deref(), Some(expected));
        let many = [("kubectl", ".a"); MOST_FIELDS + 2];
        let owners = Owners::of_conflict(&conflict(&many)).map(|owners| owners.to_string());
        assert!(owners.is_some_and(|owners| owners.ends_with(".a and 2 more")));
        assert_eq!(Owners::of_conflict(&conflict(&[])), None);
    }

    #[test]
    fn whoever_set_the_group_of_a_definition_brought_it() {
        let definition = |managers: &[&str]| {
            let entry = |manager: &&str| {
                json!({"manager": manager, "operation": "Update", "apiVersion": "v1",
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:group": {}}}})
            };
            let entries: Vec<Json> = managers.iter().map(entry).collect();
            json!({"metadata": {"managedFields": entries}})
        };
        assert_eq!(suppliers(&definition(&["clusterctl"])), ["clusterctl"]);
        assert!(suppliers(&definition(&["clusterctl", INSTALLER])).is_empty());
        assert_eq!(suppliers(&definition(&[])), ["another manager"]);
    }
}
