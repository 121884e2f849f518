//! The settings of a Fleet object.
//!
//! In: the object as the cluster has it. Out: the settings of the fleet, without those of the process that follows it.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{Environment, Error, SyncConfig, mirror_name};
use crate::api::fleet::{self, Controllers, Fleet};
use crate::model::{Finding, Node, Origin, Severity, Span};

impl SyncConfig {
    /// Follows what a Fleet object names. Credentials in directories, the port and the controllers belong to the process that
    /// follows it. Its mirror is of this object alone: nobody reads what the credential of another Fleet
    /// fetched.
    ///
    /// # Errors
    /// If the object has errors, or sets what belongs to the process.
    pub fn object(object: &Json, environment: &Environment) -> Result<Self, Error> {
        let metadata = &object["metadata"];
        let document = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"], "spec": object["spec"],
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        });
        let origin = Origin::new(Span::top(&Arc::from("Fleet")));
        let document = Node::from_json(&document, &origin);
        let (fleet, findings) = fleet::read(&document);
        let errors = findings.iter();
        let errors = errors.filter(|finding| finding.severity == Severity::Error);
        let errors: Vec<String> = errors.map(Finding::headline).collect();
        let fleet = fleet.filter(|_| errors.is_empty());
        let fleet = fleet.ok_or_else(|| Error::Mistaken(errors.join("; ")))?;
        if let Some(why) = process_settings(&fleet) {
            return Err(Error::Mistaken(why.to_owned()));
        }
        let own = Environment {
            source_credential: None,
            checks_credential: None,
            ..environment.clone()
        };
        let config = Self::settled("the Fleet", &document, fleet, &own)?;
        let uid = metadata["uid"].as_str().unwrap_or_default();
        let place = format!("{}\0{uid}\0{:?}", config.url, config.credential);
        let mirror = mirror_name(&config.fleet, &place);
        let directory = own.cache.join("fleets").join(&config.namespace);
        Ok(Self {
            serve: None,
            mirror: match &config.directory {
                Some(_) => directory.join(mirror).with_extension("directory"),
                None => directory.join(mirror),
            },
            ..config
        })
    }
}

/// The settings of a Fleet object that belong to the process, which follows more than one: why they cannot stand there.
fn process_settings(fleet: &Fleet) -> Option<&'static str> {
    let spec = &fleet.spec;
    match () {
        () if spec.serve != fleet::Serve::default() => Some(
            "spec.serve belongs to the process, which follows several fleets and serves no port: remove it",
        ),
        () if spec.controllers != Controllers::default() => Some(
            "spec.controllers belongs to the process, which runs them for the whole cluster: remove it, and set --aro of `capstan run`",
        ),
        () if spec.checks.webhook_secret_ref.is_some() => Some(
            "spec.checks.webhookSecretRef is not used in a Fleet object, since its process serves no webhooks: remove it; the repository is polled",
        ),
        () => None,
    }
}
