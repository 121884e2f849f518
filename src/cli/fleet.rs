//! A fleet from a directory, compiled.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::report;
use super::ui::Ui;
use crate::adapters::git::directory;
use crate::api::fleet::FleetPolicy;
use crate::compile::explain::{Explanation, explain};
use crate::compile::{Compiled, compile_by};
use crate::model::Tree;
use crate::settings;

/// Where the fleet is.
#[derive(Debug, Args)]
pub(super) struct FleetArgs {
    /// The fleet's directory, or one file
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// An additional directory of Overlay documents; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// A Fleet document, for its tenancy and rule settings
    #[arg(long, value_name = "FILE")]
    pub(super) fleet: Option<PathBuf>,
}

/// The sources and what they come to.
pub(super) struct Fleet {
    tree: Tree,
    overlays: Vec<Tree>,
    pub(super) compiled: Compiled,
}

impl Fleet {
    /// Reads and compiles.
    ///
    /// # Errors
    /// When a directory does not exist, or the Fleet document is not valid.
    pub(super) fn read(args: &FleetArgs) -> anyhow::Result<Self> {
        let tree = directory::read(&args.path)?;
        let read = |dir: &std::path::PathBuf| {
            directory::read_beside(dir, Some(&args.path)).context("--overlays")
        };
        let overlays: Vec<Tree> = args
            .overlays
            .iter()
            .map(read)
            .collect::<anyhow::Result<_>>()?;
        let policy = args.fleet.as_deref().map(settings::policy);
        let policy: FleetPolicy = policy.transpose().context("--fleet")?.unwrap_or_default();
        let compiled = compile_by(&policy, &tree, &overlays);
        Ok(Self {
            tree,
            overlays,
            compiled,
        })
    }

    /// Where the values of its objects come from.
    pub(super) fn explanation(&self) -> Explanation {
        explain(&self.tree, &self.overlays, &self.compiled)
    }

    /// The findings as text.
    pub(super) fn findings(&self, colour: bool) -> String {
        let trees: Vec<&Tree> = std::iter::once(&self.tree).chain(&self.overlays).collect();
        report::text(&self.compiled, &trees, colour)
    }

    /// Whether the fleet has error findings, which are printed.
    pub(super) fn is_refused(&self, ui: &Ui) -> bool {
        if self.compiled.has_errors() {
            ui.coloured_message(self.findings(ui.colours_messages()).trim_end());
        }
        self.compiled.has_errors()
    }
}
