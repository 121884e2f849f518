//! Whether a change makes an object worse.
//!
//! In: the findings about an object before and after. Out: which of the latter are new. It does not know: where they
//! are from.

use std::collections::HashMap;

use crate::model::{Arg, Finding, ObjectId, Segment};

/// What two findings have in common if they are about the same mistake: the rule, the resource, the field and the
/// arguments, but not where in a list the resource or the field is.
type Key = (&'static str, Option<ObjectId>, Vec<String>, Vec<Arg>);

/// The argument that is the place of an item in its list.
const PLACE: &str = "item";

fn key(finding: &Finding) -> Key {
    let segments = finding.field.iter().flat_map(|field| &field.0);
    let keys = segments.filter_map(|segment| match segment {
        Segment::Key(name) => Some(name.to_string()),
        Segment::Index(_) => None,
    });
    let args = finding.args.iter().filter(|(name, _)| *name != PLACE);
    (
        finding.id,
        finding.object.clone(),
        keys.collect(),
        args.cloned().collect(),
    )
}

/// `after` apart: what `before` does not have, and what it has. Two equal mistakes count as two.
pub(super) fn partition(before: &[Finding], after: Vec<Finding>) -> (Vec<Finding>, Vec<Finding>) {
    let mut known: HashMap<Key, usize> = HashMap::new();
    for finding in before {
        *known.entry(key(finding)).or_default() += 1;
    }
    after.into_iter().partition(|finding| {
        let left = known.get_mut(&key(finding)).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Path, message};

    #[test]
    fn a_mistake_is_known_wherever_it_moved_in_a_list_and_once_for_each_time() {
        let wrong = |value: &str, at: usize| {
            let message = message!("`{value}` is wrong", value, item = at);
            Finding::error("X01", message).field(&Path::dotted("spec.a").index(at))
        };
        let before = [wrong("a", 0), wrong("b", 1)];
        let after = vec![wrong("b", 0), wrong("b", 1), wrong("c", 2)];
        let (new, known) = partition(&before, after);
        let fields = |findings: &[Finding]| -> Vec<String> {
            let fields = findings.iter().filter_map(|finding| finding.field.as_ref());
            fields.map(ToString::to_string).collect()
        };
        assert_eq!(fields(&new), ["spec.a[1]", "spec.a[2]"]);
        assert_eq!(fields(&known), ["spec.a[0]"]);
        let elsewhere = Finding {
            field: Some(Path::dotted("spec.b")),
            ..wrong("a", 0)
        };
        assert_eq!(
            partition(&before, vec![elsewhere]).0.len(),
            1,
            "another field"
        );
    }
}
