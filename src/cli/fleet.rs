//! A fleet from a directory, compiled.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use rayon::prelude::*;

use super::private_link::SimulatedPrivateLinks;
use super::report::{self, Report, Style};
use super::ui::Ui;
use crate::adapters::git::directory;
use crate::api::fleet::FleetPolicy;
use crate::api::overlay::Selector;
use crate::compile::explain::{Explanation, explain};
use crate::compile::select::{Extent, Selected, select};
use crate::compile::{Compiled, Digest, check_by, compile_by, digest_by};
use crate::model::{Finding, Object, Severity, Tree};
use crate::settings::{self, Environment};

/// The place of the fleet.
#[derive(Debug, Args)]
pub(super) struct FleetArgs {
    /// The fleet's directory, or one file
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// An additional directory of Overlay documents; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// A Fleet document, for its tenancy, its rule settings and its controllers of private clusters
    #[arg(long, value_name = "FILE")]
    pub(super) fleet: Option<PathBuf>,
}

/// A part of the fleet.
#[derive(Debug, Args)]
pub(super) struct SelectorArgs {
    /// Only definitions and raw objects whose labels match, such as env=prod or 'tier in (a, b)'. The whole fleet
    /// is still checked, and whatever may concern the selection is reported
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR")]
    pub(super) selector: Option<Selector>,
}

/// The sources and what they come to.
pub(super) struct Fleet {
    tree: Tree,
    overlays: Vec<Tree>,
    /// The fleet, or what is selected of it.
    pub(super) compiled: Compiled,
    /// The findings that concern only what is not selected; `None` if nothing was selected.
    pub(super) others: Option<Vec<Finding>>,
    /// The namespaces that the fleet makes and that are not selected.
    pub(super) elsewhere: BTreeSet<String>,
    paths: Paths,
    policy: FleetPolicy,
}

impl Fleet {
    /// Reads and compiles.
    ///
    /// # Errors
    /// When a directory does not exist, or the Fleet document is not valid.
    pub(super) fn read(args: &FleetArgs) -> anyhow::Result<Self> {
        let mut fleet = Self::sources(args)?;
        fleet.compiled = compile_by(&fleet.policy, &fleet.tree, &fleet.overlays);
        Ok(fleet)
    }

    /// The same with the findings alone: no object is kept.
    ///
    /// # Errors
    /// As [`Self::selected`].
    pub(super) fn checked(args: &FleetArgs, selector: &SelectorArgs) -> anyhow::Result<Self> {
        if selector.selector.is_some() {
            return Self::selected(args, selector, Extent::Exact);
        }
        let mut fleet = Self::sources(args)?;
        fleet.compiled = check_by(&fleet.policy, &fleet.tree, &fleet.overlays).into();
        Ok(fleet)
    }

    /// Reads and compiles, and returns the value that `keep` makes of each object instead of the objects, in their order.
    ///
    /// # Errors
    /// As [`Self::selected`].
    pub(super) fn digested<T: Clone + Send + Sync>(
        args: &FleetArgs,
        selector: &SelectorArgs,
        extent: Extent,
        keep: impl Fn(&Object) -> T + Sync + Send,
    ) -> anyhow::Result<(Self, Vec<T>)> {
        if selector.selector.is_some() {
            let mut fleet = Self::selected(args, selector, extent)?;
            let objects = std::mem::take(&mut fleet.compiled.objects);
            let kept = objects.par_iter().map(keep);
            return Ok((fleet, kept.collect()));
        }
        let mut fleet = Self::sources(args)?;
        let Digest {
            checked,
            kept,
            graph,
        } = digest_by(&fleet.policy, &fleet.tree, &fleet.overlays, keep);
        fleet.compiled = Compiled {
            graph,
            ..checked.into()
        };
        Ok((fleet, kept))
    }

    /// The graph and the findings. Only the objects of a selection, or of a fleet with errors, are kept.
    ///
    /// # Errors
    /// As [`Self::selected`].
    pub(super) fn drawn(args: &FleetArgs, selector: &SelectorArgs) -> anyhow::Result<Self> {
        if selector.selector.is_some() {
            return Self::selected(args, selector, Extent::WithNeeds);
        }
        let (mut fleet, _) = Self::digested(args, selector, Extent::WithNeeds, |_| ())?;
        if fleet.compiled.has_errors() {
            fleet.compiled = compile_by(&fleet.policy, &fleet.tree, &fleet.overlays);
        }
        Ok(fleet)
    }

    /// The fleet as it is, and as it would be with one more file, whose path counts from where those of the fleet do.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn read_with(
        args: &FleetArgs,
        file: &str,
        text: &str,
    ) -> anyhow::Result<(Self, Self)> {
        let mut before = Self::sources(args)?;
        let mut after = Self {
            tree: before.tree.clone(),
            overlays: before.overlays.clone(),
            compiled: Compiled::default(),
            others: None,
            elsewhere: BTreeSet::new(),
            paths: Paths::new(&directory::root(&args.path)?),
            policy: before.policy.clone(),
        };
        after.tree.files.insert(file.into(), text.as_bytes().into());
        before.compiled = compile_by(&before.policy, &before.tree, &before.overlays);
        after.compiled = compile_by(&after.policy, &after.tree, &after.overlays);
        Ok((before, after))
    }

    /// The same, of what is selected.
    ///
    /// # Errors
    /// When nothing is.
    pub(super) fn selected(
        args: &FleetArgs,
        selector: &SelectorArgs,
        extent: Extent,
    ) -> anyhow::Result<Self> {
        let Some(selector) = &selector.selector else {
            return Self::read(args);
        };
        let mut fleet = Self::sources(args)?;
        let selected = select(
            &fleet.policy,
            &fleet.tree,
            &fleet.overlays,
            selector,
            extent,
        );
        let Selected {
            compiled,
            others,
            namespaces,
            is_empty,
        } = selected;
        anyhow::ensure!(
            !is_empty,
            "no definition or object in {} has labels that match the selector",
            args.path.display()
        );
        (fleet.compiled, fleet.others) = (compiled, Some(others));
        fleet.elsewhere = namespaces;
        Ok(fleet)
    }

    fn sources(args: &FleetArgs) -> anyhow::Result<Self> {
        let tree = directory::read(&args.path)?;
        let read =
            |dir: &PathBuf| directory::read_beside(dir, Some(&args.path)).context("--overlays");
        let overlays = args.overlays.iter().map(read);
        let overlays = overlays.collect::<anyhow::Result<_>>()?;
        let policy = args.fleet.as_deref().map(settings::policy);
        let policy = policy.transpose().context("--fleet")?.unwrap_or_default();
        Ok(Self {
            paths: Paths::new(&directory::root(&args.path)?),
            tree,
            overlays,
            compiled: Compiled::default(),
            others: None,
            elsewhere: BTreeSet::new(),
            policy,
        })
    }

    /// The controllers of private clusters in a simulation of it.
    pub(super) fn links(&self, environment: &Environment) -> SimulatedPrivateLinks {
        SimulatedPrivateLinks::of(&self.policy, &environment.namespace)
    }

    /// The origins of the values of its objects.
    pub(super) fn explanation(&self) -> Explanation {
        explain(&self.tree, &self.overlays, &self.compiled)
    }

    /// Its own files, without those of overlays beside it.
    pub(super) const fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Its files as people find them.
    pub(super) const fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The findings to report, down to `level`.
    pub(super) fn report(&self, level: Severity) -> Report<'_> {
        Report {
            level,
            others: self.others.as_deref(),
            ..Report::of(&self.compiled)
        }
    }

    /// The findings as text.
    pub(super) fn findings(&self, level: Severity, colour: bool) -> String {
        let trees: Vec<&Tree> = std::iter::once(&self.tree).chain(&self.overlays).collect();
        let place = |path: &str| self.paths.shown(path);
        let style = Style {
            colour,
            place: &place,
        };
        report::text(&self.report(level), &trees, &style)
    }

    /// Returns true if the fleet has error findings, and prints them. Errors in what is not selected are counted.
    pub(super) fn is_refused(&self, ui: &Ui) -> bool {
        if self.compiled.has_errors() {
            let findings = self.findings(Severity::Info, ui.colours_messages());
            ui.coloured_message(findings.trim_end());
        } else if let Some(note) = self.report(Severity::Info).others() {
            ui.message(&note);
        }
        self.compiled.has_errors()
    }
}

/// How paths that count from the root of a repository are shown: from the working directory, so that a
/// terminal makes them links.
pub(super) struct Paths {
    /// The directory that paths count from.
    root: PathBuf,
    /// The working directory, if it is known.
    here: Option<PathBuf>,
}

impl Paths {
    fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            here: std::fs::canonicalize(".").ok(),
        }
    }

    /// A path on this machine as it is shown: `.` for the working directory.
    pub(super) fn shown_at(&self, path: &Path) -> String {
        let here = self.here.as_deref().unwrap_or(&self.root);
        let shown = match (path.strip_prefix(&self.root), path.strip_prefix(here)) {
            (Ok(below), _) => self.shown(&below.to_string_lossy()),
            (_, Ok(below)) => below.to_string_lossy().into_owned(),
            _ => path.to_string_lossy().into_owned(),
        };
        match shown.trim_end_matches('/') {
            "" => ".".to_owned(),
            shown => shown.to_owned(),
        }
    }

    /// A path of the fleet as it is shown.
    pub(super) fn shown(&self, path: &str) -> String {
        let given = ["/", "./", "../"]
            .iter()
            .any(|start| path.starts_with(*start));
        match &self.here {
            Some(here) if !given => relative(path, &self.root, here),
            _ => path.to_owned(),
        }
    }
}

/// A path below `root` as seen from `here`; from the root when neither directory contains the other.
fn relative(path: &str, root: &Path, here: &Path) -> String {
    let whole = root.join(path);
    let shown = match (whole.strip_prefix(here), here.strip_prefix(root)) {
        (Ok(below), _) => below.to_owned(),
        (_, Ok(_)) => {
            let same = whole.components().zip(here.components());
            let same = same.take_while(|(a, b)| a == b).count();
            let up = here.components().skip(same).map(|_| Path::new(".."));
            let down = whole.components().skip(same).collect::<PathBuf>();
            up.chain([down.as_path()]).collect()
        }
        _ => path.into(),
    };
    shown.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_from_the_working_directory() {
        let shown =
            |root: &str, path: &str, here: &str| relative(path, Path::new(root), Path::new(here));
        for (root, path, here, expected) in [
            ("/r", "f/a.yaml", "/r", "f/a.yaml"),
            ("/r", "f/a.yaml", "/r/f", "a.yaml"),
            ("/r", "f/a.yaml", "/r/g/h", "../../f/a.yaml"),
            ("/r", "a.yaml", "/", "r/a.yaml"),
            ("/r", "a.yaml", "/elsewhere", "a.yaml"),
        ] {
            assert_eq!(shown(root, path, here), expected, "{path} from {here}");
        }
        let overlay = Paths {
            root: "/r".into(),
            here: Some("/r/f".into()),
        };
        assert_eq!(overlay.shown("../o/a.yaml"), "../o/a.yaml");
    }
}
