//! The payload and the addresses.

use super::*;
use crate::provider::registration::payload::payload;

#[test]
fn a_registration_has_its_members_in_both_spellings() {
    let capabilities = offering(&["4.16.0", "4.17.3"]);
    let advertised = json!({
        "supportedPlatforms": ["baremetal", "kubevirt"],
        "supported_platforms": ["baremetal", "kubevirt"],
        "supportedProvisioningTypes": ["hypershift"],
        "supported_provisioning_types": ["hypershift"],
        "supportedVersions": ["4.16", "4.17"],
        "supported_versions": ["4.16", "4.17"],
        "kubernetesSupportedVersions": ["1.29", "1.30"],
        "kubernetes_supported_versions": ["1.29", "1.30"],
    });
    let mut metadata = advertised.clone();
    metadata["region_code"] = json!("eu-west");
    metadata["zone"] = json!("a");
    metadata["capabilities"] = advertised.clone();
    metadata["Capabilities"] = advertised;
    let expected = json!({
        "name": "acm-cluster-sp",
        "service_type": "cluster",
        "schema_version": "v1alpha1",
        "endpoint": "http://provider:8080/api/v1alpha1/clusters",
        "operations": ["CREATE", "DELETE", "READ"],
        "display_name": "ACM Cluster Service Provider",
        "metadata": metadata,
    });
    assert_eq!(payload(&identity(), &capabilities), expected);
}

#[test]
fn names_that_are_not_set_are_left_out() {
    let bare = Identity {
        display_name: None,
        region: None,
        zone: None,
        ..identity()
    };
    let payload = payload(&bare, &Capabilities::default());
    let keys = |value: &Value| {
        let members = value.as_object().expect("it is an object");
        members.keys().cloned().collect::<BTreeSet<_>>()
    };
    assert!(!keys(&payload).contains("display_name"));
    let metadata = keys(&payload["metadata"]);
    assert!(!metadata.contains("region_code") && !metadata.contains("zone"));
    // Nothing is offered, which is said by empty lists.
    assert_eq!(payload["metadata"]["supportedPlatforms"], json!([]));
    assert_eq!(payload["metadata"]["supportedVersions"], json!([]));
}

#[test]
fn without_sets_the_versions_are_an_empty_list() {
    let payload = payload(&identity(), &offering(&[]));
    for name in [
        "supportedVersions",
        "supported_versions",
        "kubernetesSupportedVersions",
        "kubernetes_supported_versions",
    ] {
        assert_eq!(payload["metadata"][name], json!([]));
        assert_eq!(payload["metadata"]["Capabilities"][name], json!([]));
    }
}

#[test]
fn a_version_needs_an_entry_of_a_listed_matrix_and_a_set() {
    let matrix = [("4.16", "1.29"), ("4.17", "1.30"), ("4.18", "1.31")];
    let matrix = Matrix::new(matrix).expect("it is valid");
    // The matrix has no 4.19, and there is no set for 4.16 and 4.18.
    let capabilities = with_matrix(&["4.17.3", "4.19.0"], matrix);
    let payload = payload(&identity(), &capabilities);
    assert_eq!(kubernetes_versions(&payload), ["1.30"]);
}

#[test]
fn the_registry_is_reached_below_its_api() {
    for (base, expected) in [
        ("http://cp:8080", "http://cp:8080/api/v1alpha1/providers"),
        ("http://cp:8080/", "http://cp:8080/api/v1alpha1/providers"),
        (
            "http://cp:8080/api/v1alpha1",
            "http://cp:8080/api/v1alpha1/providers",
        ),
        (
            "http://cp:8080/api/v1alpha1/",
            "http://cp:8080/api/v1alpha1/providers",
        ),
        ("https://agent/api/v1", "https://agent/api/v1/providers"),
        (
            "https://[fd00::1]:8443/x//",
            "https://[fd00::1]:8443/x/providers",
        ),
        (
            "https://[fd00::1]",
            "https://[fd00::1]/api/v1alpha1/providers",
        ),
    ] {
        assert_eq!(registry_url(base).as_deref(), Ok(expected), "{base}");
    }
}

#[test]
fn the_endpoint_is_below_the_base() {
    let endpoint = |base| clusters_endpoint(base);
    let expected = "http://provider:8080/api/v1alpha1/clusters";
    assert_eq!(endpoint("http://provider:8080").as_deref(), Ok(expected));
    assert_eq!(endpoint("http://provider:8080/").as_deref(), Ok(expected));
    let below = endpoint("https://gateway/sp");
    assert_eq!(
        below.as_deref(),
        Ok("https://gateway/sp/api/v1alpha1/clusters")
    );
}

#[test]
fn an_address_that_is_none_is_refused_without_repeating_it() {
    for (base, expected) in [
        ("", UrlError::Scheme),
        ("cp:8080", UrlError::Scheme),
        ("ftp://cp", UrlError::Scheme),
        ("HTTP//cp", UrlError::Scheme),
        ("http://", UrlError::Host),
        ("http:///api", UrlError::Host),
        ("http://:8080", UrlError::Host),
        ("http://cp:", UrlError::Host),
        ("http://cp:0", UrlError::Host),
        ("http://cp:65536", UrlError::Host),
        ("http://cp:http", UrlError::Host),
        ("http://fd00::1", UrlError::Host),
        ("http://[fd00::1", UrlError::Host),
        ("http://me:secret@cp", UrlError::Credentials),
        ("http://cp?x=1", UrlError::NotABase),
        ("http://cp/#x", UrlError::NotABase),
        ("http://cp/a b", UrlError::Unprintable),
        ("http://cp\n", UrlError::Unprintable),
        ("http://größe", UrlError::Unprintable),
    ] {
        assert_eq!(registry_url(base), Err(expected), "{base}");
        assert_eq!(clusters_endpoint(base), Err(expected), "{base}");
        assert!(!expected.to_string().contains("secret"));
    }
    let long = format!("http://cp/{}", "a".repeat(2048));
    assert_eq!(registry_url(&long), Err(UrlError::TooLong));
}
