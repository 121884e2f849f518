//! Where two transcripts part.

/// The first lines that differ, from the request on that they answer; none when all are equal.
pub(super) fn difference(expected: &str, who: &str, said: &str) -> Option<String> {
    if expected == said {
        return None;
    }
    let (expected, said): (Vec<_>, Vec<_>) = (expected.lines().collect(), said.lines().collect());
    let same = expected
        .iter()
        .zip(&said)
        .take_while(|(a, b)| a == b)
        .count();
    let asked = expected[..same.min(expected.len())]
        .iter()
        .rposition(|line| line.starts_with(['>', '#', '<']))
        .unwrap_or(0);
    let excerpt =
        |lines: &[&str]| lines[asked.min(lines.len())..(same + 8).min(lines.len())].join("\n");
    Some(format!(
        "line {}\n--- expected\n{}\n--- {who}\n{}\n",
        same + 1,
        excerpt(&expected),
        excerpt(&said)
    ))
}
