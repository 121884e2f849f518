//! Files that never became text: what a tree could not take in, said as findings.

use std::sync::Arc;

use crate::model::{Finding, Problem, Span, Tree};

/// Why files of `tree` are absent: Y03 (too large), Y04 (too many), Y07 (a link leads to no file of
/// the tree), Y08 (unreadable). In order of path.
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
                format!("the file has {bytes} bytes, {limit} are allowed"),
            )
            .help("split it into several files, or list it in `.capstanignore`")
        }
        Problem::TooManyFiles(files) => Finding::error(
            "Y04",
            format!("the tree holds more than {files} files: this one and the next are not read"),
        )
        .help("list folders that hold no Kubernetes objects in `.capstanignore`"),
        Problem::LinkLeavesTree => Finding::error(
            "Y07",
            format!("`{path}` is a link that leads out of the tree, nowhere or in a circle"),
        )
        .help(
            "put the file itself here, or a relative link to a file of this tree: what a commit \
             means may not depend on anything outside it",
        ),
        Problem::Unreadable(reason) => {
            Finding::error("Y08", format!("the file cannot be read: {reason}"))
                .help("make it readable, or list it in `.capstanignore`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_becomes_a_finding_at_the_top_of_its_file() {
        let problems_of = |list: [(&str, Problem); 4]| Tree {
            problems: list.map(|(path, problem)| (path.into(), problem)).into(),
            ..Tree::default()
        };
        let tree = problems_of([
            ("a.yaml", Problem::TooLarge(2_000_000)),
            ("b.yaml", Problem::TooManyFiles(20_000)),
            ("c.yaml", Problem::LinkLeavesTree),
            ("d.yaml", Problem::Unreadable("permission denied".into())),
        ]);
        let said: Vec<String> = problems(&tree)
            .iter()
            .map(|f| format!("{} {} {}", f.id, f.span.as_ref().expect("span"), f.message))
            .collect();
        assert_eq!(
            said,
            [
                "Y03 a.yaml:1:1 the file has 2000000 bytes, 1048576 are allowed",
                "Y04 b.yaml:1:1 the tree holds more than 20000 files: this one and the next are not read",
                "Y07 c.yaml:1:1 `c.yaml` is a link that leads out of the tree, nowhere or in a circle",
                "Y08 d.yaml:1:1 the file cannot be read: permission denied",
            ]
        );
        assert!(problems(&tree).iter().all(|finding| finding.help.is_some()));
    }
}
