//! Trees as the object database has them, hostile ones among them.

#![allow(clippy::unwrap_used, clippy::panic)]

use git2::ObjectType;

use super::*;
use crate::adapters::git::fixture::{FILE, LINK, Origin, SUBMODULE};
use crate::model::ErrorClass;

/// The fleet at `path` in a commit of `entries`.
fn read(path: &str, entries: &[(&[u8], u32, &[u8])]) -> Tree {
    let origin = Origin::new();
    let commit = origin.push_entries("main", entries);
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    let tree = mirror.tree(&commit, path).unwrap();
    assert_eq!(tree.revision, commit);
    tree
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.files.keys().map(AsRef::as_ref).collect()
}

#[test]
fn takes_the_files_below_the_path_and_names_them_from_the_root() {
    let tree = read(
        "./fleets//prod/",
        &[
            (b"fleets/prod/a.yaml", FILE, b"a"),
            (b"fleets/prod/deep/b.json", FILE, b"{}"),
            (b"fleets/prod/README.md", FILE, b""),
            (b"fleets/prod/.github/c.yaml", FILE, b""),
            (b"fleets/prod/module.yaml", SUBMODULE, b""),
            (b"fleets/prod/module", SUBMODULE, b""),
            (b"fleets/other/c.yaml", FILE, b""),
        ],
    );
    assert_eq!(
        paths(&tree),
        ["fleets/prod/a.yaml", "fleets/prod/deep/b.json"]
    );
    assert_eq!(&*tree.files["fleets/prod/a.yaml"], b"a");
    let problems: Vec<_> = tree.problems.keys().map(AsRef::as_ref).collect();
    assert_eq!(problems, ["fleets/prod/module", "fleets/prod/module.yaml"]);
}

#[test]
fn submodules_and_pointers_of_lfs_are_problems_unless_they_are_ignored() {
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let tree = read(
        "fleet",
        &[
            (b"fleet/.capstanignore", FILE, b"ignored/\n"),
            (b"fleet/.hidden", SUBMODULE, b""),
            (b"fleet/a.yaml", FILE, b"a"),
            (b"fleet/ignored", SUBMODULE, b""),
            (b"fleet/large.yaml", FILE, pointer),
            (b"fleet/logo.png", FILE, pointer),
            (b"fleet/module", SUBMODULE, b""),
            (b"module", SUBMODULE, b""),
        ],
    );
    assert_eq!(paths(&tree), ["fleet/a.yaml"]);
    let problems: Vec<_> = tree
        .problems
        .iter()
        .map(|(at, what)| (&**at, what))
        .collect();
    assert_eq!(
        problems,
        [
            ("fleet/large.yaml", &Problem::LfsPointer),
            ("fleet/module", &Problem::Submodule),
        ]
    );
}

#[test]
fn the_ignore_file_of_the_path_counts_from_the_path() {
    let tree = read(
        "fleet",
        &[
            (b".capstanignore", FILE, b"*.yaml\n"),
            (b"fleet/.capstanignore", FILE, b"/a.yaml\ndrafts/\n"),
            (b"fleet/a.yaml", FILE, b""),
            (b"fleet/b/a.yaml", FILE, b""),
            (b"fleet/drafts/c.yaml", FILE, b""),
        ],
    );
    assert_eq!(paths(&tree), ["fleet/b/a.yaml"]);
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let tree = read(
        "fleet",
        &[
            (b"fleet/real/a.yaml", FILE, b"a"),
            (b"fleet/plain.txt", FILE, b"p"),
            (b"fleet/inside.yaml", LINK, b"./real/../real/a.yaml"),
            (b"fleet/text.yaml", LINK, b"plain.txt"),
            (b"fleet/around.yaml", LINK, b"../fleet/real/a.yaml"),
            (b"fleet/twice.yaml", LINK, b"by-link/a.yaml"),
            (b"fleet/by-link", LINK, b"real"),
            (b"fleet/absolute.yaml", LINK, b"/fleet/real/a.yaml"),
            (b"fleet/circle.yaml", LINK, b"circle.yaml"),
            (b"fleet/dangling.yaml", LINK, b"nothing"),
            (b"fleet/dangling.md", LINK, b"nothing"),
            (b"fleet/above.yaml", LINK, b"../../../etc/passwd"),
            (b"fleet/through.yaml", LINK, b"plain.txt/x"),
            (b"fleet/outside.yaml", LINK, b"../secret.yaml"),
            (b"fleet/outside", LINK, b"../other"),
            (b"fleet/sibling.yaml", LINK, b"../fleet2/x.yaml"),
            (b"secret.yaml", FILE, b"s"),
            (b"other/x.yaml", FILE, b""),
            (b"fleet2/x.yaml", FILE, b""),
        ],
    );
    assert_eq!(
        paths(&tree),
        [
            "fleet/around.yaml",
            "fleet/inside.yaml",
            "fleet/real/a.yaml",
            "fleet/text.yaml",
            "fleet/twice.yaml",
        ]
    );
    assert_eq!(&*tree.files["fleet/twice.yaml"], b"a");
    let refused: Vec<&str> = tree.problems.keys().map(AsRef::as_ref).collect();
    assert_eq!(
        refused,
        [
            "fleet/above.yaml",
            "fleet/absolute.yaml",
            "fleet/circle.yaml",
            "fleet/dangling.md",
            "fleet/dangling.yaml",
            "fleet/outside",
            "fleet/outside.yaml",
            "fleet/sibling.yaml",
            "fleet/through.yaml",
        ]
    );
    assert!(
        tree.problems
            .values()
            .all(|problem| problem == &Problem::LinkLeavesTree)
    );
}

#[test]
fn a_checkout_gives_the_same_tree_as_the_objects() {
    let entries: &[(&[u8], u32, &[u8])] = &[
        (b".capstanignore", FILE, b"left-out.yaml\n"),
        (b"a/.capstanignore", FILE, b"!left-out.yaml\n[z-a]\n"),
        (b"a/left-out.yaml", FILE, b"kept"),
        (b"a/link.yaml", LINK, b"../b.yml"),
        (b"a/out.yaml", LINK, b"../../x"),
        (b"b.yml", FILE, b"b"),
        (b"left-out.yaml", FILE, b""),
        (b"links", LINK, b"a"),
    ];
    let from_git = read("", entries);
    let checkout = tempfile::tempdir().unwrap();
    std::fs::create_dir(checkout.path().join("a")).unwrap();
    for (path, mode, bytes) in entries {
        let path = checkout.path().join(std::str::from_utf8(path).unwrap());
        let text = std::str::from_utf8(bytes).unwrap();
        match *mode {
            LINK => std::os::unix::fs::symlink(text, path).unwrap(),
            _ => std::fs::write(path, text).unwrap(),
        }
    }
    let from_directory = crate::adapters::git::directory::read(checkout.path()).unwrap();
    assert_eq!(from_git.files, from_directory.files);
    assert_eq!(from_git.problems, from_directory.problems);
    assert_eq!(from_git.files.len(), 3);
    assert_eq!(from_git.problems.len(), 2);
}

#[test]
fn large_files_and_strange_names_are_problems() {
    let limit = usize::try_from(Tree::MAX_FILE_BYTES).unwrap();
    let large = vec![b' '; limit + 1];
    let tree = read(
        "",
        &[
            (b"full.yaml", FILE, &large[1..]),
            (b"large.yaml", FILE, &large),
            (b"\xff.yaml", FILE, b""),
            (b"\xfe/x.yaml", FILE, b""),
            (b"\xff.txt", FILE, b""),
            (b"not-utf8-inside.yaml", FILE, b"\xff"),
        ],
    );
    assert_eq!(paths(&tree), ["full.yaml", "not-utf8-inside.yaml"]);
    let found: Vec<_> = tree
        .problems
        .iter()
        .map(|(at, what)| (&**at, what))
        .collect();
    let unreadable = Problem::Unreadable("its name is not UTF-8".into());
    assert_eq!(
        found,
        [
            ("large.yaml", &Problem::TooLarge(limit as u64 + 1)),
            ("\u{fffd}", &unreadable),
            ("\u{fffd}.yaml", &unreadable),
        ]
    );
}

/// The root directory of these bytes, as a fleet.
fn read_bytes(bytes: &[u8]) -> Tree {
    let origin = Origin::new();
    let root = origin.object(ObjectType::Tree, bytes);
    let found = Objects::at(&origin.repository, root, "").unwrap();
    found.unwrap().read("").unwrap()
}

#[test]
fn two_entries_of_one_name_are_a_problem_and_neither_is_read() {
    let origin = Origin::new();
    let blob = origin.repository.blob(b"a").unwrap();
    let entry = |name: &str| [format!("100644 {name}\0").as_bytes(), blob.as_bytes()].concat();
    let twice = [entry("a.yaml"), entry("a.yaml"), entry("b.yaml")].concat();
    let root = origin.object(ObjectType::Tree, &twice);
    let outer = [
        b"40000 fleet\0",
        root.as_bytes(),
        b"40000 fleet\0",
        root.as_bytes(),
    ];
    let outer = origin.object(ObjectType::Tree, &outer.concat());
    let found = Objects::at(&origin.repository, root, "").unwrap();
    let tree = found.unwrap().read("").unwrap();
    assert_eq!(paths(&tree), ["b.yaml"]);
    let problems: Vec<_> = tree
        .problems
        .iter()
        .map(|(at, what)| (&**at, what))
        .collect();
    assert_eq!(problems, [("a.yaml", &Problem::Twice)]);
    let found = Objects::at(&origin.repository, outer, "fleet").unwrap();
    assert!(found.is_none(), "which of the two?");
}

#[test]
fn a_malformed_directory_is_a_problem_and_no_damage() {
    let tree = read_bytes(b"100644 a.yaml\0short");
    let found: Vec<_> = tree.problems.values().collect();
    let is_said = matches!(found[..], [Problem::Unreadable(cause)] if cause.contains("malformed"));
    assert!(is_said, "{found:?}");
}

#[test]
fn a_link_in_place_of_a_directory_is_a_problem() {
    let tree = read(
        "fleet",
        &[
            (b"fleet/a.yaml", FILE, b"a"),
            (b"fleet/absolute", LINK, b"/srv/clusters"),
            (b"fleet/circle", LINK, b"circle"),
            (b"fleet/dangling", LINK, b"nothing"),
            (b"fleet/v1.2", LINK, b"nothing"),
            (b"fleet/clusters.d", LINK, b"nothing"),
            (b"fleet/prod.eu", LINK, b"/srv/prod.eu"),
            (b"fleet/team.a", LINK, b"team.a"),
            (b"fleet/outside", LINK, b"../other"),
            (b"fleet/.capstanignore", FILE, b"notes.md\n"),
            (b"fleet/.shared/apps/c.yaml", FILE, b"c"),
            (b"fleet/apps", LINK, b".shared/apps"),
            (b"fleet/seen/d.txt", FILE, b""),
            (b"fleet/to-seen", LINK, b"seen"),
            (b"fleet/.hidden", LINK, b"nothing"),
            (b"fleet/Makefile", LINK, b"../Makefile"),
            (b"fleet/notes.md", LINK, b"nothing"),
            (b"other/b.yaml", FILE, b"b"),
            (b"Makefile", FILE, b""),
        ],
    );
    assert_eq!(paths(&tree), ["fleet/a.yaml"]);
    let found: Vec<_> = tree
        .problems
        .keys()
        .filter_map(|path| path.get(6..))
        .collect();
    let expected = [
        "absolute",
        "apps",
        "circle",
        "clusters.d",
        "dangling",
        "outside",
        "prod.eu",
        "team.a",
        "v1.2",
    ];
    assert_eq!(found, expected);
    for (path, problem) in &tree.problems {
        let expected = match &**path {
            "fleet/apps" => Problem::LinkToHidden,
            _ => Problem::LinkLeavesTree,
        };
        assert_eq!(*problem, expected, "{path}");
    }
}

#[test]
fn what_is_refused_is_not_held() {
    let origin = Origin::new();
    let limit = usize::try_from(Tree::MAX_FILE_BYTES).unwrap();
    let zeros = vec![0; 2 * limit];
    let entries: &[(&[u8], u32, &[u8])] = &[
        (b".capstanignore", FILE, &zeros[1..]),
        (b"a.yaml", FILE, b"a"),
        (b"b.yaml", FILE, &zeros),
        (b"c.yaml", FILE, &zeros),
        (b"d.yaml", FILE, &zeros[2..]),
    ];
    let commit = origin.commit(entries, None);
    let root = origin.repository.find_commit(commit).unwrap().tree_id();
    let objects = Objects::at(&origin.repository, root, "").unwrap().unwrap();
    let tree = objects.read("").unwrap();
    assert_eq!((paths(&tree), tree.problems.len()), (vec!["a.yaml"], 4));
    let texts = objects.texts.borrow();
    let held: usize = texts.values().flatten().map(|text| text.len()).sum();
    assert_eq!(held, 1);
}

/// A link whose target goes in and out of a directory as often as fits, and then on.
fn detour(next: &str) -> Vec<u8> {
    let around = "d/../".repeat((MAX_TARGET_BYTES - next.len()) / 5);
    format!("{around}{next}").into_bytes()
}

#[test]
fn links_that_lead_a_long_way_are_given_up() {
    let origin = Origin::new();
    let mut entries = vec![(b"d/a.yaml".to_vec(), FILE, b"a".to_vec())];
    for hop in 0..MAX_HOPS - 1 {
        let target = detour(&format!("hop{}.md", hop + 1));
        entries.push((format!("hop{hop}.md").into_bytes(), LINK, target));
    }
    entries.push((
        format!("hop{}.md", MAX_HOPS - 1).into_bytes(),
        LINK,
        b"d".to_vec(),
    ));
    for link in 0..200 {
        entries.push((
            format!("link{link:03}").into_bytes(),
            LINK,
            b"hop1.md".to_vec(),
        ));
    }
    let entries: Vec<_> = entries
        .iter()
        .map(|(path, mode, bytes)| (&path[..], *mode, &bytes[..]))
        .collect();
    let commit = origin.commit(&entries, None);
    let root = origin.repository.find_commit(commit).unwrap().tree_id();
    let found = Objects::at(&origin.repository, root, "").unwrap();
    let tree = found.unwrap().read("").unwrap();
    assert_eq!(paths(&tree), ["d/a.yaml"]);
    let problem = &tree.problems["link199"];
    let is_said = matches!(problem, Problem::Unreadable(cause) if cause.contains(".capstanignore"));
    assert!(is_said, "{problem:?}");
}

#[test]
fn many_links_beside_many_files_are_followed() {
    let origin = Origin::new();
    let file = origin.repository.blob(b"a").unwrap();
    let link = origin.repository.blob(b"00000.txt").unwrap();
    let mut bytes = Vec::new();
    for at in 0..10_000 {
        bytes.extend(format!("100644 {at:05}.txt\0").as_bytes());
        bytes.extend(file.as_bytes());
    }
    for at in 0..10_000 {
        bytes.extend(format!("120000 l{at:05}.yaml\0").as_bytes());
        bytes.extend(link.as_bytes());
    }
    let mut root = origin.object(ObjectType::Tree, &bytes);
    for name in ["fleet", "deep", "very"] {
        let outer = [format!("40000 {name}\0").as_bytes(), root.as_bytes()].concat();
        root = origin.object(ObjectType::Tree, &outer);
    }
    let found = Objects::at(&origin.repository, root, "very/deep/fleet").unwrap();
    let tree = found.unwrap().read("").unwrap();
    assert_eq!((tree.files.len(), tree.problems.len()), (10_000, 0));
}

#[test]
fn malformed_directories_are_not_read_without_an_end() {
    let origin = Origin::new();
    let zeros = origin.object(ObjectType::Tree, &vec![0; 4 << 20]);
    let mut bytes = Vec::new();
    for at in 0..300 {
        bytes.extend(format!("40000 {at:03}\0").as_bytes());
        bytes.extend(zeros.as_bytes());
    }
    let root = origin.object(ObjectType::Tree, &bytes);
    let found = Objects::at(&origin.repository, root, "").unwrap();
    let tree = found.unwrap().read("").unwrap();
    let says = |name: &str, words: &str| {
        let problem = &tree.problems[name];
        matches!(problem, Problem::Unreadable(cause) if cause.contains(words))
    };
    assert!(says("000", "malformed") && says("299", ".capstanignore"));
}

#[test]
fn a_missing_path_is_an_error_that_names_it() {
    let origin = Origin::new();
    let entries: &[(&[u8], u32, &[u8])] = &[
        (b"fleet/a.yaml", FILE, b""),
        (b"file", FILE, b""),
        (b"link", LINK, b"fleet"),
    ];
    let commit = origin.push_entries("main", entries);
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    for path in ["flet", "fleet/prod", "file", "link", ".."] {
        let error = mirror.tree(&commit, path).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid);
        let expected = format!("commit {commit} has no directory {path:?};");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}
