//! S: `spec.properties` of a cluster, node pool or external auth has only fields of Azure's API. The API
//! server would reject a misspelled field, or drop it silently.

use crate::api::arm_properties;
use crate::model::{Finding, Path};
use crate::rules::arm::{Resource, World};
use crate::schema;

/// S01 and S02: the fields are known and have values of the right types.
pub(super) fn are_known(_: &World<'_>, resource: &Resource<'_>) -> Vec<Finding> {
    let properties = Path::dotted("spec.properties");
    let node = resource.node.lookup(&properties);
    let schema = arm_properties::schema(&resource.id.kind);
    let (Some(node), Some(schema)) = (node, schema) else {
        return Vec::new();
    };
    let mut at = resource.path.clone();
    at.0.extend(properties.0);
    schema::findings(schema, node, &at, Some(&resource.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_kind;

    #[test]
    fn unknown_fields_and_wrong_types_are_found() {
        let head =
            "apiVersion: redhatopenshift.azure.com/v1api20251223preview\nmetadata: {name: a}\n";
        for (kind, properties, expected) in [
            (
                "HcpOpenShiftCluster",
                "{nodeDrainTimeoutMinuts: 30, network: {hostPrefix: '23'}}",
                &["S01 4:21", "S02 4:71"][..],
            ),
            (
                "HcpOpenShiftClustersNodePool",
                "{labels: [{key: a, valeu: b}], autoRepair: true}",
                &["S01 4:39"],
            ),
            (
                "HcpOpenShiftClustersExternalAuth",
                "{issuer: {audiences: a}}",
                &["S02 4:41"],
            ),
            ("HcpOpenShiftCluster", "{network: null}", &[]),
        ] {
            let yaml = format!("{head}kind: {kind}\nspec: {{properties: {properties}}}\n");
            let said = findings_of_kind(are_known, kind, &yaml);
            let said: Vec<String> = said
                .iter()
                .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(said, expected, "{properties}");
        }
    }
}
