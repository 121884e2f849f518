//! `capstan admission`: the admission webhook, without a fleet.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;

use super::args::OnFailure;
use super::cluster::AccessArgs;
use super::exit::Exit;
use super::log_lines::LogArgs;
use super::run::LEAVE;
use super::signals::asked_to_stop;
use super::ui::Ui;
use crate::adapters::admission::Names;
use crate::adapters::kubernetes::{Target, connect_named};
use crate::api::fleet::Admission;
use crate::daemon::{self, AdmissionServer, WallClock};
use crate::settings::{self, Environment};

#[derive(Debug, Args)]
pub(super) struct AdmissionArgs {
    #[command(flatten)]
    access: AccessArgs,
    /// Where to listen: HOST:PORT, or :PORT for all addresses
    #[arg(long, default_value = ":9443", value_name = "ADDRESS")]
    address: String,
    /// What happens to a change that cannot be checked. The API server gets the same setting
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    failure_policy: OnFailure,
    /// A host name or IP address that the API server reaches it by, besides that of the Service; may be repeated
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// A Fleet document, for its rule settings
    #[arg(long, value_name = "FILE")]
    fleet: Option<PathBuf>,
    #[command(flatten)]
    pub(super) log: LogArgs,
}

/// Runs until SIGTERM or SIGINT.
pub(super) fn run(
    args: &AdmissionArgs,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = runtime.block_on(work(args, ui, environment));
    runtime.shutdown_timeout(LEAVE);
    exit
}

async fn work(args: &AdmissionArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    daemon::report_fault(environment);
    let policy = args.fleet.as_deref().map(settings::policy);
    let mut policy = policy.transpose().context("--fleet")?.unwrap_or_default();
    policy.bindings = environment.azure.bindings.clone();
    let (client, name) = connect_named(&args.access.access()).await?;
    let target = Target::new(client, Arc::new(WallClock::start()));
    let settings = Admission {
        address: args.address.clone(),
        failure_policy: args.failure_policy.into(),
    };
    let names = Names {
        hosts: args.host.clone(),
        ..Names::in_namespace(&environment.namespace)
    };
    let server = AdmissionServer::start(&target, &settings, policy, names).await?;
    let address = server.address();
    ui.message(&format!(
        "the admission webhook of the cluster {name} listens on {address}"
    ));
    asked_to_stop().await;
    ui.message("stopped");
    Ok(Exit::Fine)
}
