//! What names, label values and keys may look like.
//!
//! In: a text. Out: the complaints about it, in Kubernetes' words (k8s.io/apimachinery
//! `util/validation`); none means that it is fine.

/// Which rule the names of a kind follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameRule {
    /// Most kinds: dots allowed, 253 characters.
    Subdomain,
    /// Namespaces: no dots, 63 characters.
    Label,
    /// Services: as [`Self::Label`] and no digit first.
    Label1035,
    /// Roles and bindings: whatever is valid in a path.
    PathSegment,
}

impl NameRule {
    /// What is wrong with `name`.
    pub(super) fn complaints(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::Label1035 => label_1035(name),
            Self::PathSegment => path_segment(name),
        }
    }

    /// What is wrong with `prefix` as a `generateName`: it may end in a dash.
    pub(super) fn prefix_complaints(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment => path_segment(prefix),
            rule => match prefix.strip_suffix('-') {
                // A real server looks neither at the dash nor at what is before it.
                Some(start) if !start.is_empty() => {
                    let mut start = start.to_owned();
                    start.pop();
                    rule.complaints(&format!("{start}a"))
                }
                _ => rule.complaints(prefix),
            },
        }
    }
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

fn example(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|one| format!("'{one}'")).collect();
    format!(
        "{rule} (e.g. {}, regex used for validation is '{pattern}')",
        examples.join(",  or ")
    )
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|b| is_lower(*b))
        && bytes.last().is_some_and(|b| is_lower(*b))
        && bytes.iter().all(|b| is_lower(*b) || *b == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// Complaints about a DNS subdomain.
pub(super) fn subdomain(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 253 {
        complaints.push(too_long(253));
    }
    if !is_subdomain(text) {
        complaints.push(example(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            &format!("{LABEL}(\\.{LABEL})*"),
            &["example.com"],
        ));
    }
    complaints
}

/// Complaints about a DNS label.
pub(super) fn label(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 63 {
        complaints.push(too_long(63));
    }
    if !is_label(text) && is_subdomain(text) {
        complaints.push("must not contain dots".into());
    } else if !is_label(text) {
        complaints.push(example(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            LABEL,
            &["my-name", "123-abc"],
        ));
    }
    complaints
}

fn label_1035(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 63 {
        complaints.push(too_long(63));
    }
    if !is_label(text) || text.starts_with(|c: char| c.is_ascii_digit()) {
        complaints.push(example(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    complaints
}

fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    let part = ["/", "%"].into_iter().find(|part| text.contains(part));
    part.map(|part| format!("may not contain '{part}'"))
        .into_iter()
        .collect()
}

/// Complaints about the key of a label, an annotation or a finalizer.
pub(super) fn qualified(text: &str) -> Vec<String> {
    const RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    const PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
    let message = |start: &str| {
        example(
            &format!("{start} {RULE}"),
            PATTERN,
            &["MyName", "my.name", "123-abc"],
        )
    };
    let mut complaints = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (*name).to_owned(),
        ["", name] => {
            complaints.push("prefix part must be non-empty".into());
            (*name).to_owned()
        }
        [prefix, name] => {
            let wrong = subdomain(prefix).into_iter();
            complaints.extend(wrong.map(|complaint| format!("prefix part {complaint}")));
            (*name).to_owned()
        }
        _ => {
            let message = message("a qualified name");
            return vec![format!(
                "{message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        complaints.push(format!("name part {}", too_long(63)));
    }
    if !is_name(&name) {
        complaints.push(message("name part"));
    }
    complaints
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// Complaints about the value of a label.
pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 63 {
        complaints.push(too_long(63));
    }
    if !text.is_empty() && !is_name(text) {
        complaints.push(example(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_takes_and_refuses() {
        assert!(subdomain("a.b-c.1").is_empty());
        assert_eq!(
            subdomain("A"),
            [
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert_eq!(label("a.b"), ["must not contain dots"]);
        assert!(
            NameRule::Label1035.complaints("1a")[0].contains("(e.g. 'my-name',  or 'abc-123', ")
        );
        assert!(NameRule::PathSegment.complaints("system:node").is_empty());
        assert_eq!(
            NameRule::PathSegment.complaints("a/b"),
            ["may not contain '/'"]
        );
        assert!(NameRule::Subdomain.prefix_complaints("a-").is_empty());
        assert_eq!(
            subdomain(&"a".repeat(254)),
            ["must be no more than 253 characters"]
        );
    }

    #[test]
    fn keys_have_an_optional_prefix() {
        assert!(qualified("example.com/My.Name_1").is_empty());
        assert!(qualified("name").is_empty());
        assert_eq!(qualified("/a"), ["prefix part must be non-empty"]);
        assert_eq!(qualified("a/b/c").len(), 1);
        assert_eq!(qualified("a/-b").len(), 1);
        assert_eq!(qualified("A/b").len(), 1);
        assert!(label_value("").is_empty());
        assert_eq!(label_value("-a").len(), 1);
    }
}
