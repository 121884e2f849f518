//! The form of log lines.
//!
//! In: events of `tracing`. Out: one line for each, whatever others put into its fields. What a server said in an answer that
//! cannot be read, which may be a Secret, is in no line. It does not know where lines go.

use std::fmt::Write as _;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::debug_fn;

use crate::model::words::Escaping;

/// The library that logs an answer as it came.
const VERBATIM: &str = "kube_client";

/// Which events are logged: what the user `asked` for, else `default`.
pub(super) fn filter(asked: Option<&str>, default: &str) -> EnvFilter {
    let safe = |directives: &str| {
        let kept = directives.split(',').filter(|one| !one.contains(VERBATIM));
        kept.map(|one| format!("{one},")).collect::<String>() + VERBATIM + "=off"
    };
    let filter = EnvFilter::try_new(safe(asked.unwrap_or(default)));
    filter.unwrap_or_else(|_| EnvFilter::new(safe(default)))
}

/// Writes a line for each event that passes `filter`, coloured if `colour`.
pub(super) fn subscriber<W>(filter: EnvFilter, writer: W, colour: bool) -> impl Subscriber
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let fields = debug_fn(|line, field, value| {
        let mut line = Escaping(line);
        match field.name() {
            "message" => write!(line, "{value:?}"),
            name => write!(line, "{name}={value:?}"),
        }
    });
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(colour)
        .with_target(false)
        .fmt_fields(fields.delimited(" "))
        .finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(asked: Option<&str>, log: impl FnOnce()) -> String {
        let lines = Lines::default();
        let written = lines.clone();
        let filter = filter(asked, "warn,capstan=info");
        let subscriber = subscriber(filter, move || lines.clone(), false);
        tracing::subscriber::with_default(subscriber, log);
        let written = written.0.lock().unwrap().clone();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_field_that_others_wrote_is_one_line_that_steers_no_terminal() {
        let why = "no\n  ERROR forged line\u{1b}[2J\u{202e}";
        let text = logged(None, || {
            let span = tracing::warn_span!("fleet", name = %why);
            let _inside = span.enter();
            tracing::warn!(why = %why, error = ?why, count = 3, "it failed: {why}");
        });
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{text}"
        );
        for part in [
            "it failed: no\\n  ERROR forged line\\u{1b}[2J\\u{202e} why=no\\n",
            " count=3\n",
            "fleet{name=no\\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_logged_at_no_level() {
        for asked in [
            "trace",
            "info,kube_client=trace",
            "kube_client::client=warn",
        ] {
            let text = logged(Some(asked), || {
                tracing::error!(target: "kube_client::client", "t0psecret");
                tracing::error!("the end");
            });
            assert!(!text.contains("t0psecret"), "{asked}: {text}");
        }
        let text = logged(
            Some("=[broken"),
            || tracing::info!(target: "capstan", "the end"),
        );
        assert!(text.contains("the end"), "{text}");
    }
}
