//! What `status` and `why` share: the state of a cluster, and how the state of an object is written.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kube::Client;
use serde_json::{Value as Json, json};

use super::cluster::{AccessArgs, Found};
use super::ui::Ui;
use crate::adapters::kubernetes::survey::{FleetChoice, Sought, Survey, survey, survey_around};
use crate::adapters::kubernetes::{aro_kinds, examine_aso, examine_capi};
use crate::daemon::wall_time;
use crate::model::Namespaces;
use crate::reconcile::preflight::Report;
use crate::settings::Environment;
use crate::status::{Phase, StatusGraph};

/// The cluster as it was found.
pub(super) struct ClusterStatus {
    pub(super) survey: Survey,
    pub(super) graph: StatusGraph,
    /// The time in the cluster.
    pub(super) now: Timestamp,
    /// Whether that time is simulated: it is not the time of the user's clock.
    pub(super) is_simulated: bool,
}

/// Reads the state of a cluster, as often as it is wanted.
pub(super) struct StatusReader {
    choice: FleetChoice,
    client: Client,
    is_simulated: bool,
}

impl StatusReader {
    /// Reads all fleets or one of the cluster that is found.
    pub(super) async fn open(
        access: &AccessArgs,
        fleet: Option<&str>,
        environment: &Environment,
        ui: &Ui,
    ) -> anyhow::Result<Self> {
        let found = Found::find(access, fleet, environment).await?;
        if found.is_simulated {
            ui.message(&format!(
                "reading {}; --kubeconfig chooses another",
                found.name
            ));
        }
        Ok(Self {
            choice: FleetChoice {
                fleet: fleet.map(str::to_owned),
                namespace: environment.namespace.clone(),
            },
            client: found.client,
            is_simulated: found.is_simulated,
        })
    }

    /// The state now.
    pub(super) async fn read(&self) -> anyhow::Result<ClusterStatus> {
        Ok(self.status(survey(&self.client, &self.choice).await?))
    }

    /// The state now, with the objects that are `sought` even if no fleet has them.
    pub(super) async fn read_around(&self, sought: &Sought<'_>) -> anyhow::Result<ClusterStatus> {
        Ok(self.status(survey_around(&self.client, &self.choice, sought).await?))
    }

    fn status(&self, survey: Survey) -> ClusterStatus {
        let mut graph = StatusGraph::new(&survey.found);
        for (_, parent) in &survey.fleets {
            graph.fail(&parent.failed);
        }
        ClusterStatus {
            graph,
            now: survey.at.unwrap_or_else(wall_time),
            is_simulated: self.is_simulated,
            survey,
        }
    }

    /// What is there of Azure Service Operator; `namespaces` are those with clusters.
    pub(super) async fn aso(&self, namespaces: BTreeSet<String>) -> Report {
        examine_aso(&self.client, &aro_kinds(), namespaces, &Namespaces::All).await
    }

    /// The parts of Cluster API that are there.
    pub(super) async fn capi(&self) -> Report {
        examine_capi(&self.client).await
    }
}

impl ClusterStatus {
    /// What could not be read, and other notes.
    pub(super) fn unreadable(&self) -> Vec<String> {
        let errors = self.survey.found.errors.iter().map(ToString::to_string);
        self.survey.notes.iter().cloned().chain(errors).collect()
    }

    /// How long an object has been in its state; empty when that is unknown.
    pub(super) fn age(&self, at: usize) -> String {
        let seconds = self.seconds(at);
        seconds.map_or_else(String::new, |seconds| format!("for {}", span(seconds)))
    }

    /// The same in seconds.
    pub(super) fn seconds(&self, at: usize) -> Option<u64> {
        let since = self.graph.status(at).since?;
        u64::try_from(self.now.duration_since(since).as_secs())
            .ok()
            .or(Some(0))
    }

    /// One object, for programs.
    pub(super) fn link(&self, at: usize) -> Json {
        let status = self.graph.status(at);
        json!({
            "object": self.graph.id(at).to_string(),
            "group": self.graph.id(at).group,
            "state": status.phase.word(),
            "condition": text(&status.condition),
            "reason": text(&status.reason),
            "message": text(&status.message),
            "since": status.since.map(|since| since.to_string()),
            "seconds": self.seconds(at),
        })
    }

    /// What blocks, for programs.
    pub(super) fn blocker(&self, at: usize) -> Json {
        let mut link = self.link(at);
        link["help"] = text(&self.graph.help(at, self.now));
        link
    }
}

fn text(text: &str) -> Json {
    match text {
        "" => Json::Null,
        text => json!(text),
    }
}

/// A phase as people read it.
pub(super) const fn word(phase: Phase) -> &'static str {
    match phase {
        Phase::NotMade => "Not created",
        Phase::NotServed => "Not served",
        phase => phase.word(),
    }
}

/// `45s`, `12m05s`, `3h07m`, `2d04h`.
pub(super) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m{:02}s", seconds % 60),
        3600..86400 => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}

/// A line broken at spaces before the hundredth column; the rest is indented to where it began. Text
/// from others must not control the terminal: control characters are removed.
pub(super) fn wrapped(indent: &str, line: &str) -> String {
    const WIDTH: usize = 100;
    let line = line.replace(char::is_control, " ");
    let mut out = String::new();
    let mut column = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if column == 0 {
            out.push_str(indent);
            column = indent.chars().count();
        } else if column + 1 + length > WIDTH {
            let below: String = indent.chars().map(|_| ' ').collect();
            out.push('\n');
            out.push_str(&below);
            column = below.len();
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_continues_below_its_beginning() {
        let word = "x".repeat(45);
        let line = wrapped("  help: ", &format!("{word} {word} {word}"));
        assert_eq!(line, format!("  help: {word} {word}\n        {word}\n"));
        assert_eq!(wrapped("> ", "\u{1b}[2Jgone\nx"), ">  [2Jgone x\n");
        let long = "y".repeat(200);
        assert_eq!(
            wrapped("> ", &format!("{long} z")),
            format!("> {long}\n  z\n")
        );
    }

    #[test]
    fn a_span_has_two_units() {
        let spans = [0, 59, 60, 725, 3600, 11_220, 86_400, 187_200].map(span);
        let expected = [
            "0s", "59s", "1m00s", "12m05s", "1h00m", "3h07m", "1d00h", "2d04h",
        ];
        assert_eq!(spans, expected);
    }
}
