//! What a server answered, as it is kept: whatever differs from run to run is taken out.
//!
//! In: status codes and bodies. Out: lines. Versions and uids become numbers in the order in which they
//! were first seen, so that it still shows whether a write changed an object. Times, tokens and the
//! versions of lists are only shown to be there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value as Json;

use crate::normalize::normalized;

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) warnings: Vec<String>,
    /// Null when the body is no JSON.
    pub(crate) body: Json,
    /// The body as it came.
    pub(crate) text: String,
}

impl Reply {
    /// The text at a JSON pointer; empty when there is none.
    pub(crate) fn at(&self, pointer: &str) -> &str {
        let found = self.body.pointer(pointer);
        found.and_then(Json::as_str).unwrap_or_default()
    }

    /// `metadata.resourceVersion`.
    pub(crate) fn version(&self) -> &str {
        self.at("/metadata/resourceVersion")
    }

    /// `metadata.uid`.
    pub(crate) fn uid(&self) -> &str {
        self.at("/metadata/uid")
    }
}

/// How much of an answer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// All of it.
    Whole,
    /// All of it, but the causes of a refusal in the order of their fields, and without what is
    /// random.
    Sorted,
    /// Of a refusal the code, the reason and the fields: its wording is the server's own affair.
    Gist,
}

/// The names that were given so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    versions: BTreeMap<String, usize>,
    uids: BTreeMap<String, usize>,
}

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("it is one")
});
/// The versions in messages: those of watches and lists from the wrong time.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(too old resource version: |Too large resource version: |current: |\()\d{1,9}\b")
        .expect("it is one")
});

/// The whole object that a refused patch would have made, in messages of strict validation.
static PATCHED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(patch: )?Invalid value: .*(: strict decoding error)").expect("it is one")
});

impl Names {
    /// The lines that are kept of `reply`.
    pub(crate) fn lines(&mut self, reply: &Reply, detail: Detail) -> String {
        let mut out = reply.status.to_string();
        match &reply.body {
            Json::Null => out.push_str(&format!(" {:?}\n", reply.text.trim_end())),
            body if body["kind"] == "Status" => self.refusal(&mut out, body, detail),
            body => self.object(&mut out, body, "  "),
        }
        // A patch of what was just deleted may be tried on the watch cache before it is not found.
        let by_chance = detail == Detail::Sorted && reply.status == 404;
        // The real server keeps some of them in a map.
        let mut warnings: Vec<&String> = reply.warnings.iter().collect();
        warnings.sort();
        // A busy server asks a webhook or a rule again, and then reports it twice.
        warnings.dedup();
        for warning in warnings.into_iter().filter(|_| !by_chance) {
            let _ = writeln!(out, "  warning: {}", self.named(warning));
        }
        out
    }

    /// The lines that are kept of an event of a watch.
    pub(crate) fn event(&mut self, event: &Json) -> String {
        let mut out = event["type"].as_str().unwrap_or("?").to_owned();
        match &event["object"] {
            object if object["kind"] == "Status" => self.refusal(&mut out, object, Detail::Whole),
            object if event["type"] == "BOOKMARK" => {
                let version = object["metadata"]["resourceVersion"].is_string();
                let annotations = &object["metadata"]["annotations"];
                let _ = writeln!(out, " {} version {version} {annotations}", object["kind"]);
            }
            object => self.object(&mut out, object, "  "),
        }
        out
    }

    fn refusal(&mut self, out: &mut String, status: &Json, detail: Detail) {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let _ = write!(out, " {}", text(&status["status"]));
        if status["code"].is_number() && status["reason"].is_string() {
            let _ = write!(out, " {} {}", status["code"], text(&status["reason"]));
        }
        let mut causes: Vec<Json> = status["details"]["causes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut message = text(&status["message"]);
        if detail == Detail::Sorted {
            message = normalized(&without_causes(&message, &causes));
            causes.sort_by_key(|cause| (text(&cause["field"]), text(&cause["message"])));
        }
        if detail != Detail::Gist && status["message"].is_string() {
            let _ = write!(out, ": {}", self.named(&message));
        }
        out.push('\n');
        for key in ["name", "group", "kind", "uid", "retryAfterSeconds"] {
            if let Some(value) = status["details"].get(key) {
                let _ = writeln!(out, "  {key}: {}", self.named(&value.to_string()));
            }
        }
        let mut listed = Vec::new();
        for cause in &causes {
            // Passes of the real server overlap; what several of them find counts once.
            if listed.contains(&cause) {
                continue;
            }
            listed.push(cause);
            let _ = write!(
                out,
                "  {} {}",
                text(&cause["reason"]),
                self.named(&text(&cause["field"]))
            );
            if detail != Detail::Gist {
                let mut message = text(&cause["message"]);
                if detail == Detail::Sorted {
                    message = normalized(&message);
                }
                let _ = write!(out, ": {}", self.named(&message));
            }
            out.push('\n');
        }
        if status["metadata"]["continue"].is_string() {
            out.push_str("  continue: (token)\n");
        }
    }

    fn object(&mut self, out: &mut String, object: &Json, margin: &str) {
        let of = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let _ = writeln!(out, " {} {}", of("apiVersion"), of("kind"));
        for (key, value) in object.as_object().into_iter().flatten() {
            match key.as_str() {
                "apiVersion" | "kind" => {}
                "metadata" => {
                    let mut value = value.clone();
                    if object["kind"] == "CustomResourceDefinition" {
                        without_updates(&mut value);
                    }
                    self.metadata(out, &value, object.get("items").is_some(), margin);
                }
                "items" => {
                    for item in value.as_array().into_iter().flatten() {
                        let _ = write!(out, "{margin}-");
                        self.object(out, item, &format!("{margin}  "));
                    }
                }
                _ => {
                    let _ = writeln!(out, "{margin}{key}: {}", self.value(value));
                }
            }
        }
    }

    fn metadata(&mut self, out: &mut String, metadata: &Json, of_list: bool, margin: &str) {
        for (key, value) in metadata.as_object().into_iter().flatten() {
            let shown = match key.as_str() {
                "resourceVersion" if of_list => "(version)".to_owned(),
                "resourceVersion" => self.version(value.as_str().unwrap_or_default()),
                "continue" => "(token)".to_owned(),
                "selfLink" => continue,
                "managedFields" => {
                    self.managers(out, value, margin);
                    continue;
                }
                _ if is_time(key) => "(time)".to_owned(),
                _ => self.value(value),
            };
            let _ = writeln!(out, "{margin}{key}: {shown}");
        }
    }

    /// One line an entry, sorted: the order of two entries of the same second is random.
    fn managers(&mut self, out: &mut String, entries: &Json, margin: &str) {
        let of = |entry: &Json, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let mut lines: Vec<String> = entries
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| {
                let words = ["operation", "apiVersion", "subresource"].map(|key| of(entry, key));
                let time = if entry["time"].is_string() {
                    ""
                } else {
                    " without time"
                };
                let words = words.join(" ");
                let manager = match of(entry, "manager").as_str() {
                    // The real ones are a single program in our tests.
                    "kube-apiserver" | "kube-controller-manager" => "server".to_owned(),
                    other => other.to_owned(),
                };
                format!(
                    "{margin}| {manager} {}{time} {}",
                    words.trim_end(),
                    self.named(&entry["fieldsV1"].to_string())
                )
            })
            .collect();
        lines.sort();
        for line in lines {
            out.push_str(&line);
            out.push('\n');
        }
    }

    /// A value in one line, its times taken out.
    fn value(&mut self, value: &Json) -> String {
        let mut value = value.clone();
        without_times(&mut value);
        self.named(&value.to_string())
    }

    fn version(&mut self, version: &str) -> String {
        let next = self.versions.len() + 1;
        let number = *self.versions.entry(version.to_owned()).or_insert(next);
        format!("version-{number}")
    }

    /// `text` with numbers for its uids and for the versions of messages.
    fn named(&mut self, text: &str) -> String {
        let uids = &mut self.uids;
        let text = UID.replace_all(text, |found: &Captures<'_>| {
            let next = uids.len() + 1;
            format!("uid-{}", uids.entry(found[0].to_owned()).or_insert(next))
        });
        let text = PATCHED.replace_all(&text, "${1}Invalid value: (object)${2}");
        NUMBERS.replace_all(&text, "${1}(version)").into_owned()
    }
}

/// Leaves out who updated what: of definitions only what was applied is of interest.
fn without_updates(metadata: &mut Json) {
    if let Some(entries) = metadata["managedFields"].as_array_mut() {
        entries.retain(|entry| entry["operation"] == "Apply");
    }
}

/// A message less the list of the causes that it ends with. It lists a cause once, however often it is
/// among them.
fn without_causes(message: &str, causes: &[Json]) -> String {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let mut listed: Vec<String> = Vec::new();
    for cause in causes {
        let line = format!("{}: {}", text(&cause["field"]), text(&cause["message"]));
        if !listed.contains(&line) {
            listed.push(line);
        }
    }
    let list = format!("[{}]", listed.join(", "));
    match message.strip_suffix(&list) {
        Some(opening) => format!("{opening}[(causes)]"),
        None => message.to_owned(),
    }
}

/// Fields that hold the time at which the server wrote them.
fn is_time(key: &str) -> bool {
    matches!(
        key,
        "creationTimestamp" | "deletionTimestamp" | "lastTransitionTime" | "lastUpdateTime"
    )
}

fn without_times(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            for (key, value) in fields {
                match value.is_string() && is_time(key) {
                    true => *value = Json::from("(time)"),
                    false => without_times(value),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}
