//! 1,000 sets of 4 objects (ServiceAccount, Service, Ingress, Deployment), applied by the real runner
//! to the simulated cluster.

use std::sync::Arc;

use capstan::adapters::kubernetes::{Options, Target, run_once};
use capstan::apply::{Assignment, Report, State};
use capstan::daemon::wall_time;
use capstan::graph;
use capstan::model::{Clock, Object};
use capstan::plan::{ApplySet, Plan, against_none};
use divan::Bencher;
use kube_sim::{Server, SimClock};
use tokio::sync::mpsc::unbounded_channel;

const SET: &str = "\
{apiVersion: v1, kind: ServiceAccount, metadata: {name: NAME, namespace: default}}
---
{apiVersion: v1, kind: Service, metadata: {name: NAME, namespace: default}, spec: {selector: {app: NAME}, ports: [{port: 80, targetPort: 8080}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: NAME, namespace: default}, spec: {defaultBackend: {service: {name: NAME, port: {number: 80}}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, namespace: default}, spec: {replicas: 0, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: main, image: example.invalid/app}]}}}}
";

fn plan(sets: usize, set: &ApplySet) -> Arc<Plan> {
    let read = |index: usize| {
        let text = SET.replace("NAME", &format!("app-{index}"));
        capstan::yaml::read(&Arc::from("set.yaml"), text.as_bytes()).0
    };
    let objects: Vec<Object> = (0..sets)
        .flat_map(read)
        .filter_map(|node| Object::from_node(node, "default"))
        .collect();
    let (graph, _) = graph::build(&objects);
    Arc::new(against_none(&objects, &graph, set))
}

#[divan::bench(args = [100, 1000], sample_count = 5, sample_size = 1)]
fn apply_sets_of_four(bencher: Bencher<'_, '_>, sets: usize) {
    let set = ApplySet::new("bench", "default");
    let plan = plan(sets, &set);
    bencher.bench(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(apply(Arc::clone(&plan), &set));
    });
}

async fn apply(plan: Arc<Plan>, set: &ApplySet) {
    let time = SimClock::new(wall_time(), 1);
    let clock: Arc<dyn Clock> = Arc::new(time);
    let client = Server::new(Arc::new(time)).client("default");
    let (sender, mut progress) = unbounded_channel();
    let options = Options {
        concurrency: 32,
        set: set.clone(),
    };
    let assignment = Assignment::new(plan, Vec::new());
    let runner = tokio::spawn(run_once(
        Target::new(client, clock),
        options,
        assignment,
        Vec::new(),
        sender,
    ));
    loop {
        match progress.recv().await.expect("the runner goes on").1 {
            Report::Settled => break,
            Report::Object(next) => assert_ne!(next.state, State::Failed, "{}", next.message),
            Report::Stuck(why) | Report::Away(why) => unreachable!("{why}"),
            Report::Prune(..)
            | Report::Begun
            | Report::Applied(..)
            | Report::Denied
            | Report::Unseen(..)
            | Report::Recording(_)
            | Report::Suspended(_) => {}
        }
    }
    runner.abort();
}
