//! Findings as one JSON document (DESIGN §12).

use serde_json::{Value as Json, json};

use super::listing::Report;
use crate::compile::Allowed;
use crate::model::{Finding, Severity};

/// `{"findings": [...], "allowed": [...], "summary": {...}}`. The summary counts what is not listed, too.
pub(in crate::cli) fn json(report: &Report<'_>) -> Json {
    let compiled = report.compiled;
    let mut json = json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "ValidationReport",
        "findings": report.findings().map(finding).collect::<Vec<_>>(),
        "allowed": compiled.allowed.iter().map(allowed).collect::<Vec<_>>(),
        "summary": {
            "errors": compiled.count(Severity::Error),
            "warnings": compiled.count(Severity::Warning),
            "allowed": compiled.allowed.len(),
            "definitions": compiled.definitions,
            "unread": compiled.unread,
            "objects": compiled.object_count,
            "embedded": compiled.embedded_count,
        },
    });
    if report.others.is_some() {
        let (errors, warnings) = report.others_count();
        json["summary"]["notSelected"] = json!({"errors": errors, "warnings": warnings});
    }
    json
}

fn finding(finding: &Finding) -> Json {
    let span = finding.span.as_ref();
    json!({
        "id": finding.id,
        "severity": finding.severity,
        "path": span.map(|span| span.path.as_ref()),
        "line": span.map(|span| span.start.line),
        "column": span.map(|span| span.start.column),
        "endLine": span.map(|span| span.end.line),
        "endColumn": span.map(|span| span.end.column),
        "object": finding.object.as_ref().map(ToString::to_string),
        "field": finding.field.as_ref().map(ToString::to_string),
        "clusters": finding.clusters,
        "message": finding.message,
        "help": finding.help,
    })
}

/// The warning, with the reason and the place of the comment.
fn allowed(allowed: &Allowed) -> Json {
    let mut json = finding(&allowed.finding);
    let start = allowed.by.start;
    json["reason"] = json!(allowed.reason);
    json["allowedAt"] =
        json!({"path": &*allowed.by.path, "line": start.line, "column": start.column});
    json
}
