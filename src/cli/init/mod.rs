//! `capstan init`: a fleet to start from.
//!
//! It writes only files that do not exist yet, and then says what is left to do.

mod args;
mod files;
mod forge;

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs};
use super::ui::{Ui, plain};
use crate::adapters::git::WorkingCopy;
use crate::model::{ForgeKind, RepositoryUrl, rule_id};
use args::IMAGE;
use forge::Ci;

pub(super) use args::InitArgs;

/// Writes what does not exist yet. Placeholders are no error: they are listed.
pub(super) fn run(args: &InitArgs, ui: &Ui) -> anyhow::Result<Exit> {
    fs::create_dir_all(&args.path)
        .with_context(|| format!("cannot create {}", args.path.display()))?;
    let mut kept = Vec::new();
    let mut write = |file: PathBuf, text: &str| -> anyhow::Result<()> {
        let is_new = create(&file, text)?;
        let word = if is_new { "wrote" } else { "kept " };
        ui.data(&format!("{word}  {}\n", plain(&file.display().to_string())))?;
        kept.extend((!is_new).then_some(file));
        Ok(())
    };
    let ci = ci(args)?;
    for (name, text) in files::of_fleet(args) {
        write(beside(&args.path, name), &text)?;
    }
    if let Some((file, text)) = &ci {
        write(file.clone(), text)?;
    }
    let cluster = beside(&args.path, files::of_cluster(&args.name()));
    if kept.contains(&cluster) {
        ui.message(&no_cluster(args, &cluster));
    } else if !kept.is_empty() {
        ui.message("\nExisting files were not changed, so the flags did not affect them.");
    }
    ui.message(&left_to_do(
        args,
        ci.as_ref().map(|(file, _)| file.as_path()),
    )?);
    Ok(Exit::Fine)
}

/// Why no cluster was added, and a name under which one would be.
fn no_cluster(args: &InitArgs, cluster: &Path) -> String {
    let is_free = |name: &String| !beside(&args.path, files::of_cluster(name)).exists();
    let environment = &args.environment;
    let mut names = (1..=99).map(|at| format!("{environment}-{at}"));
    let free = names.find(is_free);
    let free = free.map(|name| format!(", such as --name {name}"));
    format!(
        "\nNo cluster was added: {} exists.\nTo add one, choose another name{}.",
        plain(&cluster.display().to_string()),
        free.unwrap_or_default()
    )
}

/// Whether the file was created. One that exists stays as it is.
fn create(file: &Path, text: &str) -> anyhow::Result<bool> {
    let cannot = || format!("cannot write {}", file.display());
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).with_context(cannot)?;
    }
    let created = fs::File::options().write(true).create_new(true).open(file);
    match created {
        Ok(mut created) => {
            created.write_all(text.as_bytes()).with_context(cannot)?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(cannot),
    }
}

/// The CI file with its text; none if no forge is known. It is at the top of the repository, if there is one.
fn ci(args: &InitArgs) -> anyhow::Result<Option<(PathBuf, String)>> {
    let copy = WorkingCopy::around(&args.path);
    let origin = copy.as_ref().and_then(|copy| copy.origin.as_deref());
    let guess = || Ci(origin.and_then(|url| ForgeKind::guess(&RepositoryUrl::split(url))));
    let Some((file, template)) = args.forge.unwrap_or_else(guess).file() else {
        return Ok(None);
    };
    let real = fs::canonicalize(&args.path)?;
    let inner = copy
        .as_ref()
        .and_then(|copy| real.strip_prefix(&copy.root).ok());
    let inner = inner.unwrap_or(Path::new(""));
    // Above the fleet as often as it lies below the top, so that the printed path stays short.
    let up = inner.components().map(|_| "..").collect::<PathBuf>();
    let top = match (args.path.ends_with(inner), inner.components().count()) {
        (_, 0) => args.path.clone(),
        (true, depth) => args.path.ancestors().nth(depth).map_or(up, Path::to_owned),
        (false, _) => beside(&args.path, up),
    };
    let path = match inner.to_string_lossy() {
        path if path.is_empty() => ".".to_owned(),
        path => path.replace('\\', "/"),
    };
    let text = files::of_ci(template, args, &path)?;
    Ok(Some((beside(&top, file), text)))
}

/// `name` in a directory, without a leading `./`.
fn beside(directory: &Path, name: impl AsRef<Path>) -> PathBuf {
    match directory == Path::new(".") {
        true => name.as_ref().to_owned(),
        false => directory.join(name),
    }
}

/// What the person does next. Placeholders are found as `capstan validate` finds them.
fn left_to_do(args: &InitArgs, ci: Option<&Path>) -> anyhow::Result<String> {
    let path = args.path.display();
    let fleet = Fleet::read(&FleetArgs {
        path: args.path.clone(),
        overlays: Vec::new(),
        fleet: None,
    })?;
    let found = fleet.compiled.findings.iter();
    // No schema accepts a placeholder; only overlays have them.
    let placeholders = found.filter(|finding| finding.id == rule_id::INVALID_VALUE);
    let mut lines: Vec<String> = placeholders
        .filter_map(|finding| {
            let place = finding.span.as_ref()?;
            let place = Some(place).filter(|place| place.path.contains("overlays/"))?;
            let field = finding.field.as_ref()?;
            let (path, line) = (fleet.paths().shown(&place.path), place.start.line);
            Some(format!("  {path}:{line}: {field}"))
        })
        .collect();
    if !lines.is_empty() {
        lines.insert(0, "\nTo fill in:".to_owned());
    }
    lines.push("\nNext:".to_owned());
    lines.push(format!("  capstan validate {path}    # finds mistakes"));
    lines.push(format!(
        "  capstan rehearse {path}    # provisions the fleet in simulated Azure"
    ));
    match ci {
        Some(ci) if args.image == IMAGE => lines.push(format!(
            "  build Capstan's image, push it to your registry, and name it in {}",
            ci.display()
        )),
        None if args.forge.is_none() => lines.push(
            "  for a CI file, run this again with --forge: no git remote `origin` names a known forge".to_owned(),
        ),
        _ => {}
    }
    Ok(lines.join("\n"))
}
