//! Names as Kubernetes takes them, most of them from DNS (RFC 1123).
//!
//! In: a text. Out: whether it is such a name.

/// Whether a text can name a namespace or a Service: at most 63 lower-case letters, digits and inner hyphens.
#[must_use]
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_word(text)
}

/// Whether a text can name most objects: at most 253 characters of words like those of a label, joined by dots.
#[must_use]
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_word)
}

/// Whether a text can name an object of any kind: some, such as roles, have names that DNS would not take. It is one part of
/// a URL as it stands, and not one that leads up or into a query.
#[must_use]
pub fn is_path_segment(text: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(is_fit) && ![".", ".."].contains(&text)
}

fn is_word(text: &str) -> bool {
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut ends = [text.bytes().next(), text.bytes().last()].into_iter();
    let inner = text.bytes().all(|byte| is_lower(byte) || byte == b'-');
    inner && ends.all(|end| end.is_some_and(is_lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_short_and_a_subdomain_has_dots() {
        let (longest, longer) = ("a".repeat(63), "a".repeat(64));
        for (text, label, subdomain) in [
            ("a", true, true),
            ("team-1", true, true),
            (longest.as_str(), true, true),
            (longer.as_str(), false, true),
            ("a.b", false, true),
            ("", false, false),
            ("a.", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("A", false, false),
            ("a b", false, false),
        ] {
            assert_eq!(
                (is_dns_label(text), is_dns_subdomain(text)),
                (label, subdomain),
                "{text:?}"
            );
        }
    }
}
