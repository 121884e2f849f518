//! Findings as SARIF 2.1.0, which forges and editors take in.
//!
//! One run. Every rule that a result names is among the driver's; warnings that are allowed are results
//! with a suppression. Paths are relative to the root of the repository, so that they do not
//! reveal where it is on this machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::fingerprint::Fingerprints;
use super::listing::Report;
use crate::compile::Allowed;
use crate::model::{Finding, ObjectId, Severity, Span};
use crate::rules::book;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// What paths are relative to, by the name that forges know.
const ROOT: &str = "%SRCROOT%";

/// The log of one run.
pub(in crate::cli) fn sarif(report: &Report<'_>) -> Json {
    let compiled = report.compiled;
    let reported = report.findings().map(|finding| (finding, None));
    let allowed = compiled.allowed.iter();
    let allowed = allowed.filter(|_| report.level >= Severity::Warning);
    let allowed = allowed.map(|allowed| (&allowed.finding, Some(allowed)));
    let findings: Vec<_> = reported.chain(allowed).collect();
    let rules = rules(findings.iter().map(|(finding, _)| finding.id));
    let mut prints = Fingerprints::default();
    let results = findings.iter().map(|(finding, allowed)| {
        let index = rules.get_index(finding.id);
        result(finding, *allowed, index, &prints.of(finding))
    });
    let results: Vec<Json> = results.collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "capstan",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.0.values().collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {ROOT: {"description": {
                "text": "The root of the repository, or the fleet's directory outside of one.",
            }}},
            "results": results,
        }],
    })
}

/// The rules of the driver by id.
struct Rules(BTreeMap<&'static str, Json>);

impl Rules {
    fn get_index(&self, id: &str) -> usize {
        self.0.range(..id).count()
    }
}

/// Those of the book, those without a page, and what else was found.
fn rules(found: impl Iterator<Item = &'static str>) -> Rules {
    let rule = |id| (id, book::find(id).map_or_else(|| json!({"id": id}), page));
    Rules(book::ids().iter().copied().chain(found).map(rule).collect())
}

fn page(page: &book::Page) -> Json {
    let mut paragraphs = page.text.split("\n\n").skip(1);
    let why = paragraphs.find(|part| !part.starts_with("```"));
    let why = why.unwrap_or(page.title).replace('\n', " ");
    json!({
        "id": page.id,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": why},
        "help": {"text": page.text, "markdown": page.text},
        "defaultConfiguration": {"level": level(page.severity)},
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(finding: &Finding, allowed: Option<&Allowed>, rule: usize, print: &str) -> Json {
    let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}"));
    let scope = finding.scope().map(|scope| format!(", {scope}"));
    let (help, scope) = (help.unwrap_or_default(), scope.unwrap_or_default());
    let mut result = json!({
        "ruleId": finding.id,
        "ruleIndex": rule,
        "level": level(finding.severity),
        "message": {"text": literal(&format!("{}{scope}{help}", finding.message))},
        "locations": [location(finding)],
        "partialFingerprints": {"capstan/v1": print},
        // Either all results of a run say whether they are suppressed or none does.
        "suppressions": allowed.map(suppression).into_iter().collect::<Vec<_>>(),
    });
    if !finding.clusters.is_empty() {
        result["properties"] = json!({"clusters": finding.clusters});
    }
    result
}

fn suppression(allowed: &Allowed) -> Json {
    json!({
        "kind": "inSource",
        "justification": allowed.reason,
        "location": {"physicalLocation": physical(&allowed.by)},
    })
}

fn location(finding: &Finding) -> Json {
    let mut location = json!({});
    if let Some(span) = &finding.span {
        location["physicalLocation"] = physical(span);
    }
    let logical = match finding.clusters.as_slice() {
        [] => finding.object.iter().map(object).collect(),
        clusters => clusters.iter().map(|name| cluster(name)).collect(),
    };
    if logical != Json::Array(Vec::new()) {
        location["logicalLocations"] = logical;
    }
    location
}

fn object(id: &ObjectId) -> Json {
    json!({"name": id.name, "fullyQualifiedName": id.to_string(), "kind": "object"})
}

fn cluster(name: &str) -> Json {
    let short = name.rsplit('/').next();
    json!({"name": short, "fullyQualifiedName": format!("ClusterDefinition/{name}"), "kind": "object"})
}

fn physical(span: &Span) -> Json {
    // Positions begin at 1.
    let at = |number: u32| number.max(1);
    json!({
        "artifactLocation": {"uri": encoded(&span.path), "uriBaseId": ROOT},
        "region": {
            "startLine": at(span.start.line),
            "startColumn": at(span.start.column),
            "endLine": at(span.end.line),
            "endColumn": at(span.end.column),
        },
    })
}

/// A path as a relative reference (RFC 3986): no part of it can be taken for a scheme.
fn encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

/// A text that SARIF does not take for one with places to fill in (§3.11.5) or links (§3.11.6).
fn literal(text: &str) -> String {
    let text = text.replace('{', "{{").replace('}', "}}");
    match text.contains("](") {
        true => text.replace('[', "\\[").replace(']', "\\]"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_encoded() {
        assert_eq!(encoded("a b/ü%:#.yaml"), "a%20b/%C3%BC%25%3A%23.yaml");
    }

    #[test]
    fn texts_are_not_changed() {
        assert_eq!(literal("a{0} [b] c"), "a{{0}} [b] c");
        assert_eq!(literal("[b](1)"), "\\[b\\](1)");
    }
}
