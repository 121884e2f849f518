//! Which lines of a pull request its diff shows.
//!
//! In: a unified diff, as git prints it. Out: the lines of the new files that are in it. It does not know where the diff
//! comes from.

use std::collections::BTreeMap;

/// The lines of the new side that a diff shows: those that were added, and those around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// First lines and counts, by path.
    hunks: BTreeMap<String, Vec<(u32, u32)>>,
}

impl Shown {
    /// The lines of a diff. A file whose path git had to quote is left out.
    pub(super) fn of(diff: &str) -> Self {
        let mut shown = Self::default();
        let (mut path, mut left) = (None, (0_u32, 0_u32));
        for line in diff.lines() {
            // Within a hunk, a line may look like any header.
            if left != (0, 0) {
                let of = line.as_bytes().first();
                left.0 = left
                    .0
                    .saturating_sub(u32::from(!matches!(of, Some(b'+' | b'\\'))));
                left.1 = left
                    .1
                    .saturating_sub(u32::from(!matches!(of, Some(b'-' | b'\\'))));
            } else if let Some(name) = line.strip_prefix("+++ ") {
                // A tab ends a name with spaces.
                let name = name.strip_prefix("b/");
                path = name.map(|name| name.trim_end_matches('\t').to_owned());
            } else if let Some((old, new)) = hunk(line) {
                left = (old.1, new.1);
                if let Some(path) = &path {
                    shown.hunks.entry(path.clone()).or_default().push(new);
                }
            }
        }
        shown
    }

    /// Whether this line is shown.
    pub(super) fn contains(&self, path: &str, line: u32) -> bool {
        let hunks = self.hunks.get(path).map_or(&[][..], Vec::as_slice);
        let within = |(first, count): &(u32, u32)| {
            line.checked_sub(*first)
                .is_some_and(|offset| offset < *count)
        };
        hunks.iter().any(within)
    }
}

/// First lines and counts of `@@ -1,2 +3,4 @@ ...`; a count that is left out is 1.
fn hunk(line: &str) -> Option<((u32, u32), (u32, u32))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    Some((range(old)?, range(new)?))
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
diff --git a/a.yaml b/a.yaml
index 1..2 100644
--- a/a.yaml
+++ b/a.yaml
@@ -1,3 +1,4 @@
 one
--- two
++++ b/other.yaml
+@@ -1 +1 @@
 three
@@ -20 +21 @@ name
-old
+new
\\ No newline at end of file
diff --git a/gone.yaml b/gone.yaml
--- a/gone.yaml
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/with space.yaml b/with space.yaml
--- /dev/null
+++ b/with space.yaml\t
@@ -0,0 +1,2 @@
+x
+y
diff --git \"a/t\\tb\" \"b/t\\tb\"
--- \"a/t\\tb\"
+++ \"b/t\\tb\"
@@ -1 +1 @@
-x
+y
diff --git a/last.yaml b/last.yaml
--- a/last.yaml
+++ b/last.yaml
@@ -4,0 +5 @@
+z
";

    #[test]
    fn added_lines_and_those_around_them_are_shown() {
        let shown = Shown::of(DIFF);
        let lines = |path| (0..30).filter(|line| shown.contains(path, *line)).collect();
        for (path, expected) in [
            ("a.yaml", vec![1, 2, 3, 4, 21]),
            ("with space.yaml", vec![1, 2]),
            ("last.yaml", vec![5]),
            ("gone.yaml", vec![]),
            ("other.yaml", vec![]),
            ("t\tb", vec![]),
            ("/dev/null", vec![]),
        ] {
            let found: Vec<u32> = lines(path);
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_diff_shows_nothing() {
        for text in [
            "",
            "@@",
            "@@ -x +y @@",
            "@@ -1,99999999999 +1 @@",
            "+++ b/a\n@@ -1,9 +1",
        ] {
            assert!(!Shown::of(text).contains("a", 1), "{text}");
        }
    }
}
