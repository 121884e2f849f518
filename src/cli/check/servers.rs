//! The servers of a Fleet, asked with its credentials: the repository, and the forge.
//!
//! In: a Fleet whose Secrets were looked at. Out: an item for a server that does not answer or refuses. Nothing is fetched or
//! written, and no credential is printed.

use std::time::Duration;

use serde_json::Value as Json;

use super::item::Item;
use super::subject::Subject;
use crate::adapters::git::{self, Patience};
use crate::cli::install::FleetPlace;
use crate::daemon::{forge_ports, source_access};
use crate::health::Live;
use crate::model::ObjectId;
use crate::settings::SyncConfig;

pub(super) const SOURCES: &str = "sources";
pub(super) const FORGES: &str = "forges";
/// The time that a server has.
const LIMIT: Duration = Duration::from_secs(10);

/// The servers whose credentials can be used.
pub(super) struct Usable {
    pub(super) source: bool,
    pub(super) forge: bool,
}

/// The answers of servers: faults, and the number of what works.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) items: Vec<Item>,
    pub(super) sources: usize,
    pub(super) forges: usize,
}

/// Asks the servers of a Fleet whose credentials are usable.
pub(super) async fn check(
    subject: &Subject<'_>,
    place: &FleetPlace,
    object: &Json,
    usable: &Usable,
) -> Answers {
    let id = Live(object).id();
    let mut answers = Answers::default();
    let config = match SyncConfig::object(object, place.owner(), subject.environment) {
        Ok(config) => config,
        Err(error) => {
            let item = Item::wrong(SOURCES, format!("{id}: {error}"), "correct the Fleet");
            answers.items.push(item);
            return answers;
        }
    };
    if config.directory.is_none() && usable.source {
        match within(LIMIT, source(subject, &config)).await {
            Ok(()) => answers.sources += 1,
            Err(why) => answers
                .items
                .push(wrong(SOURCES, &id, &why, "spec.source.git")),
        }
    }
    if config.forge.is_some() && usable.forge {
        match within(LIMIT, forge(subject, &config)).await {
            Ok(()) => answers.forges += 1,
            Err(why) => answers.items.push(wrong(FORGES, &id, &why, "spec.checks")),
        }
    }
    answers
}

fn wrong(what: &'static str, id: &ObjectId, why: &str, field: &str) -> Item {
    let help = format!(
        "correct {field} of the Fleet, or its Secret; the server was asked from this machine, which may reach others than the pods do"
    );
    Item::wrong(what, format!("{id}: {why}"), help)
}

/// The answer within a time, or why there is none.
async fn within(
    limit: Duration,
    answer: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    let answer = tokio::time::timeout(limit, answer).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())))
}

/// Lists the refs of the repository with the credential of the Fleet.
async fn source(subject: &Subject<'_>, config: &SyncConfig) -> Result<(), String> {
    let access = git::Access {
        reach: git::Reach::Servers,
        patience: Patience {
            connect: LIMIT,
            idle: LIMIT,
            total: LIMIT,
        },
        ..source_access(config, subject.client)
    };
    let url = config.url.clone();
    let listed = tokio::task::spawn_blocking(move || git::ref_names(&url, &access)).await;
    let names = listed.map_err(|error| error.to_string())?;
    match names.map_err(|error| error.to_string())?.as_slice() {
        [] => Err("the repository is empty".to_owned()),
        _ => Ok(()),
    }
}

/// Asks the forge whether checks can be written with the token of the Fleet.
async fn forge(subject: &Subject<'_>, config: &SyncConfig) -> Result<(), String> {
    let ports = forge_ports(config, subject.client).await;
    let Some(ports) = ports.map_err(|error| error.to_string())? else {
        return Ok(());
    };
    let answer = ports.checks.probe().await;
    answer.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_is_given_up_after_10_seconds() {
        let start = Instant::now();
        let answer = within(LIMIT, std::future::pending()).await;
        assert_eq!(answer, Err("no answer within 10 s".to_owned()));
        assert_eq!(start.elapsed(), Duration::from_secs(10));
        assert_eq!(within(LIMIT, std::future::ready(Ok(()))).await, Ok(()));
    }
}
