//! Lists: pages of a collection as it was at one version.
//!
//! In: a collection, a scope and options. Out: a page and where the next one starts. Later pages show
//! the collection as it was when the first was read, by undoing what happened since.

use std::sync::Arc;

use super::history::Forgotten;
use super::object::Stored;
use super::query::Query;
use super::reads::{self, At, ListOptions};
use super::resources::Resource;
use super::scope::Scope;
use super::status::Refusal;
use super::store::{Collection, State};

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page {
    /// The version that it shows.
    pub(super) version: u64,
    /// By their keys, which sort them.
    pub(super) items: Vec<(Arc<str>, Stored)>,
    /// What to ask for next; none when this was the last page.
    pub(super) next: Option<String>,
    /// How many objects are left, if that is known.
    pub(super) remaining: Option<usize>,
}

/// Where a page starts.
struct Cursor {
    /// The version to show; none for the newest.
    version: Option<u64>,
    /// The key after which it starts.
    after: String,
}

/// Reads a page.
///
/// # Errors
/// 410 when the state is forgotten, 504 when it is not there yet, 400 for a broken token.
pub(super) fn list(
    state: &State,
    resource: &Resource,
    scope: &Scope,
    options: &ListOptions,
) -> Result<Page, Refusal> {
    let cursor = match &options.continue_token {
        Some(token) => {
            let cursor = read_token(token)?;
            match options.at {
                At::Now => cursor,
                _ => return Err(Refusal::bad_request(TOKEN_AND_VERSION)),
            }
        }
        None => start(state, options.at)?,
    };
    let version = cursor.version.unwrap_or(state.version);
    let Some(collection) = state.collection(&resource.collection) else {
        return Err(Refusal::not_found(resource, ""));
    };
    let mut found = objects(collection, resource, scope, &cursor).map_err(|_| {
        let expired = options.continue_token.is_some();
        match expired {
            true => Refusal::expired(CONTINUE_EXPIRED).or_continue(token(None, &cursor.after)),
            false => Refusal::expired("The resourceVersion for the provided list is too old."),
        }
    })?;
    let (mut next, mut remaining) = (None, None);
    if options.limit > 0 && found.len() > options.limit {
        if scope.is_plain() {
            remaining = Some(found.len() - options.limit);
        }
        found.truncate(options.limit);
        next = found.last().map(|(key, _)| token(Some(version), key));
    }
    Ok(Page {
        version,
        items: found,
        next,
        remaining,
    })
}

const TOKEN_AND_VERSION: &str = "specifying resource version is not allowed when using continue";

const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Checks that the version that a read asks for is not yet to come.
///
/// # Errors
/// 504 when it is.
pub(super) fn check_version(state: &State, query: &Query) -> Result<(), Refusal> {
    match reads::bare_version(query)? {
        Some(version) if version > state.version => {
            Err(Refusal::version_too_large(version, state.version))
        }
        _ => Ok(()),
    }
}

fn start(state: &State, at: At) -> Result<Cursor, Refusal> {
    let version = match at {
        At::Now => None,
        At::NotOlderThan(version) | At::Exactly(version) if version > state.version => {
            return Err(Refusal::version_too_large(version, state.version));
        }
        At::NotOlderThan(_) => None,
        At::Exactly(version) => Some(version),
    };
    Ok(Cursor {
        version,
        after: String::new(),
    })
}

/// The objects from the cursor on, by key.
fn objects(
    collection: &Collection,
    resource: &Resource,
    scope: &Scope,
    cursor: &Cursor,
) -> Result<Vec<(Arc<str>, Stored)>, Forgotten> {
    let selected = |key: &str, object: &Stored| scope.has(key, object);
    let then = match cursor.version {
        Some(version) => collection.history.undo(version)?,
        None => Default::default(),
    };
    let keyed = |(key, object): (&Arc<str>, &Stored)| {
        selected(key, object).then(|| (key.clone(), object.clone()))
    };
    if let (Some(key), true) = (scope.only_key(resource), then.is_empty()) {
        let object = collection.get(&key).filter(|object| selected(&key, object));
        let object = object.filter(|_| key > cursor.after);
        return Ok(object
            .map(|object| (key.into(), object.clone()))
            .into_iter()
            .collect());
    }
    let now = collection.from(&scope.prefix, &cursor.after);
    let mut found: Vec<_> = now
        .filter(|(key, _)| !then.contains_key(*key))
        .filter_map(keyed)
        .collect();
    if !then.is_empty() {
        let back = then
            .iter()
            .filter_map(|(key, object)| Some((key, object.as_ref()?)))
            .filter(|(key, _)| ***key > *cursor.after);
        found.extend(back.filter_map(keyed));
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    Ok(found)
}

/// A token: the version to show (`-` for the newest) and the last key.
fn token(version: Option<u64>, after: &str) -> String {
    let version = version.map_or_else(|| "-".into(), |version| version.to_string());
    let hex: String = after.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{version}.{hex}")
}

fn read_token(token: &str) -> Result<Cursor, Refusal> {
    let broken = || Refusal::bad_request("invalid continue token: continue key is not valid");
    let (version, hex) = token.split_once('.').ok_or_else(broken)?;
    let version = match version {
        "-" => None,
        version => Some(version.parse().map_err(|_| broken())?),
    };
    let byte = |at: usize| {
        let digits = hex.get(at..at + 2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    let after: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let after = after.and_then(|bytes| String::from_utf8(bytes).ok());
    let after = after.ok_or_else(broken)?;
    Ok(Cursor { version, after })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn put(state: &mut State, name: &str, value: u32) {
        let resource = state.registry.find("", "v1", "configmaps").unwrap();
        let object = json!({"metadata": {"name": name, "namespace": "a"}, "data": {"v": value}});
        let draft = state.draft(&resource, object);
        state.put(&resource.address("a", name), draft);
    }

    fn page(state: &State, options: &ListOptions) -> Result<Page, Refusal> {
        let resource = state.registry.find("", "v1", "configmaps").unwrap();
        let scope = Scope::read(&resource, Some("a"), &Query::default()).unwrap();
        list(state, &resource, &scope, options)
    }

    fn options(limit: usize, token: Option<String>, at: At) -> ListOptions {
        ListOptions {
            limit,
            continue_token: token,
            at,
        }
    }

    fn shown(page: &Page) -> Vec<String> {
        let show = |(_, object): &(Arc<str>, Stored)| {
            let value = object.stored_value();
            let name = value["metadata"]["name"].as_str().unwrap().to_owned();
            format!("{name}={}", value["data"]["v"])
        };
        page.items.iter().map(show).collect()
    }

    #[test]
    fn later_pages_show_the_state_of_the_first() {
        let mut state = State::new();
        for name in ["a", "b", "c", "d", "e"] {
            put(&mut state, name, 1);
        }
        let first = page(&state, &options(2, None, At::Now)).unwrap();
        assert_eq!(shown(&first), ["a=1", "b=1"]);
        assert_eq!(first.remaining, Some(3));
        put(&mut state, "c", 2);
        put(&mut state, "cc", 2);
        let resource = state.registry.find("", "v1", "configmaps").unwrap();
        state.remove(&resource.address("a", "d"));
        let second = page(&state, &options(2, first.next, At::Now)).unwrap();
        assert_eq!(shown(&second), ["c=1", "d=1"]);
        assert_eq!(second.version, first.version);
        let third = page(&state, &options(2, second.next, At::Now)).unwrap();
        assert_eq!(shown(&third), ["e=1"]);
        assert!(third.next.is_none() && third.remaining.is_none());
        let exact = page(&state, &options(0, None, At::Exactly(first.version))).unwrap();
        assert_eq!(exact.items.len(), 5);
        let now = page(&state, &options(0, None, At::Now)).unwrap();
        assert_eq!(shown(&now), ["a=1", "b=1", "c=2", "cc=2", "e=1"]);
    }

    #[test]
    fn a_forgotten_page_offers_to_go_on_with_the_present() {
        let mut state = State::new();
        for name in ["a", "b", "c"] {
            put(&mut state, name, 1);
        }
        let first = page(&state, &options(1, None, At::Now)).unwrap();
        put(&mut state, "b", 2);
        state.forget();
        let refusal = page(&state, &options(1, first.next, At::Now)).unwrap_err();
        assert_eq!((refusal.code, refusal.reason), (410, "Expired"));
        let token = refusal.value()["metadata"]["continue"]
            .as_str()
            .unwrap()
            .to_owned();
        let next = page(&state, &options(5, Some(token), At::Now)).unwrap();
        assert_eq!(shown(&next), ["b=2", "c=1"]);
    }

    #[test]
    fn the_future_and_broken_tokens_are_refused() {
        let state = State::new();
        let future = page(&state, &options(0, None, At::NotOlderThan(99))).unwrap_err();
        assert_eq!(future.code, 504);
        for token in ["", "x", "1.zz", "1.6", "x.61"] {
            let refusal = page(&state, &options(1, Some(token.into()), At::Now)).unwrap_err();
            assert_eq!(refusal.code, 400, "{token}");
        }
    }
}
