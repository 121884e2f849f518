//! Which custom resource definitions Azure Service Operator installs.
//!
//! In: its `--crd-pattern`, globs of `group/Kind` between semicolons, and kinds. Out: whether it names a kind, and the
//! pattern that names them all. It does not know what is served.

use std::collections::BTreeSet;

use crate::api::kinds::{self, Kind};

/// The pattern of every kind that this product needs.
pub(crate) fn needed() -> String {
    let aso = kinds::KINDS.iter().filter(|kind| kinds::is_aso(kind.group));
    let mut groups: Vec<String> = aso.map(|kind| of_group(kind.group)).collect();
    groups.dedup();
    groups.join(";")
}

/// The patterns of the groups of `kinds`, each once.
pub(super) fn of_groups(kinds: &[Kind]) -> String {
    let groups: BTreeSet<String> = kinds.iter().map(|kind| of_group(kind.group)).collect();
    groups.into_iter().collect::<Vec<_>>().join(";")
}

/// `pattern` with the groups of `kinds` in it.
pub(super) fn extended(pattern: &str, kinds: &[Kind]) -> String {
    let more = of_groups(kinds);
    match pattern.trim().trim_end_matches(';') {
        "" => more,
        pattern => format!("{pattern};{more}"),
    }
}

/// Whether `pattern` names `kind`.
pub(super) fn names(pattern: &str, kind: &Kind) -> bool {
    let wanted = format!("{}/{}", kind.group, kind.kind).to_lowercase();
    let mut globs = pattern.split(';').map(|one| one.trim().to_lowercase());
    globs.any(|glob| matches(glob.as_bytes(), wanted.as_bytes()))
}

fn of_group(group: &str) -> String {
    format!("{group}/*")
}

/// Whether the glob with `*` and `?` matches the whole text: where it stops to match, the last `*` takes one more.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(one) if *one == b'?' || *one == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((place, taken)) = star else {
                    return false;
                };
                star = Some((place, taken + 1));
                at = place + 1;
                read = taken + 1;
            }
        }
    }
    glob[at..].iter().all(|one| *one == b'*')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_pattern_is_a_glob_without_case() {
        let vault = kinds::find(kinds::KEYVAULT, "Vault").copied().unwrap();
        for (pattern, expected) in [
            ("keyvault.azure.com/*", true),
            ("resources.azure.com/*; KEYVAULT.azure.com/vaul? ", true),
            ("*", true),
            ("*/vault", true),
            ("*vault*lt", true),
            ("keyvault.azure.com/Vaults", false),
            ("keyvault.azure.com", false),
            ("keyvault.azure.com/Vault?", false),
            ("", false),
            (";", false),
        ] {
            assert_eq!(names(pattern, &vault), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_keeps_what_it_has() {
        let vault = kinds::find(kinds::KEYVAULT, "Vault").copied().unwrap();
        assert_eq!(extended("", &[vault]), "keyvault.azure.com/*");
        let kept = extended("cache.azure.com/*;", &[vault, vault]);
        assert_eq!(kept, "cache.azure.com/*;keyvault.azure.com/*");
    }
}
