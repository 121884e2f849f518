//! As much of Markdown as the tests of the pages need.

/// The contents of fenced blocks whose info string is `info`.
pub(super) fn blocks(page: &str, info: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(found) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if found == info {
                blocks.push(block.join("\n") + "\n");
            }
        }
    }
    blocks
}

/// The page without its fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// The targets of links into the repository.
pub(super) fn links(page: &str) -> Vec<&str> {
    let targets = prose(page).flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.filter(|link| !link.contains("://")).collect()
}

/// The anchors of headings, as forges make them.
pub(super) fn anchors(page: &str) -> impl Iterator<Item = String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = text
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[test]
fn links_and_anchors_are_found_outside_of_blocks() {
    let page = "# The `a` page\n[b](b.md#c) and [d](https://e)\n```text\n[f](f.md)\n```\n";
    assert_eq!(links(page), ["b.md#c"]);
    assert_eq!(anchors(page).collect::<Vec<_>>(), ["the-a-page"]);
    assert_eq!(blocks(page, "text"), ["[f](f.md)\n"]);
}
