//! What a repository has in place of a branch or tag that it lacks.
//!
//! In: the name that was asked for, and those that there are. Out: words for an error. It does not know git.

/// How many names are listed.
const LISTED: usize = 5;
/// How many letters of a name may be wrong or swapped for it to be suggested.
const SLIPS: usize = 2;

/// ` (did you mean main? there are main, dev and 3 more)`; the names most like `wanted` come first.
pub(super) fn hint<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> String {
    let slips = |name: &str| strsim::osa_distance(&wanted.to_lowercase(), &name.to_lowercase());
    let mut names: Vec<(usize, &str)> = names.map(|name| (slips(name), name)).collect();
    names.sort_unstable();
    let Some((slips, nearest)) = names.first() else {
        return " (there are none)".to_owned();
    };
    let suggestion = match *slips <= SLIPS && nearest.len() > SLIPS {
        true => format!("did you mean {nearest}? "),
        false => String::new(),
    };
    let listed: Vec<&str> = names.iter().map(|(_, name)| *name).take(LISTED).collect();
    let more = match names.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!(" ({suggestion}there {verb} {}{more})", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_a_few_are_listed() {
        let hint = |wanted, names: &[&str]| hint(wanted, names.iter().copied());
        let suggested = " (did you mean main? there are main, dev)";
        assert_eq!(hint("mian", &["dev", "main"]), suggested);
        assert_eq!(
            hint("Main", &["main"]),
            " (did you mean main? there is main)"
        );
        assert_eq!(hint("release", &["main"]), " (there is main)");
        assert_eq!(hint("main", &[]), " (there are none)");
        let many = ["a", "b", "c", "d", "e", "main", "g"];
        let listed = " (did you mean main? there are main, a, b, c, d and 2 more)";
        assert_eq!(hint("maim", &many), listed);
    }
}
