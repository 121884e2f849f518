//! `capstan crds`, `capstan schema`, `capstan completion`.

use super::args::DefinitionPlatform;
use super::exit::Exit;
use super::ui::Ui;
use crate::api;
use crate::api::cluster_definition::Platform;
use crate::model::words::json_document;
use crate::yaml;

/// The CustomResourceDefinitions of our kinds, as one stream.
pub(super) fn crds(ui: &Ui) -> anyhow::Result<Exit> {
    ui.data(&yaml::write(&api::crds::crds()))?;
    Ok(Exit::Fine)
}

/// The JSON schema of one kind; that of a definition may be of another platform.
pub(super) fn schema(kind: &str, platform: DefinitionPlatform, ui: &Ui) -> anyhow::Result<Exit> {
    let schema = match (kind, platform) {
        (api::crds::DEFINITION, DefinitionPlatform::HyperShift) => {
            Some(api::crds::definition(Platform::HyperShift))
        }
        (api::crds::DEFINITION, DefinitionPlatform::Any) => Some(api::crds::definitions()),
        _ => api::crds::schema(kind),
    };
    let Some(schema) = schema else {
        anyhow::bail!(
            "unknown kind `{kind}`; the kinds are {}",
            api::crds::KINDS.join(", ")
        );
    };
    ui.data(&json_document(&schema))?;
    Ok(Exit::Fine)
}

/// The version of the program.
pub(super) fn version(ui: &Ui) -> anyhow::Result<Exit> {
    ui.data(concat!("capstan ", env!("CARGO_PKG_VERSION"), "\n"))?;
    Ok(Exit::Fine)
}

/// A script that completes `command` in a shell.
pub(super) fn completion(
    shell: clap_complete::Shell,
    mut command: clap::Command,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "capstan", &mut script);
    ui.data(&String::from_utf8(script)?)?;
    Ok(Exit::Fine)
}
