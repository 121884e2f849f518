//! What is compiled again of a fleet that changed, by its size, beside a compile of all of it in the same run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan::api::fleet::FleetPolicy;
use capstan::compile::{Digest, Memory, digest_again, digest_beside, digest_by};
use capstan::model::{Object, Tree};
use capstan::plan::{ApplySet, Kept, Present, of_kept};

use crate::generate::fleet;

const SIZES: [usize; 3] = [100, 2_000, 10_000];
/// Each change is made so often; the median counts.
const RUNS: usize = 5;

/// Compiles fleets of `sizes` definitions, or of the usual sizes: from cold, and after each kind of change.
pub(super) fn looks(sizes: &[usize]) {
    println!(
        "| definitions | change | compiled | groups checked | time | steps | from cold | memory |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &size in if sizes.is_empty() { &SIZES } else { sizes } {
        Look::of(size.to_string(), fleet(size)).measure();
        let neighbours = neighbours(size);
        Look::of(format!("{size}, ten to a vault"), neighbours).measure();
    }
}

/// A fleet in which ten clusters each use a vault of the fleet, so that they are checked together.
fn neighbours(size: usize) -> Tree {
    let mut tree = fleet(size);
    for index in 0..size {
        let vault = index / 10;
        let path = format!("clusters/c{index}.yaml");
        let text = std::str::from_utf8(&tree.files[&*path]).unwrap();
        let text = format!(
            "{text}  etcd: {{encryption: {{vault: {{name: kv-{vault}, resourceGroup: rg-shared}}}}}}\n"
        );
        tree.files.insert(path.into(), text.into_bytes().into());
        let vault = format!(
            "\
apiVersion: keyvault.azure.com/v1api20230701
kind: Vault
metadata: {{name: kv-{vault}, namespace: clusters}}
spec:
  azureName: kv-{vault}
  location: uksouth
  owner: {{armId: /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/rg-shared}}
  properties:
    tenantId: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
    enableRbacAuthorization: true
    sku: {{family: A, name: standard}}
"
        );
        let path = format!("vaults/v{}.yaml", index / 10);
        tree.files.insert(path.into(), vault.into_bytes().into());
    }
    tree
}

struct Look {
    name: String,
    tree: Tree,
    set: ApplySet,
    memory: Memory<Kept>,
}

impl Look {
    fn of(name: String, tree: Tree) -> Self {
        Self {
            name,
            tree,
            set: ApplySet::new("bench", "default"),
            memory: Memory::default(),
        }
    }

    fn measure(mut self) {
        let policy = FleetPolicy::default();
        let started = Instant::now();
        let digest = digest_by(&policy, &self.tree, &[], |object: &Object| {
            Kept::of(object, &self.set)
        });
        let cold = started.elapsed();
        assert!(!digest.checked.has_errors());
        drop(digest);
        // A daemon has the plan of the revision before while it compiles the next.
        let mut last = self.look(&policy).0;
        for (what, path, runs) in [
            ("nothing", None, RUNS),
            ("a definition", Some("clusters/c0.yaml"), RUNS),
            ("the same, a hundred times", Some("clusters/c0.yaml"), 100),
            ("an overlay of all", Some("overlays/base.yaml"), RUNS),
        ] {
            let mut times = Vec::new();
            for run in 0..runs {
                path.into_iter().for_each(|path| self.edit(path, run));
                let time;
                (last, time) = self.look(&policy);
                times.push(time);
            }
            assert!(!last.checked.has_errors());
            let counts = [self.memory.compiled(), self.memory.checked()];
            let steps = Some(steps(&last));
            self.print(
                what,
                &counts.map(|count| count.to_string()),
                times,
                steps,
                cold,
            );
            if runs == 100 {
                let times = self.candidate(&policy, &last);
                let unknown = ["-".to_owned(), "-".to_owned()];
                self.print("a definition, of a candidate", &unknown, times, None, cold);
            }
        }
    }

    fn print(
        &self,
        what: &str,
        counts: &[String; 2],
        mut times: Vec<Duration>,
        steps: Option<Duration>,
        cold: Duration,
    ) {
        times.sort();
        let steps = steps.map(|time| format!("{:.3} s", time.as_secs_f64()));
        println!(
            "| {} | {what} | {} | {} | {:.3} s | {} | {:.3} s | {} |",
            self.name,
            counts[0],
            counts[1],
            times[times.len() / 2].as_secs_f64(),
            steps.unwrap_or_else(|| "-".to_owned()),
            cold.as_secs_f64(),
            resident().map_or_else(|| "-".to_owned(), |bytes| format!("{} MiB", bytes >> 20)),
        );
    }

    /// The times to compile a candidate that changes a definition, where `applied` is applied.
    fn candidate(&self, policy: &FleetPolicy, applied: &Digest<Kept>) -> Vec<Duration> {
        let (plan, _) = of_kept(&applied.kept, &applied.graph);
        let present = Present::of(Some(&plan));
        let runs = (0..RUNS).map(|run| {
            let mut candidate = Self::of(String::new(), self.tree.clone());
            candidate.edit("clusters/c1.yaml", run);
            let started = Instant::now();
            let digest = digest_beside(
                &self.memory,
                policy,
                &candidate.tree,
                &[],
                |object| present.propose(object, &self.set),
                |kept| present.propose_again(kept),
            );
            let time = started.elapsed();
            let changed = digest.kept.iter().filter(|one| one.object.is_some());
            assert!((1..20).contains(&changed.count()));
            time
        });
        runs.collect()
    }

    fn look(&mut self, policy: &FleetPolicy) -> (Digest<Kept>, Duration) {
        let started = Instant::now();
        let set = &self.set;
        let digest = digest_again(&mut self.memory, policy, &self.tree, &[], |object| {
            Kept::of(object, set)
        });
        (digest, started.elapsed())
    }

    /// Changes a tag, which is in most objects of a cluster.
    fn edit(&mut self, path: &str, run: usize) {
        let text = std::str::from_utf8(&self.tree.files[path]).unwrap();
        let tag = format!("run: r{run}");
        let text = match text.split_once("run: r") {
            Some((before, after)) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{before}{tag}{rest}")
            }
            None if text.contains("tags: {") => {
                text.replace("tags: {", &format!("tags: {{{tag}, "))
            }
            None => format!("{text}  tags: {{{tag}}}\n"),
        };
        self.tree
            .files
            .insert(Arc::from(path), text.into_bytes().into());
    }
}

/// The time to make the steps of a revision.
fn steps(digest: &Digest<Kept>) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            let (plan, _) = of_kept(&digest.kept, &digest.graph);
            let time = started.elapsed();
            assert!(!plan.steps.is_empty());
            time
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

/// The memory of this process; none where nothing tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}
