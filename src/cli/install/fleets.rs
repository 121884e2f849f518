//! The fleets that a component is installed for.
//!
//! In: flags, and the files and directories that they name. Out: Fleet objects with the Secrets that they name, and the kinds of the
//! fleets. It does not know what a component does with them.

use anyhow::Context as _;
use serde_json::Value as Json;

use super::args::{Component, SetArgs};
use crate::adapters::git::directory;
use crate::cli::ui::Ui;
use crate::compile::compile;
use crate::install::{self, Applied};
use crate::model::RepositoryUrl;
use crate::settings::{self, Environment, FleetOwner, SyncConfig};

/// Fleets that are installed, and the Secrets that they name.
#[derive(Default)]
pub(super) struct Fleets {
    pub(super) objects: Vec<Json>,
    pub(super) secrets: Vec<String>,
    /// Those of the Secrets with a kubeconfig.
    pub(super) kubeconfigs: Vec<String>,
}

/// The Fleet objects of these flags.
pub(super) fn fleets(
    args: &SetArgs,
    namespace: &str,
    environment: &Environment,
) -> anyhow::Result<Fleets> {
    let mut fleets = Fleets::default();
    let owner = match args.component {
        Component::Tenant => FleetOwner::Tenant {
            default_account: Some(&args.service_account),
        },
        _ => FleetOwner::Platform,
    };
    for file in &args.fleet {
        let (mut object, fleet) = settings::fleet(file).context("--fleet")?;
        let written = object["metadata"]["namespace"].as_str();
        anyhow::ensure!(
            written.is_none_or(|written| written == namespace),
            "--fleet {}: its namespace is not {namespace}; remove metadata.namespace, or use --namespace",
            file.display()
        );
        object["metadata"]["namespace"] = Json::from(namespace);
        let usable = SyncConfig::object(&object, owner, environment);
        let config = usable.with_context(|| format!("--fleet {}", file.display()))?;
        anyhow::ensure!(
            config.directory.is_none() && !RepositoryUrl::split(&config.url).is_local(),
            "--fleet {}: the source of a Fleet object is a repository on a server, such as https://host/path",
            file.display()
        );
        fleets.secrets.extend(fleet.secrets().map(str::to_owned));
        let kubeconfig = fleet.spec.cluster.kubeconfig_secret_ref.as_ref();
        let kubeconfig = kubeconfig.map(|secret| secret.name.clone());
        fleets.kubeconfigs.extend(kubeconfig);
        fleets.objects.push(object);
    }
    for names in [&mut fleets.secrets, &mut fleets.kubeconfigs] {
        names.sort();
        names.dedup();
    }
    Ok(fleets)
}

/// The kinds of these fleets; without any, those that definitions become.
pub(super) fn applied(args: &SetArgs, ui: &Ui) -> anyhow::Result<Applied> {
    if args.paths.is_empty() {
        return Ok(match args.component {
            Component::Tenant => install::tenant_kinds(),
            // Its requests become kinds that it adds itself.
            Component::ServiceProvider => Applied::default(),
            _ => install::default_kinds(),
        });
    }
    let mut all = Applied::default();
    for path in &args.paths {
        let tree = directory::read(path)?;
        let overlays = args.overlays.iter();
        let overlays = overlays.map(|dir| directory::read_beside(dir, Some(path)));
        let overlays = overlays
            .collect::<Result<Vec<_>, _>>()
            .context("--overlays")?;
        let compiled = compile(&tree, &overlays);
        anyhow::ensure!(
            !compiled.has_errors(),
            "{} has errors, so its kinds are not known: run `capstan validate {}`",
            path.display(),
            path.display()
        );
        let kinds = install::applied_kinds(&compiled.objects, &compiled.embedded());
        all.written.extend(kinds.written);
        all.read.extend(kinds.read);
        all.cluster_scoped.extend(kinds.cluster_scoped);
        all.guessed.extend(kinds.guessed);
    }
    for (group, plural) in &all.guessed {
        ui.message(&format!(
            "the plural `{plural}` of a kind of {group} is a guess: compare it with `kubectl api-resources --api-group {group}`"
        ));
    }
    Ok(all)
}
