//! `capstan demo`: a tour on the embedded cluster.
//!
//! A temporary bare repository is made of the example fleet, the daemon follows it, a change is
//! pushed to it and then a bad branch, and the checks are shown. Everything is as in real use but
//! the cluster and Azure.

mod story;

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio::time::error::Elapsed;
use tokio_util::sync::CancellationToken;

use super::cluster::Cluster;
use super::exit::Exit;
use super::live::Live;
use super::private_link::SimulatedPrivateLinks;
use super::run::{LEAVE, picture};
use super::signals::asked_to_stop;
use super::ui::Ui;
use crate::adapters::git::Author;
use crate::daemon::{self, View, wall_time};
use crate::model::{Check, CheckState};
use crate::settings::{Environment, SyncConfig};

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// How many times faster than real time the simulated cluster runs
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) speed: u32,
}

/// The longest time of one part of the tour, outside.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time between two pictures.
const FRAME: Duration = Duration::from_millis(150);

/// Exit 0 when every check has the expected state.
pub(super) fn run(args: &DemoArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let dir = tempfile::Builder::new().prefix("capstan-demo-").tempdir()?;
    let exit = runtime.block_on(tour(dir.path(), args.speed, ui, environment));
    // Only when nothing writes to it anymore is the directory removed.
    runtime.shutdown_timeout(LEAVE);
    dir.close().context("cannot remove the demo's directory")?;
    exit
}

async fn tour(dir: &Path, speed: u32, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let files = story::write_overlays(dir)?;
    let author = Author::init(&dir.join("fleet.git"))?;
    ui.heading("A git repository of short cluster definitions")?;
    story::introduce(ui, &files)?;
    let first = author.push("main", None, &files, "The fleet", wall_time())?;

    let config = sync_config(dir, &author, environment);
    let cluster =
        Cluster::simulated(speed, config.settle, &SimulatedPrivateLinks::default()).await?;
    let stop = CancellationToken::new();
    let (sender, view) = watch::channel(View::default());
    let _supplying = cluster.supply_revisions(view.clone());
    let target = cluster.target().clone();
    let daemon = tokio::spawn(daemon::run(config, target, sender, stop.clone()));
    let mut scene = Tour {
        ui,
        view,
        speed,
        sync: "capstan/demo/sync",
        plan: "capstan/demo/plan",
        live: Live::default(),
    };
    let played = tokio::select! {
        biased;
        signal = asked_to_stop() => Err(signal),
        played = scene.play(&author, &files, &first) => Ok(played),
    };
    ui.leave();
    stop.cancel();
    daemon.await??;
    match played {
        Ok(played) => played?,
        Err(signal) => return Ok(Exit::Signal(signal)),
    }
    ui.heading("Done")?;
    ui.tell("  Try it on your own fleet: capstan validate DIR, capstan rehearse DIR, capstan run --source REPO --embedded")?;
    Ok(Exit::Fine)
}

fn sync_config(dir: &Path, author: &Author, environment: &Environment) -> SyncConfig {
    let source = SyncConfig::source(&author.dir().display().to_string(), None, environment);
    SyncConfig {
        fleet: "demo".to_owned(),
        local_overlays: vec![dir.join(story::SHIPPED)],
        interval: Duration::from_millis(250),
        mirror: dir.join("mirror"),
        ..source
    }
}

/// The view that the demo shows, and its sources.
struct Tour<'a> {
    ui: &'a Ui,
    view: watch::Receiver<View>,
    speed: u32,
    sync: &'static str,
    plan: &'static str,
    /// The lines that were shown: those that have not changed since are not shown again.
    live: Live,
}

impl Tour<'_> {
    async fn play(
        &mut self,
        author: &Author,
        files: &story::Files,
        first: &str,
    ) -> anyhow::Result<()> {
        self.ui.heading(&format!(
            "The daemon follows main; simulated Azure runs {} times faster than real time",
            self.speed
        ))?;
        let check = self.sync(author, first).await?;
        self.show(&check, CheckState::Success)?;

        self.ui.heading("A push adds a node pool to dev-uks-1")?;
        let grown = story::with_node_pool(files);
        let second = author.push(
            "main",
            Some(first),
            &grown,
            "dev-uks-1: a second node pool",
            wall_time(),
        )?;
        let check = self.sync(author, &second).await?;
        self.show(&check, CheckState::Success)?;

        self.ui
            .heading("A pull request with mistakes: branch pr/typo")?;
        let bad = author.push(
            "pr/typo",
            Some(&second),
            &story::with_mistakes(&grown),
            "A new cluster",
            wall_time(),
        )?;
        let plan = self.plan;
        let check = self
            .wait(|view| {
                let check = view.check(plan, &bad).cloned();
                check.filter(|_| story::is_published(author, &bad))
            })
            .await?;
        self.show(&check, CheckState::Failure)?;

        self.ui
            .heading("The checks in the repository (git notes --ref=capstan)")?;
        for revision in [first, second.as_str(), bad.as_str()] {
            self.ui
                .tell(&format!("  {}", story::note_line(author, revision)?))?;
        }
        Ok(())
    }

    /// Shows progress until the sync check of `revision` is decided and published.
    async fn sync(&mut self, author: &Author, revision: &str) -> anyhow::Result<Check> {
        let context = self.sync;
        self.wait(|view| {
            view.check(context, revision)
                .filter(|check| check.state != CheckState::Pending)
                .filter(|_| story::is_published(author, revision))
                .cloned()
        })
        .await
    }

    async fn wait(&mut self, done: impl Fn(&View) -> Option<Check>) -> anyhow::Result<Check> {
        let (ui, speed, live) = (self.ui, self.speed, &mut self.live);
        let draw = |view: &View, age: Duration| {
            live.draw_later(ui, &picture(view), age * speed);
        };
        let (check, view) = until(&mut self.view, done, draw)
            .await
            .context("the demo took too long; please report this")?;
        self.live.finish(ui, &view.title, &view.clusters);
        Ok(check)
    }

    fn show(&self, check: &Check, expected: CheckState) -> anyhow::Result<()> {
        self.ui.tell(&format!(
            "\n  check {}: {:?}, {}",
            check.context, check.state, check.title
        ))?;
        for annotation in &check.annotations {
            self.ui.tell(&format!(
                "    {}:{}: {}",
                annotation.path, annotation.line, annotation.message
            ))?;
        }
        anyhow::ensure!(
            check.state == expected,
            "the demo expected {expected:?}: {}",
            check.summary
        );
        Ok(())
    }
}

/// Draws the view and how old it is every [`FRAME`] until `done` finds something in it, for no longer than
/// [`PATIENCE`].
async fn until<T>(
    view: &mut watch::Receiver<View>,
    done: impl Fn(&View) -> Option<T>,
    mut draw: impl FnMut(&View, Duration),
) -> Result<(T, View), Elapsed> {
    let watching = async {
        let (mut last, mut since) = (View::default(), Instant::now());
        loop {
            let view = view.borrow_and_update().clone();
            if let Some(found) = done(&view) {
                return (found, view);
            }
            if view.clusters != last.clusters {
                since = Instant::now();
            }
            draw(&view, since.elapsed());
            last = view;
            tokio::time::sleep(FRAME).await;
        }
    };
    tokio::time::timeout(PATIENCE, watching).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_view_is_drawn_every_frame_for_two_minutes() {
        let (sender, mut view) = watch::channel(View::default());
        let (start, mut drawn) = (Instant::now(), Vec::new());
        let draw = |_: &View, _: Duration| drawn.push(start.elapsed().as_millis());
        assert!(until(&mut view, |_| None::<()>, draw).await.is_err());
        assert_eq!(start.elapsed(), PATIENCE);
        assert_eq!((drawn.len(), &drawn[..3]), (801, &[0, 150, 300][..]));

        let start = Instant::now();
        let later = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            sender.send_modify(|view| view.title = "done".to_owned());
        };
        let done = |view: &View| (view.title == "done").then_some(());
        let (found, ()) = tokio::join!(until(&mut view, done, |_, _| {}), later);
        assert!(found.is_ok());
        assert_eq!(start.elapsed(), Duration::from_millis(300));
    }
}
