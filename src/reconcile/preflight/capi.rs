//! Whether Cluster API is there, runs, is new enough, and has its feature gate `MachinePool` on.
//!
//! In: the Deployments of its core controllers, and the kinds that the cluster does not serve. Out: a report, with what to do
//! about each finding. It does not know who looked.

use serde_json::Value;

use super::operator::{argument, manager, trouble, version};
use super::report::{Finding, Installation, Level, Report};
use super::{health, names};
use crate::api::kinds::Kind;
use crate::model::ObjectId;

/// The name of the Deployment of the core controllers.
pub(crate) const DEPLOYMENT: &str = "capi-controller-manager";
/// The label and its value that all objects of the core provider have.
pub(crate) const LABEL: (&str, &str) = ("cluster.x-k8s.io/provider", "cluster-api");
const PRODUCT: &str = "Cluster API";
/// The feature gate.
const GATE: &str = "MachinePool";
/// The first minor version of Cluster API 1 that knows the contract `v1beta2`, by whose label it finds the kinds of ARO. The gate is on by
/// default in all since 1.7.
const MINIMUM: u32 = 11;
const INSTALL: &str = "install its core provider: EXP_MACHINE_POOL=true clusterctl init --bootstrap - --control-plane - (it brings cert-manager)";

/// Cluster API as it was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The Deployments of core controllers, or why they cannot be seen.
    pub(crate) controllers: Result<Vec<Value>, String>,
    /// The kinds of Cluster API that clusters need and the cluster does not serve, or why that is not known.
    pub(crate) unserved: Result<Vec<Kind>, String>,
}

/// Judges what was seen.
pub(crate) fn report(seen: &Seen) -> Report {
    let controllers = seen.controllers.as_deref().unwrap_or_default();
    let controllers: Vec<Core> = controllers.iter().map(Core::read).collect();
    let mut findings: Vec<Finding> = presence(seen).into_iter().collect();
    for core in &controllers {
        findings.extend(health(&core.id, &core.trouble));
        findings.extend(core.age());
        findings.extend(core.gate());
    }
    if !controllers.is_empty() {
        findings.extend(kinds(seen));
    }
    findings.sort_by_key(|finding| finding.level);
    Report {
        product: PRODUCT,
        installations: controllers.iter().map(Core::installation).collect(),
        findings,
        settings: Vec::new(),
    }
}

/// The core controllers of one installation.
struct Core {
    id: ObjectId,
    version: String,
    /// The value of `--feature-gates`.
    gates: String,
    /// Why they do not run; empty if they do.
    trouble: String,
}

impl Core {
    fn read(deployment: &Value) -> Self {
        let metadata = &deployment["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default();
        let container = manager(deployment);
        Self {
            id: ObjectId::new("apps", "Deployment", text("namespace"), text("name")),
            version: version(&container, &metadata["labels"]),
            gates: argument(&container, "feature-gates").unwrap_or_default(),
            trouble: trouble(deployment),
        }
    }

    fn installation(&self) -> Installation {
        Installation {
            namespace: self.id.namespace.clone(),
            version: self.version.clone(),
            installer: String::new(),
            healthy: self.trouble.is_empty(),
        }
    }

    /// Returns a finding if the version is too old; of a version that is not known nothing is said.
    fn age(&self) -> Option<Finding> {
        let is_old = minor(&self.version).is_some_and(|minor| minor < MINIMUM);
        is_old.then(|| Finding {
            level: Level::Error,
            reason: "TooOld",
            message: format!(
                "{} runs {}, which cannot use AROCluster, AROControlPlane and AROMachinePool: it does not know the contract v1beta2",
                self.id, self.version
            ),
            help: format!(
                "upgrade it to v1.{MINIMUM} or later: clusterctl upgrade apply --contract v1beta2"
            ),
        })
    }

    /// Returns a finding if the gate is off.
    fn gate(&self) -> Option<Finding> {
        let gates = self.gates.split(',');
        let mut gates = gates.filter_map(|gate| gate.split_once('='));
        let (_, value) = gates.rfind(|(name, _)| name.trim() == GATE)?;
        let is_on = value.trim().parse().unwrap_or(true);
        (!is_on).then(|| Finding {
            level: Level::Error,
            reason: "FeatureGateOff",
            message: format!(
                "the feature gate {GATE} of {} is off, and without it no node pool is created",
                self.id
            ),
            help: format!(
                "set EXP_MACHINE_POOL=true where clusterctl installs or upgrades it; with another installer, its argument --feature-gates={GATE}=true"
            ),
        })
    }
}

/// The minor version of Cluster API 1; `None` for any other text.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix('v').unwrap_or(version);
    rest.strip_prefix("1.")?
        .split(['.', '-', '+'])
        .next()?
        .parse()
        .ok()
}

fn presence(seen: &Seen) -> Option<Finding> {
    let finding = |level, reason, message: String, help: &str| {
        Some(Finding {
            level,
            reason,
            message,
            help: help.to_owned(),
        })
    };
    match &seen.controllers {
        Err(why) => finding(
            Level::Note,
            "NotSeen",
            format!("it cannot be seen whether it runs: {why}"),
            "grant list of deployments (apps) in all namespaces",
        ),
        Ok(controllers) if !controllers.is_empty() => None,
        Ok(_) if seen.unserved.as_ref().is_ok_and(Vec::is_empty) => finding(
            Level::Warning,
            "NotInstalled",
            "its kinds are served, but no Deployment of its core controllers is there: nothing may make a Cluster the owner of its parts, and without that they wait".to_owned(),
            INSTALL,
        ),
        Ok(_) => finding(
            Level::Error,
            "NotInstalled",
            "it is not installed, and without it no cluster begins".to_owned(),
            INSTALL,
        ),
    }
}

/// The kinds that are not served although controllers are there.
fn kinds(seen: &Seen) -> Option<Finding> {
    let (level, reason, message) = match &seen.unserved {
        Ok(missing) if missing.is_empty() => return None,
        Ok(missing) => (
            Level::Error,
            "KindsNotServed",
            format!("the cluster does not serve {}", names(missing)),
        ),
        Err(why) => (
            Level::Note,
            "KindsNotSeen",
            format!("it cannot be seen which of its kinds are served: {why}"),
        ),
    };
    Some(Finding {
        level,
        reason,
        message,
        help: "install its CustomResourceDefinitions again: clusterctl upgrade apply".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::kinds::{CAPI, KINDS};

    fn deployment(version: &str, gates: &str, ready: u32) -> Value {
        let image = format!("registry.k8s.io/cluster-api/cluster-api-controller:{version}");
        json!({
            "metadata": {"name": DEPLOYMENT, "namespace": "capi-system"},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [
                {"name": "manager", "image": image, "args": ["--leader-elect", gates]},
            ]}}},
            "status": {"readyReplicas": ready},
        })
    }

    fn reasons(controllers: &[Value], is_served: bool) -> Vec<&'static str> {
        let kinds = KINDS.iter().filter(|kind| kind.group == CAPI && !is_served);
        let report = report(&Seen {
            controllers: Ok(controllers.to_vec()),
            unserved: Ok(kinds.copied().collect()),
        });
        report
            .findings
            .iter()
            .map(|finding| finding.reason)
            .collect()
    }

    #[test]
    fn a_gate_that_is_turned_off_is_named() {
        let gate = |gates: &str| reasons(&[deployment("v1.12.0", gates, 1)], true);
        let on = "--feature-gates=ClusterTopology=false,MachinePool=true";
        let off = "--feature-gates=MachinePool=false,ClusterTopology=true";
        assert_eq!(gate(off), ["FeatureGateOff"]);
        for fine in [on, "--feature-gates=ClusterTopology=true", "--v=2"] {
            assert_eq!(gate(fine), [""; 0], "{fine}");
        }
    }

    #[test]
    fn a_version_without_the_contract_of_our_kinds_is_too_old() {
        let version = |version: &str| reasons(&[deployment(version, "--v=2", 1)], true);
        for old in ["v1.6.3", "1.10.7", "v1.10.0-rc.1"] {
            assert_eq!(version(old), ["TooOld"], "{old}");
        }
        // Downstream builds have versions of their own.
        for fine in [
            "v1.11.0",
            "v1.11.0-rc.0",
            "v1.13.4",
            "2025-01",
            "v4.20.1",
            "",
        ] {
            assert_eq!(version(fine), [""; 0], "{fine}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_installs_it() {
        assert_eq!(reasons(&[], false), ["NotInstalled"]);
        assert_eq!(reasons(&[], true), ["NotInstalled"]);
        let well = deployment("v1.11.0", "", 1);
        assert_eq!(
            reasons(std::slice::from_ref(&well), false),
            ["KindsNotServed"]
        );
        assert_eq!(
            reasons(&[deployment("v1.11.0", "", 0)], true),
            ["NotHealthy"]
        );
        let unseen = report(&Seen {
            controllers: Err("no".to_owned()),
            unserved: Err("no".to_owned()),
        });
        assert!(unseen.is_fine());
        assert_eq!(unseen.titles(), ["Cluster API: none found"]);
        let report = report(&Seen {
            controllers: Ok(vec![well]),
            unserved: Ok(Vec::new()),
        });
        assert_eq!(
            report.titles(),
            ["Cluster API v1.11.0 in capi-system, runs"]
        );
    }
}
