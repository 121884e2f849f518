//! S: `spec.properties` of a cluster, node pool or external auth has only fields of Azure's API. The API
//! server would reject a misspelled field, or drop it silently.

use crate::api::arm_properties;
use crate::api::arm_version::ArmVersion;
use crate::model::{Finding, Path, message};
use crate::rules::arm::{Field, Resource, World};
use crate::schema;

/// S01: the version of Azure's API has the fields.
pub(super) fn are_in_the_version(_: &World<'_>, resource: &Resource<'_>) -> Vec<Finding> {
    let Some(version) = ArmVersion::from_aso(&resource.version) else {
        return Vec::new();
    };
    let lacking = version
        .lacks(&resource.id.kind)
        .filter_map(|(field, since)| {
            let place = resource.field(&format!("spec.properties.{field}"));
            place
                .is_given()
                .then(|| too_new(&place, field, version, since))
        });
    lacking.collect()
}

fn too_new(place: &Field<'_>, field: &str, version: ArmVersion, since: ArmVersion) -> Finding {
    let arm = version.arm();
    let message = message!("API version {arm} has no field `{field}`", arm, field);
    let having = ArmVersion::ALL.iter().filter(|known| **known >= since);
    let having: Vec<&str> = having.map(|known| known.arm()).collect();
    let finding = place.finding("S01", message);
    finding.help(format!("versions that have it: {}", having.join(", ")))
}

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
    fn a_field_of_a_later_version_is_found() {
        let found = |version: &str, properties: &str| {
            let kind = "HcpOpenShiftCluster";
            let yaml = format!(
                "apiVersion: redhatopenshift.azure.com/{version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{properties: {{{properties}}}}}\n"
            );
            findings_of_kind(are_in_the_version, kind, &yaml)
        };
        let mirrors = "imageDigestMirrors: [{source: a, mirrors: [b]}]";
        let expected = "S01 4:41 API version 2024-06-10-preview has no field `imageDigestMirrors`";
        assert_eq!(found("v1api20240610preview", mirrors), [expected]);
        assert_eq!(found("v1api20251223preview", mirrors), [""; 0]);
        assert_eq!(found("v1api20990101preview", mirrors), [""; 0]);
    }

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
            let reported = findings_of_kind(are_known, kind, &yaml);
            let reported: Vec<String> = reported
                .iter()
                .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(reported, expected, "{properties}");
        }
    }
}
