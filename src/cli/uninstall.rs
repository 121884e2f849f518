//! `capstan uninstall`: the objects of `install` go, and nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use serde_json::Value as Json;
use tokio::time::Instant;

use super::args::duration;
use super::cluster::AccessArgs;
use super::exit::Exit;
use super::install::{Component, DEPLOYER, Set, account, namespace, resolved};
use super::signals::until_asked_to_stop;
use super::ui::Ui;
use crate::adapters::kubernetes::{Probe, Removal, Remover, connect_named};
use crate::api::crds;
use crate::health::Live;
use crate::install::{DAEMON, PEOPLE};
use crate::settings::Environment;

#[derive(Debug, Args)]
pub(super) struct UninstallArgs {
    /// A component to remove; may be repeated [default: all but those of tenants]
    #[arg(long, value_enum, value_name = "COMPONENT")]
    component: Vec<Component>,
    /// The namespace in which it is installed [default: CAPSTAN_NAMESPACE, else capstan-system]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<String>,
    /// The account of a tenant, with --component tenant
    #[arg(long, default_value = DEPLOYER, value_name = "NAME", value_parser = account)]
    service_account: String,
    /// Remove the CustomResourceDefinitions as well. Refused while an object of one of their kinds exists: it would be deleted,
    /// and its cluster in Azure with it
    #[arg(long)]
    crds: bool,
    /// Print what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// How long to wait for pods to end
    #[arg(long, default_value = "2m", value_name = "DURATION", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    access: AccessArgs,
}

/// The kinds of installed objects in the order in which they go: an API server that asks a webhook which is gone refuses
/// changes, and pods end while they have their rights.
const ORDER: [&str; 12] = [
    "ValidatingWebhookConfiguration",
    "Deployment",
    "PodDisruptionBudget",
    "NetworkPolicy",
    "Service",
    "ClusterRoleBinding",
    "RoleBinding",
    "ClusterRole",
    "Role",
    "Secret",
    "ConfigMap",
    "ServiceAccount",
];

/// Removes the components, or says what would be removed.
pub(super) fn run(
    args: &UninstallArgs,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Exit> {
    let interrupted = "interrupted: run the same command to remove the rest";
    until_asked_to_stop(ui, interrupted, uninstall(args, ui, environment))
}

async fn uninstall(
    args: &UninstallArgs,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Exit> {
    let (client, name) = connect_named(&args.access.access()).await?;
    let remover = Remover::new(&client, args.dry_run);
    let task = Task {
        remover,
        is_dry: args.dry_run,
        ui,
    };
    ui.message(&format!("uninstalling from the cluster {name}"));
    if args.crds && !task.is_unused().await? {
        ui.message("nothing was removed");
        return Ok(Exit::Failed);
    }
    let home = resolved(args.namespace.as_ref(), environment)?;
    let components = match args.component.as_slice() {
        [] => &[
            Component::Daemon,
            Component::ServiceProvider,
            Component::Controllers,
            Component::Admission,
        ],
        chosen => chosen,
    };
    let mut objects: Vec<Json> = components
        .iter()
        .flat_map(|component| Set::everything(*component, &home, &args.service_account))
        .collect();
    for component in components {
        objects.extend(task.roles_in_namespaces(*component, &home).await?);
    }
    task.spare_shared(&mut objects, &Probe::new(&client))
        .await?;
    let mut namespaces = BTreeSet::new();
    if components.contains(&Component::Daemon) {
        namespaces.extend(task.tenants(&objects, &home).await?);
    }
    if components.contains(&Component::Daemon) || components.contains(&Component::Tenant) {
        namespaces.insert(home);
    }
    let deadline = Instant::now() + args.timeout;
    let mut is_whole = true;
    for kind in ORDER {
        for object in objects.iter().filter(|object| object["kind"] == kind) {
            is_whole &= task.remove(object).await?;
        }
        if kind == "Deployment" {
            task.await_pods(&objects, deadline).await;
        }
    }
    for namespace in &namespaces {
        for fleet in task.remover.release_fleets(namespace).await? {
            ui.tell(&format!("{fleet} finalizer {}", task.became("removed")))?;
        }
    }
    if args.crds {
        // Somebody may have made an object meanwhile.
        is_whole &= task.is_unused().await? && task.remove_definitions().await?;
    }
    Ok(Exit::failed_if(!is_whole))
}

/// A removal as it goes on.
struct Task<'a> {
    remover: Remover,
    is_dry: bool,
    ui: &'a Ui,
}

impl Task<'_> {
    fn became(&self, done: &str) -> String {
        if self.is_dry {
            format!("would be {done}")
        } else {
            done.to_owned()
        }
    }

    /// Removes an object and reports it. Returns false if that was refused.
    async fn remove(&self, object: &Json) -> anyhow::Result<bool> {
        let removed = self.remover.remove(object).await;
        self.report(object, removed)
    }

    fn report(
        &self,
        object: &Json,
        removed: Result<Removal, crate::adapters::kubernetes::Error>,
    ) -> anyhow::Result<bool> {
        let id = Live(object).id();
        match removed {
            Ok(Removal::Absent) => {}
            Ok(Removal::Deleted) => self.ui.tell(&format!("{id} {}", self.became("removed")))?,
            Ok(Removal::Left(why)) => self.ui.tell(&format!("{id} stays: {why}"))?,
            Err(error) => {
                self.ui.error(&error.to_string());
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for the pods of the Deployments to end. Those that do not can do nothing once their rights are gone.
    async fn await_pods(&self, objects: &[Json], deadline: Instant) {
        for object in objects
            .iter()
            .filter(|object| object["kind"] == "Deployment")
        {
            match self.remover.await_pods(object, deadline).await {
                Ok(pods) if pods.is_empty() || self.is_dry => {}
                Ok(pods) => self.ui.message(&format!(
                    "the pods {} have not ended yet: they lose their rights now",
                    pods.join(", ")
                )),
                Err(error) => self
                    .ui
                    .message(&format!("cannot wait for pods to end: {error}")),
            }
        }
    }

    /// The namespaces of tenants that the daemon follows, or followed: those that its Deployment names, and those in which it has rights.
    async fn tenants(&self, objects: &[Json], home: &str) -> anyhow::Result<BTreeSet<String>> {
        let mut tenants = BTreeSet::new();
        for object in objects
            .iter()
            .filter(|object| object["kind"] == "Deployment")
        {
            let arguments = self.remover.arguments(object).await?;
            let named = arguments
                .iter()
                .filter_map(|one| one.strip_prefix("--tenant="));
            tenants.extend(named.map(str::to_owned));
        }
        let everything = Set::everything(Component::Tenant, "tenant", DEPLOYER);
        let bindings = everything.iter().filter(|object| {
            object["kind"] == "RoleBinding" && object["subjects"][0]["name"] == DAEMON
        });
        for binding in bindings {
            let bound = self.remover.bound_to(binding, home).await?;
            tenants.extend(bound);
        }
        Ok(tenants)
    }

    /// The Roles and bindings of a component in other namespaces, also in those that its settings name no more.
    async fn roles_in_namespaces(
        &self,
        component: Component,
        home: &str,
    ) -> anyhow::Result<Vec<Json>> {
        let mut all = Vec::new();
        for role in Set::in_another_namespace(component, home) {
            all.extend(self.remover.like(&role).await?);
        }
        Ok(all)
    }

    /// Leaves out what has no namespace and one name for all installations, if another installation has the component, too.
    async fn spare_shared(&self, objects: &mut Vec<Json>, probe: &Probe) -> anyhow::Result<()> {
        let deployments = objects.iter();
        let deployments = deployments.filter(|object| object["kind"] == "Deployment");
        let deployments: Vec<Json> = deployments.cloned().collect();
        for deployment in deployments {
            let home = Live(&deployment).namespace();
            let others = probe.namespaces_with(&deployment).await?;
            let Some(other) = others.iter().find(|namespace| *namespace != home) else {
                continue;
            };
            let name = Live(&deployment).name();
            let is_shared = |object: &Json| {
                let live = Live(object);
                let is_of_it = match name {
                    DAEMON => PEOPLE.contains(&live.name()),
                    name => live.name() == name,
                };
                live.namespace().is_empty() && is_of_it
            };
            for object in objects.iter().filter(|object| is_shared(object)) {
                let id = Live(object).id();
                self.ui.tell(&format!(
                    "{id} stays: the installation in {other} has it, too"
                ))?;
            }
            objects.retain(|object| !is_shared(object));
        }
        Ok(())
    }

    /// Returns true if no object of our kinds exists; otherwise reports how many.
    async fn is_unused(&self) -> anyhow::Result<bool> {
        let mut used = Vec::new();
        for definition in crds::crds() {
            let count = self.remover.count(&definition).await?;
            if count > 0 {
                used.push(format!("{count} {}", Live(&definition).name()));
            }
        }
        if !used.is_empty() {
            self.ui.error(&format!(
                "the CustomResourceDefinitions stay: {} exist, and would be deleted with them, and their clusters in Azure. Leave out --crds, or delete these objects first",
                used.join(", ")
            ));
        }
        Ok(used.is_empty())
    }

    async fn remove_definitions(&self) -> anyhow::Result<bool> {
        let mut is_whole = true;
        for definition in crds::crds() {
            let removed = self.remover.remove_definition(&definition).await;
            is_whole &= self.report(&definition, removed)?;
        }
        Ok(is_whole)
    }
}
