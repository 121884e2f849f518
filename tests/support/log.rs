//! What everybody on this thread logs, at every level, beside other tests.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A log.
pub(crate) struct Log {
    text: Text,
    guard: DefaultGuard,
    /// As long as there is one subscriber only, a place in the code that another thread reaches first is asked about there,
    /// where nobody listens, and stays silent here. So there are two.
    _second: Dispatch,
}

#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Keeps everything from now on.
    pub(crate) fn begin() -> Self {
        let second = Dispatch::new(tracing_subscriber::registry());
        let text = Text::default();
        let writer = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("trace"))
            .with_writer(move || writer.clone())
            .finish();
        let guard = subscriber.set_default();
        Self {
            text,
            guard,
            _second: second,
        }
    }

    /// All of it.
    pub(crate) fn end(self) -> String {
        drop(self.guard);
        String::from_utf8_lossy(&self.text.0.lock().unwrap()).into_owned()
    }
}
