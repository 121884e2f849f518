//! The check of one object against one of its tenants.

use crate::api::fleet::Tenant;
use crate::model::{Finding, Message, Node, Object, rule_id};
use crate::rules::way::Way;

/// Checks one object against one of its tenants.
pub(super) struct Judge<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) object: &'a Object,
    pub(super) found: &'a mut Vec<Finding>,
}

impl Judge<'_> {
    /// Whether a list of the tenant allows `name`; an absent list allows everything.
    pub(super) fn allows(list: Option<&Vec<String>>, name: &str) -> bool {
        list.is_none_or(|list| list.iter().any(|one| one == name))
    }

    /// Reports that the tenant does not allow `what`, at `place` or at the object's name.
    pub(super) fn refuse(
        &mut self,
        id: &'static str,
        what: Message,
        place: Option<(&Node, &Way<'_>)>,
    ) {
        let finding = refused(self.tenant, id, what).of(&self.object.id);
        self.found.push(match place {
            Some((node, way)) => finding.at(node.span()).field(&way.path()),
            None => finding.at(self.object.origin.span()),
        });
    }
}

/// A finding of the rule `id`: the tenant's list for it does not allow `what`.
pub(super) fn refused(tenant: &Tenant, id: &'static str, what: Message) -> Finding {
    let (called, list) = match id {
        rule_id::FOREIGN_NAMESPACE => ("namespaces", &tenant.namespaces),
        rule_id::FOREIGN_KIND => ("kinds", &tenant.kinds),
        rule_id::FOREIGN_SUBSCRIPTION => ("subscriptions", &tenant.subscriptions),
        rule_id::FOREIGN_CLIENT => ("clientIDs", &tenant.client_ids),
        _ => ("identities", &tenant.identities),
    };
    let list = match list.as_deref().unwrap_or_default() {
        [] => "none".to_owned(),
        list => list.join(", "),
    };
    let path = &tenant.path;
    let Message { text, mut args } = what;
    args.push(("tenant", path.clone()));
    let text = format!("{text}, which the tenant `{path}` does not allow");
    Finding::error(id, Message { text, args }).help(format!(
        "its {called}: {list}. Only the Fleet document can change this"
    ))
}
