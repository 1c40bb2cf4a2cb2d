//! A forecast of time, in words.

use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;

/// A duration as precise as a forecast can be: seconds, then tens of seconds, then minutes. Never
/// zero, because what is forecast is not over.
pub(crate) fn spoken(time: Duration) -> String {
    let whole_s = time.as_secs_f64().ceil().max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number of seconds; the cast saturates"
    )]
    let s = whole_s as u64;
    match s {
        s if s <= 90 => format!("{s} s"),
        s if s <= 10 * MINUTE => match (s.div_ceil(10) * 10 / MINUTE, s.div_ceil(10) * 10 % MINUTE)
        {
            (min, 0) => format!("{min} min"),
            (min, s) => format!("{min} min {s} s"),
        },
        s if s <= 2 * HOUR => format!("{} min", s.div_ceil(MINUTE)),
        s => match (s.div_ceil(MINUTE) / 60, s.div_ceil(MINUTE) % 60) {
            (h, 0) => format!("{h} h"),
            (h, min) => format!("{h} h {min} min"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_are_rounded_by_their_length() {
        let table = [
            (0, "1 s"),
            (1, "1 s"),
            (1_001, "2 s"),
            (90_000, "90 s"),
            (91_000, "1 min 40 s"),
            (119_000, "2 min"),
            (600_000, "10 min"),
            (601_000, "11 min"),
            (7_200_000, "120 min"),
            (7_201_000, "2 h 1 min"),
            (10_800_000, "3 h"),
        ];
        for (ms, expected) in table {
            assert_eq!(spoken(Duration::from_millis(ms)), expected, "{ms}");
        }
        assert!(spoken(Duration::MAX).ends_with("min"));
    }
}
