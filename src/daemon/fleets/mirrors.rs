//! The mirrors of Fleets that are gone, or that have another repository or credential by now.
//!
//! In: the directory of a namespace's mirrors, and the one that is in use. Out: the others of the Fleet, removed. It does not know what is
//! in a mirror.

use std::fs;
use std::path::{Path, PathBuf};

/// Removes the mirrors of the fleet `name` and the files beside them, but for the mirror `kept`. What cannot be removed stays.
pub(super) async fn tidy(directory: PathBuf, name: String, kept: Option<PathBuf>) {
    let tidying = move || {
        let kept = kept.as_deref().and_then(Path::file_name);
        let kept = kept.and_then(|kept| hash(kept.to_str()?, &name).map(str::to_owned));
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let of = file.to_str().and_then(|file| hash(file, &name));
            if of.is_none() || of == kept.as_deref() {
                continue;
            }
            let path = entry.path();
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            if let Err(error) = removed {
                let path = path.display();
                tracing::debug!(%path, %error, "what is left of a mirror cannot be removed");
            }
        }
    };
    let _ = tokio::task::spawn_blocking(tidying).await;
}

/// The hash in the name of a mirror of the fleet `name`, or of a file beside one: `NAME-HASH.EXTENSION`.
fn hash<'a>(file: &'a str, name: &str) -> Option<&'a str> {
    let rest = file.strip_prefix(name)?.strip_prefix('-')?;
    let (hash, _) = rest.split_once('.')?;
    let is_hash = hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn mirrors_of_the_fleet_go_but_for_the_one_in_use() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        for mirror in ["a-00000000.git", "a-11111111.git", "a-b-22222222.git"] {
            fs::create_dir_all(at(mirror).join("refs")).expect("made");
        }
        for file in [
            "a-00000000.planning.json",
            "a-11111111.planning.json",
            "a-x.git",
        ] {
            fs::write(at(file), "").expect("written");
        }
        let name = || "a".to_owned();
        tidy(
            directory.path().to_owned(),
            name(),
            Some(at("a-11111111.git")),
        )
        .await;
        let left = || {
            let entries = fs::read_dir(directory.path()).expect("read").flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        assert_eq!(
            left(),
            [
                "a-11111111.git",
                "a-11111111.planning.json",
                "a-b-22222222.git",
                "a-x.git"
            ]
        );
        tidy(directory.path().to_owned(), name(), None).await;
        assert_eq!(left(), ["a-b-22222222.git", "a-x.git"]);
        tidy(at("absent"), name(), None).await;
    }
}
