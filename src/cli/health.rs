//! `capstan health export`: the readiness rules, for engines other than Capstan.

use clap::{Args, Subcommand};
use serde_json::json;

use super::args::Engine;
use super::exit::Exit;
use super::render::Output;
use super::ui::Ui;
use crate::health::export;
use crate::yaml;

#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    #[command(subcommand)]
    command: HealthCommand,
}

#[derive(Debug, Subcommand)]
enum HealthCommand {
    /// Print the readiness rules of ARO, HyperShift, Cluster API and ASO kinds as settings of Argo CD or Flux
    ///
    /// For Argo CD, a ConfigMap `argocd-cm` with a Lua script for each kind, to be merged into the one that is there.
    /// For Flux, `healthCheckExprs` for each kind, to be merged into a Kustomization or HelmRelease. A kind is ready
    /// when Capstan calls it ready, and failed only when waiting does not help; failures that are retried count as
    /// progress.
    Export(ExportArgs),
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// The engine. Argo CD gets health checks in Lua, Flux gets health check expressions in CEL
    #[arg(long = "for", value_enum, value_name = "ENGINE")]
    engine: Engine,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

/// The settings, as one document.
pub(super) fn run(args: &HealthArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let HealthCommand::Export(args) = &args.command;
    let settings = match args.engine {
        Engine::Argocd => json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "argocd-cm",
                "labels": {"app.kubernetes.io/part-of": "argocd"},
            },
            "data": export::argocd(),
        }),
        Engine::Flux => json!({"spec": {"healthCheckExprs": export::flux()}}),
    };
    ui.data(&match args.output {
        Output::Yaml => yaml::write(&[settings]),
        Output::Json => format!("{settings:#}\n"),
    })?;
    Ok(Exit::Fine)
}
