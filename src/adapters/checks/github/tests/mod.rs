//! GitHub, against a strict fake of it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod app;
mod check_runs;
mod pulls;
mod statuses;

use std::sync::Arc;
use std::time::Duration;

use super::{App, CheckRuns, Statuses, dialect};
use crate::adapters::checks::fake::github::{APP, GitHub, KEY, OTHER};
use crate::adapters::checks::forge::tests::{Fake, HEAD, Mishap, Ticking, check, client};
use crate::adapters::checks::forge::{Forge, ForgeSink, Repository, Scheme};
use crate::model::{Check, CheckDetail, CheckSink as _, CheckState, ForgeKind};

const PLAN: &str = "capstan/prod/plan";

fn github() -> Arc<Fake<GitHub>> {
    Fake::new(GitHub::cloud(Ticking::EPOCH))
}

fn repository() -> Repository {
    Repository::of(ForgeKind::GitHub, "git@github.com:o/r.git").unwrap()
}

/// An empty record, so that nothing is looked up.
fn record(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let path = dir.path().join("sent.json");
    std::fs::write(&path, r#"{"v":1,"place":"github.com/o/r","sent":[]}"#).unwrap();
    path
}

async fn publish<F: Forge>(sink: &ForgeSink<F>, checks: &[Check]) {
    sink.publish(checks, jiff::Timestamp::UNIX_EPOCH)
        .await
        .unwrap();
}

fn every_outcome() -> impl Iterator<Item = (CheckState, Option<CheckDetail>)> {
    use CheckDetail::{Approval, Queued, Superseded, Warnings};
    use CheckState::{Error, Failure, Pending, Success};
    [
        (Pending, Some(Queued)),
        (Pending, None),
        (Success, None),
        (Success, Some(Warnings)),
        (Success, Some(Superseded)),
        (Failure, None),
        (Failure, Some(Approval)),
        (Error, None),
        (Error, Some(Superseded)),
    ]
    .into_iter()
}
