//! The table of `docs/troubleshooting.md`, from the causes that `capstan status` and `why` know.

use std::collections::HashSet;
use std::fmt::Write as _;

use capstan::health::{Cause, causes};

const BEGIN: &str = "<!-- causes: generated, CAPSTAN_WRITE=1 rewrites -->\n";
const END: &str = "<!-- end of causes -->\n";

/// The page with its table as it is now.
pub(super) fn renew(page: &str) -> String {
    let (before, rest) = page.split_once(BEGIN).expect("the table's begin");
    let (_, after) = rest.split_once(END).expect("the table's end");
    format!("{before}{BEGIN}{}{END}{after}", table())
}

/// A row for each advice, with all causes that it helps against.
fn table() -> String {
    let mut table =
        "\n| reason, or part of the message | what usually helps |\n|---|---|\n".to_owned();
    let mut listed = HashSet::new();
    for cause in causes() {
        if listed.insert(cause.help) {
            let alike = causes().filter(|other| other.help == cause.help);
            let names: Vec<String> = alike.flat_map(|cause| names(&cause)).collect();
            let help = cause.help.replace('|', "\\|");
            let _ = writeln!(table, "| {} | {help} |", names.join(", "));
        }
    }
    table + "\n"
}

fn names(cause: &Cause) -> Vec<String> {
    match cause.contains {
        "" => cause
            .reasons
            .iter()
            .map(|reason| format!("`{reason}`"))
            .collect(),
        message => vec![format!("“{message}”")],
    }
}
