//! Steps of work, counted in tests only, so that a test can say that work grows no faster than its input.
//!
//! In: calls where one value is compared with others or looked at again. Out: how many there were on this thread. It does
//! not know what a step does.

/// Counts a step, in tests.
#[inline]
pub fn step() {
    #[cfg(test)]
    counted::STEPS.with(|steps| steps.set(steps.get() + 1));
}

#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;

    thread_local! {
        pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// The steps that `work` takes, all on one thread.
    pub(crate) fn steps(work: impl FnOnce() + Send) -> u64 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
        let pool = pool.build().expect("a pool of one thread");
        pool.install(|| {
            let before = STEPS.get();
            work();
            STEPS.get() - before
        })
    }
}
