//! Log lines that print how a type is written in Rust.
//!
//! In: the code of files. Out: the calls of `tracing` with a field or a message in `Debug` form, which changes with the code and
//! is no word of the field. Traces are exempt: they are for who reads the code.

/// The macros that write a line.
const MACROS: [&str; 4] = ["debug!(", "info!(", "warn!(", "error!("];

/// Finds the calls.
pub(super) fn faults<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, code) in sources {
        for call in code.split("tracing::").filter_map(call) {
            let is_field = ["(?", " ?", "= ?"].iter().any(|sign| {
                let mut fields = call.split(sign).skip(1);
                fields.any(|field| field.starts_with(char::is_alphabetic))
            });
            if is_field || call.contains(":?}") {
                faults.push(format!("src/{file}: a log line has a `Debug` form: {call}"));
            }
        }
    }
    faults
}

/// The call of a macro of `tracing` at the start of `code`, to the end of its statement.
fn call(code: &str) -> Option<&str> {
    let is_macro = MACROS.iter().any(|name| code.starts_with(name));
    let ends = [");", "),\n", ")\n"].iter();
    let calls = ends.filter_map(|end| Some(code.split_once(end)?.0));
    calls.min_by_key(|call| call.len()).filter(|_| is_macro)
}

#[test]
fn planted_faults_are_found() {
    let count = |code| faults([("a.rs", code)].into_iter()).len();
    for bad in [
        "tracing::warn!(?why, \"a\");",
        "tracing::warn!(%a, why = ?why, \"a\");",
        "tracing::info!(\n    ?why,\n    \"a\"\n);",
        "tracing::info!(\"a {b:?}\");",
    ] {
        assert_eq!(count(bad), 1, "{bad}");
    }
    for good in [
        "tracing::warn!(%why, \"a? b\");",
        "tracing::trace!(?why, \"a\");",
        "let a = tracing::Span::current()?;",
    ] {
        assert_eq!(count(good), 0, "{good}");
    }
}
