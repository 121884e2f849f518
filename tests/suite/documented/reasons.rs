//! The table of reasons in `docs/controllers.md`, from the rows that the controllers and readiness use.

use std::fmt::Write as _;

use capstan::api::conditions::{Event, Failure, REASONS, Reason};

const BEGIN: &str = "<!-- reasons: generated, CAPSTAN_WRITE=1 rewrites -->\n";
const END: &str = "<!-- end of reasons -->\n";

/// The page with its table as it is now.
pub(super) fn renew(page: &str) -> String {
    let (before, rest) = page.split_once(BEGIN).expect("the table's begin");
    let (_, after) = rest.split_once(END).expect("the table's end");
    format!("{before}{BEGIN}{}{END}{after}", table())
}

fn table() -> String {
    let mut table =
        "\n| reason | of | means | failed | warning |\n|---|---|---|---|---|\n".to_owned();
    for reason in REASONS {
        let Reason { name, meaning, .. } = reason;
        let failed = match reason.failure {
            Failure::No => "",
            Failure::Retried | Failure::RetriedIfCurrent => "until fixed",
            Failure::Terminal => "for good",
        };
        let warning = match reason.event {
            Event::Silent => "",
            Event::OnChange => "yes",
            Event::Separate => "on its own",
        };
        let of = of(reason);
        let _ = writeln!(
            table,
            "| `{name}` | {of} | {meaning} | {failed} | {warning} |"
        );
    }
    table + "\n"
}

fn of(reason: &Reason) -> String {
    let kinds = reason.conditions.iter().map(|kind| format!("`{kind}`"));
    let kinds: Vec<String> = kinds.collect();
    match (kinds.as_slice(), reason.event) {
        ([], Event::Separate) => "an event alone".to_owned(),
        ([], _) => "any".to_owned(),
        (kinds, _) => kinds.join(", "),
    }
}
