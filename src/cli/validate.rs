//! `capstan validate`: findings.

use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs};
use super::report;
use super::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: FindingFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum FindingFormat {
    /// Text with the source line and a caret
    #[default]
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// GitHub workflow commands
    Github,
}

/// Findings to stdout in the asked format; exit 1 when one of them is an error.
pub(super) fn run(args: &ValidateArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let fleet = Fleet::read(&args.fleet)?;
    ui.data(&match args.format {
        FindingFormat::Text => fleet.findings(ui.colours_data()),
        FindingFormat::Json => format!("{:#}\n", report::json(&fleet.compiled)),
        FindingFormat::Sarif => format!("{:#}\n", report::sarif(&fleet.compiled)),
        FindingFormat::Github => report::github(&fleet.compiled),
    })?;
    Ok(Exit::failed_if(fleet.compiled.has_errors()))
}
