//! What a plan check is made of beside files of the repository.
//!
//! In: settings, overlays of this machine, and what a candidate is compared with. Out: a digest, which is the same only if
//! the check would be.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use crate::apply::Unapproved;
use crate::model::{Severity, Tree, hex};
use crate::plan::Plan;
use crate::plan::approvals::Approvals;
use crate::reporting::report::{ApprovalWays, Base};
use crate::settings::SyncConfig;

/// What a candidate is compared with.
pub(super) enum View<'a> {
    /// Its files and messages alone, and what its base has.
    Files(Option<&'a Base>),
    /// Also what is applied, what is approved, which losses wait for that, and overlays of this machine.
    All(
        Option<&'a Base>,
        Option<&'a Plan>,
        &'a Approvals,
        &'a BTreeSet<Unapproved>,
    ),
}

/// A digest of what a plan check is made of beside files of the repository: the settings, overlays on this
/// machine, what is applied, what people approved, and this version of Capstan.
pub(super) fn conditions(
    config: &SyncConfig,
    ways: ApprovalWays,
    local: &[Tree],
    view: &View<'_>,
) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    let paths = (&config.path, &config.overlays);
    let guard = ((config.prune, config.allowed), config.settle, config.mode);
    add(format!("{paths:?} {:?} {guard:?}", config.policy).as_bytes());
    for (path, text) in local.iter().flat_map(|tree| &tree.files) {
        add(path.as_bytes());
        add(text);
    }
    let before = match view {
        View::Files(base) => {
            add(b"a fork's");
            let held = base.iter().flat_map(|base| base.holdings.lines());
            held.for_each(|line| add(line.as_bytes()));
            None
        }
        View::All(_, before, approvals, waiting) => {
            add(format!("{:?}", approvals.given).as_bytes());
            let doubted = approvals.doubted.iter();
            let doubted = doubted.map(|(one, doubt)| (one, std::mem::discriminant(doubt)));
            doubted.for_each(|one| add(format!("{one:?}").as_bytes()));
            let unclear = approvals.unclear.iter();
            unclear.for_each(|line| add(line.as_bytes()));
            waiting
                .iter()
                .for_each(|loss| add(format!("waits: {loss:?}").as_bytes()));
            *before
        }
    };
    for step in before.iter().flat_map(|plan| &plan.steps) {
        let payload = &step.action.payload;
        add(step.object.to_string().as_bytes());
        add(payload.hash().as_bytes());
    }
    // Which errors are the candidate's own depends on them, although the merged files are the same.
    let (View::Files(base) | View::All(base, ..)) = view;
    let found = base.iter().flat_map(|base| base.findings.iter());
    let errors = found.filter(|finding| finding.severity == Severity::Error);
    errors.for_each(|error| add(error.to_string().as_bytes()));
    if matches!(view, View::All(..)) {
        add(format!("{ways:?}").as_bytes());
    }
    hex(&digest.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::follow::Compilation;
    use crate::plan::{ApplySet, Kept};
    use crate::settings::Environment;

    /// A head that breaks the fleet as its base did is at fault once the base is mended, though its files are the same.
    #[test]
    fn errors_of_the_base_are_part_of_a_plan_check() {
        let config = SyncConfig::source("https://git.example/f", None, &Environment::default());
        let base = |text: &str| {
            let tree = Tree {
                files: [("a.yaml".into(), text.as_bytes().into())].into(),
                ..Tree::default()
            };
            let compiled = compile(&tree, &[]);
            let set = ApplySet::new("f", "default");
            let digest = compiled.digest(|object| Kept::of(object, &set));
            let compilation = Compilation::new("1", digest);
            compilation.base("1", "the branch main".to_owned())
        };
        let (sound, broken) = (base("# nothing\n"), base("kind: ConfigMap\n"));
        assert!(broken.errors() > 0);
        let (approvals, none) = (Approvals::default(), BTreeSet::new());
        let own = |base| {
            let view = View::All(Some(base), None, &approvals, &none);
            conditions(&config, ApprovalWays::default(), &[], &view)
        };
        let forks = |base| {
            conditions(
                &config,
                ApprovalWays::default(),
                &[],
                &View::Files(Some(base)),
            )
        };
        assert_ne!(own(&sound), own(&broken));
        assert_ne!(forks(&sound), forks(&broken));
        assert_eq!(own(&broken), own(&broken));
    }
}
