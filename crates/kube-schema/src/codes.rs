//! Formats of numbers that people copy: books, cards, colours.
//!
//! In: a text. Out: whether it has the format, its check digit included. It does not know schemas.

/// Whether a text without blanks and dashes is the number of a book, with ten or thirteen digits.
pub(crate) fn is_isbn(text: &str) -> bool {
    is_isbn10(text) || is_isbn13(text)
}

/// Nine digits and a check digit, which may be `X` for ten.
pub(crate) fn is_isbn10(text: &str) -> bool {
    let kept = without_blanks(text);
    let (body, check) = match kept.strip_suffix('X') {
        Some(body) => (digits(body), Some(10)),
        None => (
            digits(kept.get(..kept.len().saturating_sub(1)).unwrap_or("")),
            kept.chars().last().and_then(|c| c.to_digit(10)),
        ),
    };
    match (body, check) {
        (Some(body), Some(check)) if body.len() == 9 => {
            let sum: u32 = (1..).zip(&body).map(|(weight, digit)| weight * digit).sum();
            (sum + 10 * check).is_multiple_of(11)
        }
        _ => false,
    }
}

/// Thirteen digits, every second one counted three times.
pub(crate) fn is_isbn13(text: &str) -> bool {
    let weighted = |(at, digit): (usize, &u32)| if at % 2 == 0 { *digit } else { 3 * digit };
    digits(&without_blanks(text)).is_some_and(|digits| {
        let sum: u32 = digits.iter().enumerate().map(weighted).sum();
        digits.len() == 13 && sum.is_multiple_of(10)
    })
}

/// The number of a card that one of the known companies issues; what is no digit does not count.
pub(crate) fn is_credit_card(text: &str) -> bool {
    let kept: String = text.chars().filter(char::is_ascii_digit).collect();
    let prefix = |length: usize| {
        kept.get(..length)
            .and_then(|start| start.parse::<u32>().ok())
    };
    let issued = matches!(
        (prefix(1), prefix(2), prefix(3), prefix(4), kept.len()),
        (Some(4), .., 13 | 16)
            | (_, Some(35 | 51..=55 | 65), .., 16)
            | (.., Some(6011), 16)
            | (_, Some(34 | 37), .., 15)
            | (.., Some(2131 | 1800), 15)
            | (_, Some(36 | 38), .., 14)
            | (_, _, Some(300..=305), _, 14)
    );
    let doubled = |(at, digit): (usize, &u32)| match at % 2 {
        0 => *digit,
        _ => 2 * digit / 10 + 2 * digit % 10,
    };
    let digits = digits(&kept).unwrap_or_default();
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    issued && sum.is_multiple_of(10)
}

/// Three, two and four digits, with a dash or a blank between them or not.
pub(crate) fn is_ssn(text: &str) -> bool {
    let mut rest = text;
    for length in [3, 2, 4] {
        let Some(start) = rest.get(..length).filter(|start| digits(start).is_some()) else {
            return false;
        };
        rest = &rest[start.len()..];
        if length != 4 {
            rest = rest.strip_prefix(['-', ' ']).unwrap_or(rest);
        }
    }
    rest.is_empty()
}

/// `rgb(1, 2, 3)`
pub(crate) fn is_rgb_color(text: &str) -> bool {
    let inner = text
        .strip_prefix("rgb(")
        .and_then(|rest| rest.strip_suffix(')'));
    let is_part = |part: &str| {
        let part = part.trim_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let plain = part == "0" || !part.starts_with(['0', '+']);
        plain && part.parse::<u8>().is_ok()
    };
    inner.is_some_and(|inner| inner.split(',').count() == 3 && inner.split(',').all(is_part))
}

fn without_blanks(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_ascii_whitespace() && *c != '-')
        .collect()
}

/// The digits of a text that has nothing else.
fn digits(text: &str) -> Option<Vec<u32>> {
    text.chars().map(|c| c.to_digit(10)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_are_checked() {
        assert!(is_isbn10("0-8044-2957-X") && is_isbn("0321751043"));
        assert!(!is_isbn10("0321751044") && !is_isbn10("") && !is_isbn10("X"));
        assert!(is_isbn13("978-0321751041") && !is_isbn13("978-0321751042"));
        assert!(is_credit_card("4111 1111 1111 1111"));
        assert!(!is_credit_card("4111 1111 1111 1112") && !is_credit_card("0000"));
    }

    #[test]
    fn parts_are_counted() {
        assert!(is_ssn("111-22-3333") && is_ssn("111223333"));
        assert!(!is_ssn("111-22-33334") && !is_ssn("é1-22-3333"));
        assert!(is_rgb_color("rgb(255, 0,1)"));
        assert!(!is_rgb_color("rgb(256,0,0)") && !is_rgb_color("rgb(01,0,0)"));
    }
}
