//! What is held against one object by one of its tenants.

use crate::api::fleet::Tenant;
use crate::model::{Finding, Node, Object};
use crate::rules::way::Way;

/// One object before one of its tenants.
pub(super) struct Judge<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) object: &'a Object,
    pub(super) found: &'a mut Vec<Finding>,
}

impl Judge<'_> {
    /// Whether a list of the tenant allows `name`; one that is absent allows everything.
    pub(super) fn allows(list: Option<&Vec<String>>, name: &str) -> bool {
        list.is_none_or(|list| list.iter().any(|one| one == name))
    }

    /// `what` is not the tenant's: said at `node`, or at the object's name.
    pub(super) fn refuse(
        &mut self,
        id: &'static str,
        what: &str,
        place: Option<(&Node, &Way<'_>)>,
    ) {
        let finding = refused(self.tenant, id, what).of(&self.object.id);
        self.found.push(match place {
            Some((node, way)) => finding.at(node.span()).field(&way.path()),
            None => finding.at(self.object.origin.span()),
        });
    }
}

/// `what` is not the tenant's, whose list for the rule `id` says what is.
pub(super) fn refused(tenant: &Tenant, id: &'static str, what: &str) -> Finding {
    let (called, list) = match id {
        "T02" => ("namespaces", &tenant.namespaces),
        "T03" => ("kinds", &tenant.kinds),
        "T04" => ("subscriptions", &tenant.subscriptions),
        _ => ("identities", &tenant.identities),
    };
    let list = match list.as_deref().unwrap_or_default() {
        [] => "none".to_owned(),
        list => list.join(", "),
    };
    let path = &tenant.path;
    Finding::error(
        id,
        format!("{what}, which the tenant `{path}` does not allow"),
    )
    .help(format!(
        "its {called} are: {list}. The Fleet document says so; whoever keeps it can change it"
    ))
}
