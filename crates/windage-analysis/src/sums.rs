//! Ratios of sums over replicates.

/// Numerator and denominator of one replicate.
pub(crate) type Quotient = (f64, f64);

/// Values whose mean is the ratio of sums and whose scatter is that of the ratio to first order
/// (Cochran 1977, 6.4): replicates with larger denominators weigh more. `None` when the
/// denominators sum to zero.
pub(crate) fn linear(parts: &[Quotient]) -> Option<Vec<f64>> {
    let (over, under) = parts
        .iter()
        .fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    if !(under > 0.0 && over.is_finite()) {
        return None;
    }
    let (ratio, mean_under) = (over / under, under / parts.len() as f64);
    let value = |(over, under): &Quotient| ratio + (over - ratio * under) / mean_under;
    Some(parts.iter().map(value).collect())
}
