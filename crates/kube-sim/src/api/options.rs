//! Options of writes and deletions, as their queries and bodies say them.
//!
//! In: parameters. Out: options, or the refusal of those that make no sense (k8s.io/apimachinery
//! `meta/v1/validation`). It does not know resources, nor what the options do.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions as Said;
use serde_json::json;

use super::kinds;
use super::query::Query;
use super::request::Format;
use super::status::{Cause, Refusal};

/// What to do about fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and say so.
    Warn,
    /// Refuse the object.
    Strict,
}

/// Options of creates, updates and patches.
#[derive(Clone, Debug)]
pub(super) struct WriteOptions {
    /// Decide, but write nothing.
    pub(super) dry_run: bool,
    /// Who writes: `fieldManager`, else the caller's program.
    pub(super) manager: String,
    pub(super) validation: FieldValidation,
    /// Take fields from other managers.
    pub(super) force: bool,
}

impl WriteOptions {
    /// Reads them; `kind` is what refusals call them.
    ///
    /// # Errors
    /// 422 for values that are not known.
    pub(super) fn read(query: &Query, agent: &str, kind: &str) -> Result<Self, Refusal> {
        let causes = write_causes(query);
        Refusal::of_options(kind, &causes)?;
        Ok(Self::known(query, agent))
    }

    /// Reads those of a patch: an apply needs a manager, and only an apply can be forced.
    ///
    /// # Errors
    /// 422 for values that are not known, or are for other patches.
    pub(super) fn read_patch(query: &Query, agent: &str, apply: bool) -> Result<Self, Refusal> {
        let mut causes = match apply {
            true if query.text("fieldManager").is_empty() => {
                vec![Cause::required(
                    "fieldManager",
                    "is required for apply patch",
                )]
            }
            false if query.get("force").is_some() => {
                let detail = "may not be specified for non-apply patch";
                vec![Cause::forbidden("force", detail)]
            }
            _ => Vec::new(),
        };
        causes.extend(write_causes(query));
        Refusal::of_options("PatchOptions", &causes)?;
        Ok(Self::known(query, agent))
    }

    /// From a query in which nothing is wrong.
    fn known(query: &Query, agent: &str) -> Self {
        let manager = match query.text("fieldManager") {
            "" => program(agent),
            manager => manager.to_owned(),
        };
        Self {
            dry_run: query.get("dryRun").is_some(),
            manager,
            validation: match query.text("fieldValidation") {
                "Ignore" => FieldValidation::Ignore,
                "Strict" => FieldValidation::Strict,
                _ => FieldValidation::Warn,
            },
            force: query.flag("force"),
        }
    }
}

/// The caller's program as a manager: what comes before the first slash, as far as it fits.
fn program(agent: &str) -> String {
    let name = agent.split('/').next().unwrap_or_default();
    let mut manager = String::new();
    for character in name.chars().filter(|character| is_printed(*character)) {
        if manager.len() + character.len_utf8() > MANAGER_LIMIT {
            break;
        }
        manager.push(character);
    }
    manager
}

/// How long the name of a manager may be, in bytes.
const MANAGER_LIMIT: usize = 128;

fn write_causes(query: &Query) -> Vec<Cause> {
    let mut causes = Vec::new();
    let manager = query.text("fieldManager");
    if manager.len() > MANAGER_LIMIT {
        causes.push(Cause::too_long("fieldManager", MANAGER_LIMIT));
    }
    for (at, character) in manager.char_indices().filter(|(_, c)| !is_printed(*c)) {
        let code = u32::from(character);
        let detail = format!("invalid character U+{code:04X} (at position {at})");
        causes.push(Cause::invalid("fieldManager", &json!(manager), &detail));
    }
    check_dry_run(&query.all("dryRun"), &mut causes);
    let validation = query.text("fieldValidation");
    if !matches!(validation, "" | "Ignore" | "Strict" | "Warn") {
        let known = ["", "Ignore", "Strict", "Warn"];
        let sent = json!(validation);
        causes.push(Cause::unsupported("fieldValidation", &sent, &known));
    }
    causes
}

/// Of white space only the plain space is printed.
fn is_printed(character: char) -> bool {
    character == ' ' || !(character.is_control() || character.is_whitespace())
}

fn check_dry_run<T: AsRef<str>>(sent: &[T], causes: &mut Vec<Cause>) {
    let sent: Vec<&str> = sent.iter().map(AsRef::as_ref).collect();
    if sent.iter().any(|run| *run != "All") {
        causes.push(Cause::unsupported("dryRun", &json!(sent), &["All"]));
    }
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay, without it as an owner.
    Orphan,
}

/// Options of deletions.
#[derive(Clone, Debug, Default)]
pub(super) struct DeleteOptions {
    pub(super) dry_run: bool,
    /// What the caller chose; none leaves it to the object's finalizers.
    pub(super) propagation: Option<Propagation>,
    /// Whether a deletion that is not over is answered with 202: of old, for one option alone.
    pub(super) accepted_only: bool,
    /// The uid the object must have.
    pub(super) uid: Option<String>,
    /// The resource version the object must have.
    pub(super) version: Option<String>,
}

impl DeleteOptions {
    /// Reads them from the body; without one, from the parameters.
    ///
    /// # Errors
    /// 415 or 500 for a body that is none, 400 or 422 for values that are not known.
    pub(super) fn read(query: &Query, media: &str, body: &[u8]) -> Result<Self, Refusal> {
        let sent = match body {
            [] => from_query(query)?,
            body => from_body(media, body)?,
        };
        let mut causes = Vec::new();
        let (policy, orphan) = (sent.propagation_policy.as_deref(), sent.orphan_dependents);
        if let (Some(policy), Some(_)) = (policy, orphan) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid("propagationPolicy", &json!(policy), detail));
        }
        let propagation = match (policy, orphan) {
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (None, None) => None,
            (Some(other), _) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                let other = json!(other);
                causes.push(Cause::unsupported("propagationPolicy", &other, &known));
                None
            }
        };
        let dry_run = sent.dry_run.unwrap_or_default();
        check_dry_run(&dry_run, &mut causes);
        Refusal::of_options("DeleteOptions", &causes)?;
        let conditions = sent.preconditions.unwrap_or_default();
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            propagation,
            accepted_only: orphan == Some(false),
            uid: conditions.uid,
            version: conditions.resource_version,
        })
    }
}

fn from_query(query: &Query) -> Result<Said, Refusal> {
    let flag = |key: &str| query.get(key).map(|_| query.flag(key));
    let dry_run = query.all("dryRun").into_iter().map(ToOwned::to_owned);
    Ok(Said {
        dry_run: Some(dry_run.collect()),
        grace_period_seconds: query.number("gracePeriodSeconds")?,
        orphan_dependents: flag("orphanDependents"),
        propagation_policy: query.get("propagationPolicy").map(ToOwned::to_owned),
        ..Said::default()
    })
}

/// A body that cannot be read is a bare error on a real server as well.
fn from_body(media: &str, body: &[u8]) -> Result<Said, Refusal> {
    let parsed = Format::of(media)?.parse(body);
    let sent = parsed
        .map_err(|why| Refusal::internal(kinds::untyped(&why)))?
        .value;
    let text = |key: &str| sent[key].as_str().unwrap_or_default();
    if !matches!(text("kind"), "" | "DeleteOptions") {
        let why = kinds::not_registered(text("kind"), text("apiVersion"));
        return Err(Refusal::internal(why));
    }
    serde_json::from_value(sent).map_err(|error| Refusal::internal(format!("json: {error}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn query(text: &str) -> Query {
        Query::read(text)
    }

    #[test]
    fn the_manager_is_named_or_taken_from_the_program() {
        let options = WriteOptions::read(&query(""), "kube-rs/5.0 (linux)", "x").unwrap();
        assert_eq!(options.manager, "kube-rs");
        let sent = query("fieldManager=me&dryRun=All&fieldValidation=Strict&force=true");
        let options = WriteOptions::read(&sent, "kube-rs", "x").unwrap();
        assert_eq!(options.manager, "me");
        assert!(options.dry_run && options.force);
        let refusal = WriteOptions::read(&query("dryRun=All&dryRun=x"), "", "CreateOptions");
        assert_eq!(
            refusal.unwrap_err().message,
            r#"CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["All","x"]: supported values: "All""#
        );
    }

    #[test]
    fn an_apply_needs_a_manager_and_nothing_else_can_be_forced() {
        let refused = WriteOptions::read_patch(&query(""), "x", true).unwrap_err();
        assert_eq!(
            refused.message,
            r#"PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#
        );
        assert!(WriteOptions::read_patch(&query("force=true"), "x", false).is_err());
        let sent = query("fieldManager=a&force=true");
        assert!(WriteOptions::read_patch(&sent, "x", true).is_ok());
    }

    #[test]
    fn delete_options_come_from_the_body_alone_if_there_is_one() {
        let body = br#"{"propagationPolicy":"Orphan","preconditions":{"uid":"u"}}"#;
        let sent = query("propagationPolicy=Foreground&dryRun=All");
        let options = DeleteOptions::read(&sent, "", body).unwrap();
        assert_eq!(options.propagation, Some(Propagation::Orphan));
        assert_eq!(options.uid.as_deref(), Some("u"));
        assert!(!options.dry_run);
        let options = DeleteOptions::read(&sent, "", b"").unwrap();
        assert_eq!(options.propagation, Some(Propagation::Foreground));
        assert!(options.dry_run);
        let old = DeleteOptions::read(&query("orphanDependents=true"), "", b"").unwrap();
        assert_eq!(old.propagation, Some(Propagation::Orphan));
    }

    #[test]
    fn what_is_no_delete_option_is_refused() {
        for (text, body, code) in [
            ("propagationPolicy=x", "", 422),
            ("gracePeriodSeconds=x", "", 400),
            ("orphanDependents=true&propagationPolicy=Orphan", "", 422),
            ("", "{", 500),
            ("", r#"{"kind":"ConfigMap","apiVersion":"v1"}"#, 500),
            ("", r#"{"gracePeriodSeconds":"x"}"#, 500),
        ] {
            let refusal = DeleteOptions::read(&query(text), "", body.as_bytes()).unwrap_err();
            assert_eq!(refusal.code, code, "{text} {body}");
        }
    }
}
