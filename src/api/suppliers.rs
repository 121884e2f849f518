//! Who supplies the definition of a kind that a cluster does not serve.
//!
//! In: a group and a kind. Out: one line about what to install or configure. Sources:
//! facts/aro-rules.md §1.1, facts/aro-controllers.md. It does not know what the cluster serves.

use super::kinds::{CAPI, CAPSTAN, CONTROL_PLANE, INFRASTRUCTURE, is_aso};
use super::platform::HYPERSHIFT;

/// What to do so that `kind` of `group` is served.
#[must_use]
pub fn help(group: &str, kind: &str) -> String {
    match group {
        _ if is_aso(group) => format!(
            "install Azure Service Operator, or add {group}/* to its crdPattern (--crd-pattern; ADDITIONAL_ASO_CRDS if CAPZ installed it) and restart it"
        ),
        INFRASTRUCTURE | CONTROL_PLANE if kind.starts_with("ARO") => {
            "install Capstan's CRDs (capstan crds | kubectl apply -f -), or CAPZ, the Azure provider of Cluster API, with its feature gate ARO (EXP_ARO=true)".to_owned()
        }
        INFRASTRUCTURE if kind == "AzureClusterIdentity" => {
            "install Capstan's CRDs (capstan crds | kubectl apply -f -), or CAPZ, the Azure provider of Cluster API".to_owned()
        }
        INFRASTRUCTURE if kind.starts_with("Azure") => {
            "install CAPZ, the Azure provider of Cluster API".to_owned()
        }
        INFRASTRUCTURE | CONTROL_PLANE => format!("install the Cluster API provider that serves {kind}"),
        CAPI => "install Cluster API (its core provider)".to_owned(),
        _ if group.ends_with(".cluster.x-k8s.io") => {
            format!("install Cluster API, or the Cluster API provider that serves {kind}")
        }
        HYPERSHIFT => "install the HyperShift operator".to_owned(),
        CAPSTAN => "install Capstan's own CRDs: capstan crds | kubectl apply -f -".to_owned(),
        _ if is_built_in(group) => {
            format!("Kubernetes has no {kind} in this group: correct its kind or apiVersion")
        }
        _ => format!("install the CustomResourceDefinition of {kind} in {group}, and its controller"),
    }
}

/// Whether Kubernetes itself serves the group.
pub(crate) fn is_built_in(group: &str) -> bool {
    const WITHOUT_DOT: &[&str] = &["", "apps", "autoscaling", "batch", "policy"];
    const SUFFIXED: &[&str] = &[
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
    ];
    let suffixed = group.strip_suffix(".k8s.io");
    WITHOUT_DOT.contains(&group) || suffixed.is_some_and(|group| SUFFIXED.contains(&group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds::KINDS;

    #[test]
    fn every_kind_we_know_has_a_supplier_with_a_name() {
        for kind in KINDS {
            let help = help(kind.group, kind.kind);
            let named = ["Azure Service Operator", "CAPZ", "Cluster API"];
            let named = named.iter().any(|name| help.contains(name));
            assert!(named, "{} of {}: {help}", kind.kind, kind.group);
        }
    }

    #[test]
    fn the_group_determines_the_supplier() {
        let cases = [
            (
                "network.azure.com",
                "VirtualNetwork",
                "add network.azure.com/* to its crdPattern",
            ),
            (CONTROL_PLANE, "AROControlPlane", "feature gate ARO"),
            (INFRASTRUCTURE, "AROCluster", "feature gate ARO"),
            (INFRASTRUCTURE, "AzureClusterIdentity", "capstan crds"),
            (INFRASTRUCTURE, "AzureCluster", "install CAPZ, the Azure"),
            (
                INFRASTRUCTURE,
                "AWSCluster",
                "the Cluster API provider that serves AWSCluster",
            ),
            (CAPI, "Cluster", "install Cluster API"),
            (
                "addons.cluster.x-k8s.io",
                "ClusterResourceSet",
                "Cluster API",
            ),
            (HYPERSHIFT, "HostedCluster", "HyperShift"),
            (CAPSTAN, "ClusterDefinition", "capstan crds"),
            (
                "cert-manager.io",
                "Certificate",
                "install the CustomResourceDefinition of Certificate in cert-manager.io",
            ),
            ("apps", "Deploiment", "correct its kind"),
            ("networking.k8s.io", "Ingres", "correct its kind"),
            (
                "gateway.networking.k8s.io",
                "Gateway",
                "install the CustomResourceDefinition of",
            ),
        ];
        for (group, kind, part) in cases {
            let help = help(group, kind);
            assert!(help.contains(part), "{kind} of {group}: {help}");
        }
    }
}
