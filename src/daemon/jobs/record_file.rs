//! A small file of the daemon beside its mirror, with a version.
//!
//! In: what to keep. Out: the same, also in the next process. It does not know what is kept, or what it means that it is lost.

use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::adapters::checks::forge::replace_file;

/// The version of the files that this program writes.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File<T> {
    v: u32,
    #[serde(flatten)]
    contents: T,
}

/// Reads a file. One that is missing holds nothing.
///
/// # Errors
/// If it cannot be read, is damaged, or is of another version.
pub(super) fn read<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        text => text?,
    };
    let file: File<T> = serde_json::from_slice(&text)?;
    match file.v {
        VERSION => Ok(file.contents),
        other => Err(io::Error::other(format!("it is of version {other}"))),
    }
}

/// Writes a file in place of an older one.
///
/// # Errors
/// If its directory cannot be written.
pub(super) fn write<T: Serialize>(path: &Path, contents: T) -> io::Result<()> {
    let file = File {
        v: VERSION,
        contents,
    };
    replace_file(path, &serde_json::to_vec(&file)?)
}
