//! What is kept of a revision once it is compiled.
//!
//! In: the files of the revision. Out: digests, of which that of a proposal has whole objects where they change. It does not know
//! where the files come from.

use crate::compile::{Digest, Files, Memory};
use crate::model::Object;
use crate::plan::{ApplySet, Kept, Plan, Present, Proposed};

/// Keeps the objects of a revision that is applied. Compiles only what `memory` does not know, and remembers all of it.
pub(crate) fn kept(files: &Files, set: &ApplySet, memory: &mut Memory<Kept>) -> Digest<Kept> {
    files.again(memory, |object: &Object| Kept::of(object, set))
}

/// Compares the objects of a revision with the plan that is applied, if any. Compiles only what `memory` does not know and what
/// differs from that plan.
pub(crate) fn proposed(
    files: &Files,
    set: &ApplySet,
    present: Option<&Plan>,
    memory: &Memory<Kept>,
) -> Digest<Proposed> {
    let present = Present::of(present);
    files.beside(
        memory,
        |object| present.propose(object, set),
        |kept| present.propose_again(kept),
    )
}
