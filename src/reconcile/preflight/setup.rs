//! Whether installations of Azure Service Operator are set up so that they serve our clusters.
//!
//! In: installations, and the namespaces of our clusters. Out: findings. Several installations may share the work: one
//! for the webhooks, others for their namespaces. It does not know whether they run.

use std::collections::BTreeSet;

use super::advice;
use super::operator::{Keys, Operator, SETTINGS, Setting};
use super::report::{Finding, Level};

const MODE: &str = "AZURE_OPERATOR_MODE";
const NAMESPACES: &str = "AZURE_TARGET_NAMESPACES";
const POLICY: &str = "DEFAULT_RECONCILE_POLICY";
const WORKLOAD_IDENTITY: &str = "USE_WORKLOAD_IDENTITY_AUTH";
/// Without it the operator has no global credential, whatever else is set.
const SUBSCRIPTION: &str = "AZURE_SUBSCRIPTION_ID";
/// Keys of a global credential that is a secret.
const SECRETS: [&str; 2] = ["AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE"];

/// What is wrong with the settings of all of them.
pub(super) fn findings(operators: &[Operator], ours: &BTreeSet<String>) -> Vec<Finding> {
    let mut found: Vec<Finding> = [modes(operators), namespaces(operators, ours)].concat();
    for operator in operators {
        found.extend(unread(operator));
        found.extend(secret(operator));
        found.extend(policy(operator));
        found.extend(credential(operator));
    }
    found
}

/// Whether it has a part: anything but the name of the other one means both.
fn does(operator: &Operator, part: &str) -> bool {
    let other = match part {
        "watchers" => "webhooks",
        _ => "watchers",
    };
    operator.setting(MODE) != Setting::Is(other.to_owned())
}

/// Somebody must reconcile, and somebody must serve the webhooks.
fn modes(operators: &[Operator]) -> Vec<Finding> {
    let Some(first) = operators.first() else {
        return Vec::new();
    };
    let missing = |part: &str| !operators.iter().any(|one| does(one, part));
    let help = || {
        let both = "let it do both (an empty value)";
        let changed = advice::change(first, MODE, "azureOperatorMode", both);
        format!("{changed}. Or install another one for the other part")
    };
    let finding = |reason, words: &str| Finding {
        level: Level::Error,
        reason,
        message: format!("{words} ({MODE} of {})", first.id),
        help: help(),
    };
    let mut found = Vec::new();
    if missing("watchers") {
        let words = "it only serves webhooks, and creates nothing in Azure";
        found.push(finding("NoWatchers", words));
    }
    if missing("webhooks") {
        let words = "it serves no webhooks, without which its kinds cannot be converted";
        found.push(finding("NoWebhooks", words));
    }
    found
}

/// The namespaces that it reconciles; `None` for all, or if they are not known.
fn targets(operator: &Operator) -> Option<BTreeSet<String>> {
    let Setting::Is(list) = operator.setting(NAMESPACES) else {
        return None;
    };
    let names = list.split(',').map(|name| name.trim().to_owned());
    let names: BTreeSet<String> = names.filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then_some(names)
}

/// Each of our namespaces must be reconciled once.
fn namespaces(operators: &[Operator], ours: &BTreeSet<String>) -> Vec<Finding> {
    let watchers: Vec<(&Operator, Option<BTreeSet<String>>)> = operators
        .iter()
        .filter(|one| does(one, "watchers"))
        .map(|one| (one, targets(one)))
        .collect();
    let covers = |targets: &Option<BTreeSet<String>>, name: &String| {
        targets
            .as_ref()
            .is_none_or(|targets| targets.contains(name))
    };
    let left_out = |name: &&String| !watchers.iter().any(|(_, targets)| covers(targets, name));
    let left_out: Vec<&str> = ours.iter().filter(left_out).map(String::as_str).collect();
    let mut found = Vec::new();
    if let Some((first, _)) = watchers.first() {
        found.extend(limits(first, &watchers, &left_out));
    }
    found.extend(overlap(&watchers));
    found
}

fn limits(
    first: &Operator,
    watchers: &[(&Operator, Option<BTreeSet<String>>)],
    left_out: &[&str],
) -> Option<Finding> {
    let all: Option<Vec<&BTreeSet<String>>> = watchers
        .iter()
        .map(|(_, targets)| targets.as_ref())
        .collect();
    let all: BTreeSet<&str> = all?.into_iter().flatten().map(String::as_str).collect();
    let all: Vec<&str> = all.into_iter().collect();
    let change = |value: &str| advice::change(first, NAMESPACES, "azureTargetNamespaces", value);
    let all = all.join(",");
    Some(match left_out {
        [] => Finding {
            level: Level::Note,
            reason: "NamespacesLimited",
            message: format!("it reconciles only the namespaces {all}"),
            help: format!(
                "for a cluster in another one, {}",
                change("add its namespace")
            ),
        },
        names => Finding {
            level: Level::Error,
            reason: "NamespacesLeftOut",
            message: format!(
                "it reconciles only the namespaces {all}, not {}, where clusters are",
                names.join(", ")
            ),
            help: change(&format!(
                "add {}, or let it reconcile all (an empty value)",
                names.join(",")
            )),
        },
    })
}

/// Two that reconcile one namespace: the second leaves what the first owns alone, with the reason `Overlap`.
fn overlap(watchers: &[(&Operator, Option<BTreeSet<String>>)]) -> Option<Finding> {
    let shares = |(first, one): &(&Operator, Option<BTreeSet<String>>),
                  (second, other): &(&Operator, Option<BTreeSet<String>>)| {
        let shared = match (one, other) {
            (Some(one), Some(other)) => !one.is_disjoint(other),
            // A list that is not read may exclude them.
            _ => [first, second]
                .iter()
                .all(|operator| operator.setting(NAMESPACES) != Setting::Elsewhere),
        };
        first.id != second.id && shared
    };
    let pairs = watchers
        .iter()
        .enumerate()
        .flat_map(|(at, one)| watchers[at + 1..].iter().map(move |other| (one, other)));
    let (one, other) = pairs.into_iter().find(|(one, other)| shares(one, other))?;
    Some(Finding {
        level: Level::Warning,
        reason: "SeveralOperators",
        message: format!(
            "{} and {} reconcile the same namespaces",
            one.0.id, other.0.id
        ),
        help: format!(
            "remove one of them, but keep the CustomResourceDefinitions, or give each its own namespaces ({NAMESPACES}): what one owns the other leaves alone (Overlap)"
        ),
    })
}

/// Settings whose values are not read.
fn unread(operator: &Operator) -> Option<Finding> {
    let known = [
        (MODE, "empty or both"),
        (NAMESPACES, "empty, or name every namespace with a cluster"),
        (POLICY, "empty or manage"),
    ];
    let known = known.iter();
    let elsewhere: Vec<String> = known
        .filter(|(name, _)| operator.setting(name) == Setting::Elsewhere)
        .map(|(name, wanted)| format!("{name} must be {wanted}"))
        .collect();
    (!elsewhere.is_empty()).then(|| Finding {
        level: Level::Note,
        reason: "SettingsNotRead",
        message: format!(
            "settings of {} stand in a Secret, whose values Capstan does not read",
            operator.id
        ),
        help: format!("look yourself: {}", elsewhere.join("; ")),
    })
}

fn secret(operator: &Operator) -> Option<Finding> {
    let namespace = &operator.id.namespace;
    match &operator.keys {
        Keys::Named(_) => None,
        Keys::Missing => Some(Finding {
            level: Level::Warning,
            reason: "SettingsMissing",
            message: format!("the Secret {SETTINGS} is missing in the namespace {namespace}"),
            help: format!(
                "create it with {SUBSCRIPTION}, AZURE_TENANT_ID and AZURE_CLIENT_ID, which may be empty if every cluster brings its own identity: the operator does not start without it"
            ),
        }),
        Keys::Unseen(why) => Some(Finding {
            level: Level::Note,
            reason: "SettingsNotSeen",
            message: format!("the keys of the Secret {SETTINGS} cannot be seen: {why}"),
            help: format!(
                "to have its settings checked, grant get of secrets in {namespace}, or run `capstan status` as somebody who has that right"
            ),
        }),
    }
}

/// Resources without a policy of their own get this one.
fn policy(operator: &Operator) -> Option<Finding> {
    let Setting::Is(policy) = operator.setting(POLICY) else {
        return None;
    };
    (policy != "manage").then(|| Finding {
        level: Level::Warning,
        reason: "OtherDefaultPolicy",
        message: format!("its default reconcile policy is {policy} ({POLICY} of {})", operator.id),
        help: format!(
            "resources of clusters without the annotation serviceoperator.azure.com/reconcile-policy get it: {}",
            advice::change(operator, POLICY, "the environment", "leave it empty")
        ),
    })
}

/// What a cluster without an identity of its own gets.
fn credential(operator: &Operator) -> Option<Finding> {
    let Keys::Named(_) = &operator.keys else {
        return None;
    };
    let is_workload = operator.setting(WORKLOAD_IDENTITY) == Setting::Is("true".to_owned());
    let secrets = SECRETS.iter().filter(|key| operator.has_key(key));
    let secrets: Vec<&str> = secrets.copied().collect();
    if is_workload && !secrets.is_empty() {
        return Some(Finding {
            level: Level::Warning,
            reason: "TwoCredentials",
            message: format!(
                "{WORKLOAD_IDENTITY} is true, and the Secret {SETTINGS} of the namespace {} has {}",
                operator.id.namespace,
                secrets.join(" and ")
            ),
            help: "keep one of them: it is the global credential of clusters without an identity of their own"
                .to_owned(),
        });
    }
    let is_set = operator.setting(SUBSCRIPTION) != Setting::Unset;
    (!is_set).then(|| Finding {
        level: Level::Note,
        reason: "NoGlobalCredential",
        message: format!("{} has no global credential", operator.id),
        help: "each cluster needs an identityRef, a credentialFrom, or the Secret aso-credential in its namespace"
            .to_owned(),
    })
}
