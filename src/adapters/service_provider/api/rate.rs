//! How often requests may be made: as many a second as the limit says, and a burst of twice as many.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A bucket for each token, and one for all requests without a valid one.
pub(super) struct Rate {
    limit: f64,
    buckets: Mutex<BTreeMap<Option<String>, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rate {
    pub(super) fn new(limit: u32) -> Self {
        Self {
            limit: f64::from(limit.max(1)),
            buckets: Mutex::default(),
        }
    }

    /// Takes a request of the token with this name. There are as many names as tokens, so the map does not grow.
    pub(super) fn allows(&self, name: Option<&str>, now: Instant) -> bool {
        let most = self.limit * 2.0;
        let mut buckets = self.buckets.lock();
        let full = || Bucket {
            left: most,
            at: now,
        };
        let bucket = buckets.entry(name.map(str::to_owned)).or_insert_with(full);
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = since.mul_add(self.limit, bucket.left).min(most);
        bucket.at = now;
        if bucket.left < 1.0 {
            return false;
        }
        bucket.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn strangers_take_nothing_from_a_token() {
        let rate = Rate::new(10);
        let allowed = |name| {
            (0..100)
                .filter(|_| rate.allows(name, Instant::now()))
                .count()
        };
        assert_eq!(allowed(None), 20);
        assert_eq!(allowed(Some("a")), 20);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((allowed(None), allowed(Some("b"))), (10, 20));
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(allowed(None), 20);
    }
}
