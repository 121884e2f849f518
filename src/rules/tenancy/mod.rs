//! T01 to T06: the limits of a fleet's tenants.
//!
//! In: the tenants, the files of a fleet, their objects, and what its overlays reach. Out: findings. Every tenant
//! whose path matches a file limits it, and each object that comes from it, whoever set its values. It does not
//! know who may write which file; the forge decides that.

mod fields;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use globset::GlobSet;

use super::way::Way;
use crate::api::fleet::{Tenant, Terms};
use crate::api::kinds::CAPSTAN;
use crate::api::overlay::Overlay;
use crate::model::{Finding, Message, Node, Object, Span, Tree, message};

/// The tenants, with their files.
struct Tenants<'t> {
    root: &'t str,
    all: Vec<(&'t Tenant, GlobSet)>,
}

impl<'t> Tenants<'t> {
    fn of(terms: &'t Terms) -> Self {
        // Invalid patterns are reported where the Fleet document is read.
        let files = |tenant: &'t Tenant| Some((tenant, tenant.files().ok()?));
        Self {
            root: &terms.root,
            all: terms.tenants.iter().filter_map(files).collect(),
        }
    }

    /// The tenants that limit a file.
    fn of_file(&self, path: &str) -> Vec<&'t Tenant> {
        let inner = path.strip_prefix(self.root);
        let inner = inner.and_then(|inner| inner.strip_prefix('/'));
        let path = inner.unwrap_or(path);
        let here = self.all.iter().filter(|(_, files)| files.is_match(path));
        here.map(|(tenant, _)| *tenant).collect()
    }
}

/// T01: every file of the fleet belongs to a tenant.
#[must_use]
pub(crate) fn files(terms: &Terms, tree: &Tree) -> Vec<Finding> {
    let tenants = Tenants::of(terms);
    let paths = tree.files.keys().filter(|_| !terms.tenants.is_empty());
    let strays = paths.filter(|path| tenants.of_file(path).is_empty());
    let known: Vec<&str> = terms.tenants.iter().map(|one| one.path.as_str()).collect();
    let finding = |path: &Arc<str>| {
        let message = message!(
            "{path} belongs to no tenant, so its content is not allowed",
            path
        );
        let help = format!(
            "move it below one of {}, or add a tenant for it to the Fleet document",
            known.join(", ")
        );
        Finding::error("T01", message)
            .at(&Span::top(path))
            .help(help)
    };
    strays.map(finding).collect()
}

/// T02 to T05: objects use only the namespaces, kinds, subscriptions and identities of their tenants.
#[must_use]
pub(crate) fn objects(terms: &Terms, objects: &[Object]) -> Vec<Finding> {
    let tenants = Tenants::of(terms);
    let namespaced = scope::defined(objects);
    let mut of_file: HashMap<&str, Vec<&Tenant>> = HashMap::new();
    let mut found = Vec::new();
    for object in objects.iter().filter(|_| !tenants.all.is_empty()) {
        let path = &*object.origin.span().path;
        let limits = of_file.entry(path).or_insert_with(|| tenants.of_file(path));
        for tenant in limits.iter().filter(|tenant| !tenant.is_free()) {
            let mut judge = Judge {
                tenant,
                object,
                found: &mut found,
            };
            judge.scope(&namespaced);
            judge.fields();
        }
    }
    // A line of a definition is in many objects.
    let mut seen = HashSet::new();
    found.retain(|one: &Finding| seen.insert((one.id, one.span.clone(), one.args.clone())));
    found
}

/// T03 and T06: a tenant may have overlays only if its kinds include them, and they may reach only its own files.
/// Overlays of a tenant without limits and overlays outside of `tree` may reach everything.
#[must_use]
pub(crate) fn overlays<'o>(
    terms: &Terms,
    tree: &Tree,
    reached: impl Iterator<Item = (&'o Overlay, &'o BTreeMap<Arc<str>, Span>)>,
) -> Vec<Finding> {
    let tenants = Tenants::of(terms);
    let mut found = Vec::new();
    for (overlay, reached) in reached {
        let path = &overlay.origin.span().path;
        let mut own = tenants.of_file(path);
        own.retain(|tenant| tree.files.contains_key(path) && !tenant.is_free());
        for tenant in own {
            let is_foreign =
                |(path, _): &(&Arc<str>, &Span)| !tenants.of_file(path).contains(&tenant);
            let mut foreign = reached.iter().filter(is_foreign);
            if !scope::names_kind(tenant, CAPSTAN, "Overlay") && tenant.kinds.is_some() {
                let what = message!(
                    "the overlay `{overlay}` is of kind Overlay",
                    overlay = overlay.name
                );
                found.push(refused(tenant, "T03", what).at(overlay.origin.span()));
            }
            if let Some((_, first)) = foreign.next() {
                found.push(reaches_out(overlay, tenant, first, foreign.count()));
            }
        }
    }
    found
}

fn reaches_out(overlay: &Overlay, tenant: &Tenant, first: &Span, more: usize) -> Finding {
    let more = match more {
        0 => String::new(),
        1 => " and in 1 more file".to_owned(),
        more => format!(" and in {more} more files"),
    };
    let (name, path) = (&overlay.name, &tenant.path);
    let message = message!(
        "the overlay `{name}` reaches objects that do not belong to the tenant `{path}`: at {first}{more}",
        name,
        path
    );
    Finding::error("T06", message)
        .at(overlay.origin.span())
        .help(
            "select only the tenant's own objects, or ask the owners of the others for the change",
        )
}

/// Checks one object against one of its tenants.
struct Judge<'a> {
    tenant: &'a Tenant,
    object: &'a Object,
    found: &'a mut Vec<Finding>,
}

impl Judge<'_> {
    /// Whether a list of the tenant allows `name`; an absent list allows everything.
    fn allows(list: Option<&Vec<String>>, name: &str) -> bool {
        list.is_none_or(|list| list.iter().any(|one| one == name))
    }

    /// Reports that the tenant does not allow `what`, at `place` or at the object's name.
    fn refuse(&mut self, id: &'static str, what: Message, place: Option<(&Node, &Way<'_>)>) {
        let finding = refused(self.tenant, id, what).of(&self.object.id);
        self.found.push(match place {
            Some((node, way)) => finding.at(node.span()).field(&way.path()),
            None => finding.at(self.object.origin.span()),
        });
    }
}

/// A finding of the rule `id`: the tenant's list for it does not allow `what`.
fn refused(tenant: &Tenant, id: &'static str, what: Message) -> Finding {
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
    let Message { text, mut args } = what;
    args.push(("tenant", path.clone()));
    let text = format!("{text}, which the tenant `{path}` does not allow");
    Finding::error(id, Message { text, args }).help(format!(
        "its {called}: {list}. Only the Fleet document can change this"
    ))
}
