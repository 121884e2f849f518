//! The names of clusters, node pools and external auths in Azure (C02, N01, E01).
//!
//! In: a resource and the CRDs of the fleet. Out: a finding if its name is not valid. It does not know which release of
//! Azure Service Operator runs.
//!
//! Azure accepts one character. Azure Service Operator 2.13 asks for more, 2.19 does not (facts/aro-rules.md §1.7,
//! facts/aro-2026-09-01.md §1.1). If the fleet contains the CRD of the kind, its pattern decides. Otherwise, a name
//! that only older releases reject is a warning. All releases that serve 2026-09-01-preview accept it.

use regex::Regex;

use super::arm::{Field, Resource, World};
use crate::api::arm_version::AsoVersion;
use crate::model::{Finding, Severity, message};

/// The date of the first version of Azure's API whose releases of Azure Service Operator all accept one character.
const SHORT_SINCE: &str = "20260901";

/// What names of a kind must be like.
pub(super) struct Limits {
    /// The rule.
    pub(super) id: &'static str,
    /// The maximum number of characters.
    pub(super) most: usize,
    /// The minimum number in Azure Service Operator 2.13.
    pub(super) least_in_older: usize,
}

/// A finding if the name of `resource` in Azure is not valid there or in Azure Service Operator.
pub(super) fn fault(
    limits: &Limits,
    world: &World<'_>,
    resource: &Resource<'_>,
) -> Option<Finding> {
    let field = resource.azure_name();
    let name = field.text().unwrap_or_default();
    if let Some(why) = of_azure(name, limits.most) {
        let message = message!("the name {name:?} {why}", name);
        let more = match takes_azure_name(resource, &field) {
            true => "; or set azureName",
            false => "",
        };
        let help = format!(
            "use 1 to {} letters, digits and `-`, starting with a letter and ending with a letter or digit{more}",
            limits.most
        );
        return Some(field.finding(limits.id, message).help(help));
    }
    match world.pattern_of_name(resource) {
        Some(pattern) => against(pattern, limits, &field),
        None => in_older(limits, resource, &field),
    }
}

/// Whether the name comes from another field than `azureName`, which a person could set instead.
fn takes_azure_name(resource: &Resource<'_>, name: &Field<'_>) -> bool {
    match name.written() {
        Some(field) => field == "name",
        None => !resource.field("spec.azureName").is_given(),
    }
}

/// Why Azure rejects `name`, which may have up to `most` characters.
pub(crate) fn of_azure(name: &str, most: usize) -> Option<String> {
    let length = name.chars().count();
    if !(1..=most).contains(&length) {
        return Some(format!("must have 1 to {most} characters, not {length}"));
    }
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let last = name.ends_with(|c: char| c.is_ascii_alphanumeric());
    let why = "must consist of letters, digits and `-`, start with a letter and not end with `-`";
    (!(first && last && name.chars().all(inner))).then(|| why.to_owned())
}

/// A finding if the CRD in the fleet rejects a name that Azure accepts.
fn against(pattern: &str, limits: &Limits, field: &Field<'_>) -> Option<Finding> {
    let name = field.text()?;
    let matches = Regex::new(pattern).ok()?.is_match(name);
    let message = message!(
        "the CRD in the fleet does not allow the name {name:?}: its pattern is {pattern}",
        name,
        pattern
    );
    let least = limits.least_in_older;
    let help = format!("use at least {least} characters, or update Azure Service Operator's CRDs");
    (!matches).then(|| field.finding(limits.id, message).help(help))
}

/// A warning if only older releases of Azure Service Operator reject a name.
fn in_older(limits: &Limits, resource: &Resource<'_>, field: &Field<'_>) -> Option<Finding> {
    let (name, least) = (field.text()?, limits.least_in_older);
    let version = AsoVersion::parse(&resource.version);
    let is_new = version.is_some_and(|version| version.date.as_str() >= SHORT_SINCE);
    if is_new || name.len() >= least {
        return None;
    }
    let message = message!(
        "the name {name:?} is too short for Azure Service Operator 2.13, which needs {least} characters; 2.19 accepts it",
        name
    );
    let help = format!(
        "use at least {least} characters, or add the CRDs of the release in use to the fleet"
    );
    let finding = field.finding(limits.id, message).help(help);
    Some(Finding {
        severity: Severity::Warning,
        ..finding
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{findings_of_kind, rule::ResourceRule};

    const POOL: &str = "HcpOpenShiftClustersNodePool";
    const OLD: &str = "^[a-zA-Z][-a-zA-Z0-9]{1,13}[a-zA-Z0-9]$";
    const NEW: &str = "^[a-zA-Z]([-a-zA-Z0-9]{0,13}[a-zA-Z0-9])?$";

    fn rule(world: &World<'_>, resource: &Resource<'_>) -> Vec<Finding> {
        let limits = Limits {
            id: "N01",
            most: 15,
            least_in_older: 3,
        };
        let found = fault(&limits, world, resource).into_iter();
        // Only the severity and the name count here.
        found
            .map(|one| Finding {
                message: format!("{:?}", one.severity),
                ..one
            })
            .collect()
    }

    fn found(name: &str, version: &str, crd: &str) -> Vec<String> {
        let pool = format!(
            "apiVersion: redhatopenshift.azure.com/{version}\nkind: {POOL}\nmetadata: {{name: p}}\nspec: {{azureName: {name:?}}}\n"
        );
        let crd = match crd {
            "" => String::new(),
            pattern => format!(
                "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: x}}\nspec:\n  group: redhatopenshift.azure.com\n  names: {{kind: {POOL}}}\n  versions:\n  - name: {version}\n    schema: {{openAPIV3Schema: {{properties: {{spec: {{properties: {{azureName: {{pattern: \"{pattern}\"}}}}}}}}}}}}\n"
            ),
        };
        let rule: ResourceRule = rule;
        let found = findings_of_kind(rule, POOL, &(pool + &crd));
        let last = |line: String| line.rsplit(' ').next().unwrap_or_default().to_owned();
        found.into_iter().map(last).collect()
    }

    #[test]
    fn azure_names_are_short_and_start_with_a_letter() {
        for name in ["a", "ab", "abc", "MyPool-1", "a23456789012345"] {
            assert_eq!(of_azure(name, 15), None, "{name}");
        }
        for name in [
            "",
            "-garbage",
            "1pool",
            "pool-",
            "po$l",
            "a234567890123456",
            "péa",
        ] {
            assert!(of_azure(name, 15).is_some(), "{name}");
        }
    }

    #[test]
    fn the_crd_in_the_fleet_decides_about_short_names() {
        let (older, newer) = ("v1api20251223preview", "v20260901preview");
        for (name, version, crd, expected) in [
            ("p", older, "", &["Warning"][..]),
            ("pp", older, "", &["Warning"]),
            ("ppp", older, "", &[]),
            ("p", newer, "", &[]),
            ("p", older, OLD, &["Error"]),
            ("p", older, NEW, &[]),
            ("ppp", older, OLD, &[]),
            ("-", older, NEW, &["Error"]),
            ("", newer, "", &["Error"]),
        ] {
            assert_eq!(
                found(name, version, crd),
                expected,
                "{name} {version} {crd}"
            );
        }
    }
}
