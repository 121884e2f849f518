//! What kubectl printed, as it is kept: whatever differs from run to run is taken out.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// What kubectl remarks when it gives up on a watch within a second: luck decides.
const REMARKS: [&str; 2] = ["very short watch", "Failed to watch"];

/// What differs, and its placeholder.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "(uid)",
        ),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", "(time)"),
        (r#"(resourceVersion"?: )"\d+""#, "${1}(version)"),
        (r"(\s)(?:<unknown>|\d+s|\d+m\d*s?)(\s+\S+)?$", "${1}(age)$2"),
        (r"/\S*/(LIVE|MERGED)-\d+", "(directory)/$1"),
        (
            r"\s+\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d+ [+-]\d{4}$",
            " (time)",
        ),
    ]
    .map(|(pattern, shown)| (Regex::new(pattern).expect("it is one"), shown))
    .into()
});

/// The lines of `text` that are kept; `dir` is where kubectl ran.
pub(super) fn lines(text: &str, dir: &Path) -> Vec<String> {
    let text = text.replace(&*dir.to_string_lossy(), "(directory)");
    let line = |line: &str| {
        let mut line = line.to_owned();
        for (pattern, shown) in VARYING.iter() {
            line = pattern.replace_all(&line, *shown).into_owned();
        }
        line.trim_end().to_owned()
    };
    text.lines()
        .filter(|line| !REMARKS.iter().any(|remark| line.contains(remark)))
        .map(line)
        .collect()
}
