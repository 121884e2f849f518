//! `docs/commands.md` from the command line's own description.

use std::fmt::Write as _;

use clap::{Arg, Command};

const HEAD: &str = "\
# Commands

This page is generated from the command line: `capstan COMMAND --help` says the same.

Data goes to standard output, messages and progress to standard error. The exit code is 0 when all is
well, 1 when there are findings of severity error or the work failed, and 2 when the command line or its
surroundings are wrong; a command that Ctrl-C ends early exits with 130. On a terminal, progress is drawn
below the other output and follows the terminal's size; elsewhere each change of state is a line with its
time. Color appears on a terminal only, and `NO_COLOR` turns it off. Every command takes
`--color auto|always|never`, which decides whatever the terminal and `NO_COLOR` say.

A `PATH` is a fleet's directory, or one file. An object is written `Kind/namespace/name`, and
`Kind//name` when its kind has no namespaces. [operating.md](operating.md#clusters-and-credentials)
says which cluster a command works on.
";

/// The whole page.
pub(super) fn page() -> String {
    let mut program = capstan::cli::command();
    program.build();
    let mut page = HEAD.to_owned();
    for command in program.get_subcommands_mut() {
        let name = command.get_name().to_owned();
        describe(&mut page, &name, command);
    }
    page
}

fn describe(page: &mut String, name: &str, command: &mut Command) {
    if name.ends_with("help") || command.is_hide_set() {
        return;
    }
    if command.has_subcommands() {
        for part in command.get_subcommands_mut() {
            let name = format!("{name} {}", part.get_name());
            describe(page, &name, part);
        }
        return;
    }
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let _ = write!(
        page,
        "\n## `capstan {}`\n\n{}\n\n```text\n{}\n```\n",
        name,
        sentence(&about),
        usage.trim_start_matches("Usage: ")
    );
    let own = |argument: &&Arg| {
        let common = ["help", "version"].contains(&argument.get_id().as_str());
        !common && !argument.is_global_set()
    };
    let mut rows = command.get_arguments().filter(own).map(row).peekable();
    if rows.peek().is_some() {
        page.push_str("\n| argument | meaning |\n|---|---|\n");
        page.extend(rows);
    }
}

fn row(argument: &Arg) -> String {
    let help = argument.get_help().map(ToString::to_string);
    let mut meaning = sentence(&help.unwrap_or_default());
    let values = argument.get_possible_values();
    let takes_values = argument.get_action().takes_values();
    if takes_values && !values.is_empty() {
        let described = values.iter().map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        });
        let described: Vec<String> = described.collect();
        let _ = write!(meaning, " One of {}.", described.join(", "));
    }
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<String> = defaults
        .filter(|value| takes_values && !value.is_empty())
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if !defaults.is_empty() {
        let _ = write!(meaning, " Default: {}.", defaults.join(", "));
    }
    format!(
        "| `{}` | {} |\n",
        written(argument),
        meaning.replace('|', "\\|")
    )
}

/// `-o, --output <OUTPUT>`, or `[PATH]`.
fn written(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
    match (names.is_empty(), argument.get_action().takes_values()) {
        (true, _) => values.join(" "),
        (false, true) => format!("{} {}", names.join(", "), values.join(" ")),
        (false, false) => names.join(", "),
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    match text.ends_with(['.', ']']) || text.is_empty() {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}
