//! Findings in the account of a fleet: `spec.serviceAccountName`.
//!
//! In: the document. Out: findings. It does not know whether the account exists.

use crate::model::{Finding, Node, Path, Value, is_dns_subdomain, rule_id};

/// The findings (S04) for a name that no ServiceAccount can have, and for an account beside a kubeconfig, which names one itself.
pub(super) fn findings(document: &Node) -> Vec<Finding> {
    let account = document.at(&["spec", "serviceAccountName"]);
    let Some(account) = account.filter(|account| account.value != Value::Null) else {
        return Vec::new();
    };
    let finding = |message: &str, help: &str| {
        let finding = Finding::error(rule_id::INVALID_VALUE, message.to_owned());
        let finding = finding
            .at(account.span())
            .field(&Path::dotted("spec.serviceAccountName"));
        vec![finding.help(help)]
    };
    // A value of another type is reported by the schema.
    if account.as_str().is_some_and(|name| !is_dns_subdomain(name)) {
        return finding(
            "no ServiceAccount can have this name",
            "write the name of a ServiceAccount of the Fleet's namespace, such as deployer",
        );
    }
    let kubeconfig = document.at(&["spec", "cluster", "kubeconfigSecretRef"]);
    match kubeconfig.filter(|reference| reference.value != Value::Null) {
        Some(_) => finding(
            "a fleet with a kubeconfig acts as the user of the kubeconfig",
            "remove serviceAccountName, or cluster.kubeconfigSecretRef",
        ),
        None => Vec::new(),
    }
}
