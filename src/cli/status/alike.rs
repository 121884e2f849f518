//! What has one reason, as one entry.
//!
//! In: clusters or objects, and why each is not ready. Out: groups of those with one reason, and their names. It does not know how they
//! are shown.

use std::collections::BTreeMap;

/// The most names of a group that are shown, and the most members of one that are shown one by one.
pub(super) const NAMED: usize = 3;

/// Those with equal keys together, in the order of the first of each group. A group that is small enough to be read one by one
/// is not made.
pub(super) fn alike<T, K: Ord>(
    all: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<T>> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<(usize, T)>> = Vec::new();
    for (position, one) in all.into_iter().enumerate() {
        let place = *places.entry(key(&one)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push((position, one)),
            None => groups.push(vec![(position, one)]),
        }
    }
    let mut placed: Vec<Vec<(usize, T)>> = Vec::new();
    for group in groups {
        if group.len() > NAMED {
            placed.push(group);
        } else {
            placed.extend(group.into_iter().map(|one| vec![one]));
        }
    }
    placed.sort_by_key(|group| group.first().map(|(position, _)| *position));
    let placed = placed.into_iter();
    placed
        .map(|group| group.into_iter().map(|(_, one)| one).collect())
        .collect()
}

/// `a, b, c and 37 more`.
pub(super) fn names(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named: Vec<String> = names.take(NAMED).collect();
    format!("{}{more}", named.join(", "))
}

/// A message without what tells one object from another: these names, names that begin with one of them, and UUIDs, such as the
/// number of a request to Azure.
pub(super) fn neutral(message: &str, names: &[&str]) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_own = |word: &str| {
        let mut names = names.iter().filter(|name| !name.is_empty());
        names.any(|name| {
            let rest = word.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    let mut out = String::new();
    for piece in message.split_inclusive(|c| !is_part(c)) {
        let word = piece.trim_end_matches(|c| !is_part(c));
        if is_own(word) || is_uuid(word) {
            out.push('*');
            out.extend(piece.strip_prefix(word));
        } else {
            out.push_str(piece);
        }
    }
    out
}

fn is_uuid(word: &str) -> bool {
    let lengths = word.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_three_with_one_key_are_one_group_where_the_first_of_them_is() {
        let groups = |text: &str| {
            let groups = alike(text.chars(), char::to_ascii_lowercase);
            let groups = groups.into_iter().map(String::from_iter);
            groups.collect::<Vec<String>>().join(" ")
        };
        assert_eq!(groups("baBAxaA"), "b aAaA B x");
        assert_eq!(groups("abcABC"), "a b c A B C");
        assert_eq!(groups(""), "");
        let shown = |count: u8| names((0..count).map(|at| at.to_string()));
        assert_eq!(shown(3), "0, 1, 2");
        assert_eq!(shown(40), "0, 1, 2 and 37 more");
    }

    #[test]
    fn a_message_is_compared_without_the_names_in_it() {
        let one =
            "Vault 'c-01-kv' in /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/c-01: no.";
        let other =
            "Vault 'c-02-kv' in /subscriptions/8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31/c-02: no.";
        assert_eq!(neutral(one, &["c-01"]), neutral(other, &["c-02"]));
        assert_eq!(
            neutral(one, &["c-01"]),
            "Vault '*' in /subscriptions/*/*: no."
        );
        // A name is a whole word, and no word of a sentence.
        assert_eq!(neutral("a cat", &["at", ""]), "a cat");
        assert_ne!(neutral("no a", &["b"]), neutral("no b", &["c"]));
    }
}
