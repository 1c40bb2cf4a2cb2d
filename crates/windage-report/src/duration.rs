//! Durations in words.

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// A configured duration in the largest unit that divides it at least twice: "60 s", "5 min".
pub(crate) fn span(s: f64) -> String {
    let whole = |unit: f64| s >= 2.0 * unit && (s / unit).fract() == 0.0;
    match s {
        s if whole(DAY) => format!("{:.0} days", s / DAY),
        s if whole(HOUR) => format!("{:.0} h", s / HOUR),
        s if whole(MINUTE) => format!("{:.0} min", s / MINUTE),
        s => crate::number::seconds(s),
    }
}

/// Time still needed, rounded up to the precision of a forecast: "7 more minutes".
pub(crate) fn more(s: f64) -> String {
    // The steps overlap so that the count is always two or more.
    let (figure, unit) = match s {
        s if s <= 90.0 => ((s / 5.0).ceil().max(1.0) * 5.0, "seconds"),
        s if s <= 90.0 * MINUTE => ((s / MINUTE).ceil(), "minutes"),
        s if s <= 36.0 * HOUR => ((s / HOUR).ceil(), "hours"),
        s => ((s / DAY).ceil(), "days"),
    };
    format!("{figure:.0} more {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_durations_keep_their_unit() {
        let table = [
            (0.25, "250 ms"),
            (10.0, "10 s"),
            (60.0, "60 s"),
            (90.0, "90 s"),
            (300.0, "5 min"),
            (3600.0, "60 min"),
            (7200.0, "2 h"),
            (5400.0, "90 min"),
            (86_400.0, "24 h"),
            (604_800.0, "7 days"),
        ];
        for (s, expected) in table {
            assert_eq!(span(s), expected, "{s}");
        }
    }

    #[test]
    fn remaining_time_is_rounded_up() {
        let table = [
            (0.0, "5 more seconds"),
            (41.0, "45 more seconds"),
            (90.0, "90 more seconds"),
            (91.0, "2 more minutes"),
            (402.0, "7 more minutes"),
            (5401.0, "2 more hours"),
            (130_000.0, "2 more days"),
        ];
        for (s, expected) in table {
            assert_eq!(more(s), expected, "{s}");
        }
    }
}
