//! What strangers can push costs only themselves: the followed branch goes on, and each head has a check that says why.
//!
//! The daemon is the shipped program, on a repository by path or behind HTTPS, and on a simulated cluster that shows
//! whether a push arrived. The smaller attacks run always, the larger ones in `.ci/deep`.

mod figure;
mod heads;
mod world;

use capstan::model::CheckState;

use self::heads::Stranger;
use self::world::{Over, World};

/// Pushes before, beside and after an attack arrive; then each head that it names has a check with one of these words.
fn costs_only_itself(
    over: Over,
    attack: impl FnOnce(&mut Stranger) -> Vec<String>,
    words: &[&str],
) {
    let Some(world) = World::new(over) else {
        return;
    };
    world.push("before");
    let daemon = world.start();
    world.applied("before");
    let heads = attack(&mut world.stranger());
    world.push("beside");
    world.applied("beside");
    for head in &heads {
        let check = world.planned(head);
        let is_said = words.iter().any(|word| check.title.contains(word));
        assert!(is_said, "{head}: {check:#?}\n{}", daemon.said());
    }
    world.push("after");
    world.applied("after");
    let said = daemon.said();
    assert!(
        !said.contains("panicked") && !said.contains("damaged"),
        "{said}"
    );
}

const FINE: &str = "no errors; from a fork";
const UNREAD: &str = "the commit cannot be read";
/// A limit on the process, or a smaller one on what a fleet may have.
const LIMITED: [&str; 3] = ["not planned: it takes", "error", UNREAD];

#[test]
fn an_odd_commit_is_read_as_far_as_it_makes_sense() {
    for over in [Over::Path, Over::Https] {
        costs_only_itself(over, Stranger::odd_commits, &[FINE]);
    }
}

/// A server of git would not take such commits, and nothing else once it has them.
#[test]
fn a_commit_that_cannot_be_read_is_an_error_of_its_own() {
    costs_only_itself(Over::Path, Stranger::unreadable_commits, &[UNREAD]);
}

fn long_names(stranger: &mut Stranger) -> Vec<String> {
    stranger.long_names();
    stranger.odd_commits()
}

#[test]
fn a_name_that_cannot_be_stored_is_left_out_over_https() {
    costs_only_itself(Over::Https, long_names, &[FINE]);
}

#[test]
fn a_name_that_cannot_be_stored_is_left_out_by_path() {
    costs_only_itself(Over::Path, long_names, &[FINE]);
}

#[test]
fn a_broken_tag_is_left_out() {
    for over in [Over::Path, Over::Https] {
        let attack = |stranger: &mut Stranger| {
            stranger.broken_tags();
            stranger.odd_commits()
        };
        costs_only_itself(over, attack, &[FINE]);
    }
}

/// Nothing can be written to them, so checks are in no note; what is pushed arrives.
#[test]
fn notes_that_are_no_commit_do_not_stop_the_fleet() {
    for over in [Over::Path, Over::Https] {
        let attack = |stranger: &mut Stranger| {
            stranger.notes_that_are_none();
            Vec::new()
        };
        costs_only_itself(over, attack, &[]);
    }
}

#[test]
fn a_head_that_becomes_large_meets_a_limit() {
    let attack = |stranger: &mut Stranger| vec![stranger.many_names(3000), stranger.inflating(60)];
    costs_only_itself(Over::Https, attack, &LIMITED);
}

#[test]
fn a_head_that_takes_long_meets_a_limit() {
    let attack = |stranger: &mut Stranger| vec![stranger.expensive_patterns(300)];
    costs_only_itself(Over::Path, attack, &LIMITED);
}

/// The attacks in the size in which they were found, at once.
#[test]
#[ignore = "takes minutes"]
fn the_large_attacks_cost_only_themselves() {
    for over in [Over::Path, Over::Https] {
        let attack = |stranger: &mut Stranger| {
            vec![
                stranger.many_names(18_000),
                stranger.inflating(450),
                stranger.expensive_patterns(2000),
            ]
        };
        costs_only_itself(over, attack, &LIMITED);
    }
}

/// An earlier daemon was killed while it planned this head: the next one does not plan it again, until it moves.
#[test]
fn a_head_that_was_being_planned_when_the_daemon_ended_is_not_planned_again() {
    let Some(world) = World::new(Over::Path) else {
        return;
    };
    world.push("before");
    let daemon = world.start();
    world.applied("before");
    drop(daemon);
    let heads = world.stranger().odd_commits();
    world.was_planning("refs/pull/1/head", &heads[0]);
    let daemon = world.start();
    let check = world.planned(&heads[0]);
    assert_eq!(check.state, CheckState::Error);
    let title = "not planned: the daemon ended while it was planned";
    assert_eq!(check.title, title, "{}", daemon.said());
    assert!(world.planned(&heads[1]).title.contains(FINE));
    world.push("after");
    world.applied("after");
    assert_eq!(
        world.planned(&heads[0]).title,
        title,
        "main moved, and not the head"
    );
}
