#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use semver::Version;
use serde_json::{Value, json};

use super::*;

const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-release";

fn set(name: &str, image: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"releaseImage": image}})
}

fn tagged(tag: &str) -> Value {
    set("any", &format!("{REPOSITORY}:{tag}"))
}

fn digest(name: &str) -> Value {
    set(name, &format!("{REPOSITORY}@sha256:{}", "0".repeat(64)))
}

fn of_tags(tags: &[&str]) -> Releases {
    let sets: Vec<_> = tags.iter().map(|tag| tagged(tag)).collect();
    Releases::new(&sets, Matrix::default())
}

/// The tag of the image that a request gets.
fn tag(releases: &Releases, requested: &str) -> String {
    let release = releases.resolve(requested).unwrap();
    assert_eq!(release.requested, requested);
    let image = release.image.strip_prefix(REPOSITORY).unwrap();
    image.strip_prefix(':').unwrap().to_owned()
}

fn refusal(releases: &Releases, requested: &str) -> String {
    releases.resolve(requested).unwrap_err().to_string()
}

/// The versions of all sets, as far as they are readable, by exact requests.
fn version_of(set: Value) -> Option<String> {
    let releases = Releases::new(&[set], Matrix::default());
    let minor = releases.supported_openshift().pop()?;
    Some(releases.resolve(&minor).unwrap().version.to_string())
}

#[test]
fn kubernetes_and_openshift_versions_find_their_release() {
    let releases = of_tags(&["4.15.2", "4.17.0"]);
    assert_eq!(tag(&releases, "1.28"), "4.15.2");
    assert_eq!(tag(&releases, "1.30"), "4.17.0");
    assert_eq!(tag(&releases, "4.15"), "4.15.2");
    // A full OpenShift version is no error here: requests may speak of either.
    assert_eq!(tag(&releases, "4.17.0"), "4.17.0");
    let available = "available are OpenShift 4.15, 4.17, and Kubernetes 1.28, 1.30";
    assert_eq!(
        refusal(&releases, "9.99"),
        format!("no ClusterImageSet found for version 9.99; {available}")
    );
    assert_eq!(
        refusal(&releases, "1.3"),
        format!("unsupported Kubernetes version: 1.3; {available}")
    );
    assert_eq!(
        refusal(&releases, "1.31"),
        format!("no ClusterImageSet found for version 1.31; {available}")
    );
}

#[test]
fn the_default_matrix_is_thirteen_ahead() {
    let matrix = Matrix::default();
    let kubernetes = |text| Some(matrix.kubernetes(Minor::parse(text)?)?.to_string());
    for (openshift, expected) in [
        ("4.14", "1.27"),
        ("4.15", "1.28"),
        ("4.16", "1.29"),
        ("4.17", "1.30"),
        ("4.18", "1.31"),
        ("4.19", "1.32"),
        ("4.20", "1.33"),
        ("4.31", "1.44"),
        ("4.3", "1.16"),
    ] {
        assert_eq!(kubernetes(openshift).as_deref(), Some(expected));
    }
    for unknown in ["4.2", "3.11", "5.0", "1.30", "4.18446744073709551615"] {
        assert_eq!(kubernetes(unknown), None, "{unknown}");
    }
}

#[test]
fn advertised_versions_are_those_of_sets_sorted_by_number() {
    let releases = of_tags(&["4.16.0", "4.17.3", "4.9.1", "4.10.0", "4.17.4", "nightly"]);
    let openshift = ["4.9", "4.10", "4.16", "4.17"];
    assert_eq!(releases.supported_openshift(), openshift);
    let kubernetes = ["1.22", "1.23", "1.29", "1.30"];
    assert_eq!(releases.supported_kubernetes(), kubernetes);
    let none = of_tags(&[]);
    assert_eq!(none.supported_openshift(), [""; 0]);
    assert_eq!(none.supported_kubernetes(), [""; 0]);
    let text = "no ClusterImageSet found for version 4.17; the hub has no ClusterImageSet with a readable version";
    assert_eq!(refusal(&none, "4.17"), text);
}

#[test]
fn a_listed_matrix_is_complete() {
    let matrix = Matrix::parse(r#"{"4.16": "1.29", "4.17": "1.30", "4.18": "1.31"}"#).unwrap();
    let sets = [tagged("4.17.3"), tagged("4.19.0")];
    let releases = Releases::new(&sets, matrix);
    // It lists no 4.19, and the hub has no 4.16 and no 4.18.
    assert_eq!(releases.supported_kubernetes(), ["1.30"]);
    assert_eq!(releases.supported_openshift(), ["4.17", "4.19"]);
    assert_eq!(tag(&releases, "4.19"), "4.19.0");
    assert!(refusal(&releases, "1.32").starts_with("unsupported Kubernetes version: 1.32; "));
    let missing = refusal(&releases, "1.31");
    assert!(missing.starts_with("no ClusterImageSet found for version 1.31; "));
}

#[test]
fn the_newest_of_equal_kubernetes_versions_wins() {
    let matrix = [("4.16", "1.30"), ("4.17", "1.30"), ("4.18", "1.30")];
    let matrix = Matrix::new(matrix).unwrap();
    let sets = ["4.16.9", "4.17.3", "4.18.0-rc.1"].map(tagged);
    let releases = Releases::new(&sets, matrix);
    assert_eq!(tag(&releases, "1.30"), "4.17.3");
    assert_eq!(releases.supported_kubernetes(), ["1.30"]);
}

#[test]
fn a_matrix_that_is_none_is_refused_with_its_entry() {
    for (text, expected) in [
        (r#"{"4.17": "4.30"}"#, r#"maps "4.17" to "4.30""#),
        (r#"{"1.30": "4.17"}"#, r#"maps "1.30" to "4.17""#),
        (r#"{"4.17.1": "1.30"}"#, r#"maps "4.17.1" to "1.30""#),
        (r#"{"+4.17": "1.30"}"#, r#"maps "+4.17" to "1.30""#),
        (r#"{"4.17": 1.30}"#, "not a JSON object"),
        ("[]", "not a JSON object"),
        ("", "not a JSON object"),
        ("{}", "empty"),
    ] {
        let error = Matrix::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let entries: Vec<_> = (0..1001).map(|minor| format!("4.{minor}")).collect();
    let matrix = |most| Matrix::new(entries.iter().take(most).map(|it| (it.as_str(), "1.30")));
    assert!(matrix(1000).is_ok());
    assert!(matches!(matrix(1001), Err(MatrixError::TooLarge)));
    let long = format!(r#"{{"4.17": "1.30"{}}}"#, " ".repeat(64 << 10));
    assert!(matches!(Matrix::parse(&long), Err(MatrixError::TooLarge)));
    let long = format!(r#"{{"{}": "1.30"}}"#, "9".repeat(1000));
    assert!(Matrix::parse(&long).unwrap_err().to_string().len() < 250);
}

#[test]
fn a_minor_version_means_its_highest_patch_and_early_ones_come_last() {
    let tags = [
        "4.17.9",
        "4.17.10",
        "4.17.2",
        "4.17.11-rc.1",
        "4.18.0-ec.2",
        "4.18.0-rc.0",
    ];
    let releases = of_tags(&tags);
    assert_eq!(tag(&releases, "4.17"), "4.17.10");
    assert_eq!(tag(&releases, "1.30"), "4.17.10");
    assert_eq!(tag(&releases, "4.18"), "4.18.0-rc.0");
    assert_eq!(tag(&releases, "1.31"), "4.18.0-rc.0");
    assert_eq!(tag(&releases, "4.17.2"), "4.17.2");
    assert_eq!(tag(&releases, "4.17.11-rc.1"), "4.17.11-rc.1");
    assert_eq!(tag(&releases, "4.18.0-ec.2"), "4.18.0-ec.2");
    assert_eq!(
        refusal(&releases, "4.17.11"),
        "no ClusterImageSet found for version 4.17.11; available of 4.17 are 4.17.2, 4.17.9, 4.17.10, 4.17.11-rc.1"
    );
    assert!(refusal(&releases, "4.16.1").contains("available are OpenShift 4.17, 4.18, and"));
}

#[test]
fn an_image_for_all_machines_is_preferred_within_a_version() {
    let all = ["4.17.3-aarch64", "4.17.3-x86_64", "4.17.3", "4.17.3-multi"];
    for kept in 1..=all.len() {
        let releases = of_tags(&all[..kept]);
        assert_eq!(tag(&releases, "4.17"), all[kept - 1]);
        assert_eq!(tag(&releases, "4.17.3"), all[kept - 1]);
    }
    let releases = of_tags(&["4.17.3-multi", "4.17.4-x86_64"]);
    assert_eq!(
        tag(&releases, "4.17"),
        "4.17.4-x86_64",
        "the patch counts first"
    );
    let part = of_tags(&["4.17.3-multi-aarch64", "4.17.3-x86_64"]);
    assert_eq!(
        tag(&part, "4.17"),
        "4.17.3-x86_64",
        "a part is for one architecture"
    );
}

#[test]
fn a_kubernetes_patch_version_cannot_be_told() {
    let releases = of_tags(&["4.16.0", "4.17.3"]);
    assert_eq!(
        refusal(&releases, "1.29.4"),
        "unsupported Kubernetes version: 1.29.4; a ClusterImageSet does not tell the Kubernetes patch version: ask for 1.29, or for an OpenShift version; available are OpenShift 4.16, 4.17, and Kubernetes 1.29, 1.30"
    );
}

#[test]
fn a_tag_has_the_version_and_a_port_is_no_tag() {
    for (image, expected) in [
        ("quay.io/ocp:4.17.3", Some("4.17.3")),
        ("quay.io/ocp:v4.17.3", Some("4.17.3")),
        ("quay.io/ocp:4.17.3-x86_64", Some("4.17.3")),
        ("quay.io/ocp:4.17.3-aarch64", Some("4.17.3")),
        ("quay.io/ocp:4.18.0-rc.3-multi", Some("4.18.0-rc.3")),
        (
            "quay.io/ocp:4.18.0-0.nightly-2025-01-02-030405",
            Some("4.18.0-0.nightly-2025-01-02-030405"),
        ),
        ("mirror:5000/ocp/release:4.17.3-multi", Some("4.17.3")),
        ("mirror:5000/ocp:4.17.3@sha256:00", Some("4.17.3")),
        ("[::1]:5000/ocp:4.17.3", None),
        ("mirror:5000/ocp/release", None),
        ("mirror:5000/4.17.3", None),
        ("mirror:4.17.3/ocp", None),
        ("quay.io/ocp:latest", None),
        ("quay.io/ocp:latest@sha256:00", None),
        ("quay.io/ocp:4.17", None),
        ("quay.io/ocp:4.17.03", None),
        ("quay.io/ocp:1.2.3", None),
        ("quay.io/ocp:4.17.3 ", None),
        ("-quay.io/ocp:4.17.3", None),
        ("", None),
    ] {
        let version = version_of(set("img4.14.1-multi-appsub", image));
        assert_eq!(version.as_deref(), expected, "{image}");
    }
}

#[test]
fn the_name_has_the_version_of_a_digest() {
    for (name, expected) in [
        ("img4.17.3-x86-64-appsub", Some("4.17.3")),
        ("img4.17.3-multi-appsub", Some("4.17.3")),
        ("img4.18.0-rc.2-multi-appsub", Some("4.18.0-rc.2")),
        ("openshift-v4.17.3", Some("4.17.3")),
        ("ocp4-4.17.3", Some("4.17.3")),
        ("4.17.3", Some("4.17.3")),
        ("fast", None),
        ("openshift-4.17", None),
        ("14.17", None),
        ("", None),
    ] {
        assert_eq!(version_of(digest(name)).as_deref(), expected, "{name}");
    }
    let image = json!({"spec": {"releaseImage": "quay.io/ocp@sha256:00"}});
    assert_eq!(version_of(image), None);
    let long = format!("img4.17.3-{}", "a".repeat(250));
    assert_eq!(version_of(digest(&long)), None);
}

#[test]
fn unreadable_sets_are_left_out() {
    let long = format!("{REPOSITORY}/{}:4.17.3", "a".repeat(250));
    let unreadable = [
        json!(null),
        json!("4.17.3"),
        json!({}),
        json!({"spec": {}}),
        json!({"spec": {"releaseImage": 4.17}}),
        set("any", &long),
    ];
    let mut sets = unreadable.to_vec();
    sets.push(tagged("4.16.1"));
    let releases = Releases::new(&sets, Matrix::default());
    assert_eq!(releases.supported_openshift(), ["4.16"]);
}

#[test]
fn a_text_that_is_no_version_is_refused() {
    let releases = of_tags(&["4.17.3"]);
    for text in [
        "",
        "4",
        "4.",
        ".17",
        "4.17.",
        "4.17.3.1",
        "v4.17",
        " 4.17",
        "4.17 ",
        "4.17\n",
        "4.x",
        "-4.17",
        "+4.17",
        "04.17",
        "4.017",
        "4.17-rc.1",
        "99999999999999999999.1",
        "٤.١٧",
        "latest",
    ] {
        let expected = VersionError::Malformed(text.to_owned());
        assert_eq!(releases.resolve(text), Err(expected));
    }
    for text in ["0.1", "2.5", "3.11", "3.11.0"] {
        let error = refusal(&releases, text);
        assert!(error.starts_with(&format!("unsupported Kubernetes version: {text}; ")));
    }
    assert!(!refusal(&releases, "4.17\n").contains('\n'));
}

#[test]
fn a_text_of_more_than_64_characters_is_refused_without_repeating_it() {
    let releases = of_tags(&["4.17.3"]);
    let longest = format!("4.17.3-{}", "a".repeat(57));
    assert_eq!(longest.len(), 64);
    assert!(refusal(&releases, &longest).contains(&longest));
    for text in [format!("{longest}a"), "4".repeat(1 << 20), "ü".repeat(65)] {
        assert_eq!(releases.resolve(&text), Err(VersionError::TooLong));
    }
    assert!(VersionError::TooLong.to_string().contains("64 characters"));
}

#[test]
fn an_error_names_at_most_twenty_versions_the_newest() {
    let tags: Vec<_> = (3..40).map(|minor| format!("4.{minor}.0")).collect();
    let tags: Vec<_> = tags.iter().map(String::as_str).collect();
    let error = refusal(&of_tags(&tags), "4.50");
    assert!(error.contains("OpenShift 4.20, 4.21, "), "{error}");
    assert!(
        error.contains("4.39 and 17 older, and Kubernetes 1.33, "),
        "{error}"
    );
    assert!(error.len() < 400);
}

#[test]
fn ten_thousand_sets_are_remembered_the_newest() {
    let sets: Vec<_> = (0..10_500)
        .map(|patch| tagged(&format!("4.17.{patch}")))
        .collect();
    let releases = Releases::new(&sets, Matrix::default());
    assert_eq!(tag(&releases, "4.17"), "4.17.10499");
    assert_eq!(tag(&releases, "4.17.500"), "4.17.500");
    assert!(releases.resolve("4.17.499").is_err());
}

proptest! {
    #[test]
    fn the_order_of_sets_does_not_matter(
        tags in proptest::collection::vec("4\\.1[5-7]\\.[0-3](-rc\\.[12])?(-multi|-x86_64|-arm64)?", 1..12),
        turn in 0_usize..12,
    ) {
        let sets: Vec<_> = tags.iter().map(|tag| tagged(tag)).collect();
        let mut turned = sets.clone();
        turned.rotate_left(turn % sets.len());
        turned.reverse();
        turned.extend(sets.iter().take(turn).cloned());
        let one = Releases::new(&sets, Matrix::default());
        let other = Releases::new(&turned, Matrix::default());
        prop_assert_eq!(&one, &other);
        for minor in one.supported_openshift() {
            let release = one.resolve(&minor).unwrap();
            let is_of = |version: &Version| Minor::of(version).to_string() == minor;
            prop_assert!(is_of(&release.version));
            let exact = one.resolve(&release.version.to_string()).unwrap();
            prop_assert_eq!(exact.image, release.image);
        }
    }

    #[test]
    fn no_input_panics(requested in "\\PC{0,80}|[0-9.v+-]{0,20}", name in "\\PC{0,40}", image in "\\PC{0,40}|[a-z:@/.0-9-]{0,60}") {
        let sets = [set(&name, &image), digest(&name), tagged("4.17.3")];
        let releases = Releases::new(&sets, Matrix::default());
        if let Err(error) = releases.resolve(&requested) {
            prop_assert!(error.to_string().len() < 1200);
        }
        let _ = Matrix::parse(&requested);
    }
}
