//! What one run found for one arm in one metric.

use serde::{Deserialize, Serialize};

/// Characters of a commit that are shown.
const SHORT: usize = 9;
/// After the hash of a commit that had uncommitted changes.
pub(crate) const DIRTY: &str = "-dirty";
/// Characters of a time that are the day.
const DAY: usize = "2026-01-01".len();

/// What one run found for one arm in one metric, compared with the baseline.
///
/// Its fields are the columns of the CSV.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The plan's name.
    pub plan: String,
    /// The load's name among the plan's loads; empty if there is only one.
    pub regime: String,
    /// The arm's id.
    pub arm: String,
    /// The metric.
    pub metric: String,
    /// When the run began, by RFC 3339.
    pub started: String,
    /// The run's id.
    pub run: String,
    /// The commit that was measured; empty if it is unknown.
    pub commit: String,
    /// The machine: its processor and number of cores.
    pub machine: String,
    /// The version of Windage.
    pub windage: String,
    /// `share` of the baseline, or the metric's unit.
    pub unit: String,
    /// How far the arm differs from the baseline.
    pub estimate: f64,
    /// The lower end of the interval; empty without one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Launches that were used.
    pub launches: u32,
    /// `valid` or `suspect`.
    pub validity: String,
    /// Whether the metric is the plan's first.
    pub is_primary: bool,
}

impl Row {
    /// What is compared over time: rows that share it form a course.
    #[must_use]
    pub(crate) fn series(&self) -> [&str; 6] {
        let Row {
            plan,
            regime,
            arm,
            metric,
            machine,
            unit,
            ..
        } = self;
        [plan, regime, arm, metric, machine, unit]
    }

    /// The day on which the run began, in UTC.
    #[must_use]
    pub fn day(&self) -> &str {
        self.started.get(..DAY).unwrap_or(&self.started)
    }

    /// The beginning of the commit's hash, and whether there were uncommitted changes.
    #[must_use]
    pub fn short_commit(&self) -> String {
        let (hash, mark) = match self.commit.strip_suffix(DIRTY) {
            Some(hash) => (hash, DIRTY),
            None => (self.commit.as_str(), ""),
        };
        hash.get(..SHORT).unwrap_or(hash).to_owned() + mark
    }

    /// Whether its commit can be checked out and be measured again: a hash, which may come from a CSV
    /// that others wrote, and without uncommitted changes.
    pub(crate) fn is_of_commit(&self) -> bool {
        let is_hex = |c: char| c.is_ascii_hexdigit();
        !self.commit.is_empty() && self.commit.chars().all(is_hex)
    }

    /// Whether its figures are numbers in order, and what identifies it is there.
    pub(crate) fn is_sound(&self) -> bool {
        let is_named = [&self.plan, &self.arm, &self.metric, &self.started]
            .iter()
            .all(|text| !text.is_empty());
        let is_in_order = match (self.low, self.high) {
            (Some(low), Some(high)) => low <= self.estimate && self.estimate <= high,
            (None, None) => true,
            _ => false,
        };
        is_named && self.estimate.is_finite() && is_in_order
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What the run of a day found, a little off.
    pub(crate) fn row(arm: &str, day: u32, estimate: f64) -> Row {
        let estimate = estimate + [0.0, 0.001, -0.001][day as usize % 3];
        Row {
            plan: "shop".to_owned(),
            regime: String::new(),
            arm: arm.to_owned(),
            metric: "cpu_per_request".to_owned(),
            started: format!("2026-{:02}-{:02}T00:00:00Z", 1 + day / 28, 1 + day % 28),
            run: format!("run-{day}"),
            commit: format!("c{day}"),
            machine: "6502, 1 cores".to_owned(),
            windage: "0.1.0".to_owned(),
            unit: "share".to_owned(),
            estimate,
            low: Some(estimate - 0.01),
            high: Some(estimate + 0.01),
            launches: 14,
            validity: "valid".to_owned(),
            is_primary: true,
        }
    }

    #[test]
    fn unsound_rows_are_told_apart() {
        let sound = row("otel", 1, 0.05);
        assert!(sound.is_sound());
        let table: [fn(&mut Row); 5] = [
            |row| row.plan.clear(),
            |row| row.started.clear(),
            |row| row.estimate = f64::NAN,
            |row| row.low = Some(1.0),
            |row| row.high = None,
        ];
        for (case, spoil) in table.iter().enumerate() {
            let mut row = sound.clone();
            spoil(&mut row);
            assert!(!row.is_sound(), "case {case}");
        }
    }
}
