//! The arguments of `capstan plan`.

use std::str::FromStr as _;

use clap::{Args, ValueEnum};

use super::against::Against;
use crate::cli::args::LOCAL;
use crate::cli::cluster::AccessArgs;
use crate::cli::fleet::{FleetArgs, SelectorArgs};

#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    #[command(flatten)]
    pub(in crate::cli) fleet: FleetArgs,
    #[command(flatten)]
    pub(in crate::cli) selector: SelectorArgs,
    /// What to compare with: `none` (an empty cluster), `live` (the cluster), a git revision such as origin/main, or a
    /// directory such as ./old. With a revision, HEAD is merged onto it, as in the check of a pull request; uncommitted
    /// changes are compared with the merge base
    #[arg(long, default_value = "none", value_name = "REVISION", value_parser = Against::from_str)]
    pub(in crate::cli) against: Against,
    #[command(flatten)]
    pub(in crate::cli) access: AccessArgs,
    /// The fleet's name in the cluster, with --against live
    #[arg(long, default_value = LOCAL)]
    pub(in crate::cli) name: String,
    /// Plan as `apply --prune`, which removes objects that the fleet no longer has; with --against live
    #[arg(long)]
    pub(in crate::cli) prune: bool,
    /// Plan as if this loss were approved, such as "release NAMESPACE/NAME"; a name alone means its deletion; may be repeated
    #[arg(long, value_name = "LOSS")]
    pub(in crate::cli) approve: Vec<String>,
    /// Exit with 3 if there are changes
    #[arg(long)]
    pub(in crate::cli) exit_code: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(in crate::cli) format: PlanFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PlanFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// Markdown, as in the check of a pull request
    Markdown,
}
