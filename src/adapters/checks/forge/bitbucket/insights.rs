//! Code Insights: the report of a check on its commit, with findings on their lines (forges.md §4; the limits are those
//! of gitops-peers.md §1e).
//!
//! In: a check. Out: a report and its annotations. A report is replaced as a whole: what it had is removed first. It does
//! not know which lines a pull request shows: Bitbucket chooses those itself.

use http::Method;
use reqwest::Url;
use serde_json::{Value, json};

use super::place::{Edition, key};
use crate::adapters::checks::forge::client::Client;
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::outcome::{Outcome, outcome};
use crate::adapters::checks::forge::sent::digest_of;
use crate::adapters::checks::forge::wire::Call;
use crate::adapters::checks::text::{Limit, line};
use crate::model::{Annotation, Check};

/// How many annotations a report has at most, and how many a request carries.
const MOST: usize = 1_000;
const BATCH: usize = 100;
/// Of titles, and of the summary of an annotation.
const TITLE: Limit = Limit::Chars(450);
/// Of longer texts.
const DETAILS: Limit = Limit::Chars(2_000);

/// Whether the check passes; `None` when it says nothing about the commit.
fn is_passed(check: &Check) -> Option<bool> {
    match outcome(check.state, check.detail) {
        Outcome::Good | Outcome::Warned => Some(true),
        Outcome::Bad | Outcome::Approval => Some(false),
        Outcome::Queued | Outcome::Running | Outcome::Fault | Outcome::Superseded => None,
    }
}

/// What the report of a check shows, as a short text; `None` when it stays as it is.
pub(super) fn digest(check: &Check) -> Option<String> {
    let is_passed = is_passed(check)?;
    let shown = (&check.title, &check.target_url, &check.annotations);
    Some(digest_of(&(is_passed, shown)))
}

/// The report of a check.
pub(super) struct Report<'a> {
    pub(super) client: &'a Client,
    pub(super) edition: Edition,
    /// Where it is.
    pub(super) url: Url,
}

impl Report<'_> {
    /// Writes the report of `check`, in place of one that may be there.
    pub(super) async fn replace(&self, check: &Check, may_exist: bool) -> Result<(), Fault> {
        if may_exist {
            let call = Call::send(Method::DELETE, self.url.clone(), json!({}));
            match self.client.call(&call).await {
                Ok(_) | Err(Fault::Absent(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        let report = Call::send(Method::PUT, self.url.clone(), self.report(check));
        self.client.call(&report).await?;
        let mut url = self.url.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.push("annotations");
        }
        for batch in self.annotations(check).chunks(BATCH) {
            let body = match self.edition {
                Edition::Cloud => json!(batch),
                Edition::DataCenter => json!({ "annotations": batch }),
            };
            let call = Call::send(Method::POST, url.clone(), body);
            self.client.call(&call).await?;
        }
        Ok(())
    }

    fn report(&self, check: &Check) -> Value {
        let is_passed = is_passed(check).unwrap_or_default();
        let mut report = json!({
            "title": line(&check.context, TITLE), "details": line(&check.title, DETAILS),
            "reporter": "Capstan",
        });
        let url = check.target_url.as_ref();
        if let Some(url) = url.filter(|url| url.starts_with("http")) {
            report["link"] = json!(url);
        }
        match self.edition {
            Edition::Cloud => {
                report["report_type"] = json!("BUG");
                report["external_id"] = json!(key(&check.context));
                report["result"] = json!(if is_passed { "PASSED" } else { "FAILED" });
            }
            Edition::DataCenter => {
                report["result"] = json!(if is_passed { "PASS" } else { "FAIL" });
            }
        }
        report
    }

    fn annotations(&self, check: &Check) -> Vec<Value> {
        let key = key(&check.context);
        let all = check.annotations.iter().take(MOST).enumerate();
        all.map(|(number, one)| self.annotation(one, &format!("{key}-{number}")))
            .collect()
    }

    fn annotation(&self, one: &Annotation, id: &str) -> Value {
        let (severity, kind) = match one.level.as_str() {
            "error" => ("HIGH", "BUG"),
            "warning" => ("MEDIUM", "CODE_SMELL"),
            _ => ("LOW", "CODE_SMELL"),
        };
        let (path, number) = (one.path.trim_start_matches('/'), one.line.max(1));
        let mut annotation = json!({"path": path, "line": number, "severity": severity});
        let (summary, details) = (line(&one.message, TITLE), line(&one.message, DETAILS));
        match self.edition {
            Edition::Cloud => {
                annotation["external_id"] = json!(id);
                annotation["annotation_type"] = json!(kind);
                if details != summary {
                    annotation["details"] = json!(details);
                }
                annotation["summary"] = json!(summary);
            }
            Edition::DataCenter => {
                annotation["externalId"] = json!(id);
                annotation["type"] = json!(kind);
                annotation["message"] = json!(details);
            }
        }
        annotation
    }
}
