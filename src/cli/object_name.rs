//! An object as people name it on the command line.
//!
//! In: the text, and the objects that exist. Out: the matching one, or why there is no single match.

use crate::adapters::kubernetes::survey::Sought;
use crate::model::ObjectId;

/// How many similar names are shown.
const NEAR: usize = 3;

/// An object as people write it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ObjectName<'a> {
    text: &'a str,
    pub(super) sought: Sought<'a>,
}

impl<'a> ObjectName<'a> {
    /// `Kind/namespace/name` or `Kind/name`; the kind with its group behind a dot where it is
    /// ambiguous.
    ///
    /// # Errors
    /// When it is neither.
    pub(super) fn read(text: &'a str) -> anyhow::Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            _ => ("", None, ""),
        };
        if kind.is_empty() || name.is_empty() {
            anyhow::bail!("`{text}` is not written Kind/namespace/name, Kind//name or Kind/name");
        }
        let split = kind.split_once('.');
        let (kind, group) = split.map_or((kind, None), |(kind, group)| (kind, Some(group)));
        let sought = Sought {
            kind,
            group,
            namespace,
            name,
        };
        Ok(Self { text, sought })
    }

    /// The index of the one object among `ids` that matches. `who` has them.
    ///
    /// # Errors
    /// When no object or more than one matches.
    pub(super) fn find(&self, ids: &[(usize, &ObjectId)], who: &str) -> anyhow::Result<usize> {
        let text = self.text;
        let found: Vec<_> = ids.iter().filter(|(_, id)| self.sought.is(id)).collect();
        match found.as_slice() {
            [(at, _)] => Ok(*at),
            [] => anyhow::bail!("{who} is `{text}`{}", near(ids, text)),
            several => {
                let full = |(_, id): &&(usize, &ObjectId)| match id.group.as_str() {
                    "" => id.to_string(),
                    group => format!("{}.{group}/{}/{}", id.kind, id.namespace, id.name),
                };
                let several: Vec<String> = several.iter().map(full).collect();
                anyhow::bail!("`{text}` is ambiguous: {}", several.join(", "))
            }
        }
    }
}

/// The names most like `text`.
fn near(ids: &[(usize, &ObjectId)], text: &str) -> String {
    let text = text.to_lowercase();
    let like = |id: &ObjectId| {
        let whole = strsim::jaro_winkler(&text, &id.to_string().to_lowercase());
        let short = format!("{}/{}", id.kind, id.name).to_lowercase();
        whole.max(strsim::jaro_winkler(&text, &short))
    };
    let mut near: Vec<(f64, &ObjectId)> = ids.iter().map(|(_, id)| (like(id), *id)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let near: Vec<String> = near
        .iter()
        .take(NEAR)
        .map(|(_, id)| id.to_string())
        .collect();
    match near.as_slice() {
        [] => String::new(),
        near => format!("; similar names are {}", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn ids(ids: &[(&str, &str, &str)]) -> Vec<ObjectId> {
        let id = |(group, kind, name): &(&str, &str, &str)| {
            ObjectId::new(*group, *kind, "default", *name)
        };
        ids.iter().map(id).collect()
    }

    fn found(ids: &[ObjectId], text: &str) -> Result<String, String> {
        let places: Vec<_> = ids.iter().enumerate().collect();
        let at = ObjectName::read(text).and_then(|name| name.find(&places, "nobody"));
        at.map(|at| ids[at].to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_object_may_be_written_in_several_ways() {
        let ids = ids(&[
            ("", "ConfigMap", "a"),
            ("", "Secret", "a"),
            ("x.dev", "Secret", "b"),
        ]);
        for text in ["ConfigMap/default/a", "ConfigMap/a", "configmap/a"] {
            assert_eq!(found(&ids, text).unwrap(), "ConfigMap/default/a");
        }
        assert_eq!(found(&ids, "Secret.x.dev/b").unwrap(), "Secret/default/b");
        assert!(found(&ids, "ConfigMap//a").is_err(), "it has a namespace");
        for text in ["a", "a/b/c/d", "/b", "ConfigMap/"] {
            assert!(
                found(&ids, text).unwrap_err().contains("is not written"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_missing_or_ambiguous_object_is_reported_with_names() {
        let ids = ids(&[
            ("", "Thing", "abc"),
            ("x.dev", "Thing", "abc"),
            ("", "Thing", "xyz"),
        ]);
        let error = found(&ids, "Thing/abd").unwrap_err();
        assert!(
            error.contains("; similar names are Thing/default/abc, "),
            "{error}"
        );
        let error = found(&ids, "Thing/abc").unwrap_err();
        assert_eq!(
            error,
            "`Thing/abc` is ambiguous: Thing/default/abc, Thing.x.dev/default/abc"
        );
    }
}
