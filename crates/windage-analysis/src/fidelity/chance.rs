//! How far sampling alone moves counts.

/// A loss counts as one when it exceeds so many standard deviations of sampling.
const DEVIATIONS: f64 = 3.0;

/// Two-sided 95 % quantile of the normal distribution.
pub(super) const TWO_SIDED: f64 = 1.959_963_984_540_054;

/// The standard deviation of items of sampled requests, of which each sends so many or none.
pub(super) fn sampling_sd(requests: f64, per_request: f64, per_sampled: f64) -> f64 {
    let share = per_request / per_sampled;
    per_sampled * (requests * share * (1.0 - share)).sqrt()
}

/// What sampling alone may leave out, for this standard deviation.
pub(super) fn by_chance(sampling_sd: f64) -> f64 {
    DEVIATIONS * sampling_sd + 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_are_sampled_together_scatter_more() {
        // requests, items per request, items of a sampled request; the binomial standard deviation
        for (requests, per_request, per_sampled, expected) in [
            (10_000.0, 0.1, 1.0, 30.0),
            // The same traces with four spans each.
            (10_000.0, 0.4, 4.0, 120.0),
            (10_000.0, 0.5, 1.0, 50.0),
            (10_000.0, 0.0, 1.0, 0.0),
        ] {
            let sd = sampling_sd(requests, per_request, per_sampled);
            assert!((sd - expected).abs() < 1e-9, "{per_request}: {sd}");
        }
    }
}
