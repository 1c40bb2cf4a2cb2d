//! Spans of time as people say them.

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// A span that somebody chose, in the largest unit of which it is two or more whole ones: "60 s",
/// "5 min".
pub(crate) fn span(s: f64) -> String {
    let whole = |unit: f64| s >= 2.0 * unit && (s / unit).fract() == 0.0;
    match s {
        s if whole(DAY) => format!("{:.0} days", s / DAY),
        s if whole(HOUR) => format!("{:.0} h", s / HOUR),
        s if whole(MINUTE) => format!("{:.0} min", s / MINUTE),
        s => crate::number::seconds(s),
    }
}

/// Time that is still missing, rounded up to what a forecast is good for: "7 more minutes".
pub(crate) fn more(s: f64) -> String {
    // The steps overlap so that there are always two and more of a unit.
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
    fn chosen_spans_are_said_as_they_were_chosen() {
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
    fn missing_time_is_rounded_up() {
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
