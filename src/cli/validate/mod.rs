//! `capstan validate`: findings.

mod unread;

use clap::{Args, ValueEnum};

use crate::cli::exit::Exit;
use crate::cli::fleet::{Fleet, FleetArgs, SelectorArgs};
use crate::cli::report;
use crate::cli::ui::Ui;
use crate::model::Severity;
use crate::model::words::json_document;

#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) selector: SelectorArgs,
    /// Exit with 1 on warnings, too
    #[arg(long)]
    pub(super) strict: bool,
    /// The least severe findings to list; all are counted
    #[arg(long, value_enum, default_value_t)]
    pub(super) level: Level,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: FindingFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Level {
    /// Only errors
    Error,
    /// Errors and warnings
    Warning,
    /// All findings
    #[default]
    Info,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::Error,
            Level::Warning => Self::Warning,
            Level::Info => Self::Info,
        }
    }
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
    /// Azure Pipelines logging commands
    Azure,
    /// A GitLab code quality report
    Gitlab,
}

/// Findings to stdout in the asked format; exit 1 when one of them is an error, or in strict mode a warning.
pub(super) fn run(args: &ValidateArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let fleet = Fleet::checked(&args.fleet, &args.selector)?;
    let level = args.level.into();
    let found = fleet.report(level);
    ui.data(&match args.format {
        FindingFormat::Text => fleet.findings(level, ui.colours_data()),
        FindingFormat::Json => json_document(&report::json(&found)),
        FindingFormat::Sarif => json_document(&report::sarif(&found)),
        FindingFormat::Github => report::github(&found),
        FindingFormat::Azure => report::azure(&found),
        FindingFormat::Gitlab => json_document(&report::gitlab(&found)),
    })?;
    if let Some(hint) = unread::hint(&args.fleet, &fleet) {
        ui.message(&hint);
    }
    let has_errors = fleet.compiled.has_errors();
    let too_strict = args.strict && fleet.compiled.count(Severity::Warning) > 0;
    if too_strict && !has_errors {
        ui.error("failed because of warnings (--strict)");
    }
    Ok(Exit::failed_if(has_errors || too_strict))
}
