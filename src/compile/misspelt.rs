//! Misspelt kinds: reported once, and read as the kind that is probably meant.
//!
//! In: documents and plain objects. Out: the same with the right apiVersion and kind, and findings (Y12, S06), so
//! that nothing else is reported because the document seems to be missing. It does not know what the kinds mean.

use std::collections::HashSet;

use crate::api::embedded;
use crate::api::kinds::{self, CAPSTAN};
use crate::model::{Finding, Node, Object, ObjectId, Path, Value, message};
use kube_schema::nearest;

/// Our kinds in a fleet, and their apiVersion.
const OURS: [&str; 2] = ["ClusterDefinition", "Overlay"];
const API_VERSION: &str = "capstan.dev/v1alpha1";

/// Corrects a misspelt apiVersion or kind of Capstan.
pub(super) fn correct(document: &mut Node) -> Option<Finding> {
    let (api_version, kind) = (document.text(&["apiVersion"])?, document.text(&["kind"])?);
    let (field, text, right) = if api_version == API_VERSION {
        let is_ours = OURS.contains(&kind) || kind == "Fleet";
        let right = nearest(kind, OURS).filter(|_| !is_ours)?;
        ("kind", kind.to_owned(), right)
    } else {
        let group = api_version.split('/').next().unwrap_or_default();
        let own = if kind == "Overlay" {
            "merge"
        } else {
            "nodePools"
        };
        let has_own = document.at(&["spec", own]).is_some();
        let is_meant = OURS.contains(&kind) && (nearest(group, [CAPSTAN]).is_some() || has_own);
        is_meant.then(|| ("apiVersion", api_version.to_owned(), API_VERSION))?
    };
    let article = if field == "kind" { "a" } else { "an" };
    let message = message!(
        "`{text}` is not {article} {field} of Capstan",
        text,
        article,
        field
    );
    let finding = Finding::error("Y12", message).help(format!("did you mean `{right}`?"));
    Some(replace(document, field, right, finding))
}

/// Corrects misspelt groups and kinds of Kubernetes, Cluster API and Azure Service Operator, also of what is embedded,
/// unless the fleet defines them.
pub(super) fn correct_kinds(objects: &mut [Object]) -> Vec<Finding> {
    let definition = |object: &Object| {
        let spec = object.node.get("spec")?;
        let (group, kind) = (spec.text(&["group"])?, spec.text(&["names", "kind"])?);
        Some((group.to_owned(), kind.to_owned()))
    };
    let defined: HashSet<_> = objects.iter().filter_map(definition).collect();
    let mut findings = Vec::new();
    for object in objects {
        let (id, namespace) = (object.id.clone(), object.id.namespace.clone());
        if let Some(finding) = correct_kind(&mut object.node, &defined, &Path::default()) {
            findings.push(finding.of(&id));
            if let Some((right, _)) = ObjectId::read(&object.node, &namespace) {
                object.id = ObjectId { namespace, ..right };
            }
            if kinds::is_cluster_scoped(&object.id) {
                object.id.namespace.clear();
            }
        }
        for (index, item) in embedded::items_mut(object).iter_mut().enumerate() {
            let at = Path::dotted("spec.resources").index(index);
            findings.extend(correct_kind(item, &defined, &at).map(|one| one.of(&id)));
        }
    }
    findings
}

/// Corrects the group or the kind of the document or resource at this path.
fn correct_kind(
    node: &mut Node,
    defined: &HashSet<(String, String)>,
    at: &Path,
) -> Option<Finding> {
    let (api_version, kind) = (node.text(&["apiVersion"])?, node.text(&["kind"])?);
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let (right_group, right_kind) = kinds::meant(group, kind)?;
    if defined.contains(&(group.to_owned(), kind.to_owned())) {
        return None;
    }
    let (field, right, message, meant) = if right_kind == kind {
        let right = format!("{right_group}/{version}");
        let message = message!("unknown group {group} of {kind}", group, kind);
        ("apiVersion", right, message, right_group)
    } else {
        let message = message!("unknown kind {kind} of {api_version}", kind, api_version);
        ("kind", right_kind.to_owned(), message, right_kind)
    };
    let help = format!("did you mean `{meant}`?");
    let finding = Finding::error("S06", message).help(help);
    let finding = replace(node, field, &right, finding);
    Some(finding.field(&at.key(field)))
}

/// Sets a field of a document to the right text, and points the finding at it.
fn replace(document: &mut Node, field: &str, right: &str, finding: Finding) -> Finding {
    let Value::Map(map) = &mut document.value else {
        return finding;
    };
    let Some(node) = map.get_mut(field) else {
        return finding;
    };
    node.value = Value::String(right.to_owned().into());
    finding.at(node.span()).field(&Path::dotted(field))
}
