//! Requests at random: what the simulator and a real kube-apiserver make of the same sequences.
//!
//! [`generate`] makes a sequence of a seed, [`run`] holds it with a server, [`shrink`] cuts one down
//! on which both differ. `cases/` keeps such sequences, each with what the real server answered
//! beside it, so that the simulator is held to them on every machine.
//!
//! `CAPSTAN_SEQUENCES=n` sets the number of sequences, `CAPSTAN_SEED=n` from which seed on (the same ones
//! each time by default), and `CAPSTAN_DIFFERENCES=n` how many kinds of differences are shrunk and
//! reported before it ends.

mod generate;
mod run;
mod sequence;
mod shrink;
mod side;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::difference::{difference, sort};
use super::kubernetes::{Kubernetes, if_asked};
use super::servers::Server;
use sequence::Step;
use side::Side;

/// The number of sequences by default.
const SEQUENCES: u64 = 500;
/// The first seed by default: a fixed one, so that the result is repeatable.
const SEED: u64 = 1;
/// How many are compared before the next are begun.
const ROUND: u64 = 250;
/// How often a difference has to be seen: a busy server may try a write twice, and then answers otherwise.
const TIMES: u32 = 4;
/// The number of kinds of differences that are shrunk and reported by default.
const DIFFERENCES: u64 = 3;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Past the capture of test output: the seeds are printed in any case.
fn say(line: &str) {
    writeln!(std::io::stderr(), "differential test: {line}").expect("stderr is open");
}

#[test]
fn sequences_at_random_go_the_same_on_both_servers() {
    let Some(real) = if_asked(Kubernetes::shared) else {
        return;
    };
    let count = number("CAPSTAN_SEQUENCES").unwrap_or(SEQUENCES);
    let first = number("CAPSTAN_SEED").unwrap_or(SEED);
    say(&format!(
        "{count} sequences; CAPSTAN_SEED={first} repeats them"
    ));
    let began = Instant::now();
    let real = Side::new(Server::Real(real), "differential");
    let most = number("CAPSTAN_DIFFERENCES").unwrap_or(DIFFERENCES) as usize;
    let mut sorts = BTreeMap::new();
    for round in (0..count).step_by(ROUND as usize) {
        let seeds = first + round..first + (round + ROUND).min(count);
        let simulator = Side::new(Server::simulator(), "differential");
        differences(&real, &simulator, seeds, &mut sorts);
        if sorts.len() >= most {
            break;
        }
    }
    let simulator = Side::new(Server::simulator(), "differential");
    for (wanted, seeds) in &sorts {
        say(&format!("{seeds:?} differ: {wanted:?}"));
    }
    let reported = sorts.values().take(most);
    let reported: Vec<String> = reported
        .filter_map(|seeds| tell(&real, &simulator, seeds[0]))
        .collect();
    assert!(reported.is_empty(), "{}", reported.join("\n"));
    say(&format!(
        "{count} sequences agree after {:.1?}",
        began.elapsed()
    ));
}

/// Of what sort a difference is, and the seeds whose sequences have it.
type Sorts = BTreeMap<(String, String), Vec<u64>>;

/// Adds the sequences of these seeds that differ to `sorts`.
fn differences(real: &Side, simulator: &Side, seeds: std::ops::Range<u64>, sorts: &mut Sorts) {
    let sequences: Vec<(String, Vec<Step>)> = seeds
        .clone()
        .map(|seed| (format!("differential-{seed}"), generate::sequence(seed)))
        .collect();
    let (expected, answers) = std::thread::scope(|scope| {
        let expected = scope.spawn(|| real.converse(&sequences));
        let answers = simulator.converse(&sequences);
        (expected.join().expect("the real server answers"), answers)
    });
    for ((expected, answers), seed) in expected.iter().zip(&answers).zip(seeds) {
        if let Some(wanted) = sort(expected, answers) {
            sorts.entry(wanted).or_default().push(seed);
        }
    }
}

/// The smallest sequence found below that of `seed`, and where the servers part on it. Nothing when they
/// agree in between: the simulator answers the same each time, so the real server's answer was random.
fn tell(real: &Side, simulator: &Side, seed: u64) -> Option<String> {
    let mut tries = 0;
    let mut both = |steps: &[Step]| {
        tries += 1;
        let namespace = format!("differential-{seed}-{tries}");
        let expected = real.one(&namespace, steps);
        (expected, simulator.one(&namespace, steps))
    };
    let whole = generate::sequence(seed);
    let (expected, transcript) = both(&whole);
    let wanted = sort(&expected, &transcript);
    let is_random = wanted.is_none()
        || (1..TIMES).any(|_| {
            let (expected, transcript) = both(&whole);
            sort(&expected, &transcript) != wanted
        });
    if is_random {
        say(&format!("{seed} does not differ each time"));
        return None;
    }
    let small = shrink::shrink(whole, |steps| {
        let (expected, transcript) = both(steps);
        sort(&expected, &transcript) == wanted
    });
    let (expected, transcript) = both(&small);
    let difference = difference(&expected, "simulator", &transcript);
    let difference = difference.unwrap_or_else(|| "nothing this time\n".into());
    Some(format!(
        "CAPSTAN_SEED={seed} CAPSTAN_SEQUENCES=1 repeats this one; for differential/cases:\n{}\n\
         transcripts differ from {difference}",
        sequence::written(&small)
    ))
}

/// The kept files with this ending, by name.
fn files(ending: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/cases");
    let files = std::fs::read_dir(here).expect("a directory");
    let files = files.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    files.sort();
    files
}

#[test]
fn kept_sequences_go_as_they_went() {
    let real = if_asked(Kubernetes::shared).map(|real| Side::new(Server::Real(real), "cases"));
    let simulator = Side::new(Server::simulator(), "cases");
    let mut wrong = Vec::new();
    for path in files("json") {
        let text = std::fs::read_to_string(&path).expect("a case is text");
        let steps: Vec<Step> = serde_json::from_str(&text).expect("a case is a list of steps");
        assert_eq!(sequence::written(&steps), text.trim_end(), "{path:?}");
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let name = name.expect("a case has a name");
        let namespace = name.replace('_', "-");
        let kept = path.with_extension("txt");
        let mut answered = real.as_ref().map(|real| real.one(&namespace, &steps));
        if let (Some(answered), Some(_)) = (&answered, std::env::var_os("CAPSTAN_WRITE")) {
            std::fs::write(&kept, answered).expect("the transcript can be written");
        }
        let expected = std::fs::read_to_string(&kept).unwrap_or_default();
        if answered
            .as_ref()
            .is_some_and(|answered| *answered != expected)
        {
            // A busy server may try a write twice, and then reports more.
            let again = format!("{namespace}-again");
            let second = real.as_ref().map(|real| real.one(&again, &steps));
            answered = second.map(|second| second.replace(&again, &namespace));
        }
        let transcript = simulator.one(&namespace, &steps);
        let sides = [
            ("kube-apiserver", answered),
            ("the simulator", Some(transcript)),
        ];
        for (who, transcript) in sides {
            let found = transcript.and_then(|transcript| difference(&expected, who, &transcript));
            wrong.extend(found.map(|found| format!("{who} differs from {name}.txt, {found}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_kept_belongs_to_a_sequence() {
    let of = |path: &PathBuf| path.with_extension("");
    let kept = files("txt");
    assert!(!kept.is_empty());
    assert_eq!(
        kept.iter().map(of).collect::<Vec<_>>(),
        files("json").iter().map(of).collect::<Vec<_>>()
    );
}

#[test]
fn sequences_at_random_get_everywhere() {
    const ENOUGH: u64 = 80;
    let sequences: Vec<(String, Vec<Step>)> = (0..ENOUGH)
        .map(|seed| (format!("everywhere-{seed}"), generate::sequence(seed)))
        .collect();
    let simulator = || Side::new(Server::simulator(), "everywhere").converse(&sequences);
    let transcripts = simulator();
    assert_eq!(transcripts, simulator(), "not the same twice");
    let mut seen = BTreeSet::new();
    for transcript in &transcripts {
        let lines: Vec<&str> = transcript.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].starts_with("> ")) {
            let verb = pair[0].split(' ').nth(1).unwrap_or_default();
            seen.insert(format!("{verb} {}", pair[1].get(..3).unwrap_or_default()));
        }
    }
    for wanted in [
        "DELETE 200",
        "DELETE 404",
        "DELETE 409",
        "PATCH 200",
        "PATCH 201",
        "PATCH 400",
        "PATCH 404",
        "PATCH 409",
        "PATCH 422",
        "PATCH 500",
        "POST 201",
        "POST 409",
        "POST 422",
        "PUT 200",
        "PUT 400",
        "PUT 404",
        "PUT 409",
        "PUT 422",
    ] {
        assert!(seen.contains(wanted), "no {wanted} among {seen:?}");
    }
    let ownership = |text: &str| transcripts.iter().filter(|t| t.contains(text)).count();
    assert!(ownership("FieldManagerConflict") > ENOUGH as usize / 4);
    assert!(ownership(" Apply ") > ENOUGH as usize / 2);
}
