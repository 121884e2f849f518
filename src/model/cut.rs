//! Text that is cut between characters, never inside one.
//!
//! In: a text, and how much of it or up to where. Out: parts of it. It does not know what the text says.

/// A text of at most so many characters; `mark` follows what was cut.
#[must_use]
pub fn shortened(text: &str, most: usize, mark: &str) -> String {
    let end = text.char_indices().nth(most);
    match end.and_then(|(end, _)| text.get(..end)) {
        Some(head) => format!("{head}{mark}"),
        None => text.to_owned(),
    }
}

/// The longest beginning of at most so many bytes.
#[must_use]
pub fn head(text: &str, most: usize) -> &str {
    let ends = (0..=most.min(text.len())).rev();
    let mut heads = ends.filter_map(|end| text.get(..end));
    heads.next().unwrap_or_default()
}

/// What comes before the first character that ends it, and the rest from that character on.
#[must_use]
pub fn until(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(ends).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut() {
        let text = "größe名前😀";
        for most in 0..20 {
            let short = shortened(text, most, "");
            assert_eq!(short.chars().count(), most.min(8), "{most}");
            let head = head(text, most);
            assert!(text.starts_with(head) && head.len() <= most, "{most}");
            assert!(head.len() + 4 > most.min(text.len()), "{most}");
        }
        assert_eq!(shortened(text, 3, "…"), "grö…");
        assert_eq!(until(text, |c| c == 'ö'), ("gr", "öße名前😀"));
        assert_eq!(until(text, |c| c == 'x'), (text, ""));
    }
}
