//! Files that were not read, as findings.

use std::sync::Arc;

use crate::model::{Finding, Problem, Span, Tree, message};

/// Findings for the files of `tree` that are missing from it: Y03 (too large), Y04 (too many), Y07 (a
/// symbolic link to something that is not a file of the tree), Y08 (unreadable), Y14 (suffix in upper case), Y17 (a
/// pointer of Git LFS), Y18 (a submodule).
/// Ordered by path.
#[must_use]
pub fn problems(tree: &Tree) -> Vec<Finding> {
    let finding =
        |(path, problem): (&Arc<str>, &Problem)| describe(path, problem).at(&Span::top(path));
    tree.problems.iter().map(finding).collect()
}

fn describe(path: &str, problem: &Problem) -> Finding {
    match problem {
        Problem::TooLarge(bytes) => {
            let limit = Tree::MAX_FILE_BYTES;
            Finding::error(
                "Y03",
                format!("the file has {bytes} bytes; the limit is {limit}"),
            )
            .help("split it into several files, or add it to `.capstanignore`; CustomResourceDefinitions do not count, up to 16 MiB in all")
        }
        Problem::TooManyFiles(files) => Finding::error(
            "Y04",
            format!("the fleet has more than {files} files; this file and those after it are not read"),
        )
        .help("add directories without Kubernetes objects to `.capstanignore`"),
        Problem::LinkLeavesTree => Finding::error(
            "Y07",
            format!("`{path}` is a symbolic link that is broken, circular or leads out of the repository"),
        )
        .help(
            "replace it with the file itself, or with a relative link to a file of this repository: the \
             content of a commit must not depend on anything outside it",
        ),
        Problem::LinkToHidden => Finding::error(
            "Y07",
            format!("`{path}` is a symbolic link to a hidden directory, whose files are not read"),
        )
        .help(format!(
            "rename the directory so that no part of its path begins with a dot, or add `{path}` to `.capstanignore`"
        )),
        Problem::UpperCase => {
            let (name, suffix) = path.rsplit_once('.').unwrap_or((path, ""));
            let suffix = suffix.to_lowercase();
            let message = message!("`{path}` is not read: its suffix is in upper case", path);
            let help = format!(
                "rename it to end in `.{suffix}`: `git mv {path} {name}.{suffix}`; if it is not part of the fleet, \
                 add it to `.capstanignore`"
            );
            Finding::error("Y14", message).help(help)
        }
        Problem::LfsPointer => {
            let message = message!("`{path}` is a Git LFS pointer, not its content", path);
            Finding::error("Y17", message).help(
                "commit the file itself: remove its pattern from `.gitattributes`, then run `git add --renormalize .`",
            )
        }
        Problem::Submodule => {
            let message = message!("`{path}` is a submodule, which is not read", path);
            let help = format!("commit its files here, or add `{path}` to `.capstanignore`");
            Finding::error("Y18", message).help(help)
        }
        Problem::Twice => Finding::error(
            "Y08",
            message!("`{path}` cannot be read: its directory has two entries of this name", path),
        )
        .help(
            "no checkout can contain both, and each program shows another one; commit the directory again with git",
        ),
        Problem::Unreadable(reason) => {
            Finding::error("Y08", format!("the file cannot be read: {reason}"))
                .help("make it readable, or add it to `.capstanignore`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_becomes_a_finding_at_the_top_of_its_file() {
        let problems_of = |list: [(&str, Problem); 7]| Tree {
            problems: list.map(|(path, problem)| (path.into(), problem)).into(),
            ..Tree::default()
        };
        let tree = problems_of([
            ("a.yaml", Problem::TooLarge(2_000_000)),
            ("b.yaml", Problem::TooManyFiles(20_000)),
            ("c.yaml", Problem::LinkLeavesTree),
            ("d.yaml", Problem::Unreadable("permission denied".into())),
            ("e.YAML", Problem::UpperCase),
            ("f.yaml", Problem::LfsPointer),
            ("g", Problem::Submodule),
        ]);
        let reported: Vec<String> = problems(&tree)
            .iter()
            .map(|f| format!("{} {} {}", f.id, f.span.as_ref().expect("span"), f.message))
            .collect();
        assert_eq!(
            reported,
            [
                "Y03 a.yaml:1:1 the file has 2000000 bytes; the limit is 1048576",
                "Y04 b.yaml:1:1 the fleet has more than 20000 files; this file and those after it are not read",
                "Y07 c.yaml:1:1 `c.yaml` is a symbolic link that is broken, circular or leads out of the repository",
                "Y08 d.yaml:1:1 the file cannot be read: permission denied",
                "Y14 e.YAML:1:1 `e.YAML` is not read: its suffix is in upper case",
                "Y17 f.yaml:1:1 `f.yaml` is a Git LFS pointer, not its content",
                "Y18 g:1:1 `g` is a submodule, which is not read",
            ]
        );
        assert!(problems(&tree).iter().all(|finding| finding.help.is_some()));
    }
}
