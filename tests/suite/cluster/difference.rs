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

/// Of what sort the first difference is: the opening words of both lines.
pub(super) fn sort(expected: &str, said: &str) -> Option<(String, String)> {
    let opening = |line: Option<&str>| {
        let words = line.unwrap_or_default().split(' ').take(6);
        let plain = words.take_while(|word| !word.contains(['{', '"']));
        plain.collect::<Vec<_>>().join(" ")
    };
    let (mut expected, mut said) = (expected.lines(), said.lines());
    loop {
        match (expected.next(), said.next()) {
            (None, None) => return None,
            (expected, said) if expected == said => {}
            (expected, said) => return Some((opening(expected), opening(said))),
        }
    }
}
