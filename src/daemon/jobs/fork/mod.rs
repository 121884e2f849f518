//! Heads of forks are read and planned in a process of their own.
//!
//! Anybody can open a pull request, so what its head holds is a stranger's: it may be made to take memory or time without
//! end. The daemon downloads it unread, and starts its own program once more, with a [request](message) on its standard
//! input. It [watches](limits) that [process] from outside and ends it at a limit. What its
//! [planning] comes to is one bounded answer, which is not trusted, either.

mod limits;
mod message;
mod planning;
mod process;

use std::io;
use std::path::Path;

use self::message::Answer;
pub(super) use self::message::{Examined, Request};
use self::process::Ended;
use super::failure::Unread;
use crate::model::Check;
use crate::reporting::plan_context;
use crate::reporting::report::NotPlanned;
use crate::settings::ForkLimits;

/// The hidden command that the process is started with.
pub const COMMAND: &str = "plan-fork";

/// What became of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The ref leads to this commit.
    Resolved(String),
    /// The head was merged: the ids of what its check is made of, and the check, unless the last one was made of the same.
    Planned(String, Option<Box<Check>>),
    /// The head does not merge: both sides changed these paths.
    Conflicts(Vec<String>),
    /// It met a limit.
    Limit(NotPlanned),
    /// It could not be read.
    Unread(Unread),
}

/// Has `program` plan what is requested; `None` is this process, without limits.
pub(super) fn plan(program: Option<&Path>, request: &Request, limits: &ForkLimits) -> Outcome {
    let answer = match program {
        None => planning::answer(request),
        Some(program) => match ask(program, request, limits) {
            Ok(answer) => answer,
            Err(Ended::Limit(limit)) => return Outcome::Limit(limit),
            Err(Ended::Failed(message)) => Answer::Unread(Unread::failed(message)),
        },
    };
    match answer {
        Answer::Resolved(head) => Outcome::Resolved(head),
        Answer::Planned { input, check } => Outcome::Planned(input, check),
        Answer::Conflicts(paths) => Outcome::Conflicts(paths),
        Answer::Unread(unread) => Outcome::Unread(unread),
    }
}

fn ask(program: &Path, request: &Request, limits: &ForkLimits) -> Result<Answer, Ended> {
    let mut line = serde_json::to_vec(request).map_err(|error| Ended::Failed(error.to_string()))?;
    line.push(b'\n');
    let bytes = process::run(program, &[COMMAND], line, limits)?;
    let context = plan_context(&request.fleet);
    let answer = message::read(&bytes, request, &context);
    answer.map_err(|error| Ended::Failed(format!("its answer does not fit: {error}")))
}

/// The answer to one line of a request, in the process that was started for it.
///
/// # Errors
/// If the line is not a request.
pub fn answer(line: &[u8]) -> io::Result<Vec<u8>> {
    let request: Request = serde_json::from_slice(line)?;
    Ok(serde_json::to_vec(&planning::answer(&request))?)
}
