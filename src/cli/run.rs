//! `capstan run`: the daemon.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::args::RunArgs;
use super::embedded::{Embedded, supply};
use super::live::Live;
use super::ui::Ui;
use crate::adapters::sim::clock::SimClock;
use crate::daemon::{self, Engine, View, wall_time};
use crate::settings::{Environment, Following};

/// Runs until SIGTERM or SIGINT.
pub(super) fn run(args: &RunArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let following = following(args, environment)?;
    anyhow::ensure!(
        args.embedded,
        "driving a real cluster comes with a later version; use --embedded for a simulated one"
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = runtime.block_on(follow(following, args.speed, ui));
    // A repository that does not answer must not hold the end up.
    runtime.shutdown_timeout(Duration::from_secs(2));
    exit
}

fn following(args: &RunArgs, environment: &Environment) -> anyhow::Result<Following> {
    let mut following = match &args.config {
        Some(file) => Following::file(file, environment)?,
        None => {
            let url = args.source.as_deref().unwrap_or_default();
            let source = Following::source(url, args.branch.clone(), environment);
            Following {
                path: args.path.clone(),
                interval: args.interval,
                candidates: args.candidates.clone(),
                ..source
            }
        }
    };
    for dir in &args.overlays {
        anyhow::ensure!(
            dir.is_dir(),
            "--overlays {}: there is no such directory",
            dir.display()
        );
    }
    following.local_overlays.clone_from(&args.overlays);
    Ok(following)
}

async fn follow(following: Following, speed: u32, ui: &Ui) -> anyhow::Result<Exit> {
    let embedded = Embedded::start(SimClock::new(wall_time(), speed), following.settle).await?;
    let stop = CancellationToken::new();
    tokio::spawn(signalled(stop.clone()));
    let (sender, view) = watch::channel(View::default());
    ui.say(&format!(
        "fleet {}: following {}; time in the simulated cluster passes {speed} times faster",
        following.fleet, following.url
    ));
    let shown = show(view, ui);
    let daemon = daemon::run(following, engine(&embedded), sender, stop);
    // The view ends with the daemon.
    let (ended, ()) = tokio::join!(daemon, shown);
    ended?;
    ui.say("stopped");
    Ok(Exit::Fine)
}

/// The embedded engine as the daemon drives it.
pub(super) fn engine(embedded: &Embedded) -> Engine {
    let target = embedded.target.clone();
    let client = target.client.clone();
    let prepare: daemon::Prepare = Arc::new(move |graph| {
        let client = client.clone();
        async move {
            match supply(&client, &graph).await {
                Ok(supplied) => supplied
                    .iter()
                    .for_each(|id| tracing::info!(object = %id, "supplied; not in the fleet")),
                Err(error) => tracing::error!(%error, "the simulated cluster lacks something"),
            }
        }
        .boxed()
    });
    Engine { target, prepare }
}

/// Ends when the process is asked to stop.
async fn signalled(stop: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
}

/// Shows the view until its sender is gone.
async fn show(mut view: watch::Receiver<View>, ui: &Ui) {
    let mut live = Live::default();
    let mut told = BTreeMap::new();
    let mut error = None;
    while view.changed().await.is_ok() {
        let view = view.borrow_and_update().clone();
        told.retain(|key, _| view.checks.contains_key(key));
        for (key, check) in &view.checks {
            if told.insert(key.clone(), check.state) != Some(check.state) {
                live.finish(ui, &view.title, &view.clusters);
                let revision = &check.revision[..check.revision.len().min(10)];
                ui.say(&format!(
                    "{} on {revision}: {:?}, {}",
                    check.context, check.state, check.title
                ));
            }
        }
        if error != view.source_error {
            live.finish(ui, &view.title, &view.clusters);
            view.source_error.iter().for_each(|error| ui.error(error));
            error.clone_from(&view.source_error);
        }
        live.draw(ui, &view.title, &view.clusters);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
