//! Pages of a list.
//!
//! In: the query of a list, and its items in order. Out: one page, and the token of the next. A token names the last item of a page, so that
//! clusters which come and go meanwhile neither hide nor repeat others.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::problem::Problem;

/// The items of a page if the client does not say.
const DEFAULT_SIZE: usize = 50;
/// The most items of a page.
const MOST: usize = 100;
/// The longest token.
const LONGEST: usize = 512;
/// The beginning of a token.
const VERSION: &str = "1\n";

/// The place of an item in a list: its name and ID.
pub type Key = (String, String);

/// The part of a list that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    size: usize,
    after: Start,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Start {
    Key(Option<Key>),
    /// From tokens of DCM's own provider, which clients may still hold.
    Offset(usize),
}

impl PageQuery {
    /// Reads the parameters `max_page_size` and `page_token`.
    ///
    /// # Errors
    /// 400 if one of them is not valid.
    pub fn read(size: Option<&str>, token: Option<&str>) -> Result<Self, Problem> {
        let size = size.map_or(Ok(DEFAULT_SIZE), |text| {
            let number = text.parse::<i64>();
            let number = number
                .map_err(|_| Problem::invalid("invalid format for parameter \"max_page_size\""))?;
            let size = usize::try_from(number)
                .ok()
                .filter(|size| (1..=MOST).contains(size));
            size.ok_or_else(|| {
                Problem::invalid(format!("max_page_size must be between 1 and {MOST}"))
            })
        })?;
        let token = token.filter(|token| !token.is_empty());
        let after = token.map_or(Some(Start::Key(None)), start);
        let after = after.ok_or_else(|| Problem::invalid("invalid page_token"))?;
        Ok(Self { size, after })
    }

    /// The items of the page, of all items in the order of their keys, and the token of the next page if there is one.
    pub fn page<'a, T>(
        &self,
        items: &'a [T],
        key: impl Fn(&T) -> Key,
    ) -> (&'a [T], Option<String>) {
        let from = match &self.after {
            Start::Key(None) => 0,
            Start::Key(Some(last)) => items.partition_point(|item| key(item) <= *last),
            Start::Offset(offset) => (*offset).min(items.len()),
        };
        let to = (from + self.size).min(items.len());
        let page = items.get(from..to).unwrap_or_default();
        let next = page.last().filter(|_| to < items.len());
        (page, next.map(|item| token(&key(item))))
    }
}

fn token((name, id): &Key) -> String {
    URL_SAFE_NO_PAD.encode(format!("{VERSION}{name}\n{id}"))
}

fn start(token: &str) -> Option<Start> {
    if token.len() > LONGEST {
        return None;
    }
    let decoded = URL_SAFE_NO_PAD
        .decode(token)
        .or_else(|_| STANDARD.decode(token))
        .ok()?;
    let text = String::from_utf8(decoded).ok()?;
    match text.strip_prefix(VERSION) {
        Some(key) => {
            let (name, id) = key.split_once('\n')?;
            Some(Start::Key(Some((name.to_owned(), id.to_owned()))))
        }
        None => text.parse().ok().map(Start::Offset),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn items(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("c-{number:03}")).collect()
    }

    fn key(item: &String) -> Key {
        (item.clone(), format!("id-{item}"))
    }

    fn query(size: &str, token: Option<&str>) -> PageQuery {
        PageQuery::read(Some(size), token).unwrap()
    }

    #[test]
    fn a_page_has_fifty_items_unless_the_client_says() {
        let all = items(60);
        let (page, next) = PageQuery::read(None, None).unwrap().page(&all, key);
        assert_eq!(page.len(), 50);
        let (rest, end) = PageQuery::read(None, next.as_deref())
            .unwrap()
            .page(&all, key);
        assert_eq!((rest, end), (&all[50..], None));
        assert_eq!(PageQuery::read(None, Some("")), PageQuery::read(None, None));
    }

    #[test]
    fn sizes_are_from_1_to_100() {
        for size in ["1", "100"] {
            assert!(PageQuery::read(Some(size), None).is_ok());
        }
        for size in ["0", "-5", "101", "200"] {
            let problem = PageQuery::read(Some(size), None).unwrap_err();
            assert_eq!(problem.detail, "max_page_size must be between 1 and 100");
        }
        for size in ["", "ten", "1.5", "99999999999999999999"] {
            let problem = PageQuery::read(Some(size), None).unwrap_err();
            assert_eq!(
                problem.detail,
                "invalid format for parameter \"max_page_size\""
            );
        }
    }

    #[test]
    fn pages_walk_through_the_list_although_it_changes() {
        let mut all = items(5);
        let (page, next) = query("2", None).page(&all, key);
        assert_eq!(page, ["c-000", "c-001"]);
        // The last item of the page goes, and one comes before it.
        all.remove(1);
        all.insert(0, "b".to_owned());
        let (page, next) = query("2", next.as_deref()).page(&all, key);
        assert_eq!(page, ["c-002", "c-003"]);
        let (page, next) = query("2", next.as_deref()).page(&all, key);
        assert_eq!((page, next), (&["c-004".to_owned()][..], None));
    }

    #[test]
    fn tokens_of_offsets_are_understood() {
        let all = items(5);
        let offset = |text: &str| STANDARD.encode(text);
        let (page, _) = query("2", Some(&offset("2"))).page(&all, key);
        assert_eq!(page, ["c-002", "c-003"]);
        let (page, next) = query("2", Some(&offset("9"))).page(&all, key);
        assert_eq!((page.len(), next), (0, None));
        for wrong in [
            offset("-1"),
            offset("x"),
            "!".to_owned(),
            "a".repeat(600),
            URL_SAFE_NO_PAD.encode("1\nx"),
        ] {
            let problem = PageQuery::read(None, Some(&wrong)).unwrap_err();
            assert_eq!(problem.detail, "invalid page_token", "{wrong}");
        }
    }
}
