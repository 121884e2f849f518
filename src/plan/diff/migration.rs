//! U03: clusters whose version of Azure's API changes, and what to do before and with it.
//!
//! In: the changed fields, and the findings so far. Out: a warning per line that sets the version, unless the change
//! is refused. It does not know what a cluster serves. Source: facts/aro-2026-09-01.md §2.

use std::collections::{BTreeMap, BTreeSet};

use super::{Changes, FieldChange, Line};
use crate::api::arm_version::{ArmVersion, AsoVersion};
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, ObjectId, message, rule_id};
use crate::plan::Remedy;

const CLUSTER: &str = "HcpOpenShiftCluster";
const AUTH: &str = "HcpOpenShiftClustersExternalAuth";

/// A cluster, node pool or external auth whose version changes.
struct Move<'a> {
    line: &'a Line,
    field: &'a FieldChange,
    from: ArmVersion,
    to: ArmVersion,
    /// The new version as it is written.
    written: String,
}

/// Adds U03 to what was `found` of the changes. A change that no cluster can make stays one error, at the line with
/// the version.
pub(super) fn complete(changes: &Changes, found: &mut Vec<Finding>) {
    let moves: Vec<Move<'_>> = moves(changes).collect();
    let refused = refused(changes);
    let mut lines: BTreeMap<&Line, Vec<&Move<'_>>> = BTreeMap::new();
    for one in moves.iter().filter(|one| one.field.part.kind == CLUSTER) {
        match refused.contains(&one.field.part) {
            true => point_at(one.field, found),
            false => lines.entry(one.line).or_default().push(one),
        }
    }
    found.extend(
        lines
            .into_values()
            .filter_map(|of_line| finding(&of_line, &moves)),
    );
}

fn moves(changes: &Changes) -> impl Iterator<Item = Move<'_>> {
    let lines = changes.lines.iter();
    let fields = lines.flat_map(|(line, fields)| fields.iter().map(move |field| (line, field)));
    let ours = fields
        .filter(|(_, field)| field.part.group == RED_HAT_OPENSHIFT && field.name == "apiVersion");
    ours.filter_map(|(line, field)| {
        let version = |shown: &super::Shown| {
            let text = shown.value()?.as_str()?;
            Some(text.rsplit('/').next()?.to_owned())
        };
        let (old, written) = (version(&field.old)?, version(&field.new)?);
        let (from, to) = (ArmVersion::from_aso(&old)?, ArmVersion::from_aso(&written)?);
        let is_moved = from != to && !AsoVersion::parse(&written)?.storage;
        is_moved.then_some(Move {
            line,
            field,
            from,
            to,
            written,
        })
    })
}

/// The clusters that cannot have the version, since Azure would have to add an integration subnet.
fn refused(changes: &Changes) -> BTreeSet<&ObjectId> {
    let consequences = changes.consequences();
    let kept = consequences.filter(|one| matches!(one.remedy, Remedy::KeepVersion(_)));
    kept.map(|one| &one.part).collect()
}

/// Moves the error about the integration subnet to the line with the version.
fn point_at(version: &FieldChange, found: &mut [Finding]) {
    let ours = |finding: &&mut Finding| {
        let field = finding
            .field
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        finding.id == rule_id::IMMUTABLE_FIELD
            && finding.object.as_ref() == Some(&version.object)
            && field.contains("vnetIntegrationSubnetReference")
    };
    if let Some(finding) = found.iter_mut().find(ours) {
        finding.span = Some(version.span.clone());
    }
}

fn finding(of_line: &[&Move<'_>], moves: &[Move<'_>]) -> Option<Finding> {
    let first = of_line.first()?;
    let (from, to) = (first.from.arm(), first.to.arm());
    let message = match of_line {
        [_] => message!(
            "the API version of {cluster} changes from {from} to {to}",
            cluster = first.field.part,
            from,
            to
        ),
        all => message!(
            "the API version of {count} clusters changes to {to}",
            count = all.len(),
            to
        ),
    };
    let clusters = of_line.iter().filter_map(|one| one.field.cluster.clone());
    let clusters: BTreeSet<String> = clusters.collect();
    let mut finding = Finding::warning("U03", message)
        .at(&first.field.span)
        .of(&first.field.object)
        .field(&first.field.field)
        .help(steps(first, moves).join("; "));
    if clusters.len() > 1 {
        finding.clusters = clusters.into_iter().collect();
    }
    Some(finding)
}

/// What to do, as far as it concerns this cluster. Rules report what its fields lack (C41, N12).
fn steps(cluster: &Move<'_>, moves: &[Move<'_>]) -> Vec<String> {
    let of_cluster = |one: &&Move<'_>| {
        let (one, cluster) = (one.field, cluster.field);
        one.object == cluster.object || one.cluster.is_some() && one.cluster == cluster.cluster
    };
    let mut parts = moves.iter().filter(of_cluster);
    let version = &cluster.written;
    let mut steps = vec![match cluster.to >= ArmVersion::V20260901 {
        true => "first upgrade CAPZ to v1.26.0-hcpclusters.1 and Azure Service Operator to v2.18.0-hcpclusters.3, or later ones, with their CRDs".to_owned(),
        false => format!("first make sure that Azure Service Operator serves {version}"),
    }];
    let is_made = parts
        .clone()
        .any(|one| one.line == cluster.line && one.field.part.kind != CLUSTER);
    if !is_made {
        steps.push(format!(
            "write {version} in its node pools and external auths, too"
        ));
    }
    let moves_status = cluster.from < ArmVersion::V20260630 && cluster.to >= ArmVersion::V20260630;
    if moves_status && parts.any(|one| one.field.part.kind == AUTH) {
        steps.push("what reads status.properties.condition of the external auth must read status.properties.status.conditions".to_owned());
    }
    steps.push("nothing is recreated".to_owned());
    steps
}
