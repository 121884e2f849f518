//! Fields of one platform in a definition of the other.
//!
//! In: a finding about a definition. Out: the same, which says so where that is the reason. It does not know how fields are checked.

use super::spec::Platform;
use crate::model::{Finding, Node, Path, Segment, message, rule_id};
use crate::schema;
use kube_schema::Schema;

/// The fields of a private connection, which people look for on both platforms.
const PRIVATE: [&str; 2] = ["endpointAccess", "privateConnectivity"];

/// The finding about a definition that lacks its platform, with the platform that is meant.
fn without_platform(finding: Finding) -> Finding {
    let platform = Platform::HyperShift.name();
    finding.help(format!(
        "add `platform: {platform}`: without it, a definition is one of ARO"
    ))
}

/// The finding about a definition of `platform`, explained if the field is one of the `other` platform, whose schema this is.
pub(super) fn explained(
    finding: Finding,
    platform: Platform,
    other: &Schema,
    definition: &Node,
) -> Finding {
    let is_platform = finding.field.as_ref() == Some(&Path::dotted("spec.platform"));
    if is_platform && finding.id == rule_id::MISSING_FIELD {
        return without_platform(finding);
    }
    let unknown = finding.id == rule_id::UNKNOWN_FIELD;
    let Some(field) = finding.field.clone().filter(|_| unknown) else {
        return finding;
    };
    let is_private = platform == Platform::Aro && is_private(&field);
    if !is_private && other.at(&field).is_none() {
        return finding;
    }
    let (here, there) = (platform.name(), platform.other().name());
    let message = message!(
        "`{field}` is a field of platform {there}, and this definition is of platform {here}",
        field,
        there,
        here
    );
    let help = match &finding.help {
        _ if is_private => "Azure makes and manages the endpoint of an ARO HCP cluster, without a Private Link Service of yours: write `api: {visibility: Private}` to keep it off the internet".to_owned(),
        Some(help) if schema::is_misplaced(&finding) && may_be_moved(definition) => help.clone(),
        _ if definition.at(&["spec", "platform"]).is_some() => {
            format!("remove it, or write `platform: {there}`")
        }
        _ => format!("add `platform: {there}` if that is meant"),
    };
    let mut explained = finding;
    explained.message = message.text;
    explained.args.extend(message.args);
    explained.help(help)
}

/// The fields of Azure that both platforms have are in another place on HyperShift, and only there if the cluster is in Azure.
fn may_be_moved(definition: &Node) -> bool {
    let infrastructure = definition.text(&["spec", "hyperShift", "infrastructure"]);
    infrastructure.is_none_or(|name| name == "Azure")
}

fn is_private(field: &Path) -> bool {
    let is = |segment: &Segment| {
        PRIVATE
            .iter()
            .any(|name| *segment == Segment::Key((*name).to_owned()))
    };
    field.0.last().is_some_and(is)
}
