//! Removes from a message what is random.
//!
//! A real server walks Go's maps in any order. So the errors of a configuration come in any order, and
//! after an unknown field the errors that follow in the walk are missing. A message may also
//! quote a stored object, with its times and versions.

/// `message` without what differs from run to run.
pub(crate) fn normalized(message: &str) -> String {
    let (mut faults, mut lines): (Vec<&str>, Vec<&str>) =
        message.lines().partition(|line| line.starts_with("  "));
    faults.sort_unstable();
    lines.extend(faults);
    without_stored(&without_faults(&lines.join("\n")))
}

fn without_faults(message: &str) -> String {
    match message.split_once("Kind=") {
        Some((opening, faults)) if faults.contains("field not declared in schema") => {
            let kind = faults.split(')').next().unwrap_or_default();
            format!("{opening}Kind={kind}): (faults)")
        }
        _ => message.to_owned(),
    }
}

fn without_stored(message: &str) -> String {
    match (message.split_once('{'), message.rsplit_once('}')) {
        (Some((before, _)), Some((_, after))) if is_stored(message) => {
            format!("{before}(object){after}")
        }
        _ => message.to_owned(),
    }
}

fn is_stored(message: &str) -> bool {
    let keys = [
        "creationTimestamp",
        "resourceVersion\"",
        "resourceVersion\\\"",
    ];
    keys.iter().any(|key| message.contains(key))
}

#[test]
fn only_random_parts_are_removed() {
    let kept = "Apply failed with 1 conflict: .spec.a{}";
    assert_eq!(normalized(kept), kept);
    assert_eq!(
        normalized("typed (/a; v1, Kind=A): errors:\n  .b: expected\n  .a: expected"),
        "typed (/a; v1, Kind=A): errors:\n  .a: expected\n  .b: expected"
    );
    assert_eq!(
        normalized(
            "typed (/a; v1, Kind=A): errors:\n  .b: expected\n  .a: field not declared in schema"
        ),
        "typed (/a; v1, Kind=A): (faults)"
    );
    assert_eq!(
        normalized("missing in '{\"creationTimestamp\":\"now\"}'"),
        "missing in '(object)'"
    );
    assert_eq!(
        normalized(r#"Invalid value: "{\"metadata\":{\"resourceVersion\":\"7\"}}": no"#),
        r#"Invalid value: "(object)": no"#
    );
}
