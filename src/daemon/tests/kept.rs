//! A loss that nobody approved shows in the plans of later heads.

use super::*;
use crate::apply::Unapproved;
use crate::plan::approvals::Verb;
use crate::plan::losses::Unit;

const PLAN: &str = "capstan/config/plan";

/// The losses that the next plan is told of; `None` if none is to be made.
fn waiting(case: &mut Case) -> Option<String> {
    let plans = case.parts().plans;
    let candidate = plans.candidates().next()?;
    let losses: Vec<String> = plans
        .waiting()
        .iter()
        .map(|loss| loss.what().to_string())
        .collect();
    let losses = losses.join(", ");
    plans.candidates().planned(&candidate, Some(&losses));
    Some(losses)
}

#[tokio::test(start_paused = true)]
async fn heads_are_planned_again_when_another_loss_waits() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "1".to_owned())].into();
    let head = case.commit.clone();
    let candidates = case.parts().plans.candidates();
    candidates.update(&Refs::new(), &head);
    candidates.update(&refs, &head);
    // Plans are begun by hand.
    case.parts().heads.set_examining(true);
    assert_eq!(waiting(&mut case).as_deref(), Some(""));
    assert_eq!(waiting(&mut case), None, "it is planned");
    let id = ObjectId::new("cluster.x-k8s.io", "Cluster", "c", "one");
    let loss = |verb| {
        PruneStatus::Unapproved(Unapproved {
            verb,
            unit: Unit::new("c", "one"),
            to: None,
            without_commits: false,
        })
    };
    // A pool that goes with it is no loss of its own.
    let pool = ObjectId::new("cluster.x-k8s.io", "MachinePool", "c", "one-mp1");
    for id in [&id, &pool] {
        case.reported(1, Report::Prune(id.clone(), loss(Verb::Release)));
    }
    case.report_progress();
    assert_eq!(waiting(&mut case).as_deref(), Some("release c/one"));
    case.report_progress();
    assert_eq!(waiting(&mut case), None, "nothing has changed");
    for id in [id, pool] {
        case.reported(1, Report::Prune(id, PruneStatus::Released));
    }
    case.report_progress();
    assert_eq!(waiting(&mut case).as_deref(), Some(""));
    assert!(case.daemon.view.borrow().check(PLAN, "1").is_none());
}
