//! How far sampling alone moves counts.

/// A loss counts as one when it exceeds so many standard deviations of sampling.
const DEVIATIONS: f64 = 3.0;

/// What sampling alone may leave out, for this standard deviation.
pub(super) fn by_chance(sampling_sd: f64) -> f64 {
    DEVIATIONS * sampling_sd + 0.5
}
