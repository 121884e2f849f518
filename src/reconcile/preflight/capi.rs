//! Whether Cluster API is there, runs, and has its feature gate `MachinePool` on.
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
/// The first minor version of Cluster API 1 in which the gate is on by default.
const ON_BY_DEFAULT: u32 = 7;
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

    /// Returns a finding if the gate is off; of an unknown version without an argument nothing is known.
    fn gate(&self) -> Option<Finding> {
        let gates = self.gates.split(',');
        let mut gates = gates.filter_map(|gate| gate.split_once('='));
        let is_on = match gates.rfind(|(name, _)| name.trim() == GATE) {
            Some((_, value)) => value.trim().parse().unwrap_or(true),
            None => minor(&self.version).is_none_or(|minor| minor >= ON_BY_DEFAULT),
        };
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
    fn the_gate_is_that_of_the_argument_else_of_the_version() {
        let gate = |version: &str, gates: &str| reasons(&[deployment(version, gates, 1)], true);
        let on = "--feature-gates=ClusterTopology=false,MachinePool=true";
        let off = "--feature-gates=MachinePool=false,ClusterTopology=true";
        assert_eq!(gate("v1.6.3", on), [""; 0]);
        assert_eq!(gate("v1.12.0", off), ["FeatureGateOff"]);
        assert_eq!(gate("v1.6.3", "--v=2"), ["FeatureGateOff"]);
        for version in ["v1.7.0", "v1.11.0-rc.0", "2025-01", ""] {
            assert_eq!(
                gate(version, "--feature-gates=ClusterTopology=true"),
                [""; 0]
            );
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
