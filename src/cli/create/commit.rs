//! A new definition in a fleet: checked with the whole fleet, and committed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;

use super::args::Target;
use super::fault::{Fault, in_flags, tell};
use super::output::{NewFile, exists};
use crate::adapters::git::{CheckedOut, directory};
use crate::api::cluster_definition;
use crate::cli::exit::Exit;
use crate::cli::fleet::{Fleet, FleetArgs};
use crate::cli::ui::{Ui, plain};
use crate::model::cut::head;
use crate::model::{Finding, Node, ObjectId, Severity, Tree, rule_id};
use crate::yaml;

/// Writes and commits a definition that is fine alone.
pub(super) fn run(
    target: &Target,
    id: &ObjectId,
    document: &Node,
    text: &str,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let args = FleetArgs {
        path: target.path.clone().unwrap_or_else(|| ".".into()),
        overlays: target.overlays.clone(),
        fleet: target.fleet.clone(),
    };
    let place = Place::of(&args.path, target.output.as_deref(), &id.name)?;
    let branch = CheckedOut::around(&place.above)?;
    anyhow::ensure!(
        directory::root(&args.path)? == branch.root(),
        "{} is in another repository than the fleet",
        place.shown.display()
    );
    let (before, mut after) = Fleet::read_with(&args, &place.path, text)?;
    if let Some(at) = existing(before.tree(), id) {
        let message = format!(
            "--name: {id} exists already at {}",
            before.paths().shown(&at)
        );
        tell(
            &[Fault::new(
                message,
                Some("choose another name or namespace"),
            )],
            ui,
        );
        return Ok(Exit::Refused);
    }
    anyhow::ensure!(
        fs::symlink_metadata(&place.real).is_err(),
        exists(&place.shown)
    );
    branch.check(&place.path)?;
    let old = before.compiled.count(Severity::Error);
    keep_new(&mut after, &before);
    if let Some(exit) = refused(&mut after, id, document, &place, ui) {
        return Ok(exit);
    }
    let file = NewFile::write(&place.real, text)?;
    anyhow::ensure!(
        directory::read(&args.path)?
            .files
            .contains_key(place.path.as_str()),
        "{} would not be part of the fleet: a .capstanignore excludes it, or a directory above it is hidden; choose another file with --output",
        place.shown.display()
    );
    let message = format!("Add cluster {}/{}", id.namespace, id.name);
    let commit = branch.commit(&place.path, &message)?;
    file.keep();
    let findings = after.findings(Severity::Info, ui.colours_messages());
    ui.coloured_message(findings.trim_end());
    if old > 0 {
        let path = args.path.display();
        ui.message(&format!(
            "errors that the fleet had before: {old}; `capstan validate {path}` lists them"
        ));
    }
    ui.data(&format!(
        "wrote  {}\ncommitted {} to {}: {message}\n",
        plain(&place.shown.display().to_string()),
        head(&commit, 10),
        plain(&branch.branch())
    ))?;
    Ok(Exit::Fine)
}

/// The place of a file that does not exist yet.
struct Place {
    /// As the person writes it.
    shown: PathBuf,
    real: PathBuf,
    /// The nearest directory above that exists.
    above: PathBuf,
    /// From where the paths of the fleet count.
    path: String,
}

impl Place {
    /// # Errors
    /// When the file would not belong to the fleet.
    fn of(fleet: &Path, output: Option<&Path>, name: &str) -> anyhow::Result<Self> {
        let root = directory::root(fleet)?;
        let real =
            fs::canonicalize(fleet).with_context(|| format!("cannot read {}", fleet.display()))?;
        anyhow::ensure!(real.is_dir(), "-C: {} is not a directory", fleet.display());
        // As `capstan init` places it.
        let below = Path::new("clusters").join(format!("{name}.yaml"));
        let own = || {
            if fleet == Path::new(".") {
                below
            } else {
                fleet.join(below)
            }
        };
        let shown = output.map_or_else(own, Path::to_owned);
        let whole = Path::new(".").join(&shown);
        let is_there = |above: &&Path| above.exists();
        let above = whole
            .ancestors()
            .skip(1)
            .find(is_there)
            .unwrap_or(Path::new("."));
        let below = whole.strip_prefix(above).unwrap_or(&whole);
        let above =
            fs::canonicalize(above).with_context(|| format!("cannot read {}", above.display()))?;
        let is_plain = below
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let at = above.join(below);
        let path = at
            .strip_prefix(&root)
            .ok()
            .and_then(Path::to_str)
            .map(str::to_owned);
        let path = path.filter(|path| is_plain && at.starts_with(&real) && Tree::reads(path));
        let Some(path) = path.filter(|path| !path.contains(char::is_control)) else {
            anyhow::bail!(
                "--output: {} would not be part of the fleet; choose a file *.yaml below {}",
                shown.display(),
                fleet.display()
            );
        };
        Ok(Self {
            shown,
            above,
            path,
            real: at,
        })
    }
}

/// The place at which a fleet defines a cluster of this name; the definition need not be valid.
fn existing(tree: &Tree, id: &ObjectId) -> Option<String> {
    let is_it = |node: &Node| {
        let [version, kind] = ["apiVersion", "kind"].map(|field| node.text(&[field]));
        let of_ours = version.is_some_and(|version| version.starts_with(&id.group));
        of_ours && kind == Some(id.kind.as_str()) && cluster_definition::id(node) == *id
    };
    let place = |node: &Node| {
        let name = node.at(&["metadata", "name"]).unwrap_or(node);
        name.span().to_string()
    };
    // Most files need not be read again.
    let names = |text: &[u8]| String::from_utf8_lossy(text).contains(&id.name);
    let files = tree.files.iter().filter(|(_, text)| names(text));
    let mut documents = files.flat_map(|(path, text)| yaml::read(path, text).0);
    documents.find_map(|document| {
        let items = document
            .get("items")
            .and_then(Node::as_list)
            .unwrap_or_default();
        let mut all = [&document].into_iter().chain(items);
        all.find(|node| is_it(node)).map(place)
    })
}

/// Takes the findings away that the fleet had before.
fn keep_new(after: &mut Fleet, before: &Fleet) {
    let known: BTreeSet<String> = before
        .compiled
        .findings
        .iter()
        .map(Finding::to_string)
        .collect();
    after
        .compiled
        .findings
        .retain(|finding| !known.contains(&finding.to_string()));
    let allowed = &before.compiled.allowed;
    after.compiled.allowed.retain(|one| !allowed.contains(one));
}

/// Says why a fleet cannot have a definition, if it cannot.
fn refused(
    after: &mut Fleet,
    id: &ObjectId,
    document: &Node,
    place: &Place,
    ui: &Ui,
) -> Option<Exit> {
    let made = after.compiled.objects.iter();
    let mut made = made.filter_map(|object| object.definition.as_ref());
    let is_made = made.any(|definition| definition == id);
    if is_made && !after.compiled.has_errors() {
        return None;
    }
    let errors = after.compiled.findings.iter();
    let errors = errors.filter(|one| one.severity == Severity::Error);
    let (mut faults, mut others) = (Vec::new(), Vec::new());
    for error in errors {
        let (of_flags, _) = in_flags(&[in_document(error, place, document)], document);
        match twice(error, place, after) {
            Some(fault) => faults.push(fault),
            None if of_flags.is_empty() => others.push(error.clone()),
            None => faults.extend(of_flags),
        }
    }
    tell(&faults, ui);
    if !others.is_empty() {
        after.compiled.findings = others;
        let findings = after.findings(Severity::Error, ui.colours_messages());
        ui.coloured_message(findings.trim_end());
        return Some(Exit::Failed);
    }
    if faults.is_empty() {
        let shown = place.shown.display();
        ui.error(&format!(
            "{shown} would not be read as a part of the fleet, whose errors `capstan validate` lists"
        ));
        return Some(Exit::Failed);
    }
    Some(Exit::Refused)
}

/// A finding about the new file as one about the definition alone, which has the same lines.
fn in_document(finding: &Finding, place: &Place, document: &Node) -> Finding {
    let mut finding = finding.clone();
    match finding.span.as_mut() {
        Some(span) if *span.path == *place.path => span.path = document.span().path.clone(),
        // Its field is not set by a flag alone.
        _ => finding.field = None,
    }
    finding
}

/// The mistake that an object of the cluster has the name of another one.
fn twice(finding: &Finding, place: &Place, fleet: &Fleet) -> Option<Fault> {
    let span = finding.span.as_ref();
    let span = span.filter(|_| finding.id == rule_id::DEFINED_TWICE)?;
    let at = if *span.path == *place.path {
        finding.message.rsplit(' ').next()?.to_owned()
    } else {
        span.to_string()
    };
    let id = finding.object.as_ref()?;
    let message = format!(
        "--name: {id} exists already at {}",
        fleet.paths().shown(&at)
    );
    Some(Fault::new(
        message,
        Some("choose another name or namespace"),
    ))
}
