//! No letter panics: fleets with letters outside ASCII, marks of direction and control characters in keys, values,
//! comments and names of files, through every command that reads files, in every format.
//!
//! `CAPSTAN_SEQUENCES=n` sets the number of pairs of fleets, `CAPSTAN_SEED=n` the first seed.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use capstan::model::cut;
use serde_json::Value as Json;

use crate::cli::capstan;
use crate::random::Random;

/// How many pairs the gate tries.
const SEQUENCES: u64 = 6;

/// What names and values are made of: the ends of letters of two, three and four bytes at every distance from either end
/// of a word, what terminals and CI systems obey, and what the rules look for.
const PIECES: &[&str] = &[
    "größe",
    "名前ab",
    "é123",
    "ß",
    "😀",
    "e\u{301}",
    "İ",
    "ﬀ",
    "a",
    "b1",
    "-",
    ".",
    "/",
    ":",
    "=",
    "_",
    "@",
    "\u{202e}",
    "\u{2066}",
    "\u{2028}",
    "\u{85}",
    "\u{200d}",
    "\u{feff}",
    "\u{ad}",
    "\u{1b}[31m",
    "\u{7f}",
    "\0",
    "\r",
    "\n",
    "\t",
    "::error::",
    "##vso[task.complete]",
    "##[group]",
    "`",
    "```",
    "<!--",
    "-->",
    "|",
    "\\",
    "\"",
    "'",
    "{{",
    "}}",
    "${",
    "# capstan:allow ",
    "Pass",
    "_pass",
    "passwörd",
    "token=",
    "Bearer ",
    "-----BEGIN ",
    "https://ü:é@",
    "/subscriptions/é",
    "/providers/",
    "Standard_D4é_v3",
    "10.0.0.0/",
    "4.20é",
    "v1api2025é",
    "0x",
    "1h30",
    "[0]",
    "[",
    "]",
    "%0A",
    "$patch",
    "AADSTS",
    "null",
    "true",
    "\u{10ffff}",
];

fn word(random: &mut Random) -> String {
    let count = 1 + random.below(4);
    let mut word: String = (0..count).map(|_| *random.pick(PIECES)).collect();
    if random.below(40) == 0 {
        word = word.repeat(200);
    }
    word
}

/// A word as a double-quoted scalar.
fn quoted(random: &mut Random) -> String {
    let mut text = String::from("\"");
    for c in word(random).chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text += &format!("\\u{:04x}", u32::from(c)),
            c => text.push(c),
        }
    }
    text + "\""
}

/// A map of words, some of them deeper.
fn map(random: &mut Random) -> String {
    let entry = |random: &mut Random| {
        let key = quoted(random);
        match random.below(4) {
            0 => format!(
                "{key}: [{}, {{name: {}, value: {}}}]",
                quoted(random),
                quoted(random),
                quoted(random)
            ),
            1 => format!("{key}: {{{}: {}}}", quoted(random), quoted(random)),
            _ => format!("{key}: {}", quoted(random)),
        }
    };
    let entries: Vec<String> = (0..1 + random.below(3)).map(|_| entry(random)).collect();
    format!("{{{}}}", entries.join(", "))
}

fn comment(random: &mut Random) -> String {
    word(random).replace(
        ['\n', '\r', '\u{85}', '\u{2028}', '\0', '\u{1b}', '\u{7f}'],
        "",
    )
}

fn definition(random: &mut Random, name: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1 # {}\nkind: ClusterDefinition\nmetadata:\n  name: {name}\n  namespace: clusters\n  \
         labels: {{env: prod}}\n  annotations: {{example.com/note: {}}}\nspec:\n  location: uksouth\n  \
         subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10\n  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31\n  \
         identityRef: {{name: cluster-identity}}\n  version: {{id: \"4.20\"}}\n  tags: {{{}: {}, {}: {}}}\n  nodePools:\n  \
         - name: mp{}\n    version: 4.20.17\n    vmSize: Standard_D4s_v3\n    replicas: {}\n",
        comment(random),
        quoted(random),
        quoted(random),
        quoted(random),
        quoted(random),
        quoted(random),
        1 + random.below(2),
        2 + random.below(3),
    )
}

fn document(random: &mut Random) -> String {
    match random.below(6) {
        0 => definition(random, "one"),
        1 => definition(random, "two"),
        2 => format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: clusters}}\ndata: {{a: {}, b: {}}} # {}\n",
            quoted(random),
            quoted(random),
            comment(random)
        ),
        3 => format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: clusters}}\nstringData: {}\n",
            map(random)
        ),
        4 => format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {{name: o}}\nspec: {{selector: {{matchLabels: {{env: prod}}}}, merge: {{tags: {{{}: {}}}}}}}\n",
            quoted(random),
            quoted(random)
        ),
        _ => format!(
            "apiVersion: example.com/v1\nkind: Ding\nmetadata: {{name: d{}, namespace: clusters}}\nspec: {} # {}\n",
            random.below(3),
            map(random),
            comment(random)
        ),
    }
}

/// A text with a word somewhere in it.
fn damaged(random: &mut Random, text: &str) -> String {
    let at = random.below(text.chars().count() + 1);
    let before: String = text.chars().take(at).collect();
    let after = text.chars().skip(at + random.below(8));
    before + &word(random) + &after.collect::<String>()
}

/// Writes a fleet of a few files. Only every third one has words where none is allowed: most plans need a fleet
/// without errors.
fn write(random: &mut Random, dir: &Path) {
    let is_damaged = random.below(3) == 0;
    let mut texts = vec![definition(random, "one")];
    texts.extend((0..2 + random.below(4)).map(|_| document(random)));
    for (at, text) in texts.into_iter().enumerate() {
        let text = match is_damaged {
            true => damaged(random, &text),
            false => text,
        };
        let name = word(random).replace(['/', '\0'], "");
        let path = dir.join(format!("{at}{}.yaml", cut::head(&name, 200)));
        fs::write(path, text).expect("it is written");
    }
}

/// What a command says, unless it panics.
fn said(arguments: &[&str]) -> Result<String, String> {
    let output = capstan(arguments).output().expect("it runs");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let is_bug = err.contains("a bug in capstan") || out.contains("a bug in capstan");
    match output.status.code() {
        Some(0..=3) if !is_bug => Ok(out.into_owned()),
        code => Err(format!("{arguments:?}: {code:?}\n{err}")),
    }
}

/// Whether a character moves a terminal or turns the direction of writing.
fn is_alive(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n'
}

/// The same of a format for people: nothing in it is alive.
fn inert(arguments: &[&str]) -> Result<String, String> {
    let text = said(arguments)?;
    match text.chars().find(|c| is_alive(*c)) {
        Some(c) => Err(format!("{arguments:?} says {c:?}")),
        None => Ok(text),
    }
}

/// Every command on two fleets.
fn all(random: &mut Random, before: &str, after: &str) -> Result<(), String> {
    for format in ["text", "github", "azure"] {
        inert(&["validate", after, "--format", format])?;
    }
    for format in ["json", "sarif", "gitlab"] {
        said(&["validate", after, "--format", format])?;
    }
    for format in ["text", "markdown"] {
        inert(&["plan", after, "--format", format])?;
        inert(&["plan", after, "--against", before, "--format", format])?;
    }
    said(&["plan", after, "--against", before, "--format", "json"])?;
    for format in ["text", "dot"] {
        said(&["graph", after, "--format", format])?;
    }
    said(&["render", after])?;
    let plan = said(&["plan", after, "--format", "json"])?;
    let plan: Json = serde_json::from_str(&plan).unwrap_or_default();
    let steps = plan["steps"].as_array().map_or(&[][..], Vec::as_slice);
    let mut objects = vec!["ClusterDefinition/clusters/one".to_owned()];
    if !steps.is_empty() {
        let step = random.pick(steps);
        objects.extend(step["object"].as_str().map(str::to_owned));
    }
    for object in objects {
        inert(&["explain", &object, "-C", after])?;
        said(&["explain", &object, "-C", after, "--format", "json"])?;
        let field = format!("spec.tags.{}", word(random).replace('\0', ""));
        said(&["explain", &object, &field, "-C", after])?;
    }
    Ok(())
}

/// What is wrong with the pair of fleets of this seed.
fn outcome(seed: u64) -> Option<String> {
    let mut random = Random::new(seed);
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    for dir in &dirs {
        write(&mut random, dir.path());
    }
    let [before, after] = dirs
        .each_ref()
        .map(|dir| dir.path().to_str().expect("UTF-8"));
    let wrong = all(&mut random, before, after).err()?;
    let wrong = format!("CAPSTAN_SEED={seed} CAPSTAN_SEQUENCES=1 repeats this one:\n  {wrong}");
    eprintln!("{wrong}");
    Some(wrong)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Each of these names has another byte of a letter four bytes before its end.
#[test]
fn tags_in_any_script_are_planned_and_explained() {
    let dirs = ["klein", "groß"].map(|size| {
        let dir = tempfile::tempdir().expect("a directory");
        let tags = ["größe", "名前ab", "é123"].map(|name| format!("{name}: {size}"));
        let plain = definition(&mut Random::new(1), "one");
        let lines = plain
            .lines()
            .filter(|line| !line.contains("example.com/note"));
        let lines = lines.map(|line| match line.starts_with("  tags:") {
            true => format!("  tags: {{{}}}\n", tags.join(", ")),
            false => format!("{line}\n"),
        });
        fs::write(dir.path().join("größe.yaml"), lines.collect::<String>()).expect("written");
        dir
    });
    let [before, after] = dirs
        .each_ref()
        .map(|dir| dir.path().to_str().expect("UTF-8"));
    let one = "ClusterDefinition/clusters/one";
    for arguments in [
        &["plan", after, "--against", before][..],
        &["plan", after, "--against", before, "--format", "markdown"],
        &["explain", one, "spec.tags", "-C", after],
    ] {
        let text = inert(arguments).expect("no panic");
        assert!(text.contains("größe") && text.contains("groß"), "{text}");
    }
}

#[test]
fn no_letter_panics() {
    let first = number("CAPSTAN_SEED").unwrap_or(1);
    let end = first + number("CAPSTAN_SEQUENCES").unwrap_or(SEQUENCES);
    let next = AtomicU64::new(first);
    let work = || {
        let seeds = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let seeds = seeds.take_while(|seed| *seed < end);
        seeds.filter_map(outcome).collect::<Vec<_>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .flat_map(|one| one.join().expect("no panic"))
            .collect()
    });
    assert_eq!(wrong, [""; 0]);
}
