//! What comes from a repository or a cluster cannot format a check, mention people, or give commands to a CI system
//! that prints it (oracle row 25 of facts/forges.md §9).

use super::*;
use crate::adapters::checks;
use crate::model::ObjectId;
use crate::plan::approvals::Pressed;

const HOSTILE: &str =
    "`@team <img src=x> | x ##vso[task.complete] ![a](http://b) <!-- -->\r\n  ::error::x";
/// The same as a file name may have it.
const FILE: &str = "`@team <img src=x> | x ##vso[task.complete]\n::error::x.yaml";

/// The line without what is code in it, as CommonMark reads it.
fn without_code(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at_checked(at).expect("whole");
        out.push_str(before);
        let run = from.len() - from.trim_start_matches('`').len();
        let (fence, inner) = from.split_at_checked(run).expect("whole");
        if before.ends_with('\\') {
            // An escaped backtick is text.
            out.push('`');
            rest = from.strip_prefix('`').expect("a backtick");
            continue;
        }
        let runs = inner.match_indices(fence);
        let mut runs = runs
            .filter_map(|(at, _)| Some((inner.get(..at)?, inner.get(at + run..)?)))
            .filter(|(before, after)| !before.ends_with('`') && !after.starts_with('`'));
        match runs.next() {
            Some((_, after)) => rest = after,
            None => {
                out.push_str(fence);
                rest = inner;
            }
        }
    }
    out + rest
}

fn assert_no_command(line: &str) {
    assert!(!line.trim_start().starts_with("::"), "{line}");
    assert!(!line.contains("##vso[") && !line.contains("##["), "{line}");
}

fn assert_harmless(check: &Check) {
    for line in
        std::iter::once(&check.title).chain(check.annotations.iter().map(|one| &one.message))
    {
        assert_no_command(line);
        assert!(!line.contains(['\n', '\r']), "{line}");
    }
    for text in [check.summary.clone(), people(check)] {
        for line in text.lines() {
            assert_no_command(line);
            let shown = without_code(line);
            let own = [
                "<details>",
                "</details>",
                "<summary>",
                "</summary>",
                "<!-- capstan: end -->",
            ];
            let shown = own.iter().fold(shown, |shown, own| shown.replace(own, ""));
            assert!(!shown.contains("@team"), "{line}");
            for tag in ["<img", "<!--"] {
                let live = shown.replace(&format!("\\{tag}"), "");
                assert!(!live.contains(tag), "{line}");
            }
            assert!(!shown.replace("\\](", "").contains("](http"), "{line}");
            if line.starts_with('|') {
                assert_eq!(line.replace("\\|", "").matches('|').count(), 4, "{line}");
            }
        }
    }
}

/// What people read in a note with this check.
fn people(check: &Check) -> String {
    let note = checks::rewrite(None, check);
    let lines = note.lines().filter(|line| !line.starts_with("{\"v\""));
    lines.map(|line| format!("{line}\n")).collect()
}

fn hostile(data: &str) -> Compiled {
    let text = format!(
        "{}  x: {}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n",
        serde_json::json!(data)
    );
    compile(&tree(&[(FILE, &text)]), &[])
}

/// Whatever a forge names.
fn presses() -> Vec<Pressed> {
    vec![Pressed {
        commit: HOSTILE.to_owned(),
        losses: [HOSTILE.to_owned(), format!("delete ns/{HOSTILE}")].into(),
        login: HOSTILE.to_owned(),
        how: crate::plan::approvals::How::Comment,
        at: jiff::Timestamp::UNIX_EPOCH,
        is_applied: false,
    }]
}

fn hostile_approvals() -> Approvals {
    let approval = Approval {
        who: HOSTILE.to_owned(),
        ..deletes(
            &format!(
                "ns/{}",
                HOSTILE.replace(char::is_whitespace, "").replace('/', "")
            ),
            HOSTILE,
        )
    };
    let doubts = [
        Doubt::Unattributed(HOSTILE.to_owned()),
        Doubt::Unverified(HOSTILE.to_owned()),
    ];
    let pressed = presses();
    let pressed = pressed.iter().flat_map(Pressed::approvals);
    Approvals {
        given: std::iter::once(approval.clone()).chain(pressed).collect(),
        doubted: doubts.map(|doubt| (approval.clone(), doubt)).to_vec(),
        own: [approval.what.clone()].into(),
        unclear: vec![HOSTILE.to_owned()],
    }
}

fn hostile_holdings() -> Holdings {
    let clusters = serde_json::json!({HOSTILE: true, format!("ns/{HOSTILE}"): false});
    let holdings = serde_json::json!({"clusters": clusters, "pools": {HOSTILE: HOSTILE}});
    serde_json::from_value(holdings).expect("holdings")
}

fn hostile_lines() -> ForkLines {
    ForkLines {
        approving: vec![HOSTILE.to_owned()],
        unclear: vec![HOSTILE.to_owned()],
    }
}

/// Each check that the daemon can make, of things with such names.
fn all() -> Vec<Check> {
    [plans(), followed()].concat()
}

fn broken() -> Compiled {
    let text = format!("kind: {}\n", serde_json::json!(HOSTILE));
    let broken = compile(&tree(&[(FILE, &text)]), &[]);
    assert!(broken.has_errors());
    broken
}

/// Without objects, and with findings.
fn noisy() -> Compiled {
    let id = ObjectId::new("", "ConfigMap", HOSTILE, HOSTILE);
    let wrong = Finding::error("S01", HOSTILE).help(HOSTILE).of(&id);
    let span = crate::model::Span::new(&Arc::from(FILE), 1, 1, 2);
    let checked = Checked {
        allowed: vec![Allowed {
            finding: wrong.clone(),
            reason: HOSTILE.to_owned(),
            by: span.clone(),
        }],
        findings: vec![wrong.at(&span), Finding::warning("Y13", HOSTILE).at(&span)],
        ..Checked::default()
    };
    checked.into()
}

fn gone() -> Compiled {
    let files = [(FILE, "# gone"), ("b.yaml", &*config_map("b", "x"))];
    compile(&tree(&files), &[])
}

fn failure() -> Fault {
    Fault {
        summary: "the revision cannot be read",
        message: HOSTILE.to_owned(),
        is_of_the_commit: false,
    }
}

/// The checks of candidates.
fn plans() -> Vec<Check> {
    let (broken, noisy, old, gone) = (broken(), noisy(), hostile("before"), gone());
    let base = Base {
        name: format!("the branch {HOSTILE}"),
        commit: HOSTILE.to_owned(),
        has_objects: true,
        findings: broken.findings.clone().into(),
        holdings: Arc::default(),
    };
    let lost = Base {
        holdings: Arc::new(hostile_holdings()),
        ..base.clone()
    };
    let set = ApplySet::new("f", "default");
    let paths = [HOSTILE.to_owned()];
    vec![
        check_of(&broken, None),
        check_of(&noisy, None),
        check_of(&hostile(HOSTILE), Some((HOSTILE, &old))),
        check_of(&gone, Some((HOSTILE, &old))),
        merged(&set, &broken, None, Some(&base), &hostile_approvals()),
        merged(&set, &noisy, None, Some(&base), &hostile_approvals()),
        merged(
            &set,
            &old,
            Some((HOSTILE, None)),
            Some(&base),
            &hostile_approvals(),
        ),
        forked(&broken, Some(&base), true, &hostile_lines()),
        forked(&old, Some(&base), false, &hostile_lines()),
        forked(&broken, Some(&lost), true, &hostile_lines()),
        conflicts("f", "r", &paths),
        broken_plan("f", "r", &failure()),
    ]
}

/// The checks of the followed ref.
fn followed() -> Vec<Check> {
    let id = ObjectId::new("", "ConfigMap", HOSTILE, HOSTILE);
    let (state, applied) = (CheckState::Failure, Some(HOSTILE));
    let (broken, noisy, old, gone) = (broken(), noisy(), hostile("before"), gone());
    let other = ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", HOSTILE);
    let why = format!("deleting a cluster needs approval: {HOSTILE}");
    let held = BTreeMap::from([(other, PruneStatus::Held(why))]);
    let cluster = ClusterSummary {
        id: id.clone(),
        summary: Summary {
            stage: HOSTILE.to_owned(),
            ..summary(Vec::new())
        },
        elapsed: Duration::ZERO,
    };
    let failed = summary(vec![(id.clone(), HOSTILE.to_owned())]);
    let leaving = BTreeMap::from([(id, PruneStatus::Held(HOSTILE.to_owned()))]);
    let graph = hostile("x").graph;
    let set = ApplySet::new("f", "default");
    let mut notes = Notes::of(&noisy);
    notes.compare(
        &plan::against_none(&old.objects, &old.graph, &set),
        &plan::against_none(&gone.objects, &gone.graph, &set),
    );
    vec![
        refused("f", "r", &broken, applied),
        refused("f", "r", &noisy, applied),
        emptied("f", "r", applied),
        unreadable("f", "r", &failure(), applied),
        stuck("f", "r", state, HOSTILE),
        superseded("f", "r", HOSTILE, HOSTILE),
        suspended("f", "r", applied),
        paused(
            "f",
            done(),
            HOSTILE,
            &AppliedState::Earlier((HOSTILE.to_owned(), None)),
        ),
        progress("f", "r", state, (&failed, &[cluster]), &leaving, &graph),
        noted(done(), &notes),
        asked(
            done(),
            &held,
            &hostile_approvals(),
            ApprovalWays {
                button: true,
                comment: true,
                ..ApprovalWays::default()
            },
        ),
    ]
}

#[test]
fn no_check_can_be_formatted_by_what_it_reports() {
    for check in all() {
        assert_harmless(&check);
    }
}

#[test]
fn what_is_looked_for_is_found() {
    let raw = parts::check("c".to_owned(), "r", CheckState::Failure, "", String::new());
    for text in [
        "@team",
        "<img src=x>",
        "| a | b | c | d |",
        "##vso[x]",
        " ::error::x",
        "\\`@team`",
        "[a](http://b)",
    ] {
        let check = Check {
            summary: text.to_owned(),
            ..raw.clone()
        };
        let found = std::panic::catch_unwind(|| assert_harmless(&check));
        assert!(found.is_err(), "{text}");
    }
    let code = Check {
        summary: "- `` `@team <img> `` \\<img @\u{200b}team".to_owned(),
        ..raw
    };
    assert_harmless(&code);
}
