//! Every timer of the program is listed in `timers.txt` with the test of when it fires. A timer
//! without one, and a line there whose timer or test is gone, are faults.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::modules;

/// A line for each: which file, which function or constant, and where which test is. A function with
/// two timers is listed twice.
const TIMERS: &str = include_str!("timers.txt");

/// What waits, or lets others wait.
const CALLS: &[&str] = &[
    "sleep(",
    "sleep_until(",
    "thread::sleep)",
    "timeout(",
    "shutdown_timeout(",
    "timeout_at(",
    "interval(",
    ".backoff(",
    "turn.wake(",
];

/// What else tells the time; [`CLOCK`] alone may ask.
const TIMES: &[&str] = &[
    "SystemTime",
    "std::time::Instant",
    "Duration, Instant}",
    "Timestamp::now(",
    "Zoned::now(",
    "Signature::now(",
];
const CLOCK: &str = "daemon/connect/clock.rs";

/// The production code of every file, modules that are for tests alone left out.
fn files() -> BTreeMap<String, String> {
    let files: BTreeMap<String, String> = modules().into_values().flatten().collect();
    let mut production = files.clone();
    for file in files.keys() {
        let dir = file.strip_suffix("mod.rs").unwrap_or_default();
        let whole = fs::read_to_string(Path::new("src").join(file)).expect("it is readable");
        let whole = whole.replace("pub(crate) mod ", "mod ");
        for test in whole.split("#[cfg(test)]\nmod ").skip(1) {
            if let Some((name, "")) = test.lines().next().and_then(|line| line.split_once(';')) {
                production.remove(&format!("{dir}{name}.rs"));
            }
        }
    }
    production
}

/// How often `line` has `call`, and not as the end of a longer name: `with_timeout(` is ours, and is listed
/// where it waits.
fn waits(line: &str, call: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let found = line.match_indices(call);
    found
        .filter(|(at, _)| {
            call.starts_with('.') || !super::beside(line, (*at, call)).0.ends_with(is_part)
        })
        .count()
}

/// Per file, the functions that wait, one for each timer, and the constants that say for how long.
fn timers(code: &str) -> Vec<String> {
    let (mut found, mut function) = (Vec::new(), String::new());
    for line in code.lines() {
        let word = |after: &str| {
            let (_, rest) = line.split_once(after)?;
            let name = rest
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next();
            name.map(str::to_owned)
        };
        let begins = word("fn ");
        if line.contains("Duration = ") {
            found.extend(word("const "));
        }
        let calls = CALLS.iter().map(|call| waits(line, call));
        let own = begins.as_ref().map_or(0, |name| {
            usize::from(CALLS.contains(&format!("{name}(").as_str()))
        });
        function = begins.unwrap_or(function);
        let count = calls.sum::<usize>().saturating_sub(own);
        found.extend(std::iter::repeat_n(function.clone(), count));
    }
    found
}

/// Whether `file` has a test of this name.
fn has_test(file: &str, name: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    let Some((before, _)) = text.split_once(&format!("fn {name}(")) else {
        return false;
    };
    let before = before.trim_end_matches("async ").trim_end();
    let attribute = before.lines().last().unwrap_or_default().trim();
    attribute == "#[test]" || attribute.starts_with("#[tokio::test")
}

#[test]
fn every_timer_has_a_test_of_when_it_fires() {
    let mut unlisted: Vec<String> = Vec::new();
    for (file, code) in files() {
        let timers = timers(&code).into_iter();
        unlisted.extend(timers.map(|timer| format!("{file} {timer}")));
    }
    let mut faults = Vec::new();
    for line in TIMERS.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [file, timer, place, test] = words[..] else {
            panic!("not four words: {line}");
        };
        let timer = format!("{file} {timer}");
        match unlisted.iter().position(|found| *found == timer) {
            Some(at) => drop(unlisted.swap_remove(at)),
            None => faults.push(format!("no timer any more: {timer}")),
        }
        if !has_test(place, test) {
            faults.push(format!("{timer}: no test {test} in {place}"));
        }
    }
    let unlisted = unlisted
        .iter()
        .map(|timer| format!("no test listed: {timer}"));
    faults.extend(unlisted);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_time_is_asked_for_in_one_place() {
    let mut faults = Vec::new();
    for (file, code) in files().iter().filter(|(file, _)| *file != CLOCK) {
        for time in TIMES.iter().filter(|time| code.contains(**time)) {
            faults.push(format!("src/{file}: uses {time}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Else what is ready at the same moment is taken in an order that nobody knows.
#[test]
fn every_select_is_biased() {
    for (file, code) in files() {
        for choice in code.split("select! {").skip(1) {
            assert!(choice.trim_start().starts_with("biased;"), "src/{file}");
        }
    }
}

#[test]
fn planted_timers_are_seen() {
    let code = "const REST: Duration = Duration::from_secs(1);\nasync fn a() {\n sleep(x).await;\n \
                timeout(y, sleep_until(z));\n}\nfn interval(x: u8) {}\nfn b() { turn.wake(w, e); }";
    assert_eq!(timers(code), ["REST", "a", "a", "a", "b"]);
    assert!(has_test(file!(), "planted_timers_are_seen"));
    assert!(!has_test(file!(), "timers") && !has_test(file!(), "nobody"));
    let files = files();
    assert!(files.contains_key(CLOCK) && !files.contains_key("reconcile/fixture.rs"));
}
