//! The admission rules of AROControlPlane, AROMachinePool and AROCluster: V01–V04, worded as the provider's webhooks
//! word them (facts/aro-controllers.md §2), and V08 (§6.4).

use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use crate::api::{aro_control_plane, embedded};
use crate::model::{Finding, Message, Node, Object, Path, Value, message};

/// V01: a control plane and a machine pool carry at least one resource.
pub(super) fn resources_present(object: &Object) -> Vec<Finding> {
    let required = object.id.is(CONTROL_PLANE, "AROControlPlane")
        || object.id.is(INFRASTRUCTURE, "AROMachinePool");
    if !required || !embedded::items(object).is_empty() {
        return Vec::new();
    }
    let path = Path::dotted("spec.resources");
    let message = "resources mode is required; field-based configuration is no longer supported";
    let finding = Finding::error("V01", message)
        .at(object.node.nearest(&path).span())
        .of(&object.id)
        .field(&path)
        .help("list the Azure Service Operator resources under spec.resources");
    vec![finding]
}

/// V02: each embedded resource has an apiVersion, a kind and a name.
pub(super) fn resources_well_formed(object: &Object) -> Vec<Finding> {
    let path = Path::dotted("spec.resources");
    let faults = |(index, item): (usize, &Node)| {
        let at = path.index(index);
        let finding = |(problem, help): (&str, &str)| {
            Finding::error("V02", message!("{problem}", item = index, problem))
                .at(item.span())
                .of(&object.id)
                .field(&at)
                .help(help)
        };
        malformed(item).into_iter().map(finding).collect::<Vec<_>>()
    };
    let items = embedded::items(object).iter().enumerate();
    items.flat_map(faults).collect()
}

/// What is wrong with an embedded resource, and how to fix it.
fn malformed(item: &Node) -> Vec<(&'static str, &'static str)> {
    const WHOLE: &str = "write a complete Azure Service Operator resource, or remove the item";
    let blank = |path: &[&str]| item.text(path).is_none_or(str::is_empty);
    match &item.value {
        Value::Null => return vec![("resource cannot be empty", WHOLE)],
        Value::Map(_) => {}
        _ => return vec![("resource must be valid JSON: it must be a map", WHOLE)],
    }
    let no_metadata = item.get("metadata").and_then(Node::as_map).is_none();
    let faults = [
        (
            blank(&["apiVersion"]),
            "resource must have apiVersion",
            "for example `apiVersion: network.azure.com/v1api20201101`",
        ),
        (
            blank(&["kind"]),
            "resource must have kind",
            "for example `kind: VirtualNetwork`",
        ),
        (
            no_metadata,
            "resource must have metadata",
            "add `metadata: {name: ...}`",
        ),
        (
            !no_metadata && blank(&["metadata", "name"]),
            "resource must have metadata.name",
            "add `name` under metadata",
        ),
    ];
    let wrong = faults.into_iter().filter(|(wrong, ..)| *wrong);
    wrong.map(|(_, message, help)| (message, help)).collect()
}

/// V08: an embedded resource names no namespace but that of the object that carries it, in which it is created.
pub(super) fn namespace_is_the_carriers(object: &Object) -> Vec<Finding> {
    let path = Path::dotted("spec.resources");
    let fault = |(index, item): (usize, &Node)| {
        let node = item.at(&["metadata", "namespace"])?;
        let other = node.as_str().filter(|name| !name.is_empty())?;
        let (carrier, own) = (&object.id.kind, &object.id.namespace);
        if own.is_empty() || other == own {
            return None;
        }
        let message = message!(
            "metadata.namespace {other:?} is ignored: the resource is created in the namespace of its {carrier}, {own:?}",
            other,
            carrier,
            own
        );
        let field = path.index(index).key("metadata").key("namespace");
        let finding = Finding::warning("V08", message)
            .at(node.span())
            .of(&object.id);
        Some(finding.field(&field).help("remove it"))
    };
    let items = embedded::items(object).iter().enumerate();
    items.filter_map(fault).collect()
}

/// V03: an identityRef names an identity.
pub(super) fn identity_ref_named(object: &Object) -> Vec<Finding> {
    let reference = aro_control_plane::identity_ref(object);
    match reference {
        Some(node) if node.text(&["name"]).is_none_or(str::is_empty) => {
            let finding = Finding::error("V03", "spec.identityRef.name cannot be empty")
                .at(node.get("name").unwrap_or(node).span())
                .of(&object.id)
                .field(&Path::dotted("spec.identityRef.name"))
                .help("name an AzureClusterIdentity, or remove identityRef to use ASO's own credential");
            vec![finding]
        }
        _ => Vec::new(),
    }
}

/// V09: a control plane names a cloud that exists. Nothing else would say so before its identity is asked.
pub(super) fn cloud_is_known(object: &Object) -> Vec<Finding> {
    let path = Path::dotted("spec.azureEnvironment");
    let written = object.node.at(&["spec", "azureEnvironment"]);
    let Some((node, cloud)) = written.and_then(|node| Some((node, node.as_str()?))) else {
        return Vec::new();
    };
    if !object.id.is(CONTROL_PLANE, "AROControlPlane") || aro_control_plane::is_known_cloud(cloud) {
        return Vec::new();
    }
    let message = Message::from(aro_control_plane::unknown_cloud(cloud));
    let finding = Finding::error("V09", message)
        .at(node.span())
        .of(&object.id);
    vec![finding.field(&path).help("remove it for the public cloud")]
}

/// V04: Azure rejects names with these words.
pub(super) fn name_allowed(object: &Object) -> Vec<Finding> {
    let name = object.id.name.to_lowercase();
    let refused = ["microsoft", "windows"]
        .iter()
        .any(|word| name.contains(word));
    if !refused || !object.id.is(CONTROL_PLANE, "AROControlPlane") {
        return Vec::new();
    }
    let message = "cluster name is invalid because 'MICROSOFT' and 'WINDOWS' can't be used as either a whole word or a substring in the name";
    let finding = Finding::error("V04", message)
        .at(object.origin.span())
        .of(&object.id);
    vec![
        finding
            .field(&Path::dotted("metadata.name"))
            .help("choose another name"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of;

    const NONE: [&str; 0] = [];

    fn control_plane(spec: &str) -> String {
        format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: AROControlPlane\nmetadata: {{name: c}}\nspec: {spec}\n"
        )
    }

    #[test]
    fn issue_15_only_clouds_that_exist_are_named() {
        let unknown = "V09 4:26 spec.azureEnvironment \"Moon\" is not a cloud: use AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud";
        let found = |cloud: &str| {
            let spec = format!("{{azureEnvironment: {cloud}}}");
            findings_of(cloud_is_known, &control_plane(&spec))
        };
        assert_eq!(found("Moon"), [unknown]);
        assert_eq!(found("azurepubliccloud").len(), 1, "Azure compares case");
        for cloud in [
            "AzurePublicCloud",
            "AzureChinaCloud",
            "AzureUSGovernmentCloud",
            "''",
            "null",
        ] {
            assert_eq!(found(cloud), NONE, "{cloud}");
        }
    }

    fn machine_pool(spec: &str) -> String {
        control_plane(spec)
            .replace("controlplane.", "infrastructure.")
            .replace("AROControlPlane", "AROMachinePool")
    }

    #[test]
    fn a_control_plane_and_a_machine_pool_need_resources() {
        let message =
            "resources mode is required; field-based configuration is no longer supported";
        assert_eq!(
            findings_of(resources_present, &machine_pool("{resources: null}")),
            [format!("V01 4:19 {message}")]
        );
        let cluster = machine_pool("{}").replace("AROMachinePool", "AROCluster");
        assert_eq!(findings_of(resources_present, &cluster), NONE);
        assert_eq!(
            findings_of(resources_present, &control_plane("{}")),
            [format!("V01 4:7 {message}")]
        );
        assert_eq!(
            findings_of(resources_present, &control_plane("{resources: []}")),
            [format!("V01 4:19 {message}")]
        );
        assert_eq!(
            findings_of(
                resources_present,
                &control_plane("{resources: [{kind: A}]}")
            ),
            NONE
        );
    }

    #[test]
    fn an_embedded_resource_has_an_api_version_a_kind_and_a_name() {
        let cases = [
            ("null", "resource cannot be empty"),
            ("text", "resource must be valid JSON: it must be a map"),
            (
                "{kind: A, metadata: {name: a}}",
                "resource must have apiVersion",
            ),
            (
                "{apiVersion: v1, metadata: {name: a}}",
                "resource must have kind",
            ),
            ("{apiVersion: v1, kind: A}", "resource must have metadata"),
            (
                "{apiVersion: v1, kind: A, metadata: {}}",
                "resource must have metadata.name",
            ),
        ];
        for (item, message) in cases {
            for object in [control_plane, machine_pool] {
                let yaml = object(&format!("{{resources: [{item}]}}"));
                let reported = findings_of(resources_well_formed, &yaml);
                assert_eq!(reported, [format!("V02 4:20 {message}")]);
            }
        }
        let several = findings_of(resources_well_formed, &control_plane("{resources: [{}]}"));
        assert_eq!(several.len(), 3, "{several:?}");
        let sound = "{resources: [{apiVersion: v1, kind: A, metadata: {name: a}}]}";
        assert_eq!(
            findings_of(resources_well_formed, &machine_pool(sound)),
            NONE
        );
    }

    #[test]
    fn an_embedded_resource_is_created_in_the_namespace_of_its_carrier() {
        let of = |metadata: &str| {
            let resources =
                format!("{{resources: [{{apiVersion: v1, kind: A, metadata: {metadata}}}]}}");
            findings_of(namespace_is_the_carriers, &machine_pool(&resources))
        };
        for fine in [
            "{name: a}",
            "{name: a, namespace: default}",
            "{name: a, namespace: ''}",
        ] {
            assert_eq!(of(fine), NONE, "{fine}");
        }
        let message = "metadata.namespace \"other\" is ignored: the resource is created in the namespace of its AROMachinePool, \"default\"";
        assert_eq!(
            of("{name: a, namespace: other}"),
            [format!("V08 4:77 {message}")]
        );
    }

    #[test]
    fn an_identity_ref_has_a_name() {
        assert_eq!(
            findings_of(
                identity_ref_named,
                &control_plane("{identityRef: {name: ''}}")
            ),
            ["V03 4:28 spec.identityRef.name cannot be empty"]
        );
        assert_eq!(
            findings_of(
                identity_ref_named,
                &control_plane("{identityRef: {name: a}}")
            ),
            NONE
        );
        for none in ["{}", "{identityRef: null}"] {
            assert_eq!(findings_of(identity_ref_named, &control_plane(none)), NONE);
        }
    }

    #[test]
    fn azure_rejects_two_words_in_names() {
        for (name, count) in [("my-Windows-1", 1), ("microsoft", 1), ("prod-uks-1", 0)] {
            let yaml = control_plane("{}").replace("name: c", &format!("name: {name}"));
            assert_eq!(findings_of(name_allowed, &yaml).len(), count, "{name}");
        }
    }
}
