//! History for people.

use comfy_table::{CellAlignment, Table, TableStyle};
use windage_history::{Change, Course, Row};
use windage_report::{history_amount, history_change, history_label};

use super::Since;

/// Courses as tables, and below them where they change.
pub(super) fn text(courses: &[Course<'_>], all_rows: bool, since: Option<&Since>) -> String {
    if courses.is_empty() {
        return "no results: runs are read from their analysis.json, which `windage run` writes at its end\n"
            .to_owned();
    }
    let mut text = String::new();
    for of_plan in courses.chunk_by(|a, b| place(*a) == place(*b)) {
        let (plan, regime, machine) = place(of_plan[0]);
        let load = if regime.is_empty() {
            String::new()
        } else {
            format!(", load {regime}")
        };
        text += &format!("{plan}{load}, on {machine}\n\n");
        text += &match all_rows {
            false => newest(of_plan, since),
            true => of_plan.iter().map(every_row).collect::<Vec<_>>().join("\n"),
        };
        text += "\n";
    }
    text + &changes(courses)
}

/// The plan, its load and the machine: courses of one place are shown together.
pub(super) fn place<'a>(course: Course<'a>) -> (&'a str, &'a str, &'a str) {
    let row = course.newest();
    (&row.plan, &row.regime, &row.machine)
}

/// A line for each course.
fn newest(courses: &[Course<'_>], since: Option<&Since>) -> String {
    let creep = since.map(|since| format!("since {}", since.name));
    let heading = ["arm", "metric", "runs", "newest", "commit", "day"].map(str::to_owned);
    let mut table = table(heading.into_iter().chain(creep), 2);
    for course in courses {
        let row = course.newest();
        let creep = since.map(|since| {
            let found = course.creep_since(&since.of);
            found.map_or_else(
                || "n/a".to_owned(),
                |(more, low, high)| {
                    let shown = cost(row, more, Some((low, high)));
                    match row.unit.as_str() {
                        "share" => shown.replacen(" %", " points", 1),
                        _ => shown,
                    }
                },
            )
        });
        let cells = [
            row.arm.clone(),
            label(row),
            course.rows.len().to_string(),
            found(row),
            row.short_commit(),
            row.day().to_owned(),
        ];
        table.add_row(cells.into_iter().chain(creep));
    }
    lines(&table)
}

/// A line for each row.
fn every_row(course: &Course<'_>) -> String {
    let row = course.newest();
    let firsts: Vec<&Row> = course.changes().iter().map(|change| change.first).collect();
    let heading = ["day", "commit", "", "launches", "validity", ""].map(str::to_owned);
    let mut table = table(heading, 3);
    for row in course.rows {
        let is_first = firsts.iter().any(|first| std::ptr::eq(*first, row));
        table.add_row([
            row.day().to_owned(),
            row.short_commit(),
            found(row),
            row.launches.to_string(),
            row.validity.clone(),
            if is_first {
                "change point".to_owned()
            } else {
                String::new()
            },
        ]);
    }
    format!("{}, {}\n{}", row.arm, label(row), lines(&table))
}

fn table(heading: impl IntoIterator<Item = String>, numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(heading.into_iter().collect::<Vec<_>>());
    if let Some(column) = table.column_mut(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

fn lines(table: &Table) -> String {
    let lines = table.lines().map(|line| format!("  {}\n", line.trim_end()));
    lines.collect()
}

/// Where courses change, and what to do about it.
fn changes(courses: &[Course<'_>]) -> String {
    let of_each = courses.iter().flat_map(|course| course.changes());
    let lines: Vec<String> = of_each.map(change).collect();
    match lines.is_empty() {
        true => "No change points.\n".to_owned(),
        false => format!("Change points\n\n{}", lines.concat()),
    }
}

fn change(change: Change<'_>) -> String {
    let first = change.first;
    let levels = [change.before, change.after];
    let mut text = format!(
        "  {}  {}, {}, {}, {}\n",
        first.day(),
        first.plan,
        first.arm,
        label(first),
        history_change(&first.unit, &first.metric, levels),
    );
    if let Some(check) = change.check() {
        text += &format!("      to measure both at once: {check}\n");
    }
    text
}

/// What a row found.
fn found(row: &Row) -> String {
    cost(row, row.estimate, row.low.zip(row.high))
}

/// "+22.7 % (+22.0 to +23.0)".
fn cost(row: &Row, estimate: f64, ends: Option<(f64, f64)>) -> String {
    history_amount(&row.unit, &row.metric, estimate, ends)
}

fn label(row: &Row) -> String {
    history_label(&row.metric).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_history::courses;

    fn row(metric: &str, unit: &str, day: u32, estimate: f64) -> Row {
        Row {
            plan: "shop".to_owned(),
            regime: String::new(),
            arm: "otel".to_owned(),
            metric: metric.to_owned(),
            started: format!("2026-01-{day:02}T00:00:00Z"),
            run: format!("202601{day:02}-000000-shop"),
            commit: format!("{day:02}3456789abc"),
            machine: "6502, 2 cores".to_owned(),
            windage: "0.1.0".to_owned(),
            unit: unit.to_owned(),
            estimate,
            low: Some(estimate * 0.9),
            high: Some(estimate * 1.1),
            launches: 14,
            validity: "valid".to_owned(),
            is_primary: metric == "cpu_per_request",
        }
    }

    fn rows() -> Vec<Row> {
        let cpu = (1..=24).map(|day| {
            let level = if day < 15 { 0.084 } else { 0.126 };
            row(
                "cpu_per_request",
                "share",
                day,
                level + f64::from(day % 3) / 1000.0,
            )
        });
        let rss = (1..=3).map(|day| row("rss_peak", "bytes", day, 12e6 + f64::from(day) * 1e5));
        cpu.chain(rss).collect()
    }

    #[test]
    fn the_newest_results_with_what_changed() {
        let rows = rows();
        let courses: Vec<_> = courses(&rows).collect();
        insta::assert_snapshot!(text(
            &courses,
            false,
            Some(&Since {
                name: "v1.4".to_owned(),
                of: "023456".to_owned(),
            })
        ));
    }

    #[test]
    fn every_row_of_a_course() {
        let rows = rows();
        let courses: Vec<_> = courses(&rows[10..18]).collect();
        insta::assert_snapshot!(text(&courses, true, None));
    }

    #[test]
    fn only_commits_that_can_be_checked_out_are_proposed() {
        let proposes = |change: fn(&mut Row)| {
            let mut rows = rows();
            change(&mut rows[14]);
            let courses: Vec<_> = courses(&rows).collect();
            changes(&courses).contains("windage check")
        };
        assert!(proposes(|_| {}));
        assert!(!proposes(|first| first.commit += "-dirty"));
        assert!(!proposes(|first| first.commit.clear()));
        assert!(!proposes(|first| first.commit = "143456789abc".to_owned()));
    }

    #[test]
    fn nothing_to_show() {
        assert!(text(&[], false, None).contains("analysis.json"));
    }
}
