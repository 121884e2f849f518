//! The form of log lines.
//!
//! In: events of `tracing`. Out: one line for each, as text or JSON, whatever others put into its fields; an error that repeats
//! is counted. What a server said in an answer that cannot be read, which may be a Secret, is in no line. It does not know
//! where lines go.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::Value as Json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer};

use super::repeats::Repeats;
use crate::daemon::{self, wall_time};
use crate::model::words::{Escaping, is_unseen, safe_json};

/// The library that logs an answer as it came.
const VERBATIM: &str = "kube_client";
/// The target of what a daemon says to whoever started it, which no filter hides.
pub(super) const TALK: &str = "capstan::talk";
/// The fields that come first, in this order.
const FIRST: [&str; 7] = [
    "fleet",
    "namespace",
    "cluster",
    "object",
    "revision",
    "reason",
    "error",
];
/// RFC 3339 with milliseconds.
const TIME: &str = "%FT%T%.3fZ";
/// The keys of a JSON line that are no fields.
const KEYS: [&str; 3] = ["level", "ts", "msg"];

/// The form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Time, level, message, and fields as name=value
    Text,
    /// A JSON object with level, ts, msg, and a key for each field
    Json,
}

impl LogFormat {
    /// Reads the format from the environment.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let read = Self::from_str(text, true).ok();
        read.with_context(|| format!("CAPSTAN_LOG_FORMAT={text}: unknown format; use text or json"))
    }
}

/// The arguments of daemons for their logs.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LogArgs {
    /// The form of log lines [default: that of CAPSTAN_LOG_FORMAT, else text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) log_format: Option<LogFormat>,
}

/// Returns the filter that the user `asked` for, else `default`; with a fault if what the user asked for is no filter.
pub(super) fn filter(asked: Option<&str>, default: &str) -> (EnvFilter, Option<String>) {
    let always = format!("{VERBATIM}=off,{TALK}=info,{}=error", daemon::FLEET_SPAN);
    let safe = |directives: &str| {
        let kept = directives.split(',').filter(|one| !one.contains(VERBATIM));
        kept.map(|one| format!("{one},")).collect::<String>() + &always
    };
    match EnvFilter::try_new(safe(asked.unwrap_or(default))) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(safe(default)), Some(error.to_string())),
    }
}

/// Writes a line for each event that passes `filter`, coloured if `colour` and the format has colours.
pub(super) fn subscriber<W>(
    filter: EnvFilter,
    format: LogFormat,
    writer: W,
    colour: bool,
) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::registry().with(filter).with(Lines {
        format,
        colour,
        writer,
        repeats: Repeats::default(),
    })
}

/// Writes the lines.
struct Lines<W> {
    format: LogFormat,
    colour: bool,
    writer: W,
    repeats: Repeats,
}

impl<S, W> Layer<S> for Lines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !is_ours(attributes.metadata()) {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(of_span) = span.extensions().get::<Fields>() {
                fields.add_missing(of_span);
            }
        }
        fields.sort();
        let level = *event.metadata().level();
        if level <= Level::WARN {
            match self.repeats.count(&(level, &fields), wall_time()) {
                None => return,
                Some(0) => {}
                Some(left_out) => fields.push("repeated", Json::from(left_out)),
            }
        }
        let line = match self.format {
            LogFormat::Text => fields.text(level, wall_time(), self.colour),
            LogFormat::Json => fields.json(level, wall_time()),
        };
        // Nobody reads that a line cannot be written.
        let _ = self.writer.make_writer().write_all(line.as_bytes());
    }
}

/// Returns true if a span is one of Capstan: those of libraries describe requests.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("capstan")
}

/// The message and fields of an event or a span.
#[derive(Default, Hash)]
struct Fields {
    message: String,
    fields: Vec<(&'static str, Json)>,
}

impl Fields {
    fn push(&mut self, name: &'static str, value: Json) {
        self.fields.push((name, value));
    }

    /// Adds the fields of an enclosing span, unless they have another value already.
    fn add_missing(&mut self, outer: &Self) {
        for (name, value) in &outer.fields {
            if self.fields.iter().all(|(known, _)| known != name) {
                self.push(name, value.clone());
            }
        }
    }

    /// Brings the fields in order: those that many lines have first, the others as they were written.
    fn sort(&mut self) {
        let rank = |name: &str| FIRST.iter().position(|first| *first == name);
        self.fields
            .sort_by_key(|(name, _)| rank(name).unwrap_or(FIRST.len()));
    }

    fn text(&self, level: Level, now: Timestamp, colour: bool) -> String {
        let mut out = Escaping(String::new());
        for (name, value) in &self.fields {
            // A String takes all.
            let _ = match value {
                Json::String(text) if is_word(text) => write!(out, " {name}={text}"),
                Json::String(text) => write!(out, " {name}={text:?}"),
                value => write!(out, " {name}={value}"),
            };
        }
        let fields = std::mem::take(&mut out.0);
        let _ = out.write_str(&self.message);
        let (time, message) = (now.strftime(TIME), out.0);
        match colour {
            false => format!("{time} {level:>5} {message}{fields}\n"),
            true => {
                let mark = mark(level);
                format!("\x1b[2m{time}\x1b[0m \x1b[{mark}m{level:>5}\x1b[0m {message}{fields}\n")
            }
        }
    }

    fn json(&self, level: Level, now: Timestamp) -> String {
        let level = level.as_str().to_ascii_lowercase();
        let time = now.strftime(TIME).to_string();
        let heads = KEYS.into_iter().zip([level, time, self.message.clone()]);
        let heads = heads.map(|(key, value)| (key, Json::from(value)));
        let fields = self.fields.iter().cloned();
        let fields = fields.filter(|(name, _)| !KEYS.contains(name));
        let pairs = heads.chain(fields);
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{}:{value}", Json::from(name)))
            .collect();
        safe_json(&format!("{{{}}}\n", pairs.join(",")))
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.push(name, Json::from(value)),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field.name(), Json::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field.name(), Json::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field.name(), Json::from(value));
    }
}

/// Returns true if a text needs no quotes to be told from the next field.
fn is_word(text: &str) -> bool {
    let is_apart = |c: char| c.is_whitespace() || matches!(c, '"' | '=' | '\\') || is_unseen(c);
    !text.is_empty() && !text.contains(is_apart)
}

/// The colour of a level on a terminal.
fn mark(level: Level) -> u8 {
    match level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        Level::DEBUG => 34,
        Level::TRACE => 35,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, asked: Option<&str>, log: impl FnOnce()) -> String {
        let lines = Written::default();
        let written = lines.clone();
        let (filter, _) = filter(asked, "warn,capstan=info");
        let subscriber = subscriber(filter, format, move || lines.clone(), false);
        tracing::subscriber::with_default(subscriber, log);
        let written = written.0.lock().unwrap().clone();
        String::from_utf8(written).unwrap()
    }

    /// The text after its time.
    fn timeless(line: &str) -> &str {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.parse::<Timestamp>().is_ok(), "{line}");
        rest
    }

    fn log_an_object() {
        let _inside = daemon::fleet_span("ns", "prod").entered();
        let (error, revision) = ("no such host", "0a1b");
        tracing::warn!(count = 3, error, %revision, object = "ConfigMap/a/b", ok = true, "it failed");
    }

    #[test]
    fn a_line_is_time_level_message_and_fields_in_one_order() {
        let text = logged(LogFormat::Text, None, log_an_object);
        assert_eq!(
            timeless(&text),
            " WARN it failed fleet=prod namespace=ns object=ConfigMap/a/b revision=0a1b error=\"no such host\" count=3 ok=true\n"
        );
        let json = logged(LogFormat::Json, None, log_an_object);
        let (head, rest) = json.split_once(",\"ts\":\"").unwrap();
        assert_eq!(head, "{\"level\":\"warn\"");
        let (time, rest) = rest.split_once('"').unwrap();
        assert!(time.parse::<Timestamp>().is_ok(), "{json}");
        assert_eq!(
            rest,
            ",\"msg\":\"it failed\",\"fleet\":\"prod\",\"namespace\":\"ns\",\"object\":\"ConfigMap/a/b\",\"revision\":\"0a1b\",\"error\":\"no such host\",\"count\":3,\"ok\":true}\n"
        );
    }

    #[test]
    fn an_error_that_repeats_is_written_once() {
        let log = || {
            for _ in 0..3 {
                for object in ["a", "b"] {
                    tracing::error!(object, "it failed");
                    tracing::info!(object, "it continues");
                }
            }
        };
        let text = logged(LogFormat::Text, None, log);
        assert_eq!(text.matches("it failed").count(), 2, "{text}");
        assert_eq!(text.matches("it continues").count(), 6, "{text}");
    }

    #[test]
    fn a_field_that_others_wrote_is_one_line_that_steers_no_terminal() {
        let why = "no\n  ERROR forged line\u{1b}[2J\u{202e}";
        let log = || {
            let span = tracing::warn_span!("capstan", name = %why);
            let _inside = span.enter();
            tracing::warn!(why = %why, error = ?why, level = why, "it failed: {why}");
        };
        for format in [LogFormat::Text, LogFormat::Json] {
            let text = logged(format, None, log);
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            for harm in ['\u{1b}', '\u{202e}'] {
                assert!(!text.contains(harm), "{text}");
            }
        }
        let text = logged(LogFormat::Text, None, log);
        for part in [
            " WARN it failed: no\\n  ERROR forged line\\u{1b}[2J\\u{202e} error=",
            " why=\"no\\n",
            " name=\"no\\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let json: Json = serde_json::from_str(&logged(LogFormat::Json, None, log)).unwrap();
        assert_eq!(
            (&json["level"], &json["why"]),
            (&Json::from("warn"), &Json::from(why))
        );
        assert_eq!(json["msg"], format!("it failed: {why}"));
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_logged_at_no_level() {
        for asked in [
            "trace",
            "info,kube_client=trace",
            "kube_client::client=warn",
        ] {
            let text = logged(LogFormat::Text, Some(asked), || {
                tracing::error!(target: "kube_client::client", "t0psecret");
                tracing::error!("the end");
            });
            assert!(!text.contains("t0psecret"), "{asked}: {text}");
        }
        for asked in ["=[broken", "off"] {
            let text = logged(LogFormat::Text, Some(asked), || {
                let _inside = daemon::fleet_span("ns", "prod").entered();
                tracing::info!(target: TALK, "the end");
            });
            assert_eq!(
                timeless(&text),
                " INFO the end fleet=prod namespace=ns\n",
                "{asked}"
            );
        }
        assert!(filter(Some("=[broken"), "warn").1.is_some());
    }
}
