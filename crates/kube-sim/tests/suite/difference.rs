//! The first difference between two transcripts.

/// The first lines that differ, from the request on that they answer; none when all are equal.
pub(crate) fn difference(expected: &str, who: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (expected, actual): (Vec<_>, Vec<_>) =
        (expected.lines().collect(), actual.lines().collect());
    let same = expected
        .iter()
        .zip(&actual)
        .take_while(|(a, b)| a == b)
        .count();
    let asked = expected[..same.min(expected.len())]
        .iter()
        .rposition(|line| line.starts_with(['>', '#', '<']))
        .unwrap_or(0);
    let column = match (expected.get(same), actual.get(same)) {
        (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    let excerpt = |lines: &[&str]| {
        let lines = lines.iter().enumerate().take(same + 8).skip(asked);
        let cut = lines.map(|(at, line)| window(line, if at == same { column } else { 0 }));
        cut.collect::<Vec<_>>().join("\n")
    };
    Some(format!(
        "line {}\n--- expected\n{}\n--- {who}\n{}\n",
        same + 1,
        excerpt(&expected),
        excerpt(&actual)
    ))
}

/// How much of a line is shown at most.
const SHOWN: usize = 2000;

/// A line, or of a long one what is around `column`.
fn window(line: &str, column: usize) -> String {
    let from = column.saturating_sub(SHOWN / 2);
    let shown: String = line.chars().skip(from).take(SHOWN).collect();
    match shown.len() == line.len() {
        true => shown,
        false => format!("... {shown} ..."),
    }
}

/// Of what sort the first difference is: the opening words of both lines.
pub(crate) fn sort(expected: &str, actual: &str) -> Option<(String, String)> {
    let opening = |line: Option<&str>| {
        let words = line.unwrap_or_default().split(' ').take(6);
        let plain = words.take_while(|word| !word.contains(['{', '"']));
        plain.collect::<Vec<_>>().join(" ")
    };
    let (mut expected, mut actual) = (expected.lines(), actual.lines());
    loop {
        match (expected.next(), actual.next()) {
            (None, None) => return None,
            (expected, actual) if expected == actual => {}
            (expected, actual) => return Some((opening(expected), opening(actual))),
        }
    }
}
