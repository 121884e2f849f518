//! The settings of a Fleet object.
//!
//! In: the object as the cluster has it. Out: the settings of the fleet, without those of the process that follows it.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{Environment, Error, SyncConfig, mirror_name};
use crate::api::fleet::{self, Controllers, Fleet, suspending};
use crate::model::{Finding, Node, Origin, Severity, Span};

/// The people who write a Fleet object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetOwner<'a> {
    /// Those who run the process: the Fleet is in its namespace.
    Platform,
    /// A tenant, whose Fleet may do what an account of its namespace may, never what the process may.
    Tenant {
        /// The account of Fleets that name none.
        default_account: Option<&'a str>,
    },
}

impl SyncConfig {
    /// Follows what a Fleet object of these people names. Credentials in directories, the port and the controllers belong to the
    /// process that follows it. Its mirror is of this object alone: nobody reads what the credential of another Fleet
    /// fetched.
    ///
    /// # Errors
    /// If the object has errors, or sets what belongs to the process.
    pub fn object(
        object: &Json,
        owner: FleetOwner<'_>,
        environment: &Environment,
    ) -> Result<Self, Error> {
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
        if let Some(why) = process_settings(&fleet).or_else(|| platform_settings(&fleet, owner)) {
            return Err(Error::Mistaken(why.to_owned()));
        }
        let own = Environment {
            source_credential: None,
            checks_credential: None,
            ..environment.clone()
        };
        let mut config = Self::settled("the Fleet", &document, fleet, &own)?;
        if let FleetOwner::Tenant { default_account } = owner {
            config.is_tenants = true;
            config.take_account(default_account)?;
        }
        // The process decides that, and does not start them.
        config.policy.links = None;
        config.suspend |= suspending(object).is_some();
        let uid = metadata["uid"].as_str().unwrap_or_default();
        let place = format!("{}\0{uid}\0{:?}", config.url, config.credential);
        let mirror = mirror_name(&config.fleet, &place);
        let directory = own.mirrors_of(&config.namespace);
        Ok(Self {
            serve: None,
            mirror: match &config.directory {
                Some(_) => directory.join(mirror).with_extension("directory"),
                None => directory.join(mirror),
            },
            ..config
        })
    }

    /// Sets the account of a tenant's fleet.
    fn take_account(&mut self, default: Option<&str>) -> Result<(), Error> {
        if self.kubeconfig_secret.is_some() || self.is_check_only() {
            return Ok(());
        }
        if self.service_account.is_none() {
            self.service_account = default.map(str::to_owned);
        }
        match self.service_account {
            Some(_) => Ok(()),
            None => Err(Error::Mistaken(NO_ACCOUNT.to_owned())),
        }
    }
}

/// The help for a tenant's Fleet without an account.
const NO_ACCOUNT: &str = "a Fleet outside of the daemon's namespace needs an account: set spec.serviceAccountName to a ServiceAccount of its namespace, or start the daemon with --default-service-account";

/// The settings of a Fleet object that belong to the process, which follows more than one: why they cannot stand there.
fn process_settings(fleet: &Fleet) -> Option<&'static str> {
    let spec = &fleet.spec;
    match () {
        () if spec.serve != fleet::Serve::default() => Some(
            "spec.serve belongs to the process, which follows several fleets and has one port for all, that of --serve: remove it",
        ),
        () if spec.service_provider.is_some() => Some(
            "spec.serviceProvider is for the Fleet document of a process of its own: remove it, and start `capstan run --config` for it",
        ),
        () if spec.controllers != Controllers::default() => Some(
            "spec.controllers belongs to the process, which runs them for the whole cluster: remove it, and set --aro of `capstan run`",
        ),
        () => None,
    }
}

/// The settings of a tenant's Fleet object that only those who run the process may set: why they cannot stand there.
fn platform_settings(fleet: &Fleet, owner: FleetOwner<'_>) -> Option<&'static str> {
    let spec = &fleet.spec;
    match () {
        () if owner == FleetOwner::Platform => None,
        () if spec.source.directory.is_some() => Some(
            "spec.source.directory is a directory of the daemon, which a Fleet of another namespace may not read: use spec.source.git",
        ),
        () if !spec.tenancy.is_empty() => Some(
            "spec.tenancy belongs to Fleets of the daemon's namespace: remove it; this Fleet may do what its ServiceAccount may",
        ),
        () if spec.private_link != fleet::PrivateLink::default() => Some(
            "spec.privateLink belongs to Fleets of the daemon's namespace, since it names the management cluster's subscription and an identity for it: remove it",
        ),
        () => None,
    }
}
