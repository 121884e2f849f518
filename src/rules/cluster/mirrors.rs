//! C46: mirrors of images.

use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};

/// The maximum length of a registry's name in bytes, and the maximum number of mirrors of one source.
const MOST: usize = 255;
/// The maximum length of a host in bytes.
const LONGEST_HOST: usize = 253;
/// The maximum number of sources.
const SOURCES: usize = 240;

/// C46: sources and mirrors are registries, written as in image names.
pub(in crate::rules) fn image_mirrors(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let list = cluster.field("spec.properties.imageDigestMirrors");
    let count = list.items().count();
    let many = (count > SOURCES).then(|| {
        let name = list.name();
        let message = message!("{name} has {count} items, more than {SOURCES}", name, count);
        let help = "mirror a whole registry with one source, such as `*.example.com`";
        list.finding("C46", message).help(help)
    });
    let items = list.items().flat_map(|item| {
        let (source, mirrors) = (item.key("source"), item.key("mirrors"));
        let each = mirrors
            .items()
            .filter_map(|mirror| registry(&mirror, false));
        let all: Vec<Finding> = registry(&source, true)
            .into_iter()
            .chain(amount(&mirrors))
            .chain(each)
            .collect();
        all
    });
    many.into_iter().chain(items).collect()
}

fn amount(mirrors: &Field<'_>) -> Option<Finding> {
    let count = mirrors.items().count();
    let (message, help) = match count {
        0 => (
            "mirrors is empty: the source has no mirror".into(),
            "list 1 to 255 registries, or remove the source",
        ),
        1..=MOST => return None,
        _ => (
            message!("mirrors has {count} items, more than {MOST}", count),
            "list 1 to 255 registries",
        ),
    };
    Some(mirrors.finding("C46", message).help(help))
}

fn registry(field: &Field<'_>, may_be_wild: bool) -> Option<Finding> {
    let text = field.text().unwrap_or_default();
    let why = fault(text, may_be_wild)?;
    let message = message!("{field} {text:?} {why}", field = field.name(), text);
    let help = "write it as in image names: registry.example.com/team/image";
    Some(field.finding("C46", message).help(help))
}

/// What is wrong with `host[:port][/path]`, or with `*.host` if wildcards are allowed.
fn fault(text: &str, may_be_wild: bool) -> Option<&'static str> {
    if text.is_empty() {
        return Some("is empty");
    }
    if text.len() > MOST {
        return Some("has more than 255 characters");
    }
    if text.contains(char::is_whitespace) {
        return Some("contains spaces");
    }
    if text.to_lowercase() != text {
        return Some("must be in lower case");
    }
    if text.starts_with("http://") || text.starts_with("https://") {
        return Some("may not start with a protocol");
    }
    match text.strip_prefix("*.") {
        None => of_registry(text),
        Some(_) if !may_be_wild => Some("may not contain `*`: only a source may"),
        Some(host) => (!is_host(host)).then_some("must have only a host after `*.`"),
    }
}

/// What is wrong with `host[:port][/path]`.
fn of_registry(text: &str) -> Option<&'static str> {
    let (place, path) = match text.split_once('/') {
        Some((place, path)) => (place, Some(path)),
        None => (text, None),
    };
    let (host, port) = match place.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (place, None),
    };
    if host.len() > LONGEST_HOST {
        return Some("has a host of more than 253 characters");
    }
    if !is_host(host) {
        return Some("does not start with a host");
    }
    // Azure accepts any number.
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit())) {
        return Some("has no number after `:`");
    }
    let wrong = path.is_some_and(|path| !path.split('/').all(is_part));
    wrong.then_some("has an invalid part after its host")
}

fn is_host(host: &str) -> bool {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.split('.').all(label)
}

/// Whether it consists of letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_part(part: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_gap = |gap: &str| matches!(gap, "" | "." | "_" | "__") || gap.bytes().all(|b| b == b'-');
    let ends = part.starts_with(is_word) && part.ends_with(is_word);
    ends && part.split(is_word).all(is_gap)
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn registries_are_written_as_in_image_names() {
        let host = |length: usize| format!("{}.io", "a".repeat(length - 3));
        for good in [
            "quay.io",
            "quay.io/a/b-c",
            "localhost:5000/x",
            "r.example.com:443",
            "quay.io:99999/a",
            "quay.io/a_b/a__b/a.b/a---b",
            &host(253),
        ] {
            assert_eq!(fault(good, false), None, "{good}");
        }
        let long = "a".repeat(256);
        for bad in [
            "",
            "https://quay.io",
            "QUAY.io/x",
            "a b",
            "*.quay.io",
            "quay.io:/x",
            "quay.io:-1",
            "quay.io:+1/a",
            "quay.io:a",
            "-a.io",
            "quay.io/",
            "a..b",
            "quay.io/a___b",
            "quay.io/a..b",
            "quay.io/a._b",
            "quay.io/a.-b",
            "quay.io/a-",
            &host(254),
            &long,
        ] {
            assert!(fault(bad, false).is_some(), "{bad}");
        }
        assert_eq!(fault("*.quay.io", true), None);
        assert!(fault("*.quay.io/x", true).is_some());
    }

    #[test]
    fn there_are_neither_too_few_nor_too_many() {
        let item = |mirrors: usize| {
            format!(
                "{{source: quay.io/x, mirrors: [{}]}}",
                vec!["r.io/x"; mirrors].join(", ")
            )
        };
        let faults = |items: &[String]| {
            let spec = format!(
                "{{properties: {{imageDigestMirrors: [{}]}}}}",
                items.join(", ")
            );
            findings_of(image_mirrors, &spec).len()
        };
        assert_eq!(
            [0, 1, 255, 256].map(|count| faults(&[item(count)])),
            [1, 0, 0, 1]
        );
        assert_eq!(faults(&vec![item(1); 240]), 0);
        assert_eq!(faults(&vec![item(1); 241]), 1);
    }
}
