//! Fields of one platform in a definition of the other.
//!
//! In: a finding about a definition. Out: the same, which says so where that is the reason. It does not know how fields are checked.

use super::spec::Platform;
use crate::model::{Finding, Node, Path, Segment, message, rule_id};
use crate::schema;
use kube_schema::Schema;

/// The fields of a private connection, which people look for on both platforms.
const PRIVATE: [&str; 2] = ["endpointAccess", "privateConnectivity"];

/// The finding about a definition of `platform`, explained if the field is one of the `other` platform, whose schema this is.
pub(super) fn explained(
    finding: Finding,
    platform: Platform,
    other: &Schema,
    definition: &Node,
) -> Finding {
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
        Some(help) if schema::is_misplaced(&finding) => help.clone(),
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

fn is_private(field: &Path) -> bool {
    let is = |segment: &Segment| {
        PRIVATE
            .iter()
            .any(|name| *segment == Segment::Key((*name).to_owned()))
    };
    field.0.last().is_some_and(is)
}
