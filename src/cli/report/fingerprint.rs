//! What identifies a finding in formats that follow findings from one report to the next.
//!
//! In: findings, in the order of the report. Out: a text for each, unique in the report. It does not know any format.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::compile::{nameless, without_numbers};
use crate::model::{Finding, hex};

/// What identifies a finding when lines move and messages are reworded: the rule, the file, the object and the
/// subject, without numbers. Findings that have all of these in common are counted.
#[derive(Default)]
pub(super) struct Fingerprints(HashMap<String, usize>);

impl Fingerprints {
    /// The fingerprint of the next finding.
    pub(super) fn of(&mut self, finding: &Finding) -> String {
        let path = finding.span.as_ref().map(|span| span.path.to_string());
        // The fault is the overlay's, whichever cluster comes first.
        let name = finding.clusters.first();
        let name = name.and_then(|cluster| cluster.rsplit('/').next());
        let of_object = finding.object.as_ref().filter(|_| name.is_none());
        let field = finding.field.as_ref().filter(|_| name.is_none());
        let mut parts = vec![
            finding.id.to_owned(),
            path.unwrap_or_default(),
            of_object.map(ToString::to_string).unwrap_or_default(),
            field
                .map(|field| without_numbers(&field.to_string()))
                .unwrap_or_default(),
        ];
        for (key, value) in finding.subject().iter() {
            let value = nameless(value, name.unwrap_or_default());
            parts.push(format!("{key}={}", without_numbers(&value)));
        }
        let digest = Sha256::digest(parts.join("\0").as_bytes());
        let mut print = hex(&digest[..16]);
        let count = self.0.entry(print.clone()).or_default();
        *count += 1;
        let _ = write!(print, ":{count}");
        print
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Path, Span, message};

    #[test]
    fn a_fingerprint_survives_moves_and_new_words_and_twins_get_two() {
        let at = |path: &str, line, name: &str| {
            let span = Span::new(&Arc::from(path), line, 1, 3);
            Finding::error("R03", message!("duplicate `{name}`", name))
                .at(&span)
                .field(&Path::dotted("spec.a"))
        };
        let print = |finding: &Finding| Fingerprints::default().of(finding);
        let here = at("a.yaml", 4, "pool-1");
        let moved = at("a.yaml", 9, "pool-2");
        assert_eq!(print(&here), print(&moved));
        let message = "one is enough".to_owned();
        let reworded = Finding {
            message,
            ..here.clone()
        };
        assert_eq!(print(&here), print(&reworded));
        assert_ne!(print(&here), print(&at("c.yaml", 4, "pool-1")));
        assert_ne!(print(&here), print(&at("a.yaml", 4, "tags")));
        let mut prints = Fingerprints::default();
        assert_ne!(prints.of(&here), prints.of(&moved));
        let hit = |clusters: &[&str]| {
            let (_, name) = clusters[0].split_once('/').expect("a namespace");
            let mut finding = at("o.yaml", 1, name);
            finding.clusters = clusters.iter().map(|name| (*name).to_owned()).collect();
            finding
        };
        assert_eq!(print(&hit(&["n/one", "n/two"])), print(&hit(&["n/two"])));
    }
}
