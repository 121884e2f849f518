//! Which candidate is planned when.

use super::*;
use crate::follow::lanes::ROUND;

fn refs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, commit)| ((*name).to_owned(), (*commit).to_owned()))
        .collect()
}

fn globs() -> Vec<String> {
    vec!["refs/heads/pr/*".to_owned()]
}

/// The next one, once it is known that somebody pushed it to a branch.
fn next(candidates: &mut Candidates) -> Option<Candidate> {
    let unsorted = candidates.unsorted().into_iter();
    let sorted = unsorted.map(|candidate| Candidate {
        lane: Lane::Own,
        ..candidate
    });
    candidates.sort(&sorted.collect::<Vec<_>>());
    candidates.next()
}

fn done(candidates: &mut Candidates, candidate: &Candidate) -> bool {
    candidates.planned(candidate, Some(&"m1".to_owned()))
}

fn open(candidates: Vec<Candidate>, seen: Option<&str>) -> Vec<OpenRef> {
    let open = |(at, mut candidate): (i64, Candidate)| {
        candidate.seen = seen.map(str::to_owned);
        candidate.lane = Lane::Own;
        let at = Timestamp::from_second(-at).expect("in range");
        let is_checked = seen.is_some();
        OpenRef {
            candidate,
            at,
            is_checked,
        }
    };
    (0..).zip(candidates).map(open).collect()
}

#[test]
fn what_was_there_at_the_start_is_planned_newest_first_after_what_is_new() {
    let mut candidates = Candidates::new(&globs());
    let old = [("refs/heads/pr/1", "1"), ("refs/heads/pr/2", "2")];
    let there = candidates.update(&refs(&old), "base");
    assert_eq!(there.len(), 2);
    assert_eq!(next(&mut candidates), None, "nothing is known of them");
    let more = [old[0], old[1], ("refs/heads/pr/3", "3")];
    assert_eq!(candidates.update(&refs(&more), "base"), []);
    candidates.open(open(there, Some("m1")));
    let mut order = Vec::new();
    while let Some(candidate) = next(&mut candidates) {
        let is_new = done(&mut candidates, &candidate);
        order.push((candidate.commit, candidate.seen.is_some(), is_new));
    }
    let order: Vec<_> = order
        .iter()
        .map(|(commit, seen, is_new)| (commit.as_str(), *seen, *is_new))
        .collect();
    let same = |commit| (commit, true, false);
    assert_eq!(order, [("3", false, true), same("1"), same("2")]);
}

#[test]
fn what_moved_before_it_was_opened_is_planned_once() {
    let mut candidates = Candidates::new(&globs());
    let there = candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
    candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "base");
    candidates.open(open(there, None));
    let first = next(&mut candidates).expect("the new one");
    assert_eq!(first.commit, "2");
    done(&mut candidates, &first);
    assert_eq!(next(&mut candidates), None);
}

#[test]
fn many_open_refs_are_planned_a_few_after_each_look_and_a_push_comes_first() {
    let names: Vec<(String, String)> = (0..50)
        .map(|at| (format!("refs/heads/pr/{at}"), at.to_string()))
        .collect();
    let mut all: BTreeMap<String, String> = names.into_iter().collect();
    let mut candidates = Candidates::new(&globs());
    let there = candidates.update(&all, "base");
    candidates.open(open(there, None));
    let round = |candidates: &mut Candidates| {
        let mut commits = Vec::new();
        while let Some(candidate) = next(candidates) {
            done(candidates, &candidate);
            commits.push(candidate.commit);
        }
        commits
    };
    assert_eq!(round(&mut candidates).len(), ROUND);
    all.insert("refs/heads/pr/new".to_owned(), "new".to_owned());
    candidates.update(&all, "base");
    let second = round(&mut candidates);
    assert_eq!((second.len(), second[0].as_str()), (ROUND, "new"));
    candidates.update(&all, "base");
    assert_eq!(round(&mut candidates).len(), 11);
}

#[test]
fn the_number_of_a_pull_request_is_in_its_ref() {
    for (name, expected) in [
        ("refs/pull/7/head", Some(7)),
        ("refs/merge-requests/12/head", Some(12)),
        ("refs/pull-requests/3/from", Some(3)),
        ("refs/pull/7/merge", Some(7)),
        ("refs/pull/x/head", None),
        ("refs/heads/pr/7", None),
        ("refs/heads/pull/7/head", None),
    ] {
        assert_eq!(number(name), expected, "{name}");
    }
}

#[test]
fn a_branch_and_its_pull_request_are_planned_once_and_have_its_number() {
    let globs = ["refs/heads/pr/*", "refs/pull/*/head"].map(str::to_owned);
    let mut candidates = Candidates::new(&globs);
    candidates.update(&refs(&[]), "base");
    let both = [("refs/heads/pr/a", "1"), ("refs/pull/7/head", "1")];
    candidates.update(&refs(&both), "base");
    let first = next(&mut candidates).expect("one waits");
    assert!(done(&mut candidates, &first));
    let second = next(&mut candidates).expect("the other ref");
    assert_eq!(second.seen.as_deref(), Some("m1"), "its plan is known");
    assert!(!done(&mut candidates, &second));
    assert!(candidates.pull_requests("1").eq([7]));
    assert_eq!(candidates.pull_requests("2").count(), 0);
}

#[test]
fn a_head_has_all_of_its_pull_requests_and_each_once() {
    let globs = ["refs/pull/*/*"].map(str::to_owned);
    let mut candidates = Candidates::new(&globs);
    let names = ["9/merge", "10/head", "10/merge", "11/merge"];
    let names = names.map(|name| format!("refs/pull/{name}"));
    candidates.update(&names.map(|name| (name, "1".to_owned())).into(), "base");
    assert!(candidates.pull_requests("1").eq([11, 10, 9]));
}

#[test]
fn who_has_no_check_yet_says_that_it_waits_and_of_old_refs_the_newest_do() {
    let names: Vec<(String, String)> = (10..99)
        .map(|at| (format!("refs/heads/pr/{at}"), at.to_string()))
        .collect();
    let mut all: BTreeMap<String, String> = names.into_iter().collect();
    let mut candidates = Candidates::new(&globs());
    let there = candidates.update(&all, "base");
    assert_eq!(
        candidates.announced().count(),
        0,
        "nothing is known of them"
    );
    let mut there = open(there, None);
    there[0].is_checked = true;
    candidates.open(there);
    let waiting: Vec<&str> = candidates.announced().map(String::as_str).collect();
    assert_eq!(waiting.len(), MOST_ANNOUNCED);
    assert_eq!((waiting[0], waiting[49]), ("11", "60"));
    // Another ref of a commit that has a plan, and a new commit.
    let first = next(&mut candidates).expect("one waits");
    done(&mut candidates, &first);
    all.insert("refs/heads/pr/same".to_owned(), first.commit.clone());
    all.insert("refs/heads/pr/new".to_owned(), "new".to_owned());
    candidates.update(&all, "base");
    let waiting: Vec<&String> = candidates.announced().collect();
    assert!(!waiting.contains(&&first.commit) && waiting.contains(&&"new".to_owned()));
    assert!(candidates.again(&first.commit));
    assert!(candidates.announced().any(|commit| *commit == first.commit));
}

#[test]
fn news_come_newest_first() {
    let mut candidates = Candidates::new(&globs());
    candidates.update(&refs(&[("refs/heads/pr/old", "1")]), "base");
    candidates.update(
        &refs(&[
            ("refs/heads/pr/old", "1"),
            ("refs/heads/pr/a", "2"),
            ("refs/heads/other", "9"),
        ]),
        "base",
    );
    candidates.update(
        &refs(&[("refs/heads/pr/old", "3"), ("refs/heads/pr/a", "2")]),
        "base",
    );
    let first = next(&mut candidates).expect("one waits");
    assert_eq!(first.commit, "3");
    assert_eq!(next(&mut candidates), None, "one at a time");
    assert!(done(&mut candidates, &first));
    assert_eq!(next(&mut candidates).expect("the other").commit, "2");
}

#[test]
fn a_moved_base_plans_again_and_the_same_files_are_no_news() {
    let mut candidates = Candidates::new(&globs());
    candidates.update(&refs(&[]), "base");
    candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
    let first = next(&mut candidates).expect("one waits");
    done(&mut candidates, &first);
    candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base2");
    let again = next(&mut candidates).expect("again");
    assert_eq!(again.seen.as_deref(), Some("m1"));
    assert!(!done(&mut candidates, &again));
}

#[test]
fn a_candidate_that_was_merged_is_no_candidate_any_more() {
    let mut candidates = Candidates::new(&globs());
    candidates.update(&refs(&[]), "base");
    candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
    let first = next(&mut candidates).expect("one waits");
    done(&mut candidates, &first);
    candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "2");
    assert_eq!(next(&mut candidates), None);
    assert_eq!(candidates.commits().count(), 0);
}

#[test]
fn a_ref_that_moved_on_meanwhile_is_not_told_about_its_old_commit() {
    let mut candidates = Candidates::new(&globs());
    candidates.update(&refs(&[]), "base");
    candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
    let first = next(&mut candidates).expect("one waits");
    candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "base");
    assert!(!done(&mut candidates, &first));
    assert_eq!(next(&mut candidates).expect("the new one").commit, "2");
}
#[test]
fn who_asks_for_a_plan_again_gets_it_although_nothing_changed() {
    let mut candidates = Candidates::new(&globs());
    candidates.update(&refs(&[]), "base");
    candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
    let first = next(&mut candidates).expect("one waits");
    assert!(!candidates.again("2"));
    assert!(done(&mut candidates, &first));
    assert!(candidates.again("1"));
    let again = next(&mut candidates).expect("again");
    assert_eq!(again.seen, None);
    assert!(done(&mut candidates, &again), "it is written again");
}

#[test]
fn who_asks_for_a_plan_while_one_is_made_gets_the_next() {
    let globs = ["refs/heads/pr/*", "refs/pull/*/head"].map(str::to_owned);
    let mut candidates = Candidates::new(&globs);
    candidates.update(&refs(&[]), "base");
    let both = refs(&[("refs/heads/pr/a", "1"), ("refs/pull/7/head", "1")]);
    candidates.update(&both, "base");
    while let Some(candidate) = next(&mut candidates) {
        done(&mut candidates, &candidate);
    }
    candidates.update(&both, "base2");
    let under_way = next(&mut candidates).expect("the base moved");
    assert!(candidates.again("1"));
    assert!(!done(&mut candidates, &under_way));
    let waiting: Vec<&String> = candidates.announced().collect();
    assert_eq!(waiting, ["1", "1"]);
    let again = next(&mut candidates).expect("again");
    assert_eq!(again.seen, None);
    assert!(done(&mut candidates, &again), "it is written again");
    let other = next(&mut candidates).expect("the other ref");
    assert!(!done(&mut candidates, &other), "once");
    assert_eq!(next(&mut candidates), None);
}

#[test]
fn forks_and_branches_do_not_wait_for_each_other() {
    let globs = ["refs/heads/pr/*", "refs/pull/*/head"].map(str::to_owned);
    let mut candidates = Candidates::new(&globs);
    candidates.update(&refs(&[]), "base");
    let both = refs(&[("refs/heads/pr/a", "1"), ("refs/pull/7/head", "2")]);
    candidates.update(&both, "base");
    let own = candidates.next().expect("a branch");
    assert_eq!((own.lane, own.commit.as_str()), (Lane::Own, "1"));
    assert_eq!(candidates.next(), None, "nobody knows who pushed it");
    let unsorted = candidates.unsorted();
    assert_eq!(unsorted.len(), 1);
    candidates.sort(&unsorted);
    let fork = candidates
        .next()
        .expect("the fork's, while the other is planned");
    assert_eq!((fork.lane, fork.commit.as_str()), (Lane::Fork, "2"));
    assert_eq!(candidates.unsorted(), []);
    assert!(done(&mut candidates, &fork) && done(&mut candidates, &own));
}

#[test]
fn a_plan_that_takes_too_long_is_not_made_again_until_its_head_moves_or_somebody_asks() {
    let mut candidates = Candidates::new(&globs());
    candidates.update(&refs(&[]), "base");
    let both = refs(&[("refs/heads/pr/a", "1"), ("refs/heads/pr/b", "2")]);
    candidates.update(&both, "base");
    let slow = candidates.next().expect("one waits");
    assert!(candidates.overdue(&slow, "limited"));
    assert!(!candidates.overdue(&slow, "limited"), "once");
    let other = candidates.next().expect("the other");
    assert_ne!(slow.commit, other.commit);
    done(&mut candidates, &other);
    candidates.update(&both, "base2");
    let again = std::iter::from_fn(|| {
        let next = candidates.next()?;
        done(&mut candidates, &next);
        Some(next)
    });
    let again: Vec<Candidate> = again.filter(|next| next.commit == slow.commit).collect();
    assert_eq!(
        again[0].seen.as_deref(),
        Some("limited"),
        "who plans it sees that"
    );
    assert!(candidates.again(&slow.commit));
    let wanted = candidates.next().expect("somebody asked");
    assert!(wanted.is_wanted && wanted.seen.is_none());
}

/// Its head would keep the check of the first plan, and nobody would plan it again.
#[test]
fn a_plan_that_finds_nothing_new_of_what_another_changed_meanwhile_is_made_again() {
    let mut candidates = Candidates::new(&globs());
    candidates.update(&refs(&[]), "base");
    let one = refs(&[("refs/heads/pr/1", "1")]);
    candidates.update(&one, "base");
    let slow = next(&mut candidates).expect("it waits");
    assert!(candidates.overdue(&slow, "limited"));
    candidates.update(&one, "base2");
    let second = next(&mut candidates).expect("the base moved");
    assert_eq!(second.seen.as_deref(), Some("limited"));
    assert!(candidates.planned(&slow, None), "it could not be planned");
    assert_eq!(candidates.failed(&slow, true), 1);
    let limited = "limited".to_owned();
    assert!(!candidates.planned(&second, Some(&limited)));
    assert_eq!(candidates.failed(&second, false), 0);
    let third = next(&mut candidates).expect("it is planned again");
    assert_eq!(third.seen, None);
}

#[test]
fn a_test_merge_is_planned_for_the_head_that_it_merges() {
    let mut candidates = Candidates::new(&["refs/pull/*/merge".to_owned()]);
    candidates.update(&refs(&[]), "base");
    let merge = refs(&[("refs/pull/7/merge", "merge")]);
    candidates.update(&merge, "base");
    assert_eq!(candidates.announced().count(), 0, "nobody knows its head");
    let unsorted = candidates.unsorted();
    candidates.sort(&unsorted);
    let unresolved = candidates.next().expect("one waits");
    candidates.resolve(&unresolved, "head", Lane::Own);
    assert!(candidates.announced().eq(["head"]));
    let head = candidates.next().expect("its head");
    assert_eq!((head.commit.as_str(), head.id.as_str()), ("head", "merge"));
    assert_eq!(head.lane, Lane::Own);
    assert!(done(&mut candidates, &head));
    assert!(candidates.pull_requests("head").eq([7]));
    assert_eq!(candidates.update(&merge, "base"), []);
    assert_eq!(candidates.next(), None, "it has not moved");
}
