//! Clusters of the shape that cluster-api-installer makes have no faults: with identities of their own and shared ones,
//! as definitions and written by hand, in every version of Azure's API; and the hand-written samples under other
//! names, in other versions, with their documents exchanged.

use capstan::api::arm_version::ArmVersion;
use capstan::model::Severity;
use capstan::yaml;

use super::fixture::{compiled, objects_by_hand};
use crate::real;

/// A cluster with everything the installer's templates have.
fn definition(name: &str, version: ArmVersion, is_shared: bool) -> String {
    let identities = match is_shared {
        true => format!("{{mode: Shared, resourceGroup: {name}-msi}}"),
        false => "{}".to_owned(),
    };
    let arm = version.arm();
    format!(
        r#"
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {{name: {name}, namespace: clusters}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {{name: cluster-identity}}
  armAPIVersion: {arm}
  version: {{id: "4.20"}}
  managedIdentities: {identities}
  externalAuth: {{clientID: c1d5b0a2-7e4f-4a35-b6a8-0d9e2f3c4b5a}}
  tags: {{environment: production}}
  nodePools:
  - name: mp1
    version: 4.20.17
    vmSize: Standard_D4s_v3
    autoscaling: {{min: 2, max: 10}}
    osDisk: {{sizeGiB: 128, storageAccountType: Standard_LRS}}
    labels: {{region: uksouth}}
"#
    )
}

/// The clusters that Capstan makes, as it takes them and as it writes them.
fn made() -> Vec<(String, String)> {
    let kinds = ArmVersion::ALL.iter().flat_map(|version| {
        [(false, false), (false, true), (true, false), (true, true)].map(|kind| (*version, kind))
    });
    let kinds = kinds.enumerate();
    let cluster = |(at, (version, (is_shared, by_hand)))| {
        let definition = definition(&format!("made-{at}"), version, is_shared);
        let text = match by_hand {
            true => yaml::write(&objects_by_hand(&definition)),
            false => definition,
        };
        let words = format!("{version:?}, shared identities {is_shared}, by hand {by_hand}");
        (words, text)
    };
    kinds.map(cluster).collect()
}

/// The documents of a sample, under another name; none where the samples are not there.
fn sample(version: &str, name: &str, suffix: &str) -> Option<Vec<String>> {
    let file = real::shared(&format!("samples/aro-hcp-{version}/aro.yaml"))?;
    let text = std::fs::read_to_string(file).expect("readable");
    // As long as the old one: the names of its node pools just fit.
    assert_eq!(name.len(), "stage-uks-1".len());
    let text = text.replace("stage-uks-1", name).replace("a1b2c3", suffix);
    let documents = text
        .split("---\n")
        .filter(|document| !document.trim().is_empty());
    Some(documents.map(str::to_owned).collect())
}

/// The samples with some documents exchanged, in every version that has their fields.
fn recombined() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let versions = [
        ("v1api20251223preview", "2025-12-23"),
        ("v1api20260630preview", "2026-06-30"),
        ("v20260901preview", "2026-09-01"),
        ("v1api20260901preview", "2026-09-01"),
    ];
    for (written, date) in versions {
        for choice in [0b00000, 0b00001, 0b00100, 0b10100, 0b11111_u32] {
            let at = found.len();
            let (name, suffix) = (format!("stage-uk-{at:02}"), format!("a1b2{at:02}"));
            let of = |version: &str| sample(version, &name, &suffix);
            let (Some(older), Some(newer)) = (of("2025-12-23"), of("2026-09-01")) else {
                return found;
            };
            assert_eq!((older.len(), newer.len()), (5, 5));
            let documents = older.into_iter().zip(newer).enumerate();
            let documents = documents.map(|(at, (older, newer))| match choice >> at & 1 {
                0 => older,
                _ => newer,
            });
            let text = documents.collect::<Vec<_>>().join("---\n");
            // Only the newer control plane has fields that 2025-12-23 lacks.
            if date == "2025-12-23" && text.contains("cryptoRestrictions") {
                continue;
            }
            let text = text.replace("v1api20251223preview", written);
            let text = match written {
                "v20260901preview" => text,
                other => text.replace("v20260901preview", other),
            };
            found.push((format!("samples {choice:05b} at {written}"), text));
        }
    }
    found
}

/// What is found, but for what a cluster must have anyway, and for D11: the installer's template has both autoscaling
/// and a number of replicas, which the controller changes.
fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let findings = compiled(files).checked.findings.into_iter();
    let counts =
        findings.filter(|finding| finding.severity != Severity::Info && finding.id != "D11");
    counts.map(|finding| finding.to_string()).collect()
}

#[test]
fn clusters_of_the_installers_shape_have_no_faults() {
    let made = made();
    assert_eq!(made.len(), 16);
    let all: Vec<(String, String)> = made.into_iter().chain(recombined()).collect();
    for (words, text) in &all {
        assert_eq!(faults(&[("cluster.yaml", text)]), [""; 0], "{words}");
    }
    // And beside each other.
    let names: Vec<String> = (0..all.len()).map(|at| format!("{at}.yaml")).collect();
    let files = names.iter().zip(&all);
    let files: Vec<(&str, &str)> = files.map(|(name, (_, text))| (&**name, &**text)).collect();
    assert_eq!(faults(&files), [""; 0]);
}
