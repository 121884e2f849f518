//! C27 to C29, and W08: resources that clusters may not share.

use std::collections::HashMap;

use super::reference::name_in;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{ArmId, Field, Resource, World};

const CLUSTER: &str = "HcpOpenShiftCluster";

/// The first cluster that uses each resource.
struct Uses<'a> {
    id: &'static str,
    called: &'static str,
    firsts: HashMap<ArmId, &'a ObjectId>,
}

impl<'a> Uses<'a> {
    fn of(id: &'static str, called: &'static str) -> Self {
        let firsts = HashMap::new();
        Self { id, called, firsts }
    }

    /// Records that `cluster` uses `what`. Returns a finding if another cluster uses it already. Resources in an
    /// unknown subscription are skipped: equal names may be different resources.
    fn add(&mut self, cluster: &'a ObjectId, what: ArmId, field: &Field<'_>) -> Option<Finding> {
        if what.subscription.is_empty() {
            return None;
        }
        let name = what.name().to_owned();
        let first = *self.firsts.entry(what).or_insert(cluster);
        (first != cluster).then(|| {
            let called = self.called;
            let message = message!("{first} already uses the {called} {name}", first, name);
            let help = format!("give each cluster its own {called}");
            field.finding(self.id, message).help(help)
        })
    }
}

/// C27: each cluster has its own managed resource group.
pub(in crate::rules) fn managed_groups_are_apart(world: &World<'_>) -> Vec<Finding> {
    let mut uses = Uses::of("C27", "managed resource group");
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, CLUSTER);
    let found = clusters.filter_map(|cluster| {
        let field = cluster.field("spec.properties.platform.managedResourceGroup");
        let subscription = world.name_of(cluster)?.subscription.clone();
        let group = ArmId::of_group(&subscription, field.text()?);
        uses.add(&cluster.id, group, &field)
    });
    found.collect()
}

/// C28: each cluster has its own subnet, shared only with its node pools.
pub(in crate::rules) fn subnets_are_apart(world: &World<'_>) -> Vec<Finding> {
    let mut uses = Uses::of("C28", "subnet");
    let pools = world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool");
    let pools = pools.filter_map(|pool| Some((&world.owner(pool)?.id, pool)));
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, CLUSTER);
    let clusters = clusters.map(|cluster| (&cluster.id, cluster));
    let found = clusters.chain(pools).filter_map(|(cluster, user)| {
        let field = user.field("spec.properties.platform.subnetReference");
        uses.add(cluster, world.referred(user, &field)?, &name_in(&field))
    });
    found.collect()
}

/// W08: each cluster has its own integration subnet. Azure does not check it, and only says that the subnet is
/// dedicated to the service.
pub(in crate::rules) fn integration_subnets_are_apart(world: &World<'_>) -> Vec<Finding> {
    let mut uses = Uses::of("W08", "integration subnet");
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, CLUSTER);
    let found = clusters.filter_map(|cluster| {
        let field = cluster.field("spec.properties.platform.vnetIntegrationSubnetReference");
        uses.add(
            &cluster.id,
            world.referred(cluster, &field)?,
            &name_in(&field),
        )
    });
    found.collect()
}

/// C29: each cluster has its own security group.
pub(in crate::rules) fn security_groups_are_apart(world: &World<'_>) -> Vec<Finding> {
    let mut uses = Uses::of("C29", "network security group");
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, CLUSTER);
    let found = clusters.filter_map(|cluster: &Resource<'_>| {
        let field = cluster.field("spec.properties.platform.networkSecurityGroupReference");
        uses.add(
            &cluster.id,
            world.referred(cluster, &field)?,
            &name_in(&field),
        )
    });
    found.collect()
}
