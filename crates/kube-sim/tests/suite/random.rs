//! Numbers that look random and are the same for the same seed, on every machine and for good.

/// SplitMix64, and whether slips are made.
pub(crate) struct Random {
    state: u64,
    slips: bool,
}

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            slips: true,
        }
    }

    /// No more slips: what is made from here on makes sense, so that it gets far.
    pub(crate) const fn be_careful(&mut self) {
        self.slips = false;
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// As [`Self::chance`], of something that goes wrong.
    pub(crate) fn slip(&mut self, percent: usize) -> bool {
        let slips = self.chance(percent);
        slips && self.slips
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    /// One of some, as often as their weights have it.
    pub(crate) fn weighed<'a, T>(&mut self, among: &'a [(usize, T)]) -> &'a T {
        let mut at = self.below(among.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in among {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return one,
            }
        }
        unreachable!("the number is less than all weights together")
    }
}
