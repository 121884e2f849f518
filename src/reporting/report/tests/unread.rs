//! What checks say of files that define nothing any more.

use super::*;

#[test]
fn files_that_define_nothing_any_more_are_named_with_the_objects_that_leave() {
    let (a, b) = (config_map("a", "x"), config_map("b", "x"));
    let old = compile(
        &tree(&[
            ("a.yaml", &a),
            ("b.yaml", &b),
            ("c.yaml", &config_map("c", "x")),
        ]),
        &[],
    );
    let new = compile(
        &tree(&[
            ("a.yaml", "# gone"),
            ("b.yaml", "# gone, too"),
            ("d.yaml", &config_map("d", "x")),
        ]),
        &[],
    );
    let check = check_of(&new, Some(("abc", &old)));
    assert_eq!(
        check.title,
        "3 objects deleted, 1 new; 2 warnings; 2 files no longer define their objects"
    );
    let lines = "\
Files that no longer define their objects, which leave the fleet:

- `a.yaml` contains no document: ConfigMap/default/a
- `b.yaml` contains no document: ConfigMap/default/b

";
    assert!(check.summary.contains(lines), "{}", check.summary);
    let set = ApplySet::new("f", "default");
    let plan = |compiled: &Compiled| plan::against_none(&compiled.objects, &compiled.graph, &set);
    let mut notes = Notes::of(&new);
    notes.compare(&plan(&old), &plan(&new));
    let check = noted(done(), &notes);
    assert!(
        check
            .title
            .ends_with("; 2 files no longer define their objects"),
        "{}",
        check.title
    );
    assert!(check.summary.contains(lines), "{}", check.summary);
    let warned = "\n2 warnings:\n\n- a.yaml:1:1: Y13 ";
    assert!(check.summary.contains(warned), "{}", check.summary);
}

#[test]
fn a_file_that_is_for_another_tool_now_is_named_with_its_objects() {
    let old = compile(&tree(&[("compose.yaml", &config_map("a", "x"))]), &[]);
    let new = compile(
        &tree(&[
            ("compose.yaml", "services: {}\n"),
            ("b.yaml", &config_map("b", "x")),
        ]),
        &[],
    );
    let check = check_of(&new, Some(("abc", &old)));
    let line = "- `compose.yaml` is a file of Docker Compose, not a Kubernetes object: ConfigMap/default/a\n";
    assert!(check.summary.contains(line), "{}", check.summary);
}

#[test]
fn a_deleted_file_is_no_warning_and_warnings_have_an_end() {
    let old = compile(
        &tree(&[
            ("a.yaml", &config_map("a", "x")),
            ("b.yaml", &config_map("b", "x")),
        ]),
        &[],
    );
    let new = compile(&tree(&[("b.yaml", &config_map("b", "x"))]), &[]);
    let check = check_of(&new, Some(("abc", &old)));
    assert_eq!(check.title, "1 object deleted");
    let names: Vec<String> = (0..30).map(|at| format!("{at:02}.yaml")).collect();
    let empty: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "# nothing"))
        .collect();
    let many = compile(
        &tree(&[&[("a.yaml", &*config_map("a", "x"))][..], &empty].concat()),
        &[],
    );
    let check = noted(done(), &Notes::of(&many));
    assert!(
        check.summary.contains("\n30 warnings:\n"),
        "{}",
        check.summary
    );
    assert!(
        check.summary.ends_with("- and 10 more\n"),
        "{}",
        check.summary
    );
}
