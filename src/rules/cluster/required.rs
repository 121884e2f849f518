//! C38 and C54 to C56: the operators that need an identity, and the names that Azure knows. What operators are
//! required comes from the table of operators.

use kube_schema::nearest;

use super::encryption::is_customers;
use super::operators::{self, KMS, Operator, Plane};
use crate::model::{Finding, message};
use crate::rules::arm::{Resource, World};

/// The planes whose operators have names.
const PLANES: [Plane; 2] = [Plane::Control, Plane::Data];

/// The names of the operators of a plane, all of which need an identity; C55 is about `kms`.
fn known(plane: Plane) -> &'static [String] {
    match plane {
        Plane::Control => &operators::required().control,
        Plane::Data => &operators::required().data,
        Plane::Service => &[],
    }
}

/// The operators of a plane that a cluster names, by names that Azure does not know. C31 reports empty names.
fn strangers<'a>(
    named: &'a [Operator<'a>],
    plane: Plane,
) -> impl Iterator<Item = &'a Operator<'a>> {
    let named = named.iter().filter(move |one| one.plane == plane);
    let named = named.filter(|one| !one.name.trim().is_empty());
    named.filter(move |one| !known(plane).iter().any(|name| name == one.name))
}

/// The operators of a plane that a cluster does not name, neither rightly nor misspelt.
fn missing(named: &[Operator<'_>], plane: Plane) -> Vec<&'static str> {
    let is_named = |name: &str| named.iter().any(|one| one.is(plane, name));
    let absent = known(plane).iter().map(String::as_str);
    let absent: Vec<&str> = absent.filter(|name| !is_named(name)).collect();
    let meant = strangers(named, plane);
    let meant = meant.filter_map(|one| nearest(one.name, absent.iter().copied()));
    let meant: Vec<&str> = meant.collect();
    absent
        .into_iter()
        .filter(|name| !meant.contains(name))
        .collect()
}

/// C38: Azure's service has an identity.
pub(in crate::rules) fn service_has_an_identity(
    _: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let field = operators::field(cluster, Plane::Service);
    let message = "the ARO service has no identity, which Azure requires";
    let help = "add `serviceManagedIdentityReference: {armId: ...}`";
    let finding = || field.finding("C38", message).help(help);
    (!field.is_given()).then(finding).into_iter().collect()
}

/// C54: the operators of both planes have identities. Those of a plane that have none are one finding.
pub(in crate::rules) fn operators_are_complete(
    _: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let named = operators::of(cluster);
    let finding = |plane: Plane| {
        let mut names = missing(&named, plane);
        names.retain(|name| plane != Plane::Control || *name != KMS);
        let field = operators::field(cluster, plane);
        let entry = names
            .first()
            .map(|name| format!("`{name}: {{armId: ...}}`"))?;
        let message = match names.as_slice() {
            [name] => message!(
                "{plane} operator `{name}` has no identity, which Azure requires",
                name
            ),
            _ => message!(
                "{count} {plane} operators have no identity, which Azure requires: {names}",
                count = names.len(),
                names = names.join(", ")
            ),
        };
        let more = match names.len() {
            1 => "",
            _ => " and the others in the same way",
        };
        let help = format!("add {entry}{more} to {}", field.name());
        Some(field.finding("C54", message).help(help))
    };
    PLANES.into_iter().filter_map(finding).collect()
}

/// C55: the operator that reaches the customer's key has an identity.
pub(in crate::rules) fn kms_has_an_identity(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let named = operators::of(cluster);
    let is_absent = missing(&named, Plane::Control).contains(&KMS);
    let field = operators::field(cluster, Plane::Control);
    let message =
        "control plane operator `kms` has no identity, which a customer-managed key requires";
    let help = format!("add `kms: {{armId: ...}}` to {}", field.name());
    let finding = || field.finding("C55", message).help(help);
    (is_absent && is_customers(cluster))
        .then(finding)
        .into_iter()
        .collect()
}

/// C56: operators have the names that Azure knows, in the same case.
pub(in crate::rules) fn operators_are_known(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let named = operators::of(cluster);
    let finding = |operator: &Operator<'_>| {
        let (plane, name) = (operator.plane, operator.name);
        let message = message!("`{name}` is not a {plane} operator", name);
        let all = known(plane);
        let help = match nearest(name, all.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? case matters"),
            None => format!("remove it; the {plane} operators are {}", all.join(", ")),
        };
        operator.field.finding("C56", message).help(help)
    };
    let strange = PLANES
        .into_iter()
        .flat_map(|plane| strangers(&named, plane));
    strange.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    const CONTROL: [&str; 9] = [
        "cluster-api-azure",
        "control-plane",
        "cloud-controller-manager",
        "ingress",
        "disk-csi-driver",
        "file-csi-driver",
        "image-registry",
        "cloud-network-config",
        "kms",
    ];
    const DATA: [&str; 3] = ["disk-csi-driver", "file-csi-driver", "image-registry"];

    /// The messages for a cluster with these operators.
    fn found(control: &[&str], data: &[&str], mode: &str) -> Vec<String> {
        let map = |names: &[&str]| {
            let entries = names.iter().map(|name| format!("{name:?}: {{armId: /x}}"));
            entries.collect::<Vec<_>>().join(", ")
        };
        let (control, data) = (map(control), map(data));
        let spec = format!(
            "{{properties: {{etcd: {{dataEncryption: {{keyManagementMode: {mode}}}}}, platform: {{operatorsAuthentication: {{userAssignedIdentities: {{controlPlaneOperatorsReferences: {{{control}}}, dataPlaneOperatorsReferences: {{{data}}}}}}}}}}}}}"
        );
        let rules = [
            operators_are_complete,
            kms_has_an_identity,
            operators_are_known,
        ];
        rules
            .iter()
            .flat_map(|rule| findings_of(*rule, &spec))
            .collect()
    }

    fn with(names: &[&'static str], from: &str, to: &'static str) -> Vec<&'static str> {
        let names = names
            .iter()
            .map(|name| if *name == from { to } else { *name });
        names.filter(|name| *name != "-").collect()
    }

    #[test]
    fn all_operators_are_there() {
        let customers = "CustomerManaged";
        assert_eq!(found(&CONTROL, &DATA, customers), [""; 0]);
        for name in CONTROL.into_iter().filter(|name| *name != KMS) {
            let expected =
                format!("control plane operator `{name}` has no identity, which Azure requires");
            assert_eq!(
                found(&with(&CONTROL, name, "-"), &DATA, customers),
                [expected]
            );
        }
        for name in DATA {
            let expected =
                format!("data plane operator `{name}` has no identity, which Azure requires");
            assert_eq!(
                found(&CONTROL, &with(&DATA, name, "-"), customers),
                [expected]
            );
        }
        let found_without_kms = |mode| found(&with(&CONTROL, KMS, "-"), &DATA, mode);
        assert_eq!(
            found_without_kms(customers),
            ["control plane operator `kms` has no identity, which a customer-managed key requires"]
        );
        assert_eq!(found_without_kms("PlatformManaged"), [""; 0]);
    }

    #[test]
    fn operators_that_are_all_missing_are_one_finding() {
        let found = found(&[], &["image-registry"], "PlatformManaged");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("8 control plane operators have no identity"),
            "{found:?}"
        );
        assert!(
            found[1].ends_with("requires: disk-csi-driver, file-csi-driver"),
            "{found:?}"
        );
    }

    #[test]
    fn a_misspelt_operator_is_one_finding() {
        let customers = "CustomerManaged";
        let control = |from, to| found(&with(&CONTROL, from, to), &DATA, customers);
        assert_eq!(
            control(KMS, "KMS"),
            ["`KMS` is not a control plane operator"]
        );
        assert_eq!(
            control("image-registry", "image-registri"),
            ["`image-registri` is not a control plane operator"]
        );
        assert_eq!(control(KMS, "").len(), 1, "C31 reports empty names");
        let mut data = DATA.to_vec();
        data.push("ingress");
        assert_eq!(
            found(&CONTROL, &data, customers),
            ["`ingress` is not a data plane operator"]
        );
    }
}
