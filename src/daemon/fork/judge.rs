//! What the process does that plans the head of a fork: it merges the head onto its base, compiles both and compares
//! their findings.
//!
//! In: a request, and the objects on this machine that it names. Out: its answer. By rules alone that everybody can run
//! on these files: nothing of the cluster, no tenants, no overlays of the machine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::message::{Answer, Examined, Request};
use crate::adapters::git::{Error, Merged, Quarantine};
use crate::api::fleet::FleetPolicy;
use crate::compile::{Compiled, compile_by};
use crate::daemon::approvals::{self, ForkLines};
use crate::daemon::failure::{Failure, Unread};
use crate::daemon::report::{self, Base, Holdings};
use crate::model::{Check, ErrorClass, Severity, Tree};

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
        false => Some(Box::new(judged(
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
fn judged(
    quarantine: &Quarantine,
    request: &Request,
    commit: &str,
    trees: &[Tree],
    lines: &ForkLines,
) -> Result<Check, Error> {
    let base = match &request.examined {
        Some(examined) => Some(base(quarantine, request, examined)?),
        None => None,
    };
    let merged = compiled(request, trees);
    Ok(report::fork(&report::ForkMerge {
        fleet: &request.fleet,
        revision: commit,
        compiled: &merged,
        base: base.as_ref(),
        lines,
        is_partial: request.is_partial,
        prune: request.prune,
        max_clusters: request.max_clusters,
    }))
}

fn base(quarantine: &Quarantine, request: &Request, examined: &Examined) -> Result<Base, Error> {
    let trees = request.paths();
    let trees = trees.map(|path| quarantine.tree(&request.base, path));
    let compiled = compiled(request, &trees.collect::<Result<Vec<_>, _>>()?);
    let holdings = match compiled.has_errors() {
        true => Holdings::default(),
        false => Holdings::of(&compiled.objects),
    };
    let mut findings = compiled.findings;
    if examined.is_sound {
        // What the daemon's machine adds to the files mends them.
        for finding in &mut findings {
            finding.severity = finding.severity.max(Severity::Warning);
        }
    }
    Ok(Base {
        name: examined.name.clone(),
        commit: request.base.clone(),
        findings: findings.into(),
        holdings: holdings.into(),
    })
}

fn compiled(request: &Request, trees: &[Tree]) -> Compiled {
    let policy = FleetPolicy::from(request.policy.clone());
    match trees {
        [tree, overlays @ ..] => compile_by(&policy, tree, overlays),
        [] => compile_by(&policy, &Tree::default(), &[]),
    }
}
