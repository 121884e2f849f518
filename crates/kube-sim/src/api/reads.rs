//! Options of lists and watches.
//!
//! In: parameters. Out: options, or the refusal of those that make no sense (k8s.io/apimachinery
//! `meta/internalversion/validation`). It does not know objects, nor what the options do.

use serde_json::json;

use super::query::{self, Query};
use super::status::{Cause, Refusal};

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
        let limit = query.number("limit")?.unwrap_or_default();
        query.number("timeoutSeconds")?;
        Refusal::of_options("ListOptions", &list_causes(query))?;
        let continue_token = query.get("continue").filter(|token| !token.is_empty());
        let at = at(query, limit)?;
        // What may be of any age comes from the cache, which knows no pages.
        let limit = match query.text("resourceVersion") {
            "0" => 0,
            _ => limit,
        };
        Ok(Self {
            limit: usize::try_from(limit).unwrap_or_default(),
            continue_token: continue_token.map(ToOwned::to_owned),
            at,
        })
    }
}

fn at(query: &Query, limit: i64) -> Result<At, Refusal> {
    Ok(match version(query)? {
        None | Some(0) => At::Now,
        Some(version) => match query.text("resourceVersionMatch") {
            "Exact" => At::Exactly(version),
            // Older clients ask for a page of an exact version in this way.
            "" if limit > 0 => At::Exactly(version),
            _ => At::NotOlderThan(version),
        },
    })
}

/// The version that a list asks for.
///
/// # Errors
/// 400 for what is none.
fn version(query: &Query) -> Result<Option<u64>, Refusal> {
    query::version(query.text("resourceVersion")).map_err(|why| {
        let why = invalid_version(query, &why);
        Refusal::bad_request(format!("invalid resource version: {why}"))
    })
}

/// As [`version`], for what does not list.
///
/// # Errors
/// 500 for what is none.
pub(super) fn bare_version(query: &Query) -> Result<Option<u64>, Refusal> {
    let version = query::version(query.text("resourceVersion"));
    version.map_err(|why| Refusal::internal(invalid_version(query, &why).to_string()))
}

fn invalid_version(query: &Query, why: &str) -> Cause {
    let value = json!(query.text("resourceVersion"));
    Cause::invalid("resourceVersion", &value, why)
}

const MATCH: &str = "resourceVersionMatch";

fn list_causes(query: &Query) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut forbid = |field: &str, detail: &str| causes.push(Cause::forbidden(field, detail));
    let (wanted, version) = (query.text(MATCH), query.text("resourceVersion"));
    if !wanted.is_empty() && version.is_empty() {
        let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        forbid(MATCH, detail);
    }
    if !wanted.is_empty() && !query.text("continue").is_empty() {
        let detail = "resourceVersionMatch is forbidden when continue is provided";
        forbid(MATCH, detail);
    }
    if wanted == "Exact" && version == "0" {
        let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        forbid(MATCH, detail);
    }
    if !matches!(wanted, "" | "Exact" | "NotOlderThan") {
        let known = ["Exact", "NotOlderThan", ""];
        causes.push(Cause::unsupported(MATCH, &json!(wanted), &known));
    }
    if query.get("sendInitialEvents").is_some() {
        let detail = "sendInitialEvents is forbidden for list";
        causes.push(Cause::forbidden("sendInitialEvents", detail));
    }
    causes
}

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With the objects that are there once the server knows this version.
    Present(u64),
    /// With the next change.
    Next,
    /// With the first change after this version.
    After(u64),
}

/// Options of watches.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchOptions {
    pub(super) start: Start,
    /// Whether it gets bookmarks, and one at the end of what was there.
    pub(super) bookmarks: bool,
    /// How long it lasts, in seconds.
    pub(super) seconds: u64,
}

/// How long a watch lasts by default, in seconds (the least that a real server draws).
const WATCH_SECONDS: u64 = 1800;

impl WatchOptions {
    /// Reads them.
    ///
    /// # Errors
    /// 400 or 422 for what contradicts itself, 500 for a version that is none.
    pub(super) fn read(query: &Query) -> Result<Self, Refusal> {
        let seconds = query.number("timeoutSeconds")?.unwrap_or_default();
        query.number("limit")?;
        Refusal::of_options("ListOptions", &watch_causes(query))?;
        let version = bare_version(query)?;
        let initial = asks_for_all(query) || query.flag("sendInitialEvents");
        let start = match (initial, version.unwrap_or_default()) {
            (true, version) => Start::Present(version),
            (false, 0) => Start::Next,
            (false, version) => Start::After(version),
        };
        let seconds = u64::try_from(seconds).unwrap_or_default();
        let seconds = if seconds == 0 { WATCH_SECONDS } else { seconds };
        Ok(Self {
            start,
            bookmarks: query.flag("allowWatchBookmarks"),
            seconds,
        })
    }
}

/// Whether a watch that does not say so starts with what is there, as one without a version does.
fn asks_for_all(query: &Query) -> bool {
    let silent = query.get("sendInitialEvents").is_none() && query.text(MATCH).is_empty();
    silent && matches!(query.text("resourceVersion"), "" | "0")
}

fn watch_causes(query: &Query) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut forbid = |detail: &str| causes.push(Cause::forbidden(MATCH, detail));
    let initial = query.get("sendInitialEvents").is_some();
    let wanted = query.text(MATCH);
    if initial && wanted != "NotOlderThan" {
        forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if !initial && !wanted.is_empty() {
        let detail =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        forbid(detail);
    }
    if !matches!(wanted, "" | "NotOlderThan") {
        causes.push(Cause::unsupported(MATCH, &json!(wanted), &["NotOlderThan"]));
    }
    if !query.text("continue").is_empty() && (asks_for_all(query) || !wanted.is_empty()) {
        let detail = "resourceVersionMatch is forbidden when continue is provided";
        causes.push(Cause::forbidden(MATCH, detail));
    }
    causes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn list(text: &str) -> Result<ListOptions, Refusal> {
        ListOptions::read(&Query::read(text))
    }

    fn start(text: &str) -> Result<Start, Refusal> {
        WatchOptions::read(&Query::read(text)).map(|options| options.start)
    }

    #[test]
    fn versions_of_lists_are_exact_or_lower_bounds() {
        let at = |text: &str| list(text).map(|options| options.at);
        assert_eq!(at("").unwrap(), At::Now);
        assert_eq!(at("resourceVersion=0").unwrap(), At::Now);
        assert_eq!(at("resourceVersion=7").unwrap(), At::NotOlderThan(7));
        assert_eq!(at("resourceVersion=7&limit=2").unwrap(), At::Exactly(7));
        let exact = "resourceVersion=7&resourceVersionMatch=Exact";
        assert_eq!(at(exact).unwrap(), At::Exactly(7));
        assert_eq!(at("resourceVersionMatch=Exact").unwrap_err().code, 422);
        assert_eq!(at("limit=x").unwrap_err().code, 400);
        assert_eq!(at("resourceVersion=x").unwrap_err().code, 400);
    }

    #[test]
    fn what_may_be_of_any_age_comes_as_a_whole() {
        assert_eq!(list("limit=2").unwrap().limit, 2);
        assert_eq!(list("limit=2&resourceVersion=0").unwrap().limit, 0);
        assert_eq!(list("limit=-2").unwrap().limit, 0);
    }

    #[test]
    fn a_watch_starts_at_the_requested_version() {
        assert_eq!(start("").unwrap(), Start::Present(0));
        assert_eq!(start("resourceVersion=0").unwrap(), Start::Present(0));
        assert_eq!(start("resourceVersion=7").unwrap(), Start::After(7));
        let initial = "resourceVersionMatch=NotOlderThan&sendInitialEvents";
        let all = format!("{initial}=true&resourceVersion=7");
        assert_eq!(start(&all).unwrap(), Start::Present(7));
        assert_eq!(start(&format!("{initial}=false")).unwrap(), Start::Next);
        let after = format!("{initial}=false&resourceVersion=7");
        assert_eq!(start(&after).unwrap(), Start::After(7));
        assert_eq!(start("sendInitialEvents=true").unwrap_err().code, 422);
        assert_eq!(start("resourceVersion=x").unwrap_err().code, 500);
    }
}
