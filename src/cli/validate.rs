//! `capstan validate`: findings.

use super::args::{FindingFormat, ValidateArgs};
use super::fleet::Fleet;
use super::ui::Ui;
use super::{Exit, report};

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
