//! The API server, the clocks, and the Deployment.

use super::item::Item;
use super::subject::Subject;
use crate::adapters::kubernetes::classify;
use crate::daemon::wall_time;
use crate::health::{Live, health};
use crate::model::HealthState;

/// The first minor version of Kubernetes 1 that asks webhooks under conditions, and says who asks it.
const OLDEST: u32 = 28;
/// The difference of clocks, in seconds, from which it is reported.
const NOTABLE: u64 = 10;
/// The one from which tokens and certificates are not valid yet, or no longer.
const MOST: u64 = 300;

/// Checks the version and the clock of the API server.
///
/// # Errors
/// If it does not answer: nothing else can be checked.
pub(super) async fn check(subject: &Subject<'_>) -> anyhow::Result<Vec<Item>> {
    let version = subject.client.apiserver_version().await;
    let version = version.map_err(|error| anyhow::anyhow!("{}", classify(&error).1))?;
    let digits = version
        .minor
        .trim_end_matches(|c: char| !c.is_ascii_digit());
    let minor: u32 = digits.parse().unwrap_or(OLDEST);
    let server = if minor < OLDEST && version.major == "1" {
        Item::wrong(
            "api-server",
            format!("Kubernetes {} is too old", version.git_version),
            format!("upgrade it to Kubernetes 1.{OLDEST} or later"),
        )
    } else {
        Item::fine("api-server", format!("Kubernetes {}", version.git_version))
    };
    let program = concat!("capstan ", env!("CARGO_PKG_VERSION"));
    Ok(vec![
        Item::fine("capstan", program),
        server,
        clock(subject).await,
    ])
}

async fn clock(subject: &Subject<'_>) -> Item {
    let theirs = match subject.probe.time().await {
        Ok(Some(theirs)) => theirs,
        Ok(None) => return Item::unknown("clock", &"the API server does not say its time"),
        Err(error) => return Item::unknown("clock", &error),
    };
    let apart = theirs.duration_since(wall_time()).as_secs().unsigned_abs();
    let message = format!("the clocks of this machine and the API server are {apart} s apart");
    let help = "set both by NTP: Leases, tokens and certificates need the same time";
    match apart {
        apart if apart > MOST => Item::wrong("clock", message, help),
        apart if apart > NOTABLE => Item::doubtful("clock", message, help),
        _ => Item::fine("clock", message),
    }
}

/// Checks the Deployments of the component.
pub(super) async fn deployments(subject: &Subject<'_>) -> Vec<Item> {
    const ID: &str = "deployment";
    let mut items = Vec::new();
    let objects = subject.set.objects.iter();
    for object in objects.filter(|object| object["kind"] == "Deployment") {
        let id = Live(object).id();
        let item = match subject.probe.read(object).await {
            Ok(None) => Item::wrong(
                ID,
                format!("{id} does not exist"),
                "install it with `capstan install --apply`",
            ),
            Ok(Some(live)) => {
                let health = health(&live);
                let image = &live["spec"]["template"]["spec"]["containers"][0]["image"];
                let image = image.as_str().unwrap_or("no image");
                match health.state {
                    HealthState::Ready => Item::fine(ID, format!("{id} is available with {image}")),
                    _ => Item::wrong(
                        ID,
                        format!("{id} is not available: {}", health.message),
                        format!(
                            "`kubectl describe deployment {} --namespace {}` shows why",
                            id.name, id.namespace
                        ),
                    ),
                }
            }
            Err(error) => Item::unknown(ID, &error),
        };
        items.push(item);
    }
    items
}
