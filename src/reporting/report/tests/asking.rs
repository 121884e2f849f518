//! Buttons and who pressed them, and approvals in commits.

use super::*;
use crate::apply::Unapproved;
use crate::model::Button;
use crate::plan::approvals::{CommentDoubt, How, Pressed, Verb, What};
use crate::plan::losses::Unit;
use crate::reporting::report::asking::{ApprovalWays, Trailers, asked};

const BUTTON: ApprovalWays = ApprovalWays {
    button: true,
    comment: false,
    trailers: Trailers::Count,
};
const COMMENT: ApprovalWays = ApprovalWays {
    button: false,
    comment: true,
    trailers: Trailers::Count,
};
const COMMIT: ApprovalWays = ApprovalWays {
    button: false,
    comment: false,
    trailers: Trailers::Count,
};

fn press(cluster: &str, login: &str) -> Pressed {
    Pressed {
        commit: "0123456789abcdef".to_owned(),
        losses: [format!("delete {cluster}")].into(),
        login: login.to_owned(),
        how: How::Button,
        at: jiff::Timestamp::UNIX_EPOCH,
        is_applied: false,
    }
}

/// The status of the clusters of these names.
fn clusters(
    names: &[&str],
    status: impl Fn(&str) -> PruneStatus,
) -> BTreeMap<ObjectId, PruneStatus> {
    let of = |name: &&str| {
        let id = ObjectId::new("cluster.x-k8s.io", "Cluster", "c", *name);
        (id, status(name))
    };
    names.iter().map(of).collect()
}

/// Its deletion waits for an approval.
fn unapproved(name: &str) -> PruneStatus {
    PruneStatus::Unapproved(Unapproved {
        verb: Verb::Delete,
        unit: Unit::new("c", name),
        to: None,
        without_commits: false,
    })
}

fn needed(_: &str) -> PruneStatus {
    PruneStatus::Held("it is needed".to_owned())
}

fn deletions(names: &[&str]) -> Vec<String> {
    names
        .iter()
        .map(|name| format!("delete c/{name}"))
        .collect()
}

#[test]
fn a_plan_that_waits_for_an_approval_has_a_button_and_one_that_got_it_says_from_whom() {
    let cluster = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: two, namespace: c, annotations: {capstan.dev/deletion-policy: Delete}}}\n";
    let set = ApplySet::new("f", "default");
    let old = compiled(&(config_map("a", "x") + cluster));
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let of = |text: &str, approvals: &Approvals| {
        proposed(&compiled(text), &set, Some(&before), |proposal| {
            crate::reporting::report::plan(&Merge {
                fleet: "f",
                revision: "r",
                proposal,
                comparison: Comparison::Applied("o", Some(&before)),
                base: None,
                approvals,
                waiting: &BTreeSet::new(),
                prune: true,
                settle: Duration::ZERO,
                ways: BUTTON,
            })
        })
    };
    let check = of(&config_map("a", "x"), &Approvals::default());
    assert_eq!(check.detail, Some(CheckDetail::Approval));
    let expected = Button::new("r", "capstan/f/plan", deletions(&["two"]));
    assert_eq!(check.button, Some(expected));
    let text = "1 loss needs approval:\n\n- cluster c/two is deleted: what runs on it goes\n\nTo approve, press the button Approve of this check, if you may write to the repository; that holds for a merge or a squash of this commit. Or push a commit whose message ends in this line, and repeat the line in the message of a merge or a squash:\n\n- `Capstan-Approve: delete c/two`\n\n";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    let approved = Approvals {
        given: [press("c/two", "octo_cat_"), press("c/other", "x")]
            .iter()
            .flat_map(Pressed::approvals)
            .collect(),
        ..Approvals::default()
    };
    let check = of(&config_map("a", "x"), &approved);
    assert_eq!((check.state, check.detail), (CheckState::Success, None));
    assert_eq!(check.button, None);
    let line = "Approved:\n\n- cluster c/two is deleted: what runs on it goes\n\n- the deletion of c/two was approved by octo_cat\\_ with the button on 0123456789\n\n";
    assert!(check.summary.starts_with(line), "{}", check.summary);
    // What has errors is not approved.
    let broken = of("kind: [\n", &Approvals::default());
    assert_eq!(broken.button, None);
}

#[test]
fn what_a_limit_allows_is_not_called_approved() {
    let cluster = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: two, namespace: c, annotations: {capstan.dev/deletion-policy: Delete}}}\n";
    let set = ApplySet::new("f", "default");
    let old = compiled(&(config_map("a", "x") + cluster));
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let limit = Approvals {
        given: vec![Approval::setting(What::Clusters(1))],
        ..Approvals::default()
    };
    let new = compiled(&config_map("a", "x"));
    let check = merged(&set, &new, Some(("o", Some(&before))), None, &limit);
    assert_eq!((check.state, check.detail), (CheckState::Success, None));
    let text = "Allowed by `spec.apply.deletionGuard`, and approved by nobody:\n\n- cluster c/two is deleted: what runs on it goes\n\n";
    assert!(check.summary.starts_with(text), "{}", check.summary);
}

fn by(press: &Pressed) -> Approvals {
    Approvals {
        given: press.approvals().collect(),
        ..Approvals::default()
    }
}

#[test]
fn a_sync_check_asks_when_it_is_done_for_the_clusters_alone() {
    let done = |state| {
        parts::check(
            "capstan/f/sync".to_owned(),
            "r",
            state,
            "1/1",
            "text".into(),
        )
    };
    let mut leaving = clusters(&["two", "one"], unapproved);
    let part = ObjectId::new("cluster.x-k8s.io", "MachinePool", "c", "one-mp1");
    leaving.insert(part, unapproved("one"));
    let check = asked(
        done(CheckState::Success),
        &leaving,
        &Approvals::default(),
        BUTTON,
    );
    let names = deletions(&["one", "two"]);
    assert_eq!(
        check.button,
        Some(Button::new("r", "capstan/f/sync", names))
    );
    let text = "2 losses need approval:\n\n- cluster c/one is kept: its deletion needs approval\n- cluster c/two is kept: its deletion needs approval\n\nTo approve, press the button Approve of this check, if you may write to the repository. Or push a commit whose message ends in these lines, and repeat the lines in the message of a merge or a squash:\n\n- `Capstan-Approve: delete c/one`\n- `Capstan-Approve: delete c/two`\n\ntext";
    assert_eq!(check.summary, text);
    let granted = by(&press("c/three", "x"));
    for (state, leaving, ways) in [
        (CheckState::Failure, &leaving, COMMIT),
        (CheckState::Pending, &leaving, BUTTON),
    ] {
        let check = asked(done(state), leaving, &granted, ways);
        assert_eq!(check.button, None);
        assert!(
            check.summary.contains("To approve, push a commit"),
            "{}",
            check.summary
        );
    }
    for leaving in [clusters(&["one"], needed), BTreeMap::new()] {
        let check = asked(done(CheckState::Success), &leaving, &granted, BUTTON);
        assert_eq!((check.button, &*check.summary), (None, "text"));
    }
    let check = asked(
        done(CheckState::Success),
        &clusters(&["one"], needed),
        &by(&press("c/one", "x")),
        BUTTON,
    );
    let line = "- the deletion of c/one was approved by x with the button on 0123456789\n\ntext";
    assert_eq!(check.summary, line);
}

#[test]
fn a_sync_check_names_lines_that_look_like_an_approval_while_it_asks() {
    let approvals = Approvals {
        unclear: vec!["Capstan-Approve: remove c/one".to_owned()],
        ..Approvals::default()
    };
    let done = || {
        let context = "capstan/f/sync".to_owned();
        parts::check(context, "r", CheckState::Success, "1/1", "text".into())
    };
    let line = "- \"Capstan-Approve: remove c/one\" approves nothing: what needs approval is its deletion. In the last paragraph of a commit message, write `Capstan-Approve: delete c/one`\n\n";
    let held = clusters(&["one"], unapproved);
    let check = asked(done(), &held, &approvals, COMMIT);
    assert!(check.summary.starts_with(line), "{}", check.summary);
    // Nothing waits for an approval.
    let kept = clusters(&["one"], needed);
    assert_eq!(asked(done(), &kept, &approvals, COMMIT).summary, "text");
}

#[test]
fn nobody_approves_what_the_check_does_not_list() {
    let name = |at: usize| What::deletion(&format!("c/{at}")).expect("a name");
    let names = |count: usize| (0..count).map(name).collect::<Vec<_>>();
    let ways = ApprovalWays {
        button: true,
        comment: true,
        trailers: Trailers::Count,
    };
    let check = Check::new("c", "r", CheckState::Failure, "");
    for (count, is_listed) in [(0, false), (MOST_LINES, true), (MOST_LINES + 1, false)] {
        let check = ways.ask(check.clone(), &names(count));
        let asked = (check.button.is_some(), !check.asked.is_empty());
        assert_eq!(asked, (is_listed, is_listed), "{count}");
    }
}

#[test]
fn a_sync_check_names_each_approval_that_counts_and_why_others_do_not() {
    let recreate = Approval {
        what: What::parse("recreate c/three").expect("a name"),
        ..deletes("c/three", "abcdefabcdef")
    };
    let doubts = [
        Doubt::Fork(7),
        Doubt::Merged,
        Doubt::Unattributed("it is away".to_owned()),
        Doubt::Unverified("commit x by y: it is not signed".to_owned()),
    ];
    let doubted = doubts.map(|doubt| (deletes("c/two", "0123456789abcdef"), doubt));
    let approvals = Approvals {
        given: vec![
            deletes("c/one", "0123456789abcdef"),
            deletes("c/other", "1"),
            recreate,
        ],
        doubted: doubted.to_vec(),
        ..Approvals::default()
    };
    let check = parts::check(
        "capstan/f/sync".to_owned(),
        "r",
        CheckState::Success,
        "1/1",
        "text".into(),
    );
    let check = asked(
        check,
        &clusters(&["one", "two"], needed),
        &approvals,
        COMMIT,
    );
    let by = "by Ada \\<ada@example.com>";
    let none = format!("- \"Capstan-Approve: delete c/two\" in 0123456789 {by} does not count: ");
    let expected = [
        format!(
            "{none}pull request 7 of a fork brought the commit in; whoever may write to the repository approves in a commit of their own\n"
        ),
        format!(
            "{none}a merge brought the commit in; repeat the line in the message of a commit on the branch itself, such as the merge\n"
        ),
        format!(
            "{none}it is not known yet whether a fork's pull request brought the commit in, which is asked again: it is away\n"
        ),
        format!("{none}the commit is not verified: commit x by y: it is not signed\n\n"),
        format!("- the deletion of c/one was approved {by} in the message of 0123456789\n"),
        format!(
            "- the recreation of the HCP cluster of c/three was approved {by} in the message of abcdefabcd\n\ntext"
        ),
    ];
    assert_eq!(check.summary, expected.concat());
}

#[test]
fn a_check_names_no_way_that_does_not_count() {
    let done = || {
        let context = "capstan/f/sync".to_owned();
        parts::check(context, "r", CheckState::Success, "1/1", String::new())
    };
    let held = clusters(&["one", "two"], unapproved);
    let text = |trailers, comment| {
        let ways = ApprovalWays {
            button: false,
            comment,
            trailers,
        };
        asked(done(), &held, &Approvals::default(), ways).summary
    };
    let signed = text(Trailers::CountIfSigned, false);
    let line = "To approve, push a signed commit whose message ends in these lines";
    assert!(signed.contains(line), "{signed}");
    let (comment, annotation) = (
        text(Trailers::AreVoid, true),
        text(Trailers::AreVoid, false),
    );
    for void in [&comment, &annotation] {
        assert!(!void.contains("Capstan-Approve"), "{void}");
    }
    assert!(
        comment.ends_with("- `/capstan approve delete c/two`\n\n"),
        "{comment}"
    );
    let line = "To approve, set the annotation `capstan.dev/approve` on the ConfigMap of the fleet to this text:\n\n- `delete c/one, delete c/two`\n\n";
    assert!(annotation.ends_with(line), "{annotation}");
}

#[test]
fn a_check_whose_pull_request_is_read_says_what_to_comment_and_what_is_wrong_with_comments() {
    let done = || {
        let context = "capstan/f/sync".to_owned();
        parts::check(context, "r", CheckState::Success, "1/1", "text".into())
    };
    let held = clusters(&["one"], unapproved);
    let check = asked(done(), &held, &Approvals::default(), COMMENT);
    let text = "1 loss needs approval:\n\n- cluster c/one is kept: its deletion needs approval\n\nTo approve, write a new comment on the merged pull request with this line:\n\n- `/capstan approve delete c/one`\n\nOr push a commit whose message ends in this line, and repeat the line in the message of a merge or a squash:\n\n- `Capstan-Approve: delete c/one`\n\ntext";
    assert_eq!(check.summary, text);
    assert_eq!((check.button, check.asked), (None, deletions(&["one"])));
    let edited = Approval {
        what: What::parse("delete c/one").expect("a name"),
        how: How::Comment,
        who: "ada".to_owned(),
        at: None,
        commit: "r".to_owned(),
    };
    let comments = Approvals {
        doubted: vec![(edited, Doubt::Comment(CommentDoubt::Edited))],
        unclear: vec![
            "/capstan approve remove c/one".to_owned(),
            "> /capstan approve c/one".to_owned(),
            "/capstan delete everything".to_owned(),
        ],
        ..Approvals::default()
    };
    let check = asked(done(), &held, &comments, COMMENT);
    let text = "- the comment \"/capstan approve delete c/one\" by ada does not count: the comment was edited; write a new comment\n- \"/capstan approve remove c/one\" approves nothing: what needs approval is its deletion. In a new comment, on a line of its own, write `/capstan approve delete c/one`\n- \"> /capstan approve c/one\" approves nothing: it does not say that it approves the deletion. In a new comment, on a line of its own, write `/capstan approve delete c/one`\n- \"/capstan delete everything\" is not an approval: in a new comment, on a line of its own, write `/capstan approve delete c/one`\n\n1 loss needs approval";
    assert!(check.summary.starts_with(text), "{}", check.summary);
    // Once nothing is asked, nobody needs to know what was wrong with a comment.
    let set = ApplySet::new("f", "default");
    let new = compiled(&config_map("a", "x"));
    let plan = proposed(&new, &set, None, |proposal| {
        crate::reporting::report::plan(&Merge {
            fleet: "f",
            revision: "r",
            proposal,
            comparison: Comparison::Nothing,
            base: None,
            approvals: &comments,
            waiting: &BTreeSet::new(),
            prune: true,
            settle: Duration::ZERO,
            ways: COMMENT,
        })
    });
    assert_eq!((plan.state, plan.detail), (CheckState::Success, None));
}
