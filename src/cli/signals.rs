//! The signals that ask the process to stop.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::exit::Exit;
use super::ui::Ui;

/// Listens for SIGTERM and SIGINT from now on. Returns the number of the first one; never, if the system does not report them.
pub(super) fn asked_to_stop() -> impl Future<Output = u8> {
    let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
    let listeners = (signal(terminate), signal(interrupt));
    async move {
        let (Ok(mut term), Ok(mut int)) = listeners else {
            return std::future::pending().await;
        };
        let which = tokio::select! {
            biased;
            _ = term.recv() => terminate,
            _ = int.recv() => interrupt,
        };
        u8::try_from(which.as_raw_value()).unwrap_or_default()
    }
}

/// Runs `work` on this thread until it ends or SIGTERM or SIGINT ends it, with a message.
pub(super) fn until_asked_to_stop(
    ui: &Ui,
    interrupted: &str,
    work: impl Future<Output = anyhow::Result<Exit>>,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            signal = asked_to_stop() => {
                ui.message(interrupted);
                Ok(Exit::Signal(signal))
            }
            exit = work => exit,
        }
    })
}

/// Returns a token that SIGTERM or SIGINT cancels.
pub(super) fn stop_when_asked() -> CancellationToken {
    let stop = CancellationToken::new();
    let (asked, signalled) = (stop.clone(), asked_to_stop());
    tokio::spawn(async move {
        signalled.await;
        asked.cancel();
    });
    stop
}
