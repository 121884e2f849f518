//! The ARO controllers alone, for clusters that something else applies.

use serde_json::{Value as Json, json};

use super::component::{Component, Pods};
use super::rights::{controller_rules, lease_rules};

/// The objects of the controllers, in the order to apply them. Of several pods one acts.
#[must_use]
pub fn controllers(component: &Component, replicas: u16) -> Vec<Json> {
    let pods = Pods {
        arguments: vec!["controllers".to_owned()],
        replicas,
        resources: json!({"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}),
    };
    let parts = [
        component.account(),
        component.roles(&controller_rules(), &lease_rules()),
        component.deployment(&pods),
    ];
    parts.concat()
}
