//! The files of kube-sim and of kube-schema do not import each other in circles.
//!
//! A file imports another when it names something in it: in a `use`, or by a path that starts with
//! `crate`, `super`, `self` or one of its child modules. Names that a file re-exports lead to the file
//! that defines them, so `crate::Clock` is an import of `clock.rs`, not of `lib.rs`. Tests are not
//! looked at. Paths inside macros count; what a method returns does not.

#![allow(clippy::panic, clippy::unwrap_used)]

mod circles;
mod source;

use std::path::Path;

use circles::circles;
use source::Source;

fn found(root: &Path) -> Vec<String> {
    circles(&Source::read(root))
}

#[test]
fn no_files_of_the_libraries_import_each_other_in_circles() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = found(&here.join("src"));
    all.extend(found(&here.join("../kube-schema/src")));
    assert!(all.is_empty(), "circles of imports:\n{}", all.join("\n"));
}

/// What the test finds in a crate of these files.
fn planted(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(name, text)| (*name, *text));
    circles(&Source::of(files))
}

#[test]
fn a_planted_circle_is_found() {
    let files = |b: &'static str| {
        [
            ("lib.rs", "mod a; mod b; mod c; pub use c::C;"),
            ("c.rs", "pub use super::a::A; pub struct C;"),
            ("a.rs", "use super::b::B; pub struct A(B);"),
            ("b.rs", b),
        ]
    };
    let circle = ["a.rs -> b.rs -> a.rs"];
    assert_eq!(planted(&files("use crate::a::A;")), circle);
    assert_eq!(planted(&files("use crate::{a::{self, A}};")), circle);
    assert_eq!(planted(&files("use super::a;")), circle);
    assert_eq!(planted(&files("fn b() { super::a::made() }")), circle);
    assert_eq!(planted(&files("pub use crate::c::A;")), circle);
    assert_eq!(planted(&files("pub struct B; // crate::a")), [""; 0]);
    assert_eq!(planted(&files("const B: &str = \"crate::a\";")), [""; 0]);
    let tested = "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }";
    assert_eq!(planted(&files(tested)), [""; 0]);
}

#[test]
fn a_circle_through_three_folders_is_found() {
    let found = planted(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a/mod.rs", "mod part; pub(crate) use part::one;"),
        ("a/part.rs", "pub(crate) fn one() { crate::b::two() }"),
        ("b.rs", "use super::c::three; pub fn two() { three() }"),
        ("c.rs", "pub(crate) fn three() { crate::a::one() }"),
    ]);
    assert_eq!(found, ["a/part.rs -> b.rs -> c.rs -> a/part.rs"]);
}

#[test]
fn a_parent_and_its_child_that_name_each_other_are_a_circle() {
    let files = |child: &'static str| {
        [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod child; fn all() { child::some() }"),
            ("a/child.rs", child),
        ]
    };
    let circle = ["a/child.rs -> a/mod.rs -> a/child.rs"];
    assert_eq!(planted(&files("use super::all;")), circle);
    assert_eq!(planted(&files("fn some() {}")), [""; 0]);
}
