//! What is counted, and its text for Prometheus (text format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use parking_lot::Mutex;

use super::sender::Sender;
use crate::model::RateRemaining;

const DELIVERIES: &str = "capstan_webhook_deliveries_total";
/// The head of the lines of webhooks.
pub(super) const DELIVERIES_HEAD: &str =
    "# HELP capstan_webhook_deliveries_total Webhook deliveries by forge and result.
# TYPE capstan_webhook_deliveries_total counter
";

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivered {
    /// A fetch follows.
    Accepted,
    /// It is about something that a fetch would not find.
    Ignored,
    /// It is about another repository.
    OtherRepository,
    /// It is authenticated and cannot be read.
    Unreadable,
    /// It has no signature: the webhook has no secret.
    Unsigned,
    /// Its signature or secret is wrong.
    Unauthorized,
    /// Its body has an unsupported type.
    UnsupportedType,
    /// Its body is too large.
    TooLarge,
    /// Its body did not arrive in time, or not whole.
    Incomplete,
    /// Too many bodies arrive at once, or the secrets cannot be read now.
    Busy,
}

impl Delivered {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Ignored => "ignored",
            Self::OtherRepository => "other_repository",
            Self::Unreadable => "unreadable",
            Self::Unsigned => "unsigned",
            Self::Unauthorized => "unauthorized",
            Self::UnsupportedType => "unsupported_type",
            Self::TooLarge => "too_large",
            Self::Incomplete => "incomplete",
            Self::Busy => "busy",
        }
    }
}

/// What happened since the start.
#[derive(Debug, Default)]
pub struct Metrics {
    counts: Mutex<Counts>,
    /// What the limit of the forge leaves.
    rate_remaining: RateRemaining,
}

#[derive(Debug, Default)]
struct Counts {
    deliveries: BTreeMap<(Sender, Delivered), u64>,
    /// Those that worked, and those that failed.
    fetches: [u64; 2],
    checks: [u64; 2],
    stands_by: bool,
    applied: Option<(String, String)>,
}

impl Counts {
    fn add_deliveries(&self, labels: &str, text: &mut String) {
        for ((sender, result), count) in &self.deliveries {
            let (forge, result) = (sender.name(), result.name());
            let _ = writeln!(
                text,
                "{DELIVERIES}{{{labels}forge=\"{forge}\",result=\"{result}\"}} {count}"
            );
        }
    }
}

impl Metrics {
    /// Nothing happened yet; `rate_remaining` is what the limit of the forge leaves.
    #[must_use]
    pub fn new(rate_remaining: RateRemaining) -> Self {
        Self {
            rate_remaining,
            ..Self::default()
        }
    }

    /// A delivery came; the number of those like it until now.
    pub(super) fn delivered(&self, sender: Sender, result: Delivered) -> u64 {
        let mut counts = self.counts.lock();
        let count = counts.deliveries.entry((sender, result)).or_default();
        *count += 1;
        *count
    }

    /// A fetch ended.
    pub fn fetched(&self, worked: bool) {
        self.counts.lock().fetches[usize::from(!worked)] += 1;
    }

    /// So many checks were written, or could not be.
    pub fn published(&self, checks: usize, worked: bool) {
        let more = u64::try_from(checks).unwrap_or(u64::MAX);
        self.counts.lock().checks[usize::from(!worked)] += more;
    }

    /// This revision of the fleet is applied, or being applied.
    pub fn applies(&self, fleet: &str, revision: &str) {
        let mut counts = self.counts.lock();
        let is_known = counts
            .applied
            .as_ref()
            .is_some_and(|known| known.1 == revision);
        if !is_known {
            counts.applied = Some((fleet.to_owned(), revision.to_owned()));
        }
    }

    /// Adds the lines of webhooks, which begin with these `labels`.
    pub(super) fn add_deliveries(&self, labels: &str, text: &mut String) {
        self.counts.lock().add_deliveries(labels, text);
    }

    /// The process answers without a fetch of its own: it follows nothing, or another process does.
    pub fn stands_by(&self) {
        self.counts.lock().stands_by = true;
    }

    /// Whether the repository was asked once, or need not be.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let counts = self.counts.lock();
        counts.stands_by || counts.fetches != [0, 0]
    }

    /// The text of `/metrics`.
    #[must_use]
    pub fn text(&self) -> String {
        let counts = self.counts.lock();
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        text.push_str(DELIVERIES_HEAD);
        counts.add_deliveries("", &mut text);
        for (name, help, results, values) in [
            (
                "capstan_fetches_total",
                "Fetches of the repository by result.",
                ["ok", "error"],
                counts.fetches,
            ),
            (
                "capstan_checks_total",
                "Checks of commits by result.",
                ["written", "failed"],
                counts.checks,
            ),
        ] {
            head(&mut text, name, "counter", help);
            for (result, value) in results.iter().zip(values) {
                let _ = writeln!(text, "{name}{{result=\"{result}\"}} {value}");
            }
        }
        let name = "capstan_revision_info";
        head(
            &mut text,
            name,
            "gauge",
            "The revision that is applied or being applied.",
        );
        if let Some((fleet, revision)) = &counts.applied {
            let (fleet, revision) = (escaped(fleet), escaped(revision));
            let _ = writeln!(
                text,
                "{name}{{fleet=\"{fleet}\",revision=\"{revision}\"}} 1"
            );
        }
        if let Some(remaining) = self.rate_remaining.get() {
            let name = "capstan_forge_rate_remaining";
            let help = "Requests that the forge still takes before its limit is renewed.";
            head(&mut text, name, "gauge", help);
            let _ = writeln!(text, "{name} {remaining}");
        }
        text
    }
}

/// As the value of a label.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ForgeKind;

    #[test]
    fn everything_counted_has_a_line() {
        let remaining = RateRemaining::default();
        let metrics = Metrics::new(remaining.clone());
        assert!(!metrics.is_ready());
        metrics.fetched(false);
        metrics.published(3, true);
        metrics.applies("prod", "a\"b");
        assert!(!metrics.text().contains("rate_remaining"));
        remaining.set(4_999);
        metrics.delivered(ForgeKind::GitHub.into(), Delivered::Accepted);
        assert_eq!(
            metrics.delivered(ForgeKind::GitHub.into(), Delivered::Accepted),
            2
        );
        metrics.delivered(ForgeKind::Gitea.into(), Delivered::Unsigned);
        let text = metrics.text();
        let values: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            values,
            [
                "capstan_webhook_deliveries_total{forge=\"github\",result=\"accepted\"} 2",
                "capstan_webhook_deliveries_total{forge=\"gitea\",result=\"unsigned\"} 1",
                "capstan_fetches_total{result=\"ok\"} 0",
                "capstan_fetches_total{result=\"error\"} 1",
                "capstan_checks_total{result=\"written\"} 3",
                "capstan_checks_total{result=\"failed\"} 0",
                "capstan_revision_info{fleet=\"prod\",revision=\"a\\\"b\"} 1",
                "capstan_forge_rate_remaining 4999",
            ]
        );
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("# TYPE"))
                .count(),
            5
        );
        assert!(metrics.is_ready());
    }

    #[test]
    fn who_stands_by_is_ready_without_a_fetch() {
        let metrics = Metrics::new(RateRemaining::default());
        assert!(!metrics.is_ready());
        metrics.stands_by();
        assert!(metrics.is_ready());
    }
}
