//! Suggests the most similar known name.

/// The one of `known` that `name` is probably a misspelling of. A name that differs only in case wins
/// over all others (`autoscaling` for `autoScaling`); otherwise at most a third of the letters may be
/// wrong, missing, superfluous or swapped, and the nearest name wins, the first of equals.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (distance(&lower, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= tolerance(&lower, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn distance(lower: &str, candidate: &str) -> usize {
    strsim::damerau_levenshtein(lower, &candidate.to_lowercase())
}

fn tolerance(name: &str, candidate: &str) -> usize {
    name.chars().count().max(candidate.chars().count()) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_alone_always_wins() {
        let known = ["autoscale", "autoScaling", "autoscalin"];
        assert_eq!(nearest("autoscaling", known), Some("autoScaling"));
    }

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let known = ["replicas", "version", "nodePools"];
        assert_eq!(nearest("relpicas", known), Some("replicas"));
        assert_eq!(nearest("nodepool", known), Some("nodePools"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
