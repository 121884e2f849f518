//! The Code Insights of a strict Bitbucket, of both editions.
//!
//! Its limits are those of gitops-peers.md §1e (1,000 annotations per report, 100 per request, unique ids, titles of 450
//! and details of 2,000 characters, severities and types) and forges.md §4 (a summary is required, of 450 at most).

use std::collections::BTreeMap;

use serde_json::json as value;

use super::bitbucket::{PLAN, Strict, sink};
use super::*;
use crate::adapters::checks::forge::{Bitbucket, Edition, ForgeSink};
use crate::model::{Annotation, CheckDetail, CheckSink as _};

const KEY: &str = "cf5e1b6e542563259703cf4ad48cf677588c73b1";

pub(super) struct Reports {
    edition: Edition,
    /// Reports and their annotations, by key.
    reports: BTreeMap<String, (Value, Vec<Value>)>,
    /// What requests are answered with, if Code Insights are off.
    off: Option<u16>,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key}: {value}"))
}

fn fits(value: &Value, key: &str, most: usize) {
    let length = text(value, key).chars().count();
    assert!((1..=most).contains(&length), "{key}: {length}");
}

impl Reports {
    pub(super) fn new(edition: Edition) -> Self {
        Self {
            edition,
            reports: BTreeMap::new(),
            off: None,
        }
    }

    /// `None` if the request is not about a report.
    pub(super) fn answer(
        &mut self,
        method: &str,
        path: &str,
        seen: &Seen,
    ) -> Option<Response<Vec<u8>>> {
        let root = match self.edition {
            Edition::Cloud => format!("/2.0/repositories/ws/fleet/commit/{HEAD}/reports/"),
            Edition::DataCenter => {
                format!(
                    "/ctx/rest/insights/latest/projects/~me/repos/fleet/commits/{HEAD}/reports/"
                )
            }
        };
        let rest = path.strip_prefix(root.as_str())?;
        if self.edition == Edition::DataCenter {
            assert_eq!(seen.header("x-atlassian-token"), "no-check");
        }
        if let Some(status) = self.off {
            return Some(json(status, &value!({"error": {"message": "off"}})));
        }
        let (key, list) = rest.split_once('/').unwrap_or((rest, ""));
        Some(match (method, list) {
            ("PUT", "") => self.put(key, &seen.body),
            ("DELETE", "") => match self.reports.remove(key) {
                Some(_) => with(204, &[], ""),
                None => json(404, &value!({"error": {"message": "no such report"}})),
            },
            ("POST", "annotations") => self.annotate(key, &seen.body),
            _ => panic!("{}", seen.line),
        })
    }

    fn put(&mut self, key: &str, body: &Value) -> Response<Vec<u8>> {
        fits(body, "title", 450);
        fits(body, "details", 2_000);
        let results = match self.edition {
            Edition::Cloud => {
                let kinds = ["SECURITY", "COVERAGE", "TEST", "BUG"];
                assert!(kinds.contains(&text(body, "report_type")), "{body}");
                assert_eq!(text(body, "external_id"), key);
                ["PASSED", "FAILED"]
            }
            Edition::DataCenter => ["PASS", "FAIL"],
        };
        assert!(results.contains(&text(body, "result")), "{body}");
        let link = body.get("link").map(|link| link.as_str().unwrap());
        assert!(
            link.is_none_or(|link| link.starts_with("https://")),
            "{body}"
        );
        let report = self.reports.entry(key.to_owned()).or_default();
        report.0 = body.clone();
        json(200, body)
    }

    fn annotate(&mut self, key: &str, body: &Value) -> Response<Vec<u8>> {
        let (new, id) = match self.edition {
            Edition::Cloud => (body, "external_id"),
            Edition::DataCenter => (&body["annotations"], "externalId"),
        };
        let new = new.as_array().unwrap();
        assert!((1..=100).contains(&new.len()), "{}", new.len());
        for one in new {
            self.judge(one, id);
        }
        let Some((_, annotations)) = self.reports.get_mut(key) else {
            return json(404, &value!({"error": {"message": "no such report"}}));
        };
        annotations.extend(new.iter().cloned());
        assert!(annotations.len() <= 1_000, "{}", annotations.len());
        let ids: std::collections::BTreeSet<_> =
            annotations.iter().map(|one| text(one, id)).collect();
        assert_eq!(ids.len(), annotations.len(), "an id is there twice");
        match self.edition {
            Edition::Cloud => json(200, &value!([])),
            Edition::DataCenter => with(204, &[], ""),
        }
    }

    fn judge(&self, one: &Value, id: &str) {
        let (kind, severities) = match self.edition {
            Edition::Cloud => {
                fits(one, "summary", 450);
                if one.get("details").is_some() {
                    fits(one, "details", 2_000);
                }
                (
                    "annotation_type",
                    &["LOW", "MEDIUM", "HIGH", "CRITICAL"][..],
                )
            }
            Edition::DataCenter => {
                fits(one, "message", 2_000);
                ("type", &["LOW", "MEDIUM", "HIGH"][..])
            }
        };
        fits(one, id, 450);
        let kinds = ["VULNERABILITY", "CODE_SMELL", "BUG"];
        assert!(kinds.contains(&text(one, kind)), "{one}");
        assert!(severities.contains(&text(one, "severity")), "{one}");
        assert!(
            !text(one, "path").starts_with('/') && one["line"].as_u64() >= Some(1),
            "{one}"
        );
    }
}

const EDITIONS: [Edition; 2] = [Edition::Cloud, Edition::DataCenter];

fn bitbucket(edition: Edition) -> (Arc<Fake<Strict>>, ForgeSink<Bitbucket>) {
    let fake = Fake::new(Strict::new(edition));
    let sink = sink(&fake, edition);
    (fake, sink)
}

async fn publish(sink: &ForgeSink<Bitbucket>, check: &Check) -> Result<Vec<Later>, AdapterError> {
    let checks = std::slice::from_ref(check);
    sink.publish(checks, Timestamp::UNIX_EPOCH).await
}

fn on(line: u32, level: &str, message: &str) -> Annotation {
    Annotation {
        path: "/a.yaml".to_owned(),
        line,
        level: level.to_owned(),
        message: message.to_owned(),
    }
}

fn bad(annotations: Vec<Annotation>) -> Check {
    Check {
        annotations,
        ..check(PLAN, CheckState::Failure, "2 errors")
    }
}

/// The result of the report, and line and severity of its annotations.
fn shown(fake: &Fake<Strict>) -> Option<(String, Vec<(u64, String)>)> {
    let server = fake.server.lock().unwrap();
    let (report, annotations) = server.reports.reports.get(KEY)?;
    let place = |one: &Value| {
        (
            one["line"].as_u64().unwrap(),
            text(one, "severity").to_owned(),
        )
    };
    Some((
        text(report, "result").to_owned(),
        annotations.iter().map(place).collect(),
    ))
}

fn reported(fake: &Fake<Strict>) -> Vec<String> {
    let lines = fake.lines().into_iter();
    let of = |line: String| {
        let (method, path) = line.split_once(' ')?;
        path.contains("/reports/").then(|| method.to_owned())
    };
    lines.filter_map(of).collect()
}

#[tokio::test(start_paused = true)]
async fn findings_are_a_report_with_annotations_which_is_replaced() {
    for edition in EDITIONS {
        let (fake, sink) = bitbucket(edition);
        publish(&sink, &check(PLAN, CheckState::Pending, "working"))
            .await
            .unwrap();
        assert_eq!(shown(&fake), None);
        let long = "é".repeat(3_000);
        let found = vec![
            on(7, "error", "bad"),
            on(0, "warning", &long),
            on(7, "error", "bad"),
        ];
        for _ in 0..2 {
            publish(&sink, &bad(found.clone())).await.unwrap();
        }
        let [failed, passed] = match edition {
            Edition::Cloud => ["FAILED", "PASSED"],
            Edition::DataCenter => ["FAIL", "PASS"],
        };
        let place = |line, severity: &str| (line, severity.to_owned());
        let expected = vec![place(7, "HIGH"), place(1, "MEDIUM"), place(7, "HIGH")];
        assert_eq!(shown(&fake), Some((failed.to_owned(), expected)));
        // The record was lost at the start, so that there may have been one.
        assert_eq!(reported(&fake), ["DELETE", "PUT", "POST"], "not twice");
        // What says nothing about the commit leaves the report as it is.
        let ended = Check {
            detail: Some(CheckDetail::Superseded),
            ..check(PLAN, CheckState::Error, "ended")
        };
        for one in [check(PLAN, CheckState::Error, "away"), ended] {
            publish(&sink, &one).await.unwrap();
        }
        assert_eq!(reported(&fake), [""; 0]);
        publish(&sink, &check(PLAN, CheckState::Success, "well"))
            .await
            .unwrap();
        assert_eq!(reported(&fake), ["DELETE", "PUT"]);
        assert_eq!(shown(&fake), Some((passed.to_owned(), Vec::new())));
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_has_1000_annotations_in_requests_of_100() {
    for edition in EDITIONS {
        for (count, posts) in [(1, 1), (100, 1), (101, 2), (1_000, 10), (10_000, 10)] {
            let (fake, sink) = bitbucket(edition);
            let found = (1..=count).map(|line| on(line, "error", "bad"));
            publish(&sink, &bad(found.collect())).await.unwrap();
            let written = reported(&fake)
                .into_iter()
                .filter(|method| method == "POST");
            assert_eq!(written.count(), posts, "{count}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_that_was_cut_off_is_written_anew_and_the_status_is_not() {
    for edition in EDITIONS {
        let (fake, sink) = bitbucket(edition);
        let check = bad(vec![on(7, "error", "bad")]);
        // The status is looked up and written, the report removed and written; its annotations break off.
        let before = (0..4).map(|_| None);
        fake.next(before.chain([Some(Mishap::Lost)]));
        publish(&sink, &check).await.unwrap_err();
        fake.lines();
        publish(&sink, &check).await.unwrap();
        let posts = fake.lines();
        let statuses = posts
            .iter()
            .filter(|line| line.starts_with("POST") && !line.contains("/reports/"));
        assert_eq!(statuses.count(), 0, "{posts:?}");
        assert_eq!(shown(&fake).unwrap().1.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn statuses_go_on_where_code_insights_are_off() {
    for edition in EDITIONS {
        for status in [403, 404, 500] {
            let (fake, sink) = bitbucket(edition);
            fake.server.lock().unwrap().reports.off = Some(status);
            for _ in 0..2 {
                publish(&sink, &bad(vec![on(7, "error", "bad")]))
                    .await
                    .unwrap();
            }
            assert!(reported(&fake).len() <= 2, "the same is not tried again");
            // They are asked again with another result.
            fake.server.lock().unwrap().reports.off = None;
            publish(&sink, &check(PLAN, CheckState::Success, "well"))
                .await
                .unwrap();
            assert!(shown(&fake).is_some());
        }
    }
}

/// Rule 7 of forges.md §0.
#[tokio::test(start_paused = true)]
async fn a_scope_that_is_missing_is_named() {
    let (fake, sink) = bitbucket(Edition::Cloud);
    let body = value!({"type": "error", "error": {
        "message": "Your credentials lack one or more required privilege scopes.",
        "detail": {"required": ["repository:write"], "granted": ["repository"]},
    }});
    fake.next([None, Some(Mishap::Instead(json(403, &body)))]);
    let error = publish(&sink, &bad(Vec::new()))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("the token needs repository:write"),
        "{error}"
    );
}
