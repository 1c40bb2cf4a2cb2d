//! Ratios of sums over what is replicated.

/// A figure of one of them, and by what it is to be divided.
pub(crate) type Quotient = (f64, f64);

/// Values whose mean is the ratio of sums, and which scatter as the ratio does to first order
/// (Cochran 1977, 6.4): those with more behind them say more. `None` when there is nothing to
/// divide by.
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
