//! Webhooks that arrive at a process which does not follow the fleet.
//!
//! In: hints, and the process that follows the fleet. Out: while that is another, the hints as text for it; while it is this one, the
//! hints of such texts. It does not know where the texts are stored.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::connect::clock::wall_time;
use crate::adapters::http::{Hints, SecretSource, seal, unseal};
use crate::adapters::kubernetes::{Error, Holder};
use crate::model::{ErrorClass, Hint};

/// How long after one text the next is written: all that comes in between is one.
const PAUSE: Duration = Duration::from_secs(2);
/// The time after which a text that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The webhooks of one fleet.
pub(super) struct Relay {
    /// The namespace and the name of the fleet.
    pub(super) fleet: String,
    pub(super) hints: Arc<Hints>,
    pub(super) secrets: SecretSource,
}

impl Relay {
    /// Relays hints until nobody tells any more who follows the fleet. `texts` has the last text that a process left, and `write` leaves one.
    pub(super) async fn run<W: Future<Output = Result<(), Error>>>(
        self,
        mut holder: watch::Receiver<Holder>,
        mut texts: watch::Receiver<Option<String>>,
        write: impl Fn(String) -> W,
    ) {
        loop {
            let current = holder.borrow_and_update().clone();
            if current == Holder::Us && texts.has_changed().unwrap_or(false) {
                let text = texts.borrow_and_update().clone();
                if !self.take_in(text).await {
                    texts.mark_changed();
                    tokio::time::sleep(RETRY).await;
                }
                continue;
            }
            let is_another = matches!(current, Holder::Other(_) | Holder::OtherLease { .. });
            tokio::select! {
                biased;
                changed = holder.changed() => if changed.is_err() {
                    return;
                },
                changed = texts.changed(), if current == Holder::Us => match changed {
                    // The loop takes it in.
                    Ok(()) => texts.mark_changed(),
                    Err(_) => return,
                },
                hint = self.hints.next(), if is_another => self.pass_on(hint, &write).await,
            }
        }
    }

    /// Leaves the hint of a text; `false` if it cannot be told now whether it is one.
    async fn take_in(&self, text: Option<String>) -> bool {
        let Some(text) = text else { return true };
        let Some(secrets) = (self.secrets)().await else {
            return false;
        };
        let now = wall_time().as_second();
        match unseal(&text, &self.fleet, &secrets, now) {
            Some(hint) => self.hints.add(hint),
            None => tracing::debug!(
                fleet = self.fleet,
                "a webhook that another process left is old, or not signed with the secret"
            ),
        }
        true
    }

    async fn pass_on<W: Future<Output = Result<(), Error>>>(
        &self,
        hint: Hint,
        write: &impl Fn(String) -> W,
    ) {
        let Some(secrets) = (self.secrets)().await else {
            self.hints.add(hint);
            return tokio::time::sleep(RETRY).await;
        };
        let text = seal(hint.clone(), &self.fleet, &secrets, wall_time().as_second());
        let Err(error) = write(text).await else {
            return tokio::time::sleep(PAUSE).await;
        };
        let may_pass = matches!(error.class(), ErrorClass::Transient | ErrorClass::Conflict);
        match may_pass {
            true => {
                tracing::warn!(fleet = self.fleet, %error, "a webhook cannot be passed on to the daemon that follows the fleet; retrying");
                self.hints.add(hint);
            }
            false => {
                tracing::warn!(fleet = self.fleet, %error, "a webhook cannot be passed on to the daemon that follows the fleet, which looks at its next interval");
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::time::Instant;

    use super::*;
    use crate::adapters::http::Secrets;
    use crate::model::ObjectId;

    fn relay(hints: &Arc<Hints>) -> Relay {
        let keys = [("token".to_owned(), b"a".to_vec())].into();
        let secrets = Arc::new(Secrets::read("it", &keys).expect("sound"));
        Relay {
            fleet: "n/f".to_owned(),
            hints: Arc::clone(hints),
            secrets: Arc::new(move || Box::pin(std::future::ready(Some(Arc::clone(&secrets))))),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_reaches_the_process_that_follows_and_no_other_while_nobody_is_known_it_waits() {
        let (here, there) = <(Arc<Hints>, Arc<Hints>)>::default();
        let (left, texts) = watch::channel(None);
        let (_, nothing) = watch::channel(None);
        let (said, holder) = watch::channel(Holder::Unknown("no route".to_owned()));
        let (_us, us) = watch::channel(Holder::Us);
        let (start, tries) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let tried = Arc::clone(&tries);
        // The first write fails, and the fourth is refused.
        let write = move |text: String| {
            let (left, tried) = (left.clone(), Arc::clone(&tried));
            async move {
                let object = ObjectId::new("", "ConfigMap", "n", "capstan-f");
                let mut tried = tried.lock().expect("no panic");
                tried.push(start.elapsed().as_secs());
                if tried.len() == 1 {
                    let source = Box::new(kube::Error::LinesCodecMaxLineLengthExceeded);
                    return Err(Error::Unreachable { object, source });
                }
                if tried.len() == 4 {
                    let cause = "too large".to_owned();
                    return Err(Error::Unsendable { object, cause });
                }
                left.send_replace(Some(text));
                Ok(())
            }
        };
        let never = |_| std::future::ready(Ok(()));
        let sending = tokio::spawn(relay(&here).run(holder, nothing, write));
        let _receiving = tokio::spawn(relay(&there).run(us, texts, never));
        let pause = async |seconds| tokio::time::sleep(Duration::from_secs(seconds)).await;
        here.leave(None);
        pause(10).await;
        assert!(tries.lock().expect("no panic").is_empty());
        said.send_replace(Holder::Other("b".to_owned()));
        assert_eq!(there.next().await, Hint::default());
        here.leave(None);
        here.leave(None);
        assert_eq!(there.next().await, Hint::default());
        pause(3).await;
        here.leave(None);
        pause(10).await;
        assert_eq!(*tries.lock().expect("no panic"), [10, 15, 17, 20]);
        // What arrives at the process that follows stays there.
        said.send_replace(Holder::Us);
        pause(10).await;
        here.leave(None);
        pause(10).await;
        assert_eq!(tries.lock().expect("no panic").len(), 4);
        assert_eq!(here.next().await, Hint::default());
        drop(said);
        sending.await.expect("it ends");
    }

    #[tokio::test(start_paused = true)]
    async fn while_the_secret_cannot_be_read_hints_wait_5_seconds_each_time() {
        let is_readable = Arc::new(AtomicBool::new(false));
        let blind = |hints: &Arc<Hints>| {
            let (relay, is_readable) = (relay(hints), Arc::clone(&is_readable));
            let secrets = Arc::clone(&relay.secrets);
            Relay {
                secrets: Arc::new(move || match is_readable.load(Ordering::SeqCst) {
                    true => secrets(),
                    false => Box::pin(std::future::ready(None)),
                }),
                ..relay
            }
        };
        let (here, there) = <(Arc<Hints>, Arc<Hints>)>::default();
        let (left, texts) = watch::channel(None);
        let (_quiet, nothing) = watch::channel(None);
        let (_other, other) = watch::channel(Holder::Other("b".to_owned()));
        let (_us, us) = watch::channel(Holder::Us);
        let start = Instant::now();
        let write = move |text: String| {
            left.send_replace(Some(text));
            std::future::ready(Ok(()))
        };
        let never = |_| std::future::ready(Ok(()));
        here.leave(None);
        let _sending = tokio::spawn(blind(&here).run(other, nothing, write));
        tokio::time::sleep(Duration::from_secs(7)).await;
        is_readable.store(true, Ordering::SeqCst);
        let mut seen = texts.clone();
        seen.changed().await.expect("it is told");
        assert_eq!(start.elapsed().as_secs(), 10);
        is_readable.store(false, Ordering::SeqCst);
        let _receiving = tokio::spawn(blind(&there).run(us, texts, never));
        tokio::time::sleep(Duration::from_secs(7)).await;
        is_readable.store(true, Ordering::SeqCst);
        assert_eq!(there.next().await, Hint::default());
        assert_eq!(start.elapsed().as_secs(), 20);
    }
}
