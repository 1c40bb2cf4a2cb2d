//! Neighbouring blocks resemble each other: how much that widens a standard error.

/// The factor by which the variance of a mean grows over that of independent values:
/// 1 + 2 Σ wₖ ρₖ with Bartlett's weights, up to the lag ⌊4 (n/100)^(2/9)⌋ (Newey & West 1994).
///
/// Never below 1: a negative correlation that is due to chance must not narrow an interval.
#[must_use]
pub fn variance_inflation(values: &[f64]) -> f64 {
    let count = values.len();
    if count < 4 {
        return 1.0;
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let centred: Vec<f64> = values.iter().map(|v| v - mean).collect();
    let power: f64 = centred.iter().map(|c| c * c).sum();
    if power <= 0.0 {
        return 1.0;
    }
    let lags = longest_lag(count);
    let sum: f64 = (1..=lags)
        .map(|lag| {
            let covariance: f64 = centred
                .iter()
                .zip(&centred[lag..])
                .map(|(a, b)| a * b)
                .sum();
            (1.0 - lag as f64 / (lags + 1) as f64) * covariance / power
        })
        .sum();
    (1.0 + 2.0 * sum).max(1.0)
}

fn longest_lag(count: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let lag = (4.0 * (count as f64 / 100.0).powf(2.0 / 9.0)).floor() as usize;
    lag.clamp(1, count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// An autoregressive series of order one.
    fn autoregressive(coefficient: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut last = 0.0;
        (0..count)
            .map(|_| {
                last = coefficient * last + random.random::<f64>() - 0.5;
                last
            })
            .collect()
    }

    #[test]
    fn independent_values_are_left_nearly_alone() {
        assert!(variance_inflation(&autoregressive(0.0, 2000, 1)) < 1.15);
    }

    #[test]
    fn correlated_values_widen() {
        // The true factor of AR(1) with 0.5 is (1 + 0.5) / (1 - 0.5) = 3; a short window sees part.
        let factor = variance_inflation(&autoregressive(0.5, 2000, 2));
        assert!((2.0..3.2).contains(&factor), "{factor}");
    }

    #[test]
    fn never_narrows() {
        assert!((variance_inflation(&autoregressive(-0.8, 500, 3)) - 1.0).abs() < f64::EPSILON);
        assert!((variance_inflation(&[1.0; 50]) - 1.0).abs() < f64::EPSILON);
        assert!((variance_inflation(&[1.0, 2.0]) - 1.0).abs() < f64::EPSILON);
    }
}
