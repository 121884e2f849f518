//! `capstan install --apply`: the objects go to the cluster, and are waited for.

use std::time::Duration;

use clap::Args;
use serde_json::Value as Json;
use tokio::time::Instant;

use super::set::Set;
use crate::adapters::kubernetes::{
    INSTALLER, InstallError, Installed, Installer, connect_named, wait,
};
use crate::cli::args::duration;
use crate::cli::cluster::AccessArgs;
use crate::cli::exit::Exit;
use crate::cli::signals::until_asked_to_stop;
use crate::cli::ui::Ui;
use crate::health::Live;
use crate::model::ErrorClass;

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// Apply the objects to the cluster, and wait until they work
    #[arg(long)]
    pub(super) apply: bool,
    /// Take over fields that other managers own
    #[arg(long, requires = "apply")]
    force: bool,
    /// How long to wait
    #[arg(long, default_value = "5m", requires = "apply", value_name = "DURATION", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    pub(super) access: AccessArgs,
}

/// Applies the set until all of it works, or a signal ends it.
pub(super) fn run(args: &ApplyArgs, set: &Set, ui: &Ui) -> anyhow::Result<Exit> {
    let interrupted = "interrupted: what was applied stays; run the same command to apply the rest";
    until_asked_to_stop(ui, interrupted, apply(args, set, ui))
}

async fn apply(args: &ApplyArgs, set: &Set, ui: &Ui) -> anyhow::Result<Exit> {
    let (client, name) = connect_named(&args.access.access()).await?;
    let deadline = Instant::now() + args.timeout;
    ui.message(&format!("installing on the cluster {name}"));
    let installer = Installer::new(&client, args.force);
    if !is_free(&installer, set, ui).await? {
        ui.message("nothing was changed");
        return Ok(Exit::Failed);
    }
    for definition in &set.definitions {
        if !put(&installer, definition, ui).await? {
            return Ok(Exit::Failed);
        }
    }
    let mut works = true;
    for definition in &set.definitions {
        works &= await_ready(&client, definition, deadline, ui).await;
    }
    if !works {
        return Ok(Exit::Failed);
    }
    let mut is_whole = true;
    for object in &set.objects {
        is_whole &= put(&installer, object, ui).await?;
    }
    if !is_whole {
        return Ok(Exit::Failed);
    }
    let deployments = set.objects.iter();
    for deployment in deployments.filter(|object| object["kind"] == "Deployment") {
        works &= await_ready(&client, deployment, deadline, ui).await;
    }
    Ok(Exit::failed_if(!works))
}

/// Returns true if no object would be refused. All refusals are reported, before anything is changed.
async fn is_free(installer: &Installer, set: &Set, ui: &Ui) -> anyhow::Result<bool> {
    let mut is_free = true;
    for object in set.definitions.iter().chain(&set.objects) {
        match installer.check(object).await {
            Ok(()) => {}
            Err(InstallError::Cluster(error)) if error.class() == ErrorClass::Transient => {
                return Err(error.into());
            }
            Err(error) => {
                ui.error(&error.to_string());
                is_free = false;
            }
        }
    }
    Ok(is_free)
}

/// Applies an object and reports what became of it. Returns false if it was refused.
async fn put(installer: &Installer, object: &Json, ui: &Ui) -> anyhow::Result<bool> {
    let id = Live(object).id();
    let became = match installer.apply(object).await {
        Ok(Installed::Created) => "created".to_owned(),
        Ok(Installed::Configured) => "configured".to_owned(),
        Ok(Installed::Unchanged) => "unchanged".to_owned(),
        Ok(Installed::Left(managers)) => format!(
            "left as it is: {} brought it, and not {INSTALLER}",
            managers.join(", ")
        ),
        Err(error) => {
            ui.error(&error.to_string());
            return Ok(false);
        }
    };
    ui.tell(&format!("{id} {became}"))?;
    Ok(true)
}

/// Waits until an object works. Returns false if it does not in time.
async fn await_ready(client: &kube::Client, object: &Json, deadline: Instant, ui: &Ui) -> bool {
    let id = Live(object).id();
    if id.kind == "Deployment" {
        ui.message(&format!("waiting for {id}"));
    }
    let Err(why) = wait(client, object, deadline).await else {
        return true;
    };
    ui.error(&format!(
        "{id} is not ready: {why}; `{}` shows more",
        shown(&id.kind, object)
    ));
    false
}

/// The command that shows an object.
fn shown(kind: &str, object: &Json) -> String {
    let live = Live(object);
    match live.namespace() {
        "" => format!("kubectl describe {kind} {}", live.name()),
        namespace => format!(
            "kubectl describe {kind} {} --namespace {namespace}",
            live.name()
        ),
    }
}
