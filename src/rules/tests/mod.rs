//! Tests of all rules together.

use crate::api::fleet::FleetPolicy;
use crate::model::Object;

/// The ids of the findings about the `spec.properties` of a node pool.
fn found(properties: &str) -> Vec<&'static str> {
    let text = format!(
        "apiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftClustersNodePool\nmetadata: {{name: mp1}}\nspec: {{location: uksouth, owner: {{armId: /c}}, properties: {properties}}}\n"
    );
    let path = std::sync::Arc::from("test.yaml");
    let (mut documents, findings) = crate::yaml::read(&path, text.as_bytes());
    assert_eq!(findings, [], "the test's YAML is sound");
    let object = Object::from_node(documents.remove(0), "default").expect("an object");
    let found = super::check(&[object], &FleetPolicy::default());
    found.into_iter().map(|finding| finding.id).collect()
}

#[test]
fn a_value_of_the_wrong_type_is_reported_once() {
    let pool = |version: &str, rest: &str| {
        found(&format!(
            "{{version: {{id: {version}}}, platform: {{vmSize: Standard_D4s_v3}}{rest}}}"
        ))
    };
    assert_eq!(pool("4.20.8", ""), [""; 0]);
    // The rule knows that three numbers are needed.
    assert_eq!(pool("4.20", ""), ["N02"]);
    assert_eq!(pool("4.20.8", ", nodeDrainTimeoutMinutes: \"30\""), ["S02"]);
}
