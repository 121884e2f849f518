//! `capstan rules`: the rule book.

use std::fmt::Write as _;

use super::exit::Exit;
use super::ui::Ui;
use crate::model::Severity;
use crate::rules::book::{self, Page};

/// A line for each rule, or the page of one.
pub(super) fn run(id: Option<&str>, ui: &Ui) -> anyhow::Result<Exit> {
    let text = match id {
        None => book::pages().iter().fold(String::new(), |mut text, page| {
            let _ = writeln!(text, "{:<4} {:<8} {}", page.id, word(page), page.title);
            text
        }),
        Some(id) => {
            let Some(page) = book::find(id) else {
                anyhow::bail!("no rule `{id}`; `capstan rules` lists them all");
            };
            format!("# {} {}\n\n{}\n", page.id, page.title, page.text)
        }
    };
    ui.data(&text)?;
    Ok(Exit::Fine)
}

const fn word(page: &Page) -> &'static str {
    match page.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}
