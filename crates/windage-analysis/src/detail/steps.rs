//! At which quantiles a distribution is drawn.

/// Quantiles between each and the half of what is left to 1.
const TICKS: usize = 5;
/// No run has 2^48 answers, and a float tells no finer quantiles apart for long.
const MOST_HALVES: usize = 48;
/// Percentiles have six nines at most in what people write.
const MOST_NAMED: i32 = 6;

/// Quantiles from 0 to 1 for a distribution of so many values, so many quantiles at most: more than
/// the handful that is named.
///
/// What is left to 1 is halved again and again, and each half has as many ticks as the next, as
/// HdrHistogram's iterator over percentiles has it, until what is left is less than one value.
/// Where that would be too many, each half has fewer ticks. Those that are named in sentences (90 %,
/// 99 %, 99.9 % …) are among them, so that a picture says what a table says.
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

/// 0.9, 0.99, 0.999 … as long as a value is beyond.
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
    fn what_is_left_is_halved_until_it_is_less_than_a_value() {
        // count, most, quantiles before the last, the highest of these, why
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
