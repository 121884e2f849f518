//! S: resources have only the fields of their kind in Azure Service Operator, and in `spec.properties` of a cluster, node
//! pool or external auth those of Azure's API. The API server would reject a misspelled field, or drop it silently.

use crate::api::arm_version::ArmVersion;
use crate::api::{arm_properties, azure_fields, embedded};
use crate::model::{Finding, Object, Path, Segment, Severity, message};
use crate::rules::arm::{Field, Resource, World};
use crate::schema::{self, Repair};
use kube_schema::Schema;

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

/// S01 to S04: the fields of `spec` are known and have valid values. Versions that are unknown here are not checked.
pub(super) fn spec_is_known(resource: &Resource<'_>) -> Vec<Finding> {
    let Some(schema) = spec_schema(resource) else {
        return Vec::new();
    };
    let id = Some(&resource.id);
    let mut found = schema::findings(schema, resource.node, &resource.path, id);
    found.retain(|finding| !is_injected(resource, finding));
    let unknown = |finding: &&mut Finding| finding.id == "S01" && !is_typo(finding);
    for finding in found.iter_mut().filter(unknown) {
        finding.severity = Severity::Warning;
    }
    found
}

/// Whether a controller sets the field that is missing.
fn is_injected(resource: &Resource<'_>, finding: &Finding) -> bool {
    let field = finding.field.as_ref().filter(|_| finding.id == "S03");
    let field = field.and_then(|field| field.0.strip_prefix(&*resource.path.0));
    let (carrier, kind) = (resource.carrier, &resource.id.kind);
    field.is_some_and(|field| embedded::is_injected(carrier, kind, &Path(field.to_vec())))
}

/// The objects with the right names of the misspelt fields in what was `found` of each of their resources; `None` if there
/// are none.
pub(super) fn spelt_right(
    objects: &[Object],
    resources: &[&Resource<'_>],
    found: &[Vec<Finding>],
) -> Option<Vec<Object>> {
    let is_misspelt = |found: &[Finding]| found.iter().any(is_typo);
    let resources = resources.iter().zip(found);
    let resources = resources.filter(|(_, found)| is_misspelt(found));
    let repairs = resources.filter_map(|(resource, _)| {
        let repair = Repair::of_names(spec_schema(resource)?, resource.node, &resource.path);
        let is_its = |object: &Object| std::ptr::eq(object, resource.carrier);
        let place = objects.iter().position(is_its)?;
        (!repair.is_nothing()).then_some((place, repair))
    });
    let repairs: Vec<(usize, Repair)> = repairs.collect();
    let mut right = (!repairs.is_empty()).then(|| objects.to_vec())?;
    for (place, repair) in repairs {
        repair.apply(&mut right[place].node);
    }
    Some(right)
}

fn spec_schema(resource: &Resource<'_>) -> Option<&'static Schema> {
    let id = &resource.id;
    azure_fields::schema((&id.group, &id.kind, &resource.version))
}

/// Whether an unknown field differs from a known one by a letter or two. Any other may be known to a newer release of Azure
/// Service Operator, which added fields such as `tenantIdFromConfig` to existing versions.
pub(super) fn is_typo(finding: &Finding) -> bool {
    const MOST: usize = 2;
    let field = finding.field.as_ref().and_then(|field| field.0.last());
    let (Some(Segment::Key(name)), Some(meant)) = (field, schema::meant(finding)) else {
        return false;
    };
    let letters = strsim::damerau_levenshtein(&name.to_lowercase(), &meant.to_lowercase());
    finding.id == "S01" && letters <= MOST
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

    /// What is found of the `spec` of a resource: the severity, and the message.
    fn of_spec(api_version: &str, kind: &str, spec: &str) -> Vec<String> {
        let yaml = format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
        );
        let document = crate::yaml::read(&"a.yaml".into(), yaml.as_bytes())
            .0
            .remove(0);
        let objects = [Object::from_node(document, "default").expect("an object")];
        let world = World::of(&objects);
        let found = world.all().flat_map(spec_is_known);
        found
            .map(|one| format!("{:?} {} {}", one.severity, one.id, one.message))
            .collect()
    }

    #[test]
    fn the_spec_of_a_resource_has_the_fields_of_its_kind() {
        let network = "network.azure.com/v1api20201101";
        for (api_version, kind, spec, expected) in [
            (
                "authorization.azure.com/v1api20220401",
                "RoleAssignment",
                "{owner: {name: net}, roleDefinitionReference: {wellKnownName: Owner}, principalIdFromSecret: {}}",
                "Warning S01 unknown field `spec.principalIdFromSecret`",
            ),
            (
                network,
                "VirtualNetworksSubnet",
                "{owner: {name: net}, addresPrefix: 10.0.0.0/24}",
                "Error S01 unknown field `spec.addresPrefix`",
            ),
            (
                network,
                "VirtualNetwork",
                "{owner: {name: net}, properties: {}}",
                "Warning S01 unknown field `spec.properties`",
            ),
            (
                network,
                "VirtualNetwork",
                "{owner: {name: net}, flowTimeoutInMinutes: 4}",
                "Warning S01 unknown field `spec.flowTimeoutInMinutes`",
            ),
            (
                network,
                "NetworkSecurityGroup",
                "{location: uksouth}",
                "Error S03 `spec.owner` is missing",
            ),
            (
                "authorization.azure.com/v1api20220401",
                "RoleAssignment",
                "{owner: {name: net}, roleDefinitionReference: {wellKnownName: Owner}, principalType: user}",
                "Error S04 `spec.principalType`: unsupported value: \"user\": supported values: \"Device\", \"ForeignGroup\", \"Group\", \"ServicePrincipal\", \"User\"",
            ),
            (
                "managedidentity.azure.com/v1api20230131",
                "UserAssignedIdentity",
                "{owner: net, location: uksouth, operatorSpec: {secrets: {clientId: {name: s, key: k}}}}",
                "Error S02 `spec.owner` must be a map, not a string",
            ),
        ] {
            assert_eq!(
                of_spec(api_version, kind, spec),
                [expected],
                "{kind} {spec}"
            );
        }
    }

    #[test]
    fn the_fields_of_other_kinds_and_versions_are_not_checked() {
        for (api_version, kind) in [
            ("network.azure.com/v1api20990101", "VirtualNetwork"),
            ("network.azure.com/v1api20201101", "RouteTable"),
            ("example.com/v1api20201101", "VirtualNetwork"),
        ] {
            assert_eq!(of_spec(api_version, kind, "{unknown: 1}"), [""; 0]);
        }
    }
}
