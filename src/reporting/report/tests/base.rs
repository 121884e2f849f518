//! What plan checks say of the findings that the followed branch has already.

use super::*;

#[test]
fn errors_of_the_base_are_folded() {
    let wrong = "---\n{apiVersion: v1, kind: ConfigMap}\n";
    let base = base_of(compiled(wrong));
    let set = ApplySet::new("f", "default");
    let none = Approvals::default();
    let of = |text: &str| merged(&set, &compiled(text), None, Some(&base), &none);
    // The line has moved.
    let check = of(&(config_map("new", "x") + wrong));
    assert_eq!(check.state, CheckState::Error);
    assert_eq!(
        check.title,
        "the branch main has 1 error; none is from this commit"
    );
    let text = "At abc, the branch main has 1 error, so nothing can be planned.\n\n<details><summary>1 error not from this commit</summary>\n\nthe branch main has them at abc:\n\n- a.yaml:4:1: ";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    assert!(
        check.summary.ends_with("\n\n</details>\n\n"),
        "{}",
        check.summary
    );
    assert_eq!(check.annotations, []);
    let check = of(&(wrong.to_owned() + wrong));
    assert_eq!(check.state, CheckState::Failure);
    assert_eq!(check.title, "1 error; the branch main has errors, too");
    assert_eq!(check.annotations.len(), 1);
    // What repairs the base is planned.
    assert_eq!(of(&config_map("new", "x")).state, CheckState::Success);
}

#[test]
fn warnings_of_a_good_base_are_folded_and_are_not_the_commit_s() {
    let nothing = ("empty.yaml", "# nothing");
    let old = [("a.yaml", &*config_map("a", "x")), nothing];
    let base = base_of(compile(&tree(&old), &[]));
    let set = ApplySet::new("f", "default");
    let none = Approvals::default();
    let of = |files: &[(&str, &str)]| {
        merged(&set, &compile(&tree(files), &[]), None, Some(&base), &none)
    };
    let same = of(&old);
    assert_eq!((same.state, same.detail), (CheckState::Success, None));
    assert_eq!(same.annotations, []);
    let folded = "<details><summary>1 warning not from this commit</summary>\n\nthe branch main has them at abc:\n\n- empty.yaml:1:1: Y13 ";
    assert!(same.summary.contains(folded), "{}", same.summary);
    let more = of(&[old[0], old[1], ("new.yaml", "# nothing")]);
    assert_eq!(more.detail, Some(CheckDetail::Warnings));
    assert!(more.title.ends_with("; 1 warning"), "{}", more.title);
    assert!(
        more.summary.starts_with("- new.yaml:1:1: Y13 "),
        "{}",
        more.summary
    );
    assert!(more.summary.contains(folded), "{}", more.summary);
    let noted = &more.annotations[..];
    assert!(
        matches!(noted, [one] if one.path == "new.yaml"),
        "{noted:?}"
    );
}
