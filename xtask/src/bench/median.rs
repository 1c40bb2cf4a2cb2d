//! The median and its interval by order statistics, which assumes nothing about the distribution.

/// The total probability that an interval misses.
const MISS: f64 = 0.05;

/// A median, with an interval of at least 95 % if there are at least six values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) estimate: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) count: usize,
}

impl Median {
    /// As `median [low, high]`, each formatted by `show`.
    pub(crate) fn show(&self, show: impl Fn(f64) -> String) -> String {
        let estimate = show(self.estimate);
        match self.interval {
            Some((low, high)) => format!("{estimate} [{}, {}]", show(low), show(high)),
            None => estimate,
        }
    }
}

/// The median of independent values; those that are not finite are left out. `None` if none is
/// left.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<Median> {
    let mut sorted: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let upper = *sorted.get(count / 2)?;
    let estimate = if count % 2 == 1 {
        upper
    } else {
        f64::midpoint(sorted[count / 2 - 1], upper)
    };
    Some(Median {
        estimate,
        interval: cut_from_each_end(count).map(|cut| (sorted[cut], sorted[count - 1 - cut])),
        count,
    })
}

/// How many values to leave out at each end so that the rest contains the median of the
/// distribution with a probability of at least 95 %.
///
/// Each value is below that median with probability ½, so the interval from the (k+1)-th value to
/// the (k+1)-th from the end misses when at most k values fall on either side: 2 P(B(n, ½) ≤ k)
/// (the sign test's interval; Conover, *Practical Nonparametric Statistics*, 3.2).
fn cut_from_each_end(count: usize) -> Option<usize> {
    let mut probability = 0.5f64.powi(i32::try_from(count).ok()?);
    let mut below = 0.0;
    let mut cut = None;
    for k in 0..count / 2 {
        below += probability;
        if 2.0 * below > MISS {
            break;
        }
        cut = Some(k);
        probability *= (count - k) as f64 / (k + 1) as f64;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_match_the_tables() {
        // Ranks from the table of the two-sided sign test at 5 %, counted from 0.
        let table = [
            (0, None),
            (5, None),
            (6, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (12, Some(2)),
            (15, Some(3)),
            (20, Some(5)),
            (25, Some(7)),
            (50, Some(17)),
        ];
        for (count, cut) in table {
            assert_eq!(cut_from_each_end(count), cut, "{count}");
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median([]), None);
        assert_eq!(median([f64::NAN]), None);
        let four = median([4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((four.estimate, four.interval, four.count), (2.5, None, 4));
        let fifteen = median((1..=15).map(f64::from)).unwrap();
        assert_eq!(fifteen.estimate, 8.0);
        assert_eq!(fifteen.interval, Some((4.0, 12.0)));
    }

    #[test]
    fn medians_are_shown_with_their_interval() {
        let whole = |value: f64| format!("{value:.0}");
        assert_eq!(median([1.0, 2.0, 3.0]).unwrap().show(whole), "2");
        let seven = median((1..=7).map(f64::from)).unwrap();
        assert_eq!(seven.show(whole), "4 [1, 7]");
    }

    proptest! {
        #[test]
        fn the_median_is_within_its_interval(values in prop::collection::vec(-1e6..1e6f64, 6..60)) {
            let median = median(values).unwrap();
            let (low, high) = median.interval.unwrap();
            prop_assert!(low <= median.estimate && median.estimate <= high);
        }
    }
}
