//! A cluster that cannot be used: the newest commit says so.

use super::forge::Forge;
use super::*;
use crate::daemon::jobs::report_absence;

#[tokio::test(start_paused = true)]
async fn a_commit_that_waits_for_the_cluster_is_looked_for_at_each_interval() {
    let forge = Arc::new(Forge::default());
    let case = Case::with(Setting {
        forge: Some(forge.ports()),
        ..Setting::default().slow()
    });
    let Case { daemon, commit, .. } = &case;
    let (source, ports) = (&daemon.source, &daemon.ports);
    let from = (&*source.config, &source.revisions.origin);
    let reporting = report_absence(
        from,
        (&*ports.checks, &*daemon.written),
        Timestamp::UNIX_EPOCH,
        "no route",
    );
    let titles = || {
        let written = forge.written.lock().unwrap();
        let written = written.iter();
        let shown = written.map(|check| (check.revision.clone(), check.title.clone()));
        shown.collect::<Vec<_>>()
    };
    let expected = |commit: &str| {
        let title = "waiting for the cluster since 1970-01-01T00:00:00Z: no route";
        (commit.to_owned(), title.to_owned())
    };
    let start = Instant::now();
    let pushes = async {
        while titles().is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(titles(), [expected(commit)]);
        let author = Author::init(std::path::Path::new(&source.config.url)).unwrap();
        let files: Files = [("a.yaml".to_owned(), "# more".to_owned())].into();
        let newer = author.push(
            "main",
            Some(commit.as_str()),
            &files,
            "more",
            Timestamp::UNIX_EPOCH,
        );
        while titles().len() < 2 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(titles(), [expected(commit), expected(&newer.unwrap())]);
    };
    tokio::select! {
        biased;
        () = reporting => unreachable!("it never ends"),
        () = pushes => {}
    }
    let seconds = start.elapsed().as_secs();
    assert!((60..65).contains(&seconds), "{seconds}");
}
