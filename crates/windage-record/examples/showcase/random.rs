//! Reproducible noise.

/// The finaliser of SplitMix64 on a counter.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// Roughly normal, with a standard deviation of 1: the sum of twelve uniform numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        let uniform = |random: &mut Random| (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        (0..12).map(|_| uniform(self)).sum::<f64>() - 6.0
    }
}
