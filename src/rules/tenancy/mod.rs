//! T01 to T06: the limits of a fleet's tenants.
//!
//! In: the tenants, the files of a fleet, their objects, and what its overlays reach. Out: findings. Every tenant
//! whose path matches a file limits it, and each object that comes from it, whoever set its values. It does not
//! know who may write which file; the forge decides that.

mod fields;
mod judge;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use globset::GlobSet;

use crate::api::fleet::{FleetPolicy, Tenant};
use crate::api::kinds::CAPSTAN;
use crate::api::overlay::Overlay;
use crate::model::{Finding, Object, Span, Tree, message, rule_id};
use judge::{Judge, refused};

/// The tenants, with their files.
struct Tenants<'t> {
    root: &'t str,
    all: Vec<(&'t Tenant, GlobSet)>,
}

impl<'t> Tenants<'t> {
    fn of(policy: &'t FleetPolicy) -> Self {
        // What names no files was found fault with where the Fleet document was read.
        let files = |tenant: &'t Tenant| Some((tenant, tenant.files().ok()?));
        Self {
            root: &policy.root,
            all: policy.tenants.iter().filter_map(files).collect(),
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
pub(crate) fn files(policy: &FleetPolicy, tree: &Tree) -> Vec<Finding> {
    let tenants = Tenants::of(policy);
    let paths = tree.files.keys().filter(|_| !policy.tenants.is_empty());
    let strays = paths.filter(|path| tenants.of_file(path).is_empty());
    let known: Vec<&str> = policy.tenants.iter().map(|one| one.path.as_str()).collect();
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
pub(crate) fn objects(
    policy: &FleetPolicy,
    objects: &[Object],
    environment: &[&Object],
) -> Vec<Finding> {
    let tenants = Tenants::of(policy);
    let all = objects.iter().chain(environment.iter().copied());
    let namespaced = scope::defined(all);
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
    policy: &FleetPolicy,
    tree: &Tree,
    reached: impl Iterator<Item = (&'o Overlay, &'o BTreeMap<Arc<str>, Span>)>,
) -> Vec<Finding> {
    let tenants = Tenants::of(policy);
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
                found.push(refused(tenant, rule_id::FOREIGN_KIND, what).at(overlay.origin.span()));
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
