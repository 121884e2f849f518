//! Options of requests, as their queries and bodies say them.
//!
//! In: parameters. Out: options, or the refusal of those that make no sense (k8s.io/apimachinery
//! `meta/v1/validation`). It does not know resources, nor what the options do.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::request::document;
use super::status::{Cause, Refusal};

/// The parameters of a request.
pub(super) type Query = BTreeMap<String, String>;

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
        let mut causes = Vec::new();
        let manager = query.get("fieldManager").map_or("", String::as_str);
        if manager.len() > 128 {
            causes.push(Cause::too_long("fieldManager", 128));
        }
        if manager.chars().any(char::is_control) {
            let detail = "should only contain printable characters";
            causes.push(Cause::invalid("fieldManager", &json!(manager), detail));
        }
        let dry_run = dry_run(query, &mut causes);
        let validation = match query.get("fieldValidation").map_or("", String::as_str) {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let known = &["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::unsupported("fieldValidation", &json!(other), known));
                FieldValidation::Warn
            }
        };
        refuse(kind, &causes)?;
        let manager = match manager {
            "" => agent.split('/').next().unwrap_or_default(),
            manager => manager,
        };
        Ok(Self {
            dry_run,
            manager: manager.chars().take(128).collect(),
            validation,
            force: flag(query, "force"),
        })
    }

    /// Checks what only patches say: an apply needs a manager, and only an apply can be forced.
    ///
    /// # Errors
    /// 422 when that is not so.
    pub(super) fn check_patch(query: &Query, apply: bool) -> Result<(), Refusal> {
        let unnamed = query.get("fieldManager").is_none_or(String::is_empty);
        let cause = match apply {
            true if unnamed => Cause::required("fieldManager", "is required for apply patch"),
            false if query.contains_key("force") => {
                Cause::forbidden("force", "may not be specified for non-apply patch")
            }
            _ => return Ok(()),
        };
        refuse("PatchOptions", &[cause])
    }
}

fn refuse(kind: &str, causes: &[Cause]) -> Result<(), Refusal> {
    match causes {
        [] => Ok(()),
        causes => Err(Refusal::invalid_options(kind, causes)),
    }
}

fn dry_run(query: &Query, causes: &mut Vec<Cause>) -> bool {
    match query.get("dryRun").map(String::as_str) {
        None | Some("") => false,
        Some("All") => true,
        Some(other) => {
            causes.push(Cause::unsupported("dryRun", &json!([other]), &["All"]));
            false
        }
    }
}

/// How dependents of a deleted object fare.
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
    /// What the caller said; none leaves it to the object's finalizers.
    pub(super) propagation: Option<Propagation>,
    /// The uid the object must have.
    pub(super) uid: Option<String>,
    /// The resource version the object must have.
    pub(super) version: Option<String>,
}

impl DeleteOptions {
    /// Reads them from the body, else from the parameters.
    ///
    /// # Errors
    /// 400 for a body that is none, 422 for values that are not known.
    pub(super) fn read(query: &Query, body: &[u8]) -> Result<Self, Refusal> {
        let body = match body {
            [] => Value::Null,
            body => document(body)?,
        };
        let mut query = query.clone();
        if let Some(run) = body["dryRun"].get(0).and_then(Value::as_str) {
            query.insert("dryRun".into(), run.to_owned());
        }
        let mut causes = Vec::new();
        let dry_run = dry_run(&query, &mut causes);
        let said = body["propagationPolicy"].as_str();
        let said = said.or(query.get("propagationPolicy").map(String::as_str));
        let propagation = match said {
            None | Some("") => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let known = &["Background", "Foreground", "Orphan"];
                causes.push(Cause::unsupported(
                    "propagationPolicy",
                    &json!(other),
                    known,
                ));
                None
            }
        };
        refuse("DeleteOptions", &causes)?;
        let condition = |key: &str| body["preconditions"][key].as_str().map(ToOwned::to_owned);
        Ok(Self {
            dry_run,
            propagation,
            uid: condition("uid"),
            version: condition("resourceVersion"),
        })
    }
}

/// Which state a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// The newest.
    Now,
    /// One that is not older than this.
    NotOlderThan(u64),
    /// This one.
    Exactly(u64),
}

/// Options of lists.
#[derive(Clone, Debug)]
pub(super) struct ListOptions {
    /// How many objects a page may have; 0 for all.
    pub(super) limit: usize,
    /// Where the last page ended.
    pub(super) continue_token: Option<String>,
    pub(super) at: At,
}

impl ListOptions {
    /// Reads them.
    ///
    /// # Errors
    /// 400 or 422 for what contradicts itself.
    pub(super) fn read(query: &Query) -> Result<Self, Refusal> {
        let text = |key: &str| query.get(key).filter(|text| !text.is_empty());
        let limit: usize = number(query, "limit")?.unwrap_or_default();
        let version: Option<u64> = number(query, "resourceVersion")?;
        let matching = text("resourceVersionMatch").map(String::as_str);
        let continue_token = text("continue").cloned();
        version_match(version, matching, continue_token.is_some())?;
        if continue_token.is_some() && version.unwrap_or_default() != 0 {
            return Err(Refusal::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let at = match (version, matching) {
            (None | Some(0), _) => At::Now,
            (Some(version), Some("Exact")) => At::Exactly(version),
            // Older clients ask for a page of an exact version in this way.
            (Some(version), None) if limit > 0 => At::Exactly(version),
            (Some(version), _) => At::NotOlderThan(version),
        };
        Ok(Self {
            limit,
            continue_token,
            at,
        })
    }
}

fn version_match(
    version: Option<u64>,
    matching: Option<&str>,
    continues: bool,
) -> Result<(), Refusal> {
    let forbidden = |detail: &str| Cause::forbidden("resourceVersionMatch", detail);
    let cause = match (matching, version) {
        (None, _) => return Ok(()),
        (Some(_), _) if continues => {
            forbidden("resourceVersionMatch is forbidden when continue is provided")
        }
        (Some(_), None) => {
            forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")
        }
        (Some("Exact"), Some(0)) => {
            forbidden("resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"")
        }
        (Some("Exact" | "NotOlderThan"), _) => return Ok(()),
        (Some(other), _) => Cause::unsupported(
            "resourceVersionMatch",
            &json!(other),
            &["Exact", "NotOlderThan", ""],
        ),
    };
    refuse("ListOptions", &[cause])
}

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With the objects that are there.
    Present,
    /// With the objects that are there, and a bookmark after the last of them.
    Announced,
    /// With the first change after this version.
    After(u64),
}

/// Options of watches.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchOptions {
    pub(super) start: Start,
    pub(super) bookmarks: bool,
    /// How long it lasts, in seconds.
    pub(super) seconds: u64,
}

/// How long a watch lasts when nothing is said, in seconds (the least that a real server draws).
const WATCH_SECONDS: u64 = 1800;

impl WatchOptions {
    /// Reads them.
    ///
    /// # Errors
    /// 400 or 422 for what contradicts itself.
    pub(super) fn read(query: &Query) -> Result<Self, Refusal> {
        let bookmarks = flag(query, "allowWatchBookmarks");
        let version = number(query, "resourceVersion")?.unwrap_or_default();
        let matching = query.get("resourceVersionMatch").map_or("", String::as_str);
        let announced = flag(query, "sendInitialEvents");
        let cause = match (announced, matching) {
            (true, "NotOlderThan") if bookmarks => None,
            (true, _) => Some(Cause::forbidden(
                "sendInitialEvents",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan and allowWatchBookmarks",
            )),
            (false, "") => None,
            (false, _) if query.contains_key("sendInitialEvents") => None,
            (false, _) => Some(Cause::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
        };
        refuse("ListOptions", cause.as_slice())?;
        let seconds = number(query, "timeoutSeconds")?.unwrap_or_default();
        Ok(Self {
            start: match version {
                _ if announced => Start::Announced,
                0 => Start::Present,
                version => Start::After(version),
            },
            bookmarks,
            seconds: if seconds == 0 { WATCH_SECONDS } else { seconds },
        })
    }
}

/// Whether a parameter is given and not false.
pub(super) fn flag(query: &Query, key: &str) -> bool {
    query
        .get(key)
        .is_some_and(|value| value != "false" && value != "0")
}

fn number<N: std::str::FromStr>(query: &Query, key: &str) -> Result<Option<N>, Refusal> {
    let Some(text) = query.get(key).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let parsed = text.parse().map(Some);
    parsed
        .map_err(|_| Refusal::bad_request(format!("{key}: Invalid value: {text:?}: not a number")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::adapters::sim::api::path;

    #[test]
    fn the_manager_is_named_or_taken_from_the_program() {
        let options = WriteOptions::read(&Query::new(), "kube-rs/5.0 (linux)", "x").unwrap();
        assert_eq!(options.manager, "kube-rs");
        let query = path::query("fieldManager=me&dryRun=All&fieldValidation=Strict&force=true");
        let options = WriteOptions::read(&query, "kube-rs", "x").unwrap();
        assert_eq!(options.manager, "me");
        assert!(options.dry_run && options.force);
        let refusal = WriteOptions::read(&path::query("dryRun=x"), "", "CreateOptions");
        assert_eq!(
            refusal.unwrap_err().message,
            r#"CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All""#
        );
    }

    #[test]
    fn an_apply_needs_a_manager_and_nothing_else_can_be_forced() {
        let refused = WriteOptions::check_patch(&Query::new(), true).unwrap_err();
        assert_eq!(
            refused.message,
            r#"PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#
        );
        assert!(WriteOptions::check_patch(&path::query("force=true"), false).is_err());
        assert!(WriteOptions::check_patch(&path::query("fieldManager=a&force=true"), true).is_ok());
    }

    #[test]
    fn versions_of_lists_are_exact_or_lower_bounds() {
        let at = |text: &str| ListOptions::read(&path::query(text)).map(|options| options.at);
        assert_eq!(at("").unwrap(), At::Now);
        assert_eq!(at("resourceVersion=0").unwrap(), At::Now);
        assert_eq!(at("resourceVersion=7").unwrap(), At::NotOlderThan(7));
        assert_eq!(at("resourceVersion=7&limit=2").unwrap(), At::Exactly(7));
        let exact = "resourceVersion=7&resourceVersionMatch=Exact";
        assert_eq!(at(exact).unwrap(), At::Exactly(7));
        assert_eq!(at("resourceVersionMatch=Exact").unwrap_err().code, 422);
        assert_eq!(at("continue=a&resourceVersion=7").unwrap_err().code, 400);
        assert_eq!(at("limit=x").unwrap_err().code, 400);
    }

    #[test]
    fn delete_options_come_from_the_body_first() {
        let body = br#"{"propagationPolicy":"Orphan","preconditions":{"uid":"u"}}"#;
        let query = path::query("propagationPolicy=Foreground");
        let options = DeleteOptions::read(&query, body).unwrap();
        assert_eq!(options.propagation, Some(Propagation::Orphan));
        assert_eq!(options.uid.as_deref(), Some("u"));
        let options = DeleteOptions::read(&query, b"").unwrap();
        assert_eq!(options.propagation, Some(Propagation::Foreground));
    }
}
