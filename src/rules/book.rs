//! The rule book: a page for each rule, with its reason, examples that break and keep it, and its source. The
//! pages are text files in this directory; the test suite checks the rules against the examples.

use std::sync::OnceLock;

use crate::model::{Severity, rule_id};

/// One file per family of rules. A page is the text between two headings.
const FILES: &[&str] = &[
    include_str!("pages/admission.md"),
    include_str!("pages/allowances.md"),
    include_str!("pages/change.md"),
    include_str!("pages/cluster.md"),
    include_str!("pages/dead-ends.md"),
    include_str!("pages/external-auth.md"),
    include_str!("pages/fleet.md"),
    include_str!("pages/hosted.md"),
    include_str!("pages/network.md"),
    include_str!("pages/node-pool.md"),
    include_str!("pages/overlay.md"),
    include_str!("pages/reference.md"),
    include_str!("pages/resource.md"),
    include_str!("pages/schema.md"),
    include_str!("pages/secrets.md"),
    include_str!("pages/tenancy.md"),
    include_str!("pages/vault.md"),
    include_str!("pages/yaml.md"),
];

/// The errors that a comment may allow, because a person may know better than the rule: whether a value is a
/// secret, and what another repository applies.
pub const ALLOWABLE: &[&str] = &[rule_id::SECRET_IN_GIT, rule_id::MISSING_REFERENCE];

/// The page of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its id, such as `C15`.
    pub id: &'static str,
    /// What must hold, in one line.
    pub title: &'static str,
    /// The severity of its findings.
    pub severity: Severity,
    /// The page without its heading, in Markdown.
    pub text: &'static str,
    /// Examples that break it and that keep it.
    pub examples: Vec<Example>,
}

/// A part of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Whether it breaks the rule: then the line that the finding points at ends in a comment with the id.
    pub breaks: bool,
    /// What it contains: the `spec` of a ClusterDefinition, a patch of resources of a kind, `documents` next to a
    /// cluster, documents `alone`, or `words` if YAML cannot show it.
    pub of: &'static str,
    /// The YAML.
    pub yaml: &'static str,
    /// The spec of the Fleet document without its source; may be empty.
    pub fleet: &'static str,
    /// The YAML of the previous revision, for rules about changes.
    pub before: Option<&'static str>,
}

/// All pages, by id.
pub fn pages() -> &'static [Page] {
    static PAGES: OnceLock<Vec<Page>> = OnceLock::new();
    PAGES.get_or_init(|| {
        let files = FILES.iter().flat_map(|file| file.split("\n## ").skip(1));
        let mut pages: Vec<Page> = files.filter_map(page).collect();
        pages.sort_by_key(|page| page.id);
        pages
    })
}

/// The page of a rule, by its id in any case.
pub fn find(id: &str) -> Option<&'static Page> {
    pages().iter().find(|page| page.id.eq_ignore_ascii_case(id))
}

/// The ids of all rules, in order.
pub fn ids() -> &'static [&'static str] {
    static IDS: OnceLock<Vec<&str>> = OnceLock::new();
    IDS.get_or_init(|| pages().iter().map(|page| page.id).collect())
}

/// The severity of a rule's findings.
pub(super) fn severity(id: &str) -> Severity {
    find(id).map_or(Severity::Error, |page| page.severity)
}

/// `C15 The title`, an empty line, `error` or `warning` or `info`, then anything.
fn page(section: &'static str) -> Option<Page> {
    let (heading, text) = section.split_once('\n')?;
    let (id, title) = heading.split_once(' ')?;
    let text = text.trim();
    let severity = match text.split_whitespace().next()? {
        "warning" => Severity::Warning,
        "info" => Severity::Info,
        _ => Severity::Error,
    };
    Some(Page {
        id,
        title: title.trim(),
        severity,
        text,
        examples: examples(text),
    })
}

/// Blocks that start with three backticks, `yaml`, `bad` or `good`, and what they contain. A block with `before`
/// is the previous revision of the next block. A block with `yaml fleet` applies to all blocks after it.
fn examples(text: &'static str) -> Vec<Example> {
    let mut before = None;
    let blocks = text.split("```yaml ").skip(1);
    let mut fleet = "";
    let read = |block: &'static str| {
        let (head, rest) = block.split_once('\n')?;
        let (yaml, _) = rest.split_once("```")?;
        if head == "fleet" {
            fleet = yaml;
        }
        let (kind, of) = head.split_once(' ')?;
        if kind == "before" {
            before = Some(yaml);
            return None;
        }
        Some(Example {
            breaks: kind == "bad",
            of: of.trim(),
            yaml,
            fleet,
            before: before.take(),
        })
    };
    blocks.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_severity_a_reason_a_source_and_both_examples() {
        for page in pages() {
            let head = page.text.lines().next().unwrap_or_default();
            assert!(
                ["error", "warning", "info"].contains(&head),
                "{}: {head}",
                page.id
            );
            assert!(
                page.text.contains("\nSource: "),
                "{} has no source",
                page.id
            );
            for breaks in [true, false] {
                let has = page.examples.iter().any(|example| example.breaks == breaks);
                assert!(has, "{} has no example, breaks: {breaks}", page.id);
            }
        }
    }

    #[test]
    fn no_id_has_two_pages() {
        let ids: Vec<&str> = pages().iter().map(|page| page.id).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
        assert_eq!(find("c15").map(|page| page.id), Some("C15"));
    }
}
