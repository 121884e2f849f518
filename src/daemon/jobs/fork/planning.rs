//! What the process does that plans the head of a fork: it merges the head onto its base, compiles both and compares
//! their findings.
//!
//! In: a request, and the objects on this machine that it names. Out: its answer. By rules alone that everybody can run
//! on these files: nothing of the cluster, no tenants, no overlays of the machine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::message::{Answer, Examined, Request};
use crate::adapters::git::{Error, Merged, Quarantine};
use crate::api::fleet::FleetPolicy;
use crate::compile::{Checked, Digest, digest_by};
use crate::daemon::jobs::failure::{Failure, Unread};
use crate::model::{Check, ErrorClass, Severity, Tree};
use crate::plan::approvals::{self, ForkLines};
use crate::reporting::report::{self, Base, HeldObject, Holdings};

/// How many commits are looked through for lines that would approve something.
const MOST_MESSAGES: usize = 10_000;

/// Does what is asked. Whatever it meets becomes an answer.
pub(super) fn answer(request: &Request) -> Answer {
    if request.version != env!("CARGO_PKG_VERSION") {
        return unread(&Failure::Panic(format!(
            "version {} asked version {} to plan",
            request.version,
            env!("CARGO_PKG_VERSION")
        )));
    }
    let planned = catch_unwind(AssertUnwindSafe(|| plan(request)));
    match planned {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => unread(&Failure::Git(error)),
        Err(panic) => unread(&Failure::caught(&*panic)),
    }
}

fn unread(failure: &Failure) -> Answer {
    Answer::Unread(Unread {
        is_bug: failure.class() == ErrorClass::Bug,
        is_of_the_commit: failure.is_of_the_commit(),
        message: failure.to_string(),
    })
}

fn plan(request: &Request) -> Result<Answer, Error> {
    let quarantine = Quarantine::open(&request.mirror, &request.source)?;
    for pack in &request.packs {
        quarantine.take_in(pack)?;
    }
    let head = quarantine.commit_of(&request.name, &request.id)?;
    let Some(commit) = &request.commit else {
        return Ok(Answer::Resolved(head));
    };
    let (ids, trees) = match merged(&quarantine, request, &head)? {
        Ok(merged) => merged,
        Err(paths) => return Ok(Answer::Conflicts(paths)),
    };
    let messages = quarantine.messages(Some(&request.base), &head, MOST_MESSAGES)?;
    let lines = approvals::fork_lines(messages.iter().map(String::as_str));
    let input = format!(
        "{} {} {}",
        ids.join(" "),
        lines.digest(),
        request.conditions
    );
    let check = match request.seen.as_ref() == Some(&input) {
        true => None,
        false => Some(Box::new(check_merge(
            &quarantine,
            request,
            commit,
            &trees,
            &lines,
        )?)),
    };
    Ok(Answer::Planned { input, check })
}

/// The fleet and its overlays as the merge has them, with the ids of their files; or the paths in conflict.
#[allow(clippy::type_complexity)]
fn merged(
    quarantine: &Quarantine,
    request: &Request,
    head: &str,
) -> Result<Result<(Vec<String>, Vec<Tree>), Vec<String>>, Error> {
    let (mut ids, mut trees) = (Vec::new(), Vec::new());
    for path in request.paths() {
        match quarantine.merged(&request.base, head, path)? {
            Merged::Clean { tree, id } => {
                ids.push(id);
                trees.push(tree);
            }
            Merged::Conflicts(paths) => return Ok(Err(paths)),
        }
    }
    Ok(Ok((ids, trees)))
}

/// The check of the merge. The base is compiled by the same rules, so that what both lack is not the head's fault.
fn check_merge(
    quarantine: &Quarantine,
    request: &Request,
    commit: &str,
    trees: &[Tree],
    lines: &ForkLines,
) -> Result<Check, Error> {
    let base = match &request.examined {
        Some(examined) => {
            let trees = request.paths();
            let trees = trees.map(|path| quarantine.tree(&request.base, path));
            let trees = trees.collect::<Result<Vec<_>, _>>()?;
            Some((examined, compiled(request, &trees)))
        }
        None => None,
    };
    Ok(check_of(
        request,
        commit,
        base,
        &compiled(request, trees),
        lines,
    ))
}

fn check_of(
    request: &Request,
    commit: &str,
    base: Option<(&Examined, Files)>,
    merged: &Files,
    lines: &ForkLines,
) -> Check {
    let base = base.map(|(examined, files)| base_of(request, examined, files));
    let (base, unread) = base.unzip();
    report::fork(&report::ForkMerge {
        fleet: &request.fleet,
        revision: commit,
        checked: &merged.checked,
        holdings: &merged.holdings,
        base: base.as_ref(),
        lines,
        is_partial: request.is_partial,
        unread: &unread.unwrap_or_default(),
        prune: request.prune,
        allowed: request.allowed,
    })
}

/// The base as its files alone have it, and what the daemon has of it that cannot be read there.
fn base_of(request: &Request, examined: &Examined, files: Files) -> (Base, Holdings) {
    let Files { checked, holdings } = files;
    let has_objects = checked.object_count > 0;
    let (holdings, unread) = match (checked.has_errors(), examined.is_sound) {
        (false, _) => (holdings, Holdings::default()),
        (true, true) => examined.holdings.clone().split(&holdings),
        (true, false) => (Holdings::default(), Holdings::default()),
    };
    let mut findings = checked.findings;
    if examined.is_sound {
        // What the daemon's machine adds to the files mends them.
        for finding in &mut findings {
            finding.severity = finding.severity.max(Severity::Warning);
        }
    }
    let base = Base {
        name: examined.name.clone(),
        commit: request.base.clone(),
        has_objects,
        findings: findings.into(),
        holdings: holdings.into(),
    };
    (base, unread)
}

/// Files as a fork is judged by them.
struct Files {
    checked: Checked,
    holdings: Holdings,
}

fn compiled(request: &Request, trees: &[Tree]) -> Files {
    let policy = FleetPolicy::from(request.policy.clone());
    let digest = match trees {
        [tree, overlays @ ..] => digest_by(&policy, tree, overlays, HeldObject::of),
        [] => digest_by(&policy, &Tree::default(), &[], HeldObject::of),
    };
    let Digest { checked, kept, .. } = digest;
    let objects: Vec<HeldObject> = kept.into_iter().flatten().collect();
    Files {
        checked,
        holdings: Holdings::of(&objects),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::message::tests::request;
    use super::*;
    use crate::model::{CheckDetail, CheckState};

    fn tree(text: &str) -> Tree {
        Tree {
            files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        }
    }

    fn cluster(name: &str) -> String {
        format!(
            "---\n{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: {name}, namespace: c, annotations: {{capstan.dev/deletion-policy: Delete}}}}}}\n"
        )
    }

    /// The check of a fork that leaves `merged`, where the daemon has the clusters `one` and `two`, and one that its
    /// overlays make.
    fn check(files: &str, merged: &str) -> Check {
        let whole = [cluster("one"), cluster("two"), cluster("made")].concat();
        let compiled = |text: &str| compiled(&request(), &[tree(text)]);
        let examined = Examined {
            name: "the branch main".to_owned(),
            is_sound: true,
            holdings: compiled(&whole).holdings,
        };
        let request = Request {
            is_partial: true,
            prune: true,
            ..request()
        };
        let base = Some((&examined, compiled(files)));
        let lines = ForkLines::default();
        check_of(&request, "c", base, &compiled(merged), &lines)
    }

    #[test]
    fn clusters_leave_also_where_overlays_of_the_machine_mend_the_base() {
        let (one, two) = (cluster("one"), cluster("two"));
        // Only overlays of the machine make an object of it.
        let broken = "---\nkind: ConfigMap\n";
        let base = [one.as_str(), &two, broken].concat();
        let warned = (CheckState::Success, Some(CheckDetail::Warnings));
        let approval = (CheckState::Failure, Some(CheckDetail::Approval));
        let unread = "so nobody compared whether these leave the fleet. Look at the changes of their files before you merge:\n\n- cluster c/made\n";

        let same = check(&base, &base);
        assert_eq!((same.state, same.detail), warned, "{same:#?}");
        assert!(same.summary.contains(unread), "{}", same.summary);
        let gone = check(&base, &[one.as_str(), broken].concat());
        assert_eq!((gone.state, gone.detail), approval, "{gone:#?}");
        assert!(gone.title.starts_with("1 cluster leaves the fleet; "));
        assert!(gone.summary.contains("- cluster c/two: deleted, once"));
        assert!(gone.summary.contains(unread), "{}", gone.summary);
        // Without errors, files are compared with files.
        let sound = [one.as_str(), &two].concat();
        let kept = check(&sound, &sound);
        assert_eq!((kept.state, kept.detail), (CheckState::Success, None));
        assert_eq!(check(&sound, &one).detail, approval.1);
    }
}
