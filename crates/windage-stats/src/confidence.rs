//! How sure an interval is to be, alone or among others.

/// The probability with which an interval is to cover the truth.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// 90 %, on which equivalence is tested (two one-sided tests at 5 %).
    pub const P90: Confidence = Confidence(0.90);
    /// 95 %, that of every interval shown.
    pub const P95: Confidence = Confidence(0.95);
    /// 99 %, beyond which the control is held to be disturbed.
    pub const P99: Confidence = Confidence(0.99);

    /// As a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The confidence that each of so many intervals needs for all of them to cover at once with
    /// this one: what may miss is shared out among them (Bonferroni; Dunn 1961). It holds
    /// whatever the intervals have in common. None or one comparison leaves it as it is.
    #[must_use]
    pub fn simultaneous(self, comparisons: usize) -> Confidence {
        Confidence(1.0 - (1.0 - self.0) / comparisons.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_miss_is_shared_out() {
        // comparisons, confidence of each at 95 % for all
        for (comparisons, each) in [(0, 0.95), (1, 0.95), (5, 0.99), (100, 0.9995)] {
            let found = Confidence::P95.simultaneous(comparisons).get();
            assert!((found - each).abs() < 1e-12, "{comparisons}: {found}");
        }
    }
}
