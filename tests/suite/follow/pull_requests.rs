//! Plan checks of pull requests: open ones, those of forks, many at once.

use super::*;

/// The checks of a plan, by commit.
fn plan_of(world: &World, commit: &str) -> Option<Check> {
    let mut checks = world.noted(commit).into_iter();
    checks.find(|check| check.context == "capstan/test/plan")
}

pub(super) async fn planned(world: &World, commit: &str, done: impl Fn(&Check) -> bool) -> Check {
    let start = std::time::Instant::now();
    loop {
        let check = plan_of(world, commit);
        if let Some(check) = check.clone().filter(&done) {
            return check;
        }
        assert!(start.elapsed() < PATIENCE, "{commit}: {check:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_open_at_the_start_is_planned_and_planned_again_when_it_conflicts_by_now() {
    let world = World::new();
    let first = world.push("main", None, &[("a.yaml", &config_map("a"))]);
    let pull = world.push("pr/1", Some(&first), &[("a.yaml", &config_map("b"))]);
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let success = |check: &Check| check.state == CheckState::Success;
    let check = planned(&world, &pull, success).await;
    assert!(check.input.is_some(), "{check:#?}");
    drop(daemon);
    drop(mirror(&world).await);
    // While nobody looks, main changes the same line.
    let second = world.push("main", Some(&first), &[("a.yaml", &config_map("c"))]);
    let mut daemon = world.start("test");
    daemon.succeeds(&second).await;
    let check = planned(&world, &pull, |check| check.state == CheckState::Failure).await;
    assert_eq!(check.title, "merge conflict in 1 file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_comments_only_is_named_with_the_objects_that_leave() {
    let world = World::new();
    let (a, b) = (config_map("a"), config_map("b"));
    let first = world.push("main", None, &[("a.yaml", &a), ("b.yaml", &b)]);
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let commented = [("a.yaml", &*a), ("b.yaml", "# later\n")];
    let pull = world.push("pr/1", Some(&first), &commented);
    let line = "- `b.yaml` contains no document: ConfigMap/default/b\n";
    let says = |check: &Check| {
        let title = check
            .title
            .ends_with("; 1 file no longer defines its objects");
        title && check.summary.contains(line)
    };
    planned(&world, &pull, says).await;
    let second = world.push("main", Some(&first), &commented);
    let done = |check: &Check| check.state == CheckState::Success && says(check);
    let check = daemon.until(&second, done).await;
    assert!(check.summary.contains("1 warning:"), "{check:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_branch_is_said_once_in_the_plans_of_its_candidates() {
    let world = World::new();
    let a = config_map("a");
    let first = world.push("main", None, &[("a.yaml", &a)]);
    let sound = world.push(
        "pr/1",
        Some(&first),
        &[("a.yaml", &a), ("b.yaml", &config_map("b"))],
    );
    let wrong = world.push(
        "pr/2",
        Some(&first),
        &[("a.yaml", &a), ("w.yaml", "a: 1\n")],
    );
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let success = |check: &Check| check.state == CheckState::Success;
    planned(&world, &sound, success).await;
    let broken = world.push(
        "main",
        Some(&first),
        &[("a.yaml", &a), ("x.yaml", "kind: [")],
    );
    let none = |check: &Check| check.state == CheckState::Error;
    let check = planned(&world, &sound, none).await;
    let title = "the default branch has 1 error; none is from this commit";
    assert_eq!(check.title, title);
    let begin = format!("At {broken}, the default branch has 1 error");
    assert!(check.summary.starts_with(&begin), "{check:#?}");
    let folded = "<details><summary>1 error not from this commit</summary>";
    assert!(check.summary.contains(folded), "{check:#?}");
    let both = |check: &Check| check.title.contains("the default branch has errors, too");
    let check = planned(&world, &wrong, both).await;
    assert_eq!(check.state, CheckState::Failure);
    assert!(check.summary.contains("w.yaml"), "{check:#?}");
    let mended = world.push(
        "main",
        Some(&broken),
        &[("a.yaml", &a), ("x.yaml", &config_map("x"))],
    );
    daemon.succeeds(&mended).await;
    planned(&world, &sound, success).await;
}

/// A pull request whose head no branch leads to, as a fork's.
fn pull(world: &World, number: u64, onto: &str, files: &[(&str, &str)]) -> String {
    pull_saying(world, "change it", number, onto, files)
}

/// The same, whose commit has this message.
pub(super) fn pull_saying(
    world: &World,
    message: &str,
    number: u64,
    onto: &str,
    files: &[(&str, &str)],
) -> String {
    let commit = world.push_saying(message, "elsewhere", Some(onto), files);
    let repository = git2::Repository::open(world.author.dir()).expect("a repository");
    let find = |name: &str| repository.find_reference(name).expect("a ref");
    find("refs/heads/elsewhere").delete().expect("deleted");
    let id = git2::Oid::from_str(&commit).expect("an id");
    let name = format!("refs/pull/{number}/head");
    repository
        .reference(&name, id, true, "it")
        .expect("written");
    commit
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_s_head_is_judged_by_its_files_alone() {
    let world = World::new();
    let a = config_map("a");
    let first = world.push("main", None, &[("a.yaml", &a)]);
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let files = [("a.yaml", &*a), ("b.yaml", &*config_map("b"))];
    let fork = pull(&world, 7, &first, &files);
    let success = |check: &Check| check.state == CheckState::Success;
    let check = planned(&world, &fork, success).await;
    assert_eq!(check.pull_request, Some(7));
    assert_eq!(
        check.title,
        "no errors; from a fork, so only its files were checked"
    );
    assert!(!check.summary.contains(&first), "{check:#?}");
    assert!(!check.summary.contains("ConfigMap"), "{check:#?}");
    let wrong = pull(&world, 8, &first, &[("a.yaml", &*a), ("w.yaml", "a: 1\n")]);
    let failure = |check: &Check| check.state == CheckState::Failure;
    let check = planned(&world, &wrong, failure).await;
    assert_eq!(check.annotations.len(), 1, "{check:#?}");
    // Who may push to the repository gets a plan.
    let files = [("a.yaml", &*a), ("c.yaml", &*config_map("c"))];
    let branch = world.push("feature", Some(&first), &files);
    let repository = git2::Repository::open(world.author.dir()).expect("a repository");
    let id = git2::Oid::from_str(&branch).expect("an id");
    repository
        .reference("refs/pull/9/head", id, true, "it")
        .expect("written");
    let check = planned(&world, &branch, success).await;
    assert_eq!(
        (check.pull_request, check.title.as_str()),
        (Some(9), "1 object new")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_pushes_ends_with_the_newest_and_leaves_nothing_pending() {
    let world = World::new();
    let first = world.push("main", None, &[("a.yaml", &config_map("a"))]);
    let second = Duration::from_secs(1);
    let mut daemon = world.start_looking(second, "test", "");
    daemon.succeeds(&first).await;
    let (mut main, mut pull) = (vec![first.clone()], vec![first]);
    let start = std::time::Instant::now();
    for at in 0..100 {
        let text = config_map(&format!("m{at}"));
        main.push(world.push(
            "main",
            main.last().map(String::as_str),
            &[("a.yaml", &text)],
        ));
        let text = config_map(&format!("p{at}"));
        let files = [("a.yaml", &*config_map("a")), ("p.yaml", &*text)];
        pull.push(world.push("pr/1", pull.last().map(String::as_str), &files));
    }
    // The daemon looks at the repository once a second.
    let looks = usize::try_from(start.elapsed().as_secs()).expect("few") + 2;
    let newest = main.last().expect("pushed");
    daemon.succeeds(newest).await;
    // It does not merge: main changed the file that it has.
    let head = pull.last().expect("pushed");
    planned(&world, head, |check| check.state != CheckState::Pending).await;
    let start = std::time::Instant::now();
    let pending = || {
        let all = main
            .iter()
            .chain(&pull)
            .flat_map(|commit| world.noted(commit));
        all.filter(|check| check.state == CheckState::Pending)
            .collect::<Vec<_>>()
    };
    while !pending().is_empty() {
        assert!(start.elapsed() < PATIENCE, "{:#?}", pending());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told = |commits: &[String]| {
        commits
            .iter()
            .filter(|commit| !world.noted(commit).is_empty())
            .count()
    };
    // Both begin with the commit before the burst.
    let (applied, planned) = (told(&main) - 1, told(&pull) - 1);
    assert!(
        applied <= looks && planned <= looks,
        "{applied} and {planned} of 100 were run in {looks} looks"
    );
    assert_eq!(world.config_maps(), ["m99"]);
}
