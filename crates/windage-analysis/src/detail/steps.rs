//! The quantiles at which a distribution is drawn.

/// Quantiles between each one and the middle of the rest up to 1.
const TICKS: usize = 5;
/// No run has 2^48 answers, and floats can't represent much finer quantiles.
const MOST_HALVES: usize = 48;
/// Percentiles in text have at most six nines.
const MOST_NAMED: i32 = 6;

/// Quantiles from 0 to 1 for a distribution of `count` values, at most `most` of them, which must
/// exceed the few that are named.
///
/// The rest up to 1 is halved repeatedly, and each half has the same number of ticks, as in
/// HdrHistogram's percentile iterator, until the rest is less than one value. Where that would give
/// too many quantiles, each half has fewer ticks. Quantiles named in text (90 %, 99 %, 99.9 % …)
/// are included, so that a picture agrees with a table.
pub(super) fn levels(count: u64, most: usize) -> Vec<f64> {
    let mut levels: Vec<f64> = named(count).collect();
    let room = most.saturating_sub(1 + levels.len()).max(1);
    let halves = (count.max(1).ilog2() as usize + 1).min(MOST_HALVES.min(room));
    let ticks = (room / halves).min(TICKS);
    let mut left = 1.0;
    for _ in 0..halves {
        let tick = left / 2.0 / ticks as f64;
        levels.extend((0..ticks).map(|passed| 1.0 - left + passed as f64 * tick));
        left /= 2.0;
    }
    levels.push(1.0);
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

/// 0.9, 0.99, 0.999 … as long as a value lies beyond.
fn named(count: u64) -> impl Iterator<Item = f64> {
    let beyond = (1..=MOST_NAMED).map(|nines| 10f64.powi(-nines));
    beyond
        .take_while(move |left| left * count as f64 >= 1.0)
        .map(|left| 1.0 - left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_halve_the_rest_down_to_one_value() {
        // count, most, number of quantiles before the last, the highest of these, why
        let table = [
            (1, 100, 5, 0.4, "one value: up to its half"),
            (2, 100, 10, 0.7, "the half of two, and of one"),
            (
                10,
                100,
                20,
                0.925,
                "four halves, one of whose ticks is 90 %",
            ),
            (
                500_000,
                100,
                81,
                0.999_997_6,
                "nineteen halves of four ticks, and five that are named",
            ),
            (
                1_000_000,
                100,
                86,
                0.999_999,
                "twenty halves of four, and six",
            ),
            (
                1_000_000,
                50,
                46,
                0.999_999,
                "twenty halves of two, and six",
            ),
            (u64::MAX, 100, 54, 1.0, "more than there can be"),
            (u64::MAX, 50, 49, 1.0, "the same with the least room"),
            (0, 100, 5, 0.4, "nothing, as a single value"),
        ];
        for (count, most, expected, highest, why) in table {
            let levels = levels(count, most);
            assert_eq!(levels.len(), expected + 1, "{why}");
            assert!(levels.len() <= most, "{why}: {}", levels.len());
            assert!(levels.is_sorted_by(|a, b| a < b), "{why}: {levels:?}");
            assert_eq!((levels[0], levels[expected]), (0.0, 1.0), "{why}");
            let found: f64 = levels[expected - 1];
            assert!((found - highest).abs() < 2e-8, "{why}: {found}");
            let named =
                [0.9, 0.99, 0.999].map(|level| levels.iter().any(|l| (l - level).abs() < 1e-12));
            let is_there = [10, 100, 1_000].map(|least| count >= least);
            assert_eq!(named, is_there, "{why}");
        }
    }
}
