//! The command line as people type it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use super::plan::LOCAL;
use crate::adapters::azure_sim::Failure;
use crate::api::period::{NotAPeriod, Period};

/// A GitOps reconciler for Azure Red Hat OpenShift (ARO HCP) clusters.
#[derive(Debug, Parser)]
#[command(name = "capstan", version, about, propagate_version = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print every object of a fleet, in apply order
    Render(RenderArgs),
    /// Find mistakes in a fleet, with their lines
    Validate(ValidateArgs),
    /// Show which line of which file sets each value of an object, and what it overrode
    Explain(ExplainArgs),
    /// Show what depends on what, and the critical path
    Graph(GraphArgs),
    /// Show what would be done, and what it touches
    Plan(PlanArgs),
    /// Apply a fleet once
    Apply(ApplyArgs),
    /// Provision a fleet against a simulated cluster and Azure, on a virtual clock
    Rehearse(RehearseArgs),
    /// Show which clusters are ready, what blocks the others, and since when
    ///
    /// All of it comes from the cluster alone: neither git nor the daemon is asked.
    /// Exits with 1 when something failed so that waiting is in vain, with 2 when the cluster cannot be
    /// read or has no such fleet, else with 0, also while work goes on (`ready` in JSON tells).
    Status(StatusArgs),
    /// Show what one object waits for in the end, since when, and what usually helps
    ///
    /// Exits with 1 when what blocks it failed so that waiting is in vain, with 2 when the cluster cannot
    /// be read or no fleet has such an object, else with 0.
    Why(WhyArgs),
    /// Keep a cluster as a git repository says (the daemon)
    Run(RunArgs),
    /// A tour: a fleet, a push, a bad pull request, their checks
    Demo(DemoArgs),
    /// Print the rule book: what is checked beyond schemas and references, or the page of one rule
    Rules {
        /// For example C15
        id: Option<String>,
    },
    /// Print the CustomResourceDefinitions of our kinds
    Crds,
    /// Print the JSON schema of a kind, for editors
    Schema {
        /// For example ClusterDefinition
        kind: String,
    },
    /// Print a completion script
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Where the fleet is.
#[derive(Debug, Args)]
pub(super) struct FleetArgs {
    /// The fleet's directory, or one file
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// A further directory of Overlay documents; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// A Fleet document, whose tenancy and rules hold
    #[arg(long, value_name = "FILE")]
    pub(super) fleet: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct RenderArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    /// Only the objects of this definition
    #[arg(long, value_name = "NAME")]
    pub(super) cluster: Option<String>,
    /// How to write them
    #[arg(short, long, value_enum, default_value_t)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Output {
    /// A stream of documents
    #[default]
    Yaml,
    /// One array
    Json,
}

#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    /// How to write the findings
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: FindingFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum FindingFormat {
    /// With the source line and a caret
    #[default]
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// GitHub workflow commands
    Github,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// As Kind/namespace/name; the namespace may be left out where the name is unique. Definitions and
    /// embedded resources can be meant
    pub(super) object: String,
    /// A field and what is below it, as `spec.nodePools[0].version`, `spec.nodePools[mp1]` or a JSON pointer
    /// [default: all of it]
    #[arg(default_value = "", hide_default_value = true)]
    pub(super) field: String,
    /// The fleet's directory, or one file
    #[arg(short = 'C', value_name = "PATH", default_value = ".")]
    pub(super) path: PathBuf,
    /// A further directory of Overlay documents; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

#[derive(Debug, Args)]
pub(super) struct GraphArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    /// How to draw it
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: GraphFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum GraphFormat {
    /// Lines
    #[default]
    Text,
    /// Graphviz
    Dot,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    /// What to compare with
    #[arg(long, value_enum, default_value_t)]
    pub(super) against: Against,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// The fleet's name in the cluster, with --against live
    #[arg(long, default_value = LOCAL)]
    pub(super) name: String,
    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Against {
    /// A cluster that has nothing yet
    #[default]
    None,
    /// The cluster as it is
    Live,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DataFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Which real cluster. By default the one this process runs in, else the current one of KUBECONFIG or
/// `~/.kube/config`.
#[derive(Debug, Args)]
pub(super) struct AccessArgs {
    /// A kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(super) context: Option<String>,
}

/// Which cluster.
#[derive(Debug, Args)]
pub(super) struct ClusterArgs {
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// A simulated cluster in this process
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(super) embedded: bool,
    /// How much faster than outside time passes in the simulated cluster
    #[arg(long, default_value_t = 60, requires = "embedded", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) speed: u32,
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// Wait until everything is ready
    #[arg(long)]
    pub(super) wait: bool,
    /// The fleet's name: an object belongs to one fleet
    #[arg(long, default_value = LOCAL)]
    pub(super) name: String,
    /// Remove what an earlier apply of this fleet made and this one lacks
    #[arg(long)]
    pub(super) prune: bool,
    /// A cluster that may be deleted, as namespace/name; may be given more than once
    #[arg(long, value_name = "NAMESPACE/NAME", requires = "prune")]
    pub(super) approve: Vec<String>,
    /// How long to wait, in the cluster's time
    #[arg(long, default_value = "60m", value_parser = duration)]
    pub(super) timeout: Duration,
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Only this fleet
    #[arg(long, value_name = "NAME")]
    pub(super) fleet: Option<String>,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

#[derive(Debug, Args)]
pub(super) struct WhyArgs {
    /// As Kind/namespace/name; the namespace may be left out where the name is unique
    pub(super) object: String,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

#[derive(Debug, Args)]
pub(super) struct RehearseArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    /// Let an object fail, as Kind/name=Reason; may be given more than once
    #[arg(long, value_name = "KIND/NAME=REASON")]
    pub(super) fail: Vec<Failure>,
    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("from").required(true).args(["config", "source"]))]
pub(super) struct RunArgs {
    /// A Fleet document
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// A git repository: a path or a file:// URL
    #[arg(long, value_name = "URL")]
    pub(super) source: Option<String>,
    /// The branch to follow, with --source [default: the repository's own]
    #[arg(long, conflicts_with = "config")]
    pub(super) branch: Option<String>,
    /// The fleet's path in the repository, with --source
    #[arg(long, default_value = "", conflicts_with = "config")]
    pub(super) path: String,
    /// A directory of Overlay documents on this machine; may be given more than once. Those in the
    /// repository are named in a Fleet document
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// How often to look for new commits, with --source
    #[arg(long, default_value = "1s", value_parser = interval, conflicts_with = "config")]
    pub(super) interval: Duration,
    /// Refs whose commits get a plan check, with --source; may be given more than once
    #[arg(long, value_name = "GLOB", default_values = ["refs/pull/*/head", "refs/heads/pr/*"], conflicts_with = "config")]
    pub(super) candidates: Vec<String>,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// How much faster than outside time passes in the simulated cluster
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) speed: u32,
}

/// `90s`, `1m`, `2h30m`.
fn duration(text: &str) -> Result<Duration, String> {
    text.parse()
        .map(|Period(duration)| duration)
        .map_err(|error: NotAPeriod| error.to_string())
}

/// A duration that does not keep a processor busy with looking.
fn interval(text: &str) -> Result<Duration, String> {
    let least = Duration::from_millis(100);
    duration(text).and_then(|interval| {
        if interval < least {
            Err("100ms is the least".to_owned())
        } else {
            Ok(interval)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        assert!(duration("5").is_err() && duration("-5s").is_err());
        assert!(interval("0s").is_err() && interval("100ms").is_ok());
    }
}
