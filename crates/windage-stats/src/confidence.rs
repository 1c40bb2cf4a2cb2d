//! Confidence of an interval, alone or among others.

/// The probability with which an interval covers the truth.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// 90 %, used for equivalence tests (two one-sided tests at 5 %).
    pub const P90: Confidence = Confidence(0.90);
    /// 95 %, used for every interval shown.
    pub const P95: Confidence = Confidence(0.95);
    /// 99 %, used to test the A/A control.
    pub const P99: Confidence = Confidence(0.99);

    /// A probability strictly between 0 and 1; `None` for any other number.
    #[must_use]
    pub fn of(probability: f64) -> Option<Confidence> {
        (probability > 0.0 && probability < 1.0).then_some(Confidence(probability))
    }

    /// As a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The confidence that each of so many intervals needs for all of them to cover at once with
    /// this confidence: the error probability is divided among them (Bonferroni; Dunn 1961). It
    /// holds whatever the dependence between them. Unchanged for zero or one comparison.
    #[must_use]
    pub fn simultaneous(self, comparisons: usize) -> Confidence {
        Confidence(1.0 - (1.0 - self.0) / comparisons.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_probability_is_divided() {
        // comparisons, confidence of each for 95 % overall
        for (comparisons, each) in [(0, 0.95), (1, 0.95), (5, 0.99), (100, 0.9995)] {
            let found = Confidence::P95.simultaneous(comparisons).get();
            assert!((found - each).abs() < 1e-12, "{comparisons}: {found}");
        }
    }
}
