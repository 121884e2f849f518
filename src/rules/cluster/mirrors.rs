//! C46: mirrors of images.

use crate::model::Finding;
use crate::rules::arm::{Field, Resource, World};

/// The most bytes of a registry's name, and the most mirrors of one source.
const MOST: usize = 255;

/// C46: sources and mirrors are registries, as images name them.
pub(in crate::rules) fn image_mirrors(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let list = cluster.field("spec.properties.imageDigestMirrors");
    let count = list.items().count();
    let many = (count > 240).then(|| {
        list.finding(
            "C46",
            format!("imageDigestMirrors has {count} items, and 240 are the most"),
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
        0 => "mirrors is empty, so the source has none".to_owned(),
        1..=MOST => return None,
        _ => format!("mirrors has {count} items, and {MOST} are the most"),
    };
    Some(mirrors.finding("C46", message))
}

fn registry(field: &Field<'_>, may_be_wild: bool) -> Option<Finding> {
    let text = field.text().unwrap_or_default();
    let why = fault(text, may_be_wild)?;
    let message = format!("{} {text:?} {why}", field.name());
    let help = "write it as images name it: registry.example.com/team/image";
    Some(field.finding("C46", message).help(help))
}

/// What is wrong with `host[:port][/path]`, or with `*.host` where that may be.
fn fault(text: &str, may_be_wild: bool) -> Option<&'static str> {
    if text.is_empty() {
        return Some("names no registry");
    }
    if text.len() > MOST {
        return Some("has more than 255 characters");
    }
    if text.contains(char::is_whitespace) {
        return Some("has blanks in it");
    }
    if text.to_lowercase() != text {
        return Some("must be in lower case");
    }
    if text.starts_with("http://") || text.starts_with("https://") {
        return Some("may not begin with a protocol");
    }
    if let Some(host) = text.strip_prefix("*.") {
        return match (may_be_wild, is_host(host)) {
            (false, _) => Some("may not have a `*`: only a source may"),
            (true, false) => Some("may have nothing but a host after its `*.`"),
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
        (false, ..) => Some("does not begin with a host"),
        (_, true, _) => Some("has no port after its `:`"),
        (.., true) => Some("has a part after its host that no image can have"),
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
    use super::super::said;
    use super::*;

    #[test]
    fn registries_are_written_as_images_name_them() {
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
            said(image_mirrors, &spec).len()
        };
        assert_eq!(
            [0, 1, 255, 256].map(|count| faults(&[item(count)])),
            [1, 0, 0, 1]
        );
        assert_eq!(faults(&vec![item(1); 240]), 0);
        assert_eq!(faults(&vec![item(1); 241]), 1);
    }
}
