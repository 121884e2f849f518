//! S: resources have only the fields of their kind in Azure Service Operator, and in `spec.properties` of a cluster, node
//! pool or external auth those of Azure's API. The API server would reject a misspelled field, or drop it silently.

use crate::api::arm_version::ArmVersion;
use crate::api::{arm_properties, azure_fields, embedded};
use crate::model::{Finding, Node, Path, Segment, Severity, Value, message, rule_id};
use crate::rules::arm::{Field, Resource};
use crate::schema;
use kube_schema::Schema;

/// Where Azure's own templates have the fields of a resource.
const PROPERTIES: &str = "spec.properties";
/// What to do with it in a kind without it.
const TOO_DEEP: &str = "move what is below `properties` up into `spec`: only some kinds have it";

/// S01: the version of Azure's API has the fields.
pub(super) fn are_in_the_version(resource: &Resource<'_>) -> Vec<Finding> {
    let Some(version) = ArmVersion::from_aso(&resource.version) else {
        return Vec::new();
    };
    let lacking = version
        .lacks(&resource.id.kind)
        .filter_map(|(field, since)| {
            let place = resource.field(format!("spec.properties.{field}"));
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
    let finding = place.finding(rule_id::UNKNOWN_FIELD, message);
    finding.help(format!("versions that have it: {}", having.join(", ")))
}

/// S01 to S05: the fields of `spec` are known and have valid values. Kinds and versions that are unknown here are not
/// checked.
pub(super) fn are_known(resource: &Resource<'_>) -> Vec<Finding> {
    faults(resource, resource.node)
}

/// What is wrong with the fields of a resource that has this content.
pub(super) fn faults(resource: &Resource<'_>, node: &Node) -> Vec<Finding> {
    let id = &resource.id;
    let of = |schema: &Schema, below: &Path| {
        let Some(part) = node.lookup(below) else {
            return Vec::new();
        };
        schema::findings(schema, part, &within(resource, below), Some(id))
    };
    let spec = azure_fields::schema((&id.group, &id.kind, &resource.version));
    let mut found = spec.map_or_else(Vec::new, |schema| of(schema, &Path::default()));
    found.extend(spec.and_then(|_| nameless_owner(resource, node)));
    found.retain(|finding| !is_injected(resource, finding));
    for finding in found.iter_mut().filter(|finding| may_be_new(finding)) {
        finding.severity = Severity::Warning;
        let field = finding.field.as_ref();
        if field.is_some_and(|field| *field == within(resource, &Path::dotted(PROPERTIES))) {
            finding.help = Some(TOO_DEEP.to_owned());
        }
    }
    let properties = arm_properties::schema(&id.kind);
    let properties = properties.map(|schema| of(schema, &Path::dotted(PROPERTIES)));
    found.extend(properties.into_iter().flatten());
    found
}

/// S03: an owner has a name. The CRDs do not require one, but Azure Service Operator finds nothing without it.
fn nameless_owner(resource: &Resource<'_>, node: &Node) -> Option<Finding> {
    let owner = node.at(&["spec", "owner"])?;
    let is_given = |name: &str| {
        let name = owner.get(name);
        name.is_some_and(|name| name.value != Value::Null && name.as_str() != Some(""))
    };
    if owner.as_map().is_none() || is_given("name") || is_given("armId") {
        return None;
    }
    let field = within(resource, &Path::dotted("spec.owner"));
    let message = message!("`{field}` names nothing", field);
    let finding = Finding::error(rule_id::MISSING_FIELD, message)
        .at(owner.span())
        .field(&field);
    let help = "add `name` if the owner is an object in the cluster, else `armId`";
    Some(finding.of(&resource.id).help(help))
}

/// Whether a controller sets the field that is missing.
fn is_injected(resource: &Resource<'_>, finding: &Finding) -> bool {
    let field = finding
        .field
        .as_ref()
        .filter(|_| finding.id == rule_id::MISSING_FIELD);
    let field = field.and_then(|field| below(resource, field));
    let (carrier, kind) = (resource.carrier, &resource.id.kind);
    field.is_some_and(|field| embedded::is_injected(carrier, kind, &field))
}

/// The path of a field of the resource in the object it is part of.
fn within(resource: &Resource<'_>, field: &Path) -> Path {
    Path(resource.path.0.iter().chain(&field.0).cloned().collect())
}

/// The path of a field of that object in the resource.
pub(super) fn below(resource: &Resource<'_>, field: &Path) -> Option<Path> {
    let field = field.0.strip_prefix(&*resource.path.0)?;
    Some(Path(field.to_vec()))
}

/// A release of Azure Service Operator may add fields to an existing version, as it did with `tenantIdFromConfig`.
fn may_be_new(finding: &Finding) -> bool {
    finding.id == rule_id::UNKNOWN_FIELD && !is_typo(finding) && !schema::lacks_a_field(finding)
}

/// Whether an unknown field differs from a known one by a letter or two.
pub(super) fn is_typo(finding: &Finding) -> bool {
    const MOST: usize = 2;
    let field = finding.field.as_ref().and_then(|field| field.0.last());
    let (Some(Segment::Key(name)), Some(meant)) = (field, schema::meant(finding)) else {
        return false;
    };
    let letters = strsim::damerau_levenshtein(&name.to_lowercase(), &meant.to_lowercase());
    finding.id == rule_id::UNKNOWN_FIELD && letters <= MOST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Object;
    use crate::rules::arm::World;
    use crate::rules::findings_of_kind;

    #[test]
    fn a_field_of_a_later_version_is_found() {
        let found = |version: &str, properties: &str| {
            let kind = "HcpOpenShiftCluster";
            let yaml = format!(
                "apiVersion: redhatopenshift.azure.com/{version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{properties: {{{properties}}}}}\n"
            );
            findings_of_kind(|_, resource| are_in_the_version(resource), kind, &yaml)
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
            let reported = findings_of_kind(|_, resource| are_known(resource), kind, &yaml);
            let is_missing = |line: &&String| line.starts_with("S03 ");
            let reported: Vec<_> = reported.iter().filter(|line| !is_missing(line)).collect();
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
        let found = crate::rules::fields(&world).into_iter().flatten();
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
                network,
                "NetworkSecurityGroup",
                "{owner: {name: null}}",
                "Error S03 `spec.owner` names nothing",
            ),
            (
                network,
                "NetworkSecurityGroup",
                "null",
                "Error S03 `spec` is missing",
            ),
            (
                "authorization.azure.com/v1api20220401",
                "RoleAssignment",
                "{owner: {name: net}, roleDefinitionRef: {wellKnownName: Owner}}",
                "Error S01 unknown field `spec.roleDefinitionRef`",
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
    fn an_encrypted_object_is_not_checked() {
        let spec = "{location: 'ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]'}";
        let found = of_spec("keyvault.azure.com/v1api20230701", "Vault", spec);
        assert_eq!(found, [""; 0]);
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
