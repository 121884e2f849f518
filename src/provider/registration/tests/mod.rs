//! A registrar with a simulated registry, hub and clock.

mod advertised;
mod courses;
mod failures;
mod random;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::provider::capabilities::{Capabilities, EnabledPlatforms, HubKind};
use crate::provider::version::{Matrix, Releases};

pub(super) fn identity() -> Identity {
    Identity {
        name: "acm-cluster-sp".to_owned(),
        display_name: Some("ACM Cluster Service Provider".to_owned()),
        endpoint: clusters_endpoint("http://provider:8080").expect("it is valid"),
        region: Some("eu-west".to_owned()),
        zone: Some("a".to_owned()),
    }
}

/// The capabilities of a hub with both platforms and these releases.
pub(super) fn offering(tags: &[&str]) -> Capabilities {
    with_matrix(tags, Matrix::default())
}

pub(super) fn with_matrix(tags: &[&str], matrix: Matrix) -> Capabilities {
    let set = |tag: &&str| json!({"spec": {"releaseImage": format!("quay.io/openshift-release-dev/ocp-release:{tag}")}});
    let sets: Vec<_> = tags.iter().map(set).collect();
    let releases = Releases::new(&sets, matrix);
    let served = BTreeSet::from(HubKind::ALL);
    Capabilities::new(&EnabledPlatforms::Discovered, &served, &releases)
}

/// The answer of the registry to a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reply {
    Status(u16),
    /// The status, and the seconds of `Retry-After`.
    Later(u16, u64),
    Unreachable,
    Silent,
}

/// A registrar whose commands are checked: one request and one discovery at a time, a second between two of them, and
/// no wake at once.
pub(super) struct Course {
    pub(super) registrar: Registrar,
    pub(super) now: Duration,
    /// The answer of the hub.
    pub(super) hub: Result<Capabilities, String>,
    /// The next answer of the registry.
    pub(super) reply: Reply,
    /// The body of its answers.
    pub(super) body: String,
    /// The requests, and when they came.
    pub(super) posts: Vec<(Duration, Value)>,
    pub(super) discoveries: Vec<Duration>,
    pub(super) reports: Vec<(Level, String)>,
    /// The registration that the registry has.
    pub(super) registered: Option<Value>,
    pub(super) under_way: Option<(u64, Duration)>,
    wake: Option<Duration>,
}

impl Course {
    pub(super) fn new(tags: &[&str], reply: Reply) -> Self {
        Self::with_pace(tags, reply, Pace::default())
    }

    pub(super) fn with_pace(tags: &[&str], reply: Reply, pace: Pace) -> Self {
        Self {
            registrar: Registrar::new(identity(), pace),
            now: Duration::from_secs(7),
            hub: Ok(offering(tags)),
            reply,
            body: String::new(),
            posts: Vec::new(),
            discoveries: Vec::new(),
            reports: Vec::new(),
            registered: None,
            under_way: None,
            wake: None,
        }
    }

    /// Begins to serve and to lead.
    pub(super) fn started(tags: &[&str], reply: Reply) -> Self {
        let mut course = Self::new(tags, reply);
        course.tell(Event::ServingBegan);
        course.tell(Event::LeadershipGained);
        course
    }

    /// Tells an event, and what follows of it at once.
    pub(super) fn tell(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for command in self.registrar.on(event, self.now) {
                events.extend(self.carry_out(command));
            }
        }
    }

    fn carry_out(&mut self, command: Command) -> Option<Event> {
        match command {
            Command::Discover => Some(self.discover()),
            Command::Post { attempt, payload } => self.post(attempt, payload),
            Command::WakeAt(at) => {
                assert!(at > self.now, "it would wake at once, again and again");
                self.wake = Some(at);
                None
            }
            Command::Report { level, text } => {
                assert!(!text.contains(char::is_control), "{text:?}");
                assert!(text.chars().count() < 800, "{text}");
                self.reports.push((level, text));
                None
            }
        }
    }

    fn discover(&mut self) -> Event {
        if let Some(last) = self.discoveries.last() {
            assert!(self.now >= *last + Duration::from_secs(1));
        }
        self.discoveries.push(self.now);
        match &self.hub {
            Ok(capabilities) => Event::Discovered(capabilities.clone()),
            Err(text) => Event::DiscoveryFailed(text.clone()),
        }
    }

    fn post(&mut self, attempt: u64, payload: Value) -> Option<Event> {
        // The caller gives up after 30 seconds.
        let limit = Duration::from_secs(30);
        if let Some((_, since)) = self.under_way {
            assert!(self.now >= since + limit, "two requests at once");
        }
        if let Some((last, _)) = self.posts.last() {
            assert!(self.now >= *last + Duration::from_secs(1), "a busy loop");
        }
        self.posts.push((self.now, payload));
        self.under_way = Some((attempt, self.now));
        self.answer()
    }

    /// The answer to the request under way, if the registry answers now.
    fn answer(&mut self) -> Option<Event> {
        let (status, retry_after) = match self.reply {
            Reply::Silent => return None,
            Reply::Unreachable => {
                let (attempt, _) = self.under_way.take()?;
                let text = "connection refused".to_owned();
                return Some(Event::Unanswered { attempt, text });
            }
            Reply::Status(status) => (status, None),
            Reply::Later(status, seconds) => (status, Some(Duration::from_secs(seconds))),
        };
        let (attempt, _) = self.under_way.take()?;
        if matches!(status, 200 | 201) {
            self.registered = self.posts.last().map(|(_, payload)| payload.clone());
        }
        let body = self.body.clone();
        let answer = Answer {
            status,
            retry_after,
            body,
        };
        Some(Event::Answered { attempt, answer })
    }

    /// Answers the request under way after all.
    pub(super) fn answer_late(&mut self) {
        if let Some(event) = self.answer() {
            self.tell(event);
        }
    }

    /// Lets so many seconds pass, and wakes the registrar when it wants.
    pub(super) fn pass(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some(wake) = self.wake.filter(|wake| *wake <= end) {
            self.now = self.now.max(wake);
            self.wake = None;
            self.tell(Event::Woken);
        }
        self.now = end;
    }

    /// The seconds from each request to the next.
    pub(super) fn waits(&self) -> Vec<f64> {
        let times = self.posts.windows(2);
        let waits = times.map(|pair| (pair[1].0 - pair[0].0).as_secs_f64());
        waits.collect()
    }

    /// The Kubernetes versions of each request.
    pub(super) fn versions(&self) -> Vec<Vec<&str>> {
        let payloads = self.posts.iter().map(|(_, payload)| payload);
        payloads.map(kubernetes_versions).collect()
    }
}

pub(super) fn kubernetes_versions(payload: &Value) -> Vec<&str> {
    let versions = payload["metadata"]["kubernetesSupportedVersions"].as_array();
    let versions = versions.expect("they are always there").iter();
    versions.filter_map(Value::as_str).collect()
}
