//! How figures stand in the tables: three significant digits of the larger end, as in Windage's
//! own reports, in the unit of their column.

use crate::record::summary::Ranged;

/// `12.3 (12.0 to 12.6)`, after a division by `divisor`.
pub(super) fn ranged(figure: &Ranged, divisor: f64) -> String {
    let [estimate, low, high] = [figure.estimate, figure.low, figure.high].map(|x| x / divisor);
    let largest = estimate.abs().max(low.abs()).max(high.abs());
    // More than two decimals only where nothing would be left without them.
    let places = if largest < 0.1 {
        decimals(largest)
    } else {
        decimals(largest).min(2)
    };
    let [estimate, low, high] = [estimate, low, high].map(|x| signed(x, places));
    format!("{estimate} ({low} to {high})")
}

/// `17,500 (17,100 to 17,900)`: numbers of things.
pub(super) fn counted(figure: &Ranged) -> String {
    let [estimate, low, high] = [figure.estimate, figure.low, figure.high].map(grouped);
    format!("{estimate} ({low} to {high})")
}

/// A figure without an interval.
pub(super) fn plain(figure: f64) -> String {
    signed(figure, decimals(figure.abs()).min(2))
}

/// A figure in groups of three digits, with three significant ones.
pub(super) fn grouped(figure: f64) -> String {
    let magnitude = figure.abs().max(1.0).log10().floor();
    let step = 10f64.powf((magnitude - 2.0).max(0.0));
    let rounded = (figure.abs() / step).round() * step;
    let digits = format!("{rounded:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if figure < 0.0 {
        format!("−{text}")
    } else {
        text
    }
}

/// A share as percent, with a digit that says something.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let places = match percent.abs() {
        0.0 => 0,
        few if few < 0.095 => 3,
        _ => 1,
    };
    format!("{} %", signed(percent, places))
}

fn signed(figure: f64, places: usize) -> String {
    let text = format!("{:.places$}", figure.abs());
    // What rounds to nil keeps its sign: it tells on which side an end of an interval lies.
    if figure < 0.0 {
        format!("−{text}")
    } else {
        text
    }
}

/// Decimals that leave three significant digits.
fn decimals(figure: f64) -> usize {
    if figure == 0.0 {
        return 0;
    }
    // The factor lets 9.996 count as the 10.0 that it is rounded to.
    let exponent = (figure * 1.0005).log10().floor();
    // Between 0 and 6, so that the cast is exact.
    (2.0 - exponent).clamp(0.0, 6.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_three_digits() {
        let table = [
            ((12.34, 12.04, 12.61), 1.0, "12.3 (12.0 to 12.6)"),
            ((1376.0, 1350.2, 1401.7), 1.0, "1376 (1350 to 1402)"),
            ((0.05, -0.251, 0.312), 1.0, "0.05 (−0.25 to 0.31)"),
            ((-0.004, -0.02, 0.013), 1.0, "−0.0040 (−0.0200 to 0.0130)"),
            ((23.5e6, 23.1e6, 24.0e6), 1e6, "23.5 (23.1 to 24.0)"),
            ((0.2512, 0.2, 0.3), 1e-3, "251 (200 to 300)"),
        ];
        for ((estimate, low, high), divisor, expected) in table {
            let figure = Ranged {
                estimate,
                low,
                high,
            };
            assert_eq!(ranged(&figure, divisor), expected);
        }
    }

    #[test]
    fn other_figures() {
        for (figure, expected) in [(23.0, "23.0"), (4.0, "4.00"), (180.4, "180"), (0.0, "0")] {
            assert_eq!(plain(figure), expected);
        }
        for (figure, expected) in [
            (17_543.0, "17,500"),
            (999.6, "1,000"),
            (97.4, "97"),
            (1_234_567.0, "1,230,000"),
        ] {
            assert_eq!(grouped(figure), expected);
        }
        for (share, expected) in [
            (0.0912, "9.1 %"),
            (0.0004, "0.040 %"),
            (0.0, "0 %"),
            (-0.2, "−20.0 %"),
        ] {
            assert_eq!(percent(share), expected);
        }
    }
}
