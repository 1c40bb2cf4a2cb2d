//! The course of a result over runs.

use windage_stats::{change_points, difference};

use crate::Row;
use crate::row::DIRTY;

/// Results of one arm in one metric on one machine, in order of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course<'a> {
    /// At least one.
    pub rows: &'a [Row],
}

/// A change of the level between two rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change<'a> {
    /// The last row of the level before.
    pub last: &'a Row,
    /// The first row of the new level.
    pub first: &'a Row,
    /// The mean of the level before.
    pub before: f64,
    /// The mean of the new level.
    pub after: f64,
}

impl Change<'_> {
    /// The command that measures the commits on both sides at once. `None` where one is unknown or
    /// had uncommitted changes.
    #[must_use]
    pub fn check(self) -> Option<String> {
        let are_two = self.last.is_of_commit()
            && self.first.is_of_commit()
            && self.last.commit != self.first.commit;
        are_two.then(|| {
            let [base, head] = [self.last, self.first].map(Row::short_commit);
            format!("windage check PLAN --base {base} --head {head}")
        })
    }
}

/// The courses of rows that are sorted by series and time, as [`History::rows`](crate::History::rows)
/// returns them.
pub fn courses(rows: &[Row]) -> impl Iterator<Item = Course<'_>> {
    let series = rows.chunk_by(|a, b| a.series() == b.series());
    series.map(|rows| Course { rows })
}

impl<'a> Course<'a> {
    /// The newest row.
    #[must_use]
    pub fn newest(self) -> &'a Row {
        &self.rows[self.rows.len() - 1]
    }

    /// Where the level changes, in order of time.
    #[must_use]
    pub fn changes(self) -> Vec<Change<'a>> {
        let values: Vec<f64> = self.rows.iter().map(|row| row.estimate).collect();
        let found = change_points(&values).into_iter();
        let change = found.map(|found| Change {
            last: &self.rows[found.at - 1],
            first: &self.rows[found.at],
            before: found.before,
            after: found.after,
        });
        change.collect()
    }

    /// The newest row of a commit, whose hash may be shorter or longer than what rows have, or of a
    /// run.
    #[must_use]
    pub fn row_of(self, name: &str) -> Option<&'a Row> {
        let is_it = |row: &&Row| {
            let commit = row.commit.trim_end_matches(DIRTY);
            let is_commit = !name.is_empty() && !commit.is_empty();
            row.run == name || is_commit && (commit.starts_with(name) || name.starts_with(commit))
        };
        self.rows.iter().rev().find(is_it)
    }

    /// By how much the newest row exceeds [that](Course::row_of) of a commit or run, with the
    /// interval's ends. `None` without such a row, or without intervals.
    #[must_use]
    pub fn creep_since(self, name: &str) -> Option<(f64, f64, f64)> {
        let pinned = self.row_of(name)?;
        let interval = |row: &Row| Some((row.estimate, row.low?, row.high?));
        let (newest, pinned) = (interval(self.newest())?, interval(pinned)?);
        let (low, high) = difference(newest, pinned)?;
        Some((newest.0 - pinned.0, low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::row;

    #[test]
    fn a_change_names_the_rows_on_both_sides() {
        let rows: Vec<Row> = (0..30)
            .map(|day| row("otel", day, if day < 20 { 0.05 } else { 0.09 }))
            .collect();
        let course = Course { rows: &rows };
        let [change] = course.changes()[..] else {
            panic!("{:?}", course.changes());
        };
        assert_eq!(
            (&change.last.commit[..], &change.first.commit[..]),
            ("c19", "c20")
        );
        assert!((change.before - 0.05).abs() < 0.002 && (change.after - 0.09).abs() < 0.002);
    }

    #[test]
    fn creep_is_against_the_newest_row_of_a_release() {
        let rows: Vec<Row> = (0..4)
            .map(|day| row("otel", day, 0.05 + f64::from(day) / 100.0))
            .collect();
        let course = Course { rows: &rows };
        let (creep, low, high) = course.creep_since("c1").unwrap();
        assert!((creep - 0.02).abs() < 0.002, "{creep}");
        assert!(low < creep && creep < high);
        for (name, day) in [
            ("c3", Some(3)),
            ("c2000", Some(2)),
            ("run-1", Some(1)),
            ("v9", None),
            ("", None),
        ] {
            let found = course.row_of(name).map(|row| row.run.clone());
            assert_eq!(found, day.map(|day| format!("run-{day}")), "{name}");
        }
        assert_eq!(course.creep_since("v9"), None);
    }

    #[test]
    fn a_course_is_of_one_machine() {
        let mut rows: Vec<Row> = (0..6).map(|day| row("otel", day, 0.05)).collect();
        rows.extend((0..3).map(|day| row("zipkin", day, 0.05)));
        rows[4..6]
            .iter_mut()
            .for_each(|row| row.machine = "Z80, 1 cores".to_owned());
        let lengths: Vec<_> = courses(&rows).map(|course| course.rows.len()).collect();
        assert_eq!(lengths, [4, 2, 3]);
    }
}
