//! How the settings of an installation are changed: whoever installed it would undo a change made elsewhere.
//!
//! In: an installation and a setting. Out: a sentence. It does not know why the setting should change.

use super::operator::{Installer, Operator, SETTINGS};
use super::pattern;
use crate::api::kinds::Kind;

/// Who installed it; empty if that is not known.
pub(super) fn installer(operator: &Operator) -> String {
    match &operator.installer {
        Installer::Capz => "CAPZ".to_owned(),
        Installer::Helm(release) => format!("the Helm release {release}"),
        Installer::Unknown => String::new(),
    }
}

/// How its definitions of `kinds` are enabled.
pub(super) fn enable(operator: &Operator, kinds: &[Kind]) -> String {
    let namespace = &operator.id.namespace;
    let whole = pattern::extended(operator.pattern.as_deref().unwrap_or_default(), kinds);
    match &operator.installer {
        Installer::Capz => format!(
            "set ADDITIONAL_ASO_CRDS='{}' where CAPZ is installed or upgraded with clusterctl, so that its --crd-pattern has it",
            pattern::of_groups(kinds)
        ),
        Installer::Helm(release) => format!(
            "helm upgrade {release} aso2/azure-service-operator --namespace {namespace} --reuse-values --set crdPattern='{whole}'"
        ),
        Installer::Unknown => format!(
            "with whatever installed {}, set its argument to --crd-pattern={whole}",
            operator.id
        ),
    }
}

/// How a setting becomes `value`, by its name in the operator and in the Helm chart.
pub(super) fn change(operator: &Operator, name: &str, chart: &str, value: &str) -> String {
    let (id, namespace) = (&operator.id, &operator.id.namespace);
    match &operator.installer {
        Installer::Helm(release) => {
            format!("{value}: in the values of the Helm release {release}, {chart}")
        }
        Installer::Capz | Installer::Unknown => format!(
            "{value}: {name} in the Secret {SETTINGS} of the namespace {namespace}, or in {id}, with whatever installed them; then restart the Deployment"
        ),
    }
}
