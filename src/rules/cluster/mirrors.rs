//! C46: mirrors of images.

use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};

/// The maximum length of a registry's name in bytes, and the maximum number of mirrors of one source.
const MOST: usize = 255;

/// C46: sources and mirrors are registries, written as in image names.
pub(in crate::rules) fn image_mirrors(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let list = cluster.field("spec.properties.imageDigestMirrors");
    let count = list.items().count();
    let many = (count > 240).then(|| {
        list.finding(
            "C46",
            message!("imageDigestMirrors has {count} items, more than 240", count),
        )
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
    let message = match count {
        0 => "mirrors is empty: the source has no mirror".into(),
        1..=MOST => return None,
        _ => message!("mirrors has {count} items, more than {MOST}", count),
    };
    Some(mirrors.finding("C46", message))
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
    if let Some(host) = text.strip_prefix("*.") {
        return match (may_be_wild, is_host(host)) {
            (false, _) => Some("may not contain `*`: only a source may"),
            (true, false) => Some("must have only a host after `*.`"),
            (true, true) => None,
        };
    }
    let (host, path) = match text.split_once('/') {
        Some((host, path)) => (host, Some(path)),
        None => (text, None),
    };
    let (host, port) = match host.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (host, None),
    };
    let wrong_port = port.is_some_and(|port| port.parse::<u16>().is_err());
    let wrong_path = path.is_some_and(|path| !path.split('/').all(is_part));
    match (is_host(host), wrong_port, wrong_path) {
        (false, ..) => Some("does not start with a host"),
        (_, true, _) => Some("has no valid port after `:`"),
        (.., true) => Some("has an invalid part after its host"),
        _ => None,
    }
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

fn is_part(part: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    part.bytes().all(inner) && edge(part.bytes().next()) && edge(part.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn registries_are_written_as_in_image_names() {
        for good in [
            "quay.io",
            "quay.io/a/b-c",
            "localhost:5000/x",
            "r.example.com:443",
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
            "quay.io:99999",
            "-a.io",
            "quay.io/",
            "a..b",
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
