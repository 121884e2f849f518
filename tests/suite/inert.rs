//! Nothing that a repository says moves the cursor of a terminal, turns text around, or is a command to a CI system, in
//! whatever format of whatever command it is printed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::capstan;

/// What is in names of keys, values, names of files and comments.
const HOSTILE: &str =
    "x\\n::error ::y\\n##vso[task.setvariable variable=PATH]y\\n##[error]y\\e[2J\\u202Ey\\u2066z";

/// The commands that print what a fleet says, each with its formats; and the others, with the reason.
const COMMANDS: [(&str, Says); 28] = [
    ("init", Says::Nothing("it reads no fleet")),
    (
        "create",
        Says::Nothing("it reads a fleet only to commit to it: `create` looks at what it prints"),
    ),
    (
        "render",
        Says::Fleet(&[&["--for", "argocd"], &["--for", "flux"], &[]]),
    ),
    ("validate", Says::Fleet(&[&[]])),
    ("explain", Says::Objects),
    ("graph", Says::Fleet(&[&[]])),
    (
        "plan",
        Says::Fleet(&[&["--against", "BASE"], &["--against", "none"]]),
    ),
    (
        "apply",
        Says::Fleet(&[&["--embedded", "--timeout", "20s", "--wait"]]),
    ),
    ("rehearse", Says::Fleet(&[&[]])),
    (
        "status",
        Says::Nothing("it reads a cluster: `cluster::hunt` looks at it"),
    ),
    (
        "why",
        Says::Nothing("it reads a cluster: `cluster::hunt` looks at it"),
    ),
    (
        "run",
        Says::Nothing("it logs: `log_lines` looks at what it prints"),
    ),
    ("controllers", Says::Nothing("it logs, too")),
    ("admission", Says::Nothing("it logs, too")),
    (
        "install",
        Says::Fleet(&[
            &["--component", "daemon"],
            &["--component", "tenant", "--namespace", "team"],
        ]),
    ),
    (
        "check",
        Says::Nothing("it reads a cluster: `refusals::checking` looks at it"),
    ),
    ("uninstall", Says::Nothing("it reads no fleet")),
    ("sync", Says::Nothing("it reads no fleet")),
    ("suspend", Says::Nothing("it reads no fleet")),
    ("resume", Says::Nothing("it reads no fleet")),
    ("adopt", Says::Nothing("it reads no fleet")),
    ("demo", Says::Nothing("it brings its own fleet")),
    ("rules", Says::Nothing("it reads no fleet")),
    ("health", Says::Nothing("it reads no fleet")),
    ("crds", Says::Nothing("it reads no fleet")),
    ("schema", Says::Nothing("it reads no fleet")),
    ("version", Says::Nothing("it reads no fleet")),
    ("completion", Says::Nothing("it reads no fleet")),
];

/// What a command prints of a fleet.
enum Says {
    /// It takes a fleet, and has these forms, each in all formats.
    Fleet(&'static [&'static [&'static str]]),
    /// It takes an object of a fleet.
    Objects,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Fleets of which each says something hostile where another command prints it.
fn fleets() -> BTreeMap<&'static str, String> {
    let map = |rest: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: default}}\n{rest}\n"
        )
    };
    let definition = |rest: &str| {
        format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {{name: one, namespace: default}}\nspec:\n  {rest}\n"
        )
    };
    [
        ("value", map(&format!("data: {{a: \"{HOSTILE}\"}}"))),
        ("key", map(&format!("data: {{\"{HOSTILE}\": a}}"))),
        ("field", map(&format!("\"{HOSTILE}\": a"))),
        ("comment", map(&format!("data: {{a: b}} # capstan:allow P01 {}", "##vso[task.x]y \u{202e}"))),
        ("spec", definition(&format!("\"{HOSTILE}\": 1"))),
        ("version", definition(&format!("version: \"{HOSTILE}\""))),
        ("tags", definition(&format!("tags: {{\"{HOSTILE}\": \"{HOSTILE}\"}}"))),
        ("annotation", format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: default, annotations: {{capstan.dev/ignore: \"{HOSTILE}\", note: \"{HOSTILE}\"}}}}\n")),
        ("label", format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: default, labels: {{a: \"{HOSTILE}\"}}}}\n")),
        ("name", format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{HOSTILE}\", namespace: default}}\n")),
        ("kind", format!("apiVersion: v1\nkind: \"{HOSTILE}\"\nmetadata: {{name: a, namespace: default}}\n")),
        ("broken", format!("apiVersion: v1\nkind: [\n##vso[task.x]y\n::error ::y\n\u{202e}: {HOSTILE}\n")),
        ("depends", format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: default, annotations: {{config.kubernetes.io/depends-on: \"{HOSTILE}\"}}}}\n")),
    ]
    .into()
}

/// What harms in a text that a person or a CI system reads.
fn harm(text: &str) -> Option<String> {
    let of_line = |line: &str| {
        let lower = line.to_lowercase();
        let is_command = line.trim_start().starts_with("::")
            || lower.contains("##vso[")
            || lower.contains("##[");
        let is_unseen = |c: char| {
            c.is_control() && c != '\t'
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
        };
        is_command || line.contains(is_unseen)
    };
    text.lines()
        .find(|line| of_line(line))
        .map(|line| format!("{line:?}"))
}

/// Returns true if a line is a command that its format consists of, and has no other one in it.
fn is_of_the_format(arguments: &[&str], line: &str) -> bool {
    let has = |format: &str| arguments.contains(&format);
    let of_runner = ["::error ", "::warning ", "::notice "];
    let rest = of_runner.iter().find_map(|start| line.strip_prefix(start));
    let is_annotation = has("github") && rest.is_some_and(|rest| harm(rest).is_none());
    let rest = line.strip_prefix("##vso[task.logissue ");
    is_annotation || has("azure") && rest.is_some_and(|rest| harm(rest).is_none())
}

/// The values of `--format` that the help of a command lists, each as arguments; nothing once if there is no such flag.
fn formats(command: &str) -> Vec<Vec<String>> {
    let help = crate::cli::stdout(&[command, "--help"], 0);
    let flag = help.lines().skip_while(|line| !line.contains("--format <"));
    let values = flag.skip(1).map(str::trim);
    let values = values.take_while(|line| !line.starts_with("--"));
    let names = values.filter_map(|line| Some(line.strip_prefix("- ")?.split_once(':')?.0));
    let found: Vec<Vec<String>> = names
        .map(|name| vec!["--format".to_owned(), name.to_owned()])
        .collect();
    match found.is_empty() {
        true => vec![Vec::new()],
        false => found,
    }
}

fn check(name: &str, arguments: &[&str], faults: &mut Vec<String>) {
    let output = capstan(arguments).output().expect("it runs");
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        let lines = text
            .lines()
            .filter(|line| !is_of_the_format(arguments, line));
        let rest: Vec<&str> = lines.collect();
        if let Some(harm) = harm(&rest.join("\n")) {
            faults.push(format!(
                "{name}: {} prints {harm} on {stream}",
                arguments.join(" ")
            ));
        }
    }
    if output.status.code().is_none_or(|code| code == 101) {
        faults.push(format!("{name}: {} panics", arguments.join(" ")));
    }
}

#[test]
fn every_command_is_known_here() {
    let help = crate::cli::stdout(&["--help"], 0);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names, known,
        "say here what a new command prints of a fleet"
    );
    for (name, says) in &COMMANDS {
        if let Says::Nothing(why) = says {
            assert!(!why.is_empty(), "{name}");
        }
    }
}

#[test]
fn nothing_that_a_fleet_says_is_a_command_or_moves_the_cursor() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |at: &Path, text: &str| {
        std::fs::create_dir_all(at).expect("made");
        std::fs::write(at.join("f.yaml"), text).expect("written");
    };
    let base = dir.path().join("base");
    write(
        &base,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n",
    );
    let base = base.display().to_string();
    let commands = COMMANDS.iter().map(|(name, says)| {
        let formats = match says {
            Says::Nothing(_) => Vec::new(),
            Says::Fleet(_) | Says::Objects => formats(name),
        };
        (*name, says, formats)
    });
    let commands: Vec<_> = commands.collect();
    let mut faults = Vec::new();
    for (name, text) in fleets() {
        let at = dir.path().join(name);
        write(&at, &text);
        let at = at.display().to_string();
        for (command, says, formats) in &commands {
            for format in formats {
                let format: Vec<&str> = format.iter().map(String::as_str).collect();
                match says {
                    Says::Fleet(forms) => {
                        for form in *forms {
                            let form = form.iter().copied();
                            let form = form.map(|word| if word == "BASE" { &base } else { word });
                            let form: Vec<&str> = form.collect();
                            let arguments = [&[*command, &at][..], &form, &format].concat();
                            check(name, &arguments, &mut faults);
                        }
                    }
                    Says::Objects => {
                        let objects = [
                            "ConfigMap/default/a",
                            "ClusterDefinition/default/one",
                            HOSTILE,
                        ];
                        for object in objects {
                            let arguments = [&[*command, object, "-C", &at][..], &format].concat();
                            check(name, &arguments, &mut faults);
                        }
                    }
                    Says::Nothing(_) => {}
                }
            }
        }
    }
    assert_eq!(faults, [""; 0], "{}", faults.join("\n"));
}
