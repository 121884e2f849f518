//! Random courses: changes, deliveries and writes that fail, lost connections, and processes that are killed at any time.
//!
//! At any time: an instance has one message under way, no more are under way than may be, none goes before the record covers
//! it, what arrives follows what happened, and nothing arrives twice in a row unless nobody could know that it had. At rest: what
//! arrived last is the newest state of every instance, and the record says so.

mod hub;
mod world;

use proptest::prelude::*;

use self::world::{Kind, World};
use super::*;

fn step(world: &mut World, what: u8, which: u8) {
    match what % 24 {
        0..4 => world.change(which),
        4 => world.create(which),
        5 => world.delete(which),
        6 => world.reword(which),
        7..11 => world.end_delivery(which, Kind::Arrives),
        11 => world.end_delivery(which, Kind::IsRefused),
        12 => world.end_delivery(which, Kind::IsLost),
        13 => world.end_delivery(which, Kind::ArrivesUnconfirmed),
        14 | 15 => world.end_write(true, true),
        16 => world.end_write(which < 128, false),
        17..20 => world.pass(u64::from(which) * 10),
        20 => world.pass(u64::from(which) * 1_000),
        21 => world.toggle_connection(),
        22 => world.toggle_watch(),
        _ if which < 64 => world.stop(which),
        _ if which < 160 => world.kill(which),
        _ => world.list(),
    }
}

fn check(steps: &[(u8, u8)]) -> Result<(), TestCaseError> {
    let mut world = World::new();
    for (what, which) in steps {
        step(&mut world, *what, *which);
    }
    world.come_to_rest();
    prop_assert_eq!(&world.faults, &Vec::<String>::new());
    for (instance, told) in &world.arrived {
        let newest = world.hub.newest(instance).unwrap_or(Deleted);
        prop_assert_eq!(
            told.last().map(|one| one.state),
            Some(newest),
            "{}",
            instance
        );
    }
    for instance in world.hub.existing() {
        prop_assert!(
            world.arrived.contains_key(instance),
            "{} was not told",
            instance
        );
        let kept = world.kept.get(instance).copied();
        prop_assert_eq!(kept, Some(world.hub.newest(instance)), "{}", instance);
    }
    prop_assert_eq!(world.kept.len(), world.hub.existing().len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_newest_state_of_every_instance_arrives_last(
        steps in prop::collection::vec((any::<u8>(), any::<u8>()), 0..160),
    ) {
        check(&steps)?;
    }
}

/// The courses reach what they are about.
#[test]
fn random_courses_are_not_empty() {
    let mut seen = [0; 4];
    for seed in 0..200_u64 {
        let mut world = World::new();
        let mut state = seed;
        for _ in 0..160 {
            // The multiplier and the increment of Knuth's generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bytes = state.to_be_bytes();
            step(&mut world, bytes[0], bytes[1]);
        }
        world.come_to_rest();
        let told = || world.arrived.values().flatten();
        let uncertain = told().filter(|one| one.is_uncertain).count();
        let deleted = told().filter(|one| one.state == Deleted).count();
        for (sum, count) in seen
            .iter_mut()
            .zip([told().count(), uncertain, deleted, world.kills])
        {
            *sum += count;
        }
    }
    let [told, uncertain, deleted, kills] = seen;
    assert!(
        told > 1_000 && uncertain > 200 && deleted > 200 && kills > 200,
        "{seen:?}"
    );
}
