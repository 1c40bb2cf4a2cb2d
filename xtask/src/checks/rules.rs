//! Verdicts of gates that measure revisions one after the other.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::one_by_one::Reading;

/// What is compared; more is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Cpu,
    P99,
}

impl Quantity {
    pub(super) const ALL: [Quantity; 2] = [Quantity::Cpu, Quantity::P99];

    pub(super) fn name(self) -> &'static str {
        match self {
            Quantity::Cpu => "CPU per request",
            Quantity::P99 => "p99",
        }
    }

    fn of(self, reading: &Reading) -> f64 {
        match self {
            Quantity::Cpu => reading.cpu_us_per_request,
            Quantity::P99 => reading.p99_us,
        }
    }
}

/// When a gate raises an alarm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// One run each, the head's above this multiple of the base's.
    Above(f64),
    /// All runs, the head's mean above the base's with this p value at most (Welch's test, of two
    /// sides).
    Welch(f64),
}

impl Rule {
    /// The default of github-action-benchmark, what projects set, and the classical test.
    pub(super) const ALL: [Rule; 4] = [
        Rule::Above(2.0),
        Rule::Above(1.1),
        Rule::Above(1.05),
        Rule::Welch(0.05),
    ];

    pub(super) fn alarms(self, quantity: Quantity, base: &[Reading], head: &[Reading]) -> bool {
        let values = |of: &[Reading]| of.iter().map(|of| quantity.of(of)).collect::<Vec<_>>();
        let (base, head) = (values(base), values(head));
        match self {
            Rule::Above(multiple) => match (base.first(), head.first()) {
                (Some(base), Some(head)) => *head > multiple * base,
                _ => false,
            },
            Rule::Welch(most) => {
                welch(&base, &head).is_some_and(|(more, p_value)| more > 0.0 && p_value <= most)
            }
        }
    }
}

/// The difference of the means and its p value, by Welch's test (Welch 1947). `None` with fewer than
/// two values each, or without scatter.
fn welch(base: &[f64], head: &[f64]) -> Option<(f64, f64)> {
    let (of_base, of_head) = (Sample::of(base)?, Sample::of(head)?);
    let variance = of_base.error + of_head.error;
    let freedom = variance.powi(2)
        / (of_base.error.powi(2) / of_base.freedom + of_head.error.powi(2) / of_head.freedom);
    let more = of_head.mean - of_base.mean;
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some((more, 2.0 * student.sf((more / variance.sqrt()).abs())))
}

struct Sample {
    mean: f64,
    /// The variance of the mean.
    error: f64,
    freedom: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Sample> {
        let count = values.len() as f64;
        if values.len() < 2 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Sample {
            mean,
            error: squares / (count - 1.0) / count,
            freedom: count - 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(cpu: &[f64]) -> Vec<Reading> {
        let of = |&cpu_us_per_request: &f64| Reading {
            cpu_us_per_request,
            p99_us: 5_000.0,
        };
        cpu.iter().map(of).collect()
    }

    #[test]
    fn welch_gives_the_p_values_of_students_distribution() {
        // t = 2 with 8 degrees of freedom, and 1.8974 with 5.8824; p by numeric integration.
        let base = [1.0, 2.0, 3.0, 4.0, 5.0];
        let table = [
            ([3.0, 4.0, 5.0, 6.0, 7.0], 2.0, 0.080_516),
            ([8.0, 2.0, 6.0, 4.0, 10.0], 3.0, 0.107_53),
        ];
        for (head, expected, p) in table {
            let (more, p_value) = welch(&base, &head).unwrap();
            assert!((more - expected).abs() < 1e-12, "{more}");
            assert!((p_value - p).abs() < 1e-4, "{p_value}");
        }
        assert_eq!(welch(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]), None);
    }

    #[test]
    fn alarms_are_for_more_and_never_for_less() {
        let (base, more) = (
            readings(&[70.0, 71.0, 69.0, 70.5, 69.5]),
            readings(&[75.0, 74.0, 76.0, 75.5, 74.5]),
        );
        let alarms = |base: &[Reading], head: &[Reading]| {
            Rule::ALL.map(|rule| rule.alarms(Quantity::Cpu, base, head))
        };
        assert_eq!(alarms(&base, &more), [false, false, true, true]);
        assert_eq!(alarms(&more, &base), [false; 4]);
        let of_p99 = Rule::ALL.map(|rule| rule.alarms(Quantity::P99, &base, &more));
        assert_eq!(of_p99, [false; 4], "no scatter, and no difference");
    }
}
