//! What a stranger can propose: each makes the heads of pull requests, and other refs, in a bare repository.

use std::fmt::Write as _;

use git2::{ObjectType, Oid, Repository};

use crate::sources::repository::git;

/// The mode of a file, and that of a directory.
const FILE: i32 = 0o100_644;
const DIRECTORY: i32 = 0o040_000;

/// A repository that a stranger writes to.
pub(super) struct Stranger {
    repository: Repository,
    main: Oid,
    pulls: u32,
}

impl Stranger {
    pub(super) fn of(repository: Repository) -> Self {
        let main = repository.refname_to_id("refs/heads/main").expect("main");
        Self {
            repository,
            main,
            pulls: 0,
        }
    }

    fn raw(&self, kind: ObjectType, bytes: &[u8]) -> Oid {
        let objects = self.repository.odb().expect("objects");
        objects.write(kind, bytes).expect("written")
    }

    fn point(&self, name: &str, id: Oid) {
        let written = self.repository.reference(name, id, true, "it");
        written.expect("written");
    }

    /// Opens a pull request with this head; its commit.
    fn pull(&mut self, head: Oid) -> String {
        self.pulls += 1;
        self.point(&format!("refs/pull/{}/head", self.pulls), head);
        head.to_string()
    }

    fn tree_of_main(&self) -> git2::Tree<'_> {
        let commit = self.repository.find_commit(self.main).expect("a commit");
        commit.tree().expect("its tree")
    }

    /// A pull request that adds these entries to the root of main.
    fn adding(&mut self, entries: &[(&str, Oid, i32)]) -> String {
        let tree = self.tree_of_main();
        let mut builder = self.repository.treebuilder(Some(&tree)).expect("a tree");
        for (name, id, mode) in entries {
            builder.insert(name, *id, *mode).expect("added");
        }
        let root = builder.write().expect("written");
        drop((builder, tree));
        let text = format!(
            "tree {root}\nparent {}\nauthor m <m@example.com> 1 +0000\ncommitter m <m@example.com> 1 +0000\n\ndocs\n",
            self.main
        );
        let head = self.raw(ObjectType::Commit, text.as_bytes());
        self.pull(head)
    }

    /// Heads that git takes although much of them makes no sense: 20 digits as a date, no committer, no author, nothing
    /// but a tree. What they would make of the fleet can be read all the same.
    pub(super) fn odd_commits(&mut self) -> Vec<String> {
        let stamp = "99999999999999999999";
        let root = self.tree_of_main().id();
        let start = format!("tree {root}\nparent {}\n", self.main);
        let texts = [
            format!(
                "{start}author m <m@example.com> {stamp} +0000\ncommitter m <m@example.com> {stamp} +0000\n\nfix\n"
            ),
            format!("{start}author m <m@example.com> 1 +0000\n\nfix\n"),
            format!("{start}author m\ncommitter m\n\nfix\n"),
            format!("{start}\n"),
        ];
        let heads = texts.map(|text| self.raw(ObjectType::Commit, text.as_bytes()));
        heads.into_iter().map(|head| self.pull(head)).collect()
    }

    /// Heads that no commit can be read from: one of an unknown tree, one of no tree, one that is a file.
    pub(super) fn unreadable_commits(&mut self) -> Vec<String> {
        let missing = "5".repeat(40);
        let texts = [
            format!(
                "tree {missing}\nparent {}\nauthor m <m@example.com> 1 +0000\ncommitter m <m@example.com> 1 +0000\n\nfix\n",
                self.main
            ),
            "parent x\n\nfix\n".to_owned(),
        ];
        let heads = texts.map(|text| self.raw(ObjectType::Commit, text.as_bytes()));
        let mut heads: Vec<Oid> = heads.into_iter().collect();
        heads.push(self.raw(ObjectType::Blob, b"no commit"));
        heads.into_iter().map(|head| self.pull(head)).collect()
    }

    /// `names` file names for one small file that becomes 6,000 values.
    pub(super) fn many_names(&mut self, names: usize) -> String {
        let text = [
            "apiVersion: v1",
            "kind: ConfigMap",
            "metadata: {name: x, namespace: default}",
            "data:",
            "  a: &a [0,0,0,0,0,0,0,0,0,0]",
            "  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]",
            "  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]",
            "  d: [*c,*c,*c,*c,*c,*c]",
            "",
        ];
        let blob = self.raw(ObjectType::Blob, text.join("\n").as_bytes());
        let mut builder = self.repository.treebuilder(None).expect("a tree");
        for at in 0..names.min(1000) {
            let name = format!("f{at:04}.yaml");
            builder.insert(name, blob, FILE).expect("added");
        }
        let directory = builder.write().expect("written");
        drop(builder);
        let names: Vec<String> = (0..names.div_ceil(1000))
            .map(|at| format!("d{at:02}"))
            .collect();
        let entries: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), directory, DIRECTORY))
            .collect();
        self.adding(&entries)
    }

    /// Three files of so many MiB of zeros, which are small until they are inflated.
    pub(super) fn inflating(&mut self, mebibytes: usize) -> String {
        let zeros = |end: u8| {
            let mut bytes = vec![0; mebibytes << 20];
            bytes.push(end);
            self.raw(ObjectType::Blob, &bytes)
        };
        let blobs = [zeros(b'a'), zeros(b'b'), zeros(b'c')];
        let [a, b, c] = blobs;
        self.adding(&[
            ("a.yaml", a, FILE),
            ("b.yaml", b, FILE),
            ("c.yaml", c, FILE),
        ])
    }

    /// An overlay with so many targets whose names are large regular expressions.
    pub(super) fn expensive_patterns(&mut self, targets: usize) -> String {
        let mut text = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: o}\nspec:\n  selector: {}\n  patches:\n".to_owned();
        for at in 0..targets {
            let _ = writeln!(
                text,
                "  - target: {{kind: ConfigMap, name: \"\\\\pL{{300}}{at}\"}}\n    patch: {{metadata: {{annotations: {{a: b}}}}}}"
            );
        }
        let blob = self.raw(ObjectType::Blob, text.as_bytes());
        self.adding(&[("o.yaml", blob, FILE)])
    }

    /// A branch, a tag and the head of a pull request whose names are longer than libgit2 can store.
    pub(super) fn long_names(&self) {
        let name = vec!["a".repeat(200); 6].join("/");
        let main = self.main.to_string();
        for prefix in ["refs/heads/pr", "refs/tags", "refs/pull"] {
            let name = format!("{prefix}/{name}/head");
            git(self.repository.path(), &["update-ref", &name, &main]).expect("written");
        }
    }

    /// Tags whose tagger makes no sense, and two of a file.
    pub(super) fn broken_tags(&self) {
        let blob = self.raw(ObjectType::Blob, b"no commit");
        let main = self.main;
        let texts = [
            format!(
                "object {main}\ntype commit\ntag v1\ntagger m <m@example.com> 99999999999999999999 +0000\n\nit\n"
            ),
            format!("object {main}\ntype commit\ntag v2\ntagger\n\nit\n"),
            format!("object {blob}\ntype blob\ntag v4\n\nit\n"),
        ];
        for (at, text) in texts.iter().enumerate() {
            let tag = self.raw(ObjectType::Tag, text.as_bytes());
            // git's own commands refuse some of these.
            let file = self.repository.path().join(format!("refs/tags/v{at}"));
            std::fs::write(file, format!("{tag}\n")).expect("written");
        }
        self.point("refs/tags/file", blob);
    }

    /// Notes that are no commit.
    pub(super) fn notes_that_are_none(&self) {
        let tree = self.tree_of_main().id().to_string();
        let name = capstan::adapters::checks::NOTES_REF;
        git(self.repository.path(), &["update-ref", name, &tree]).expect("written");
    }
}
