//! Whether Azure Service Operator (ASO) and Cluster API are there, run, and are set up as clusters need them.
//!
//! In: what was seen of it in the cluster. Out: a report, with what to do about each finding. ASO belongs to whoever
//! installed it: nothing of it is ever changed from here. It does not know who looked, or who reads the report.

mod advice;
pub(crate) mod capi;
mod cloud;
mod operator;
mod pattern;
mod report;
mod setup;

use std::collections::BTreeSet;

pub(crate) use self::operator::{DEPLOYMENT, Keys, LABEL, Operator, SETTINGS};
pub(crate) use self::report::Report;
pub(crate) use self::report::{Finding, Installation, Level};
use crate::api::kinds::Kind;
use crate::model::ObjectId;

/// What was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The installations, or why they cannot be seen.
    pub(crate) operators: Result<Vec<Operator>, String>,
    /// The kinds of ASO that clusters need and the cluster does not serve, or why that is not known.
    pub(crate) unserved: Result<Vec<Kind>, String>,
    /// Where clusters are.
    pub(crate) namespaces: BTreeSet<String>,
    /// The `azureEnvironment`s of clusters, as far as they may be seen; empty for the public cloud.
    pub(crate) environments: BTreeSet<String>,
}

/// What follows.
pub(crate) fn report(seen: &Seen) -> Report {
    let operators = seen.operators.as_deref().unwrap_or_default();
    let mut findings: Vec<Finding> = presence(seen).into_iter().collect();
    findings.extend(
        operators
            .iter()
            .filter_map(|one| health(&one.id, &one.trouble)),
    );
    findings.extend(kinds(seen, operators));
    findings.extend(setup::findings(operators, &seen.namespaces));
    findings.extend(cloud::findings(operators, &seen.environments));
    findings.sort_by_key(|finding| finding.level);
    Report {
        product: "Azure Service Operator",
        installations: operators.iter().map(installation).collect(),
        findings,
        settings: settings(seen),
    }
}

/// The settings that clusters need.
fn settings(seen: &Seen) -> Vec<(&'static str, String)> {
    let all = match seen.namespaces.is_empty() {
        true => "every namespace with clusters".to_owned(),
        false => seen
            .namespaces
            .iter()
            .cloned()
            .collect::<Vec<_>>()
            .join(","),
    };
    let mut settings = vec![
        ("crdPattern (--crd-pattern)", pattern::needed()),
        (
            "azureOperatorMode (AZURE_OPERATOR_MODE)",
            "empty or both".to_owned(),
        ),
        (
            "azureTargetNamespaces (AZURE_TARGET_NAMESPACES)",
            format!("empty for all, or at least {all}"),
        ),
        ("DEFAULT_RECONCILE_POLICY", "empty or manage".to_owned()),
        (
            "global credential",
            "none is needed where each cluster has an identityRef".to_owned(),
        ),
    ];
    settings.extend(cloud::settings(&seen.environments));
    settings
}

fn installation(operator: &Operator) -> Installation {
    Installation {
        namespace: operator.id.namespace.clone(),
        version: operator.version.clone(),
        installer: advice::installer(operator),
        healthy: operator.trouble.is_empty(),
    }
}

/// Whether there is one.
fn presence(seen: &Seen) -> Option<Finding> {
    match &seen.operators {
        Err(why) => Some(Finding {
            level: Level::Note,
            reason: "NotSeen",
            message: format!("it cannot be seen whether it runs: {why}"),
            help: "grant list of deployments (apps) in all namespaces".to_owned(),
        }),
        Ok(operators) if operators.is_empty() => Some(absent(seen)),
        Ok(_) => None,
    }
}

fn absent(seen: &Seen) -> Finding {
    let pattern = pattern::needed();
    let install = format!(
        "helm repo add aso2 https://raw.githubusercontent.com/Azure/azure-service-operator/main/v2/charts, then helm install aso2 aso2/azure-service-operator --create-namespace --namespace azureserviceoperator-system --set crdPattern='{pattern}' (cert-manager must be there)"
    );
    let is_served = seen.unserved.as_ref().is_ok_and(Vec::is_empty);
    let (level, message) = match is_served {
        true => (
            Level::Warning,
            "its kinds are served, but no Deployment of it is there: nothing may create what clusters need in Azure",
        ),
        false => (
            Level::Error,
            "it is not installed, and without it nothing is created in Azure",
        ),
    };
    Finding {
        level,
        reason: "NotInstalled",
        message: message.to_owned(),
        help: install,
    }
}

fn health(id: &ObjectId, trouble: &str) -> Option<Finding> {
    let (namespace, name) = (&id.namespace, &id.name);
    (!trouble.is_empty()).then(|| Finding {
        level: Level::Error,
        reason: "NotHealthy",
        message: format!("{id} does not run: {trouble}"),
        help: format!(
            "see why: kubectl describe deployment {name} --namespace {namespace}; kubectl logs deployment/{name} --namespace {namespace}"
        ),
    })
}

/// The kinds that are not served; without an installation its absence says enough.
fn kinds(seen: &Seen, operators: &[Operator]) -> Option<Finding> {
    let missing = match &seen.unserved {
        Ok(missing) if missing.is_empty() => return None,
        Ok(missing) => missing,
        Err(why) => {
            return Some(Finding {
                level: Level::Note,
                reason: "KindsNotSeen",
                message: format!("it cannot be seen which of its kinds are served: {why}"),
                help: "try again".to_owned(),
            });
        }
    };
    let help = match (operators, &seen.operators) {
        ([], Ok(_)) => return None,
        ([], Err(_)) => format!(
            "add {} to its crdPattern (--crd-pattern; ADDITIONAL_ASO_CRDS if CAPZ installed it) and restart it",
            pattern::of_groups(missing)
        ),
        _ => enabling(operators, missing),
    };
    Some(Finding {
        level: Level::Error,
        reason: "KindsNotServed",
        message: format!("the cluster does not serve {}", names(missing)),
        help,
    })
}

fn names(kinds: &[Kind]) -> String {
    let names = kinds.iter();
    let names = names.map(|kind| format!("{}.{}", kind.kind, kind.group));
    names.collect::<Vec<_>>().join(", ")
}

/// How the missing kinds come: from the installation that has a pattern, which is the one with the webhooks.
fn enabling(operators: &[Operator], missing: &[Kind]) -> String {
    let has_pattern = |one: &&Operator| one.pattern.is_some();
    let Some(operator) = operators.iter().find(has_pattern).or(operators.first()) else {
        return String::new();
    };
    let pattern = operator.pattern.as_deref().unwrap_or_default();
    let (named, lacking): (Vec<Kind>, Vec<Kind>) = missing
        .iter()
        .copied()
        .partition(|kind| pattern::names(pattern, kind));
    let mut help = Vec::new();
    if !lacking.is_empty() {
        help.push(format!(
            "{}. It restarts, and installs them",
            advice::enable(operator, &lacking)
        ));
    }
    if !named.is_empty() {
        let version = match operator.version.as_str() {
            "" => "its version",
            version => version,
        };
        help.push(format!(
            "--crd-pattern of {} already has {}: {version} does not know them, so use one that does, or it has not installed them yet, which its log says",
            operator.id,
            names(&named)
        ));
    }
    help.join("; ")
}

#[cfg(test)]
mod tests;
