//! The course of results over the runs of the directory, as `windage history` keeps it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use windage_history::{Change, Course, History, HistoryError, Row, Which, courses};
use windage_report::number::Scale;
use windage_report::{history_amount, history_change, history_label, history_scale};

use super::documents::{Document, on_thread};
use crate::locked;

/// So many results of an arm are drawn, the newest ones.
const DRAWN: usize = 200;

/// The history of a directory.
#[derive(Debug)]
pub(crate) struct Past {
    directory: PathBuf,
    /// Opened with the first question.
    history: Mutex<Option<History>>,
}

/// `GET /api/history`.
#[derive(Serialize)]
struct Page<'a> {
    /// The metric of all charts; `None` for each plan's first.
    metric: Option<&'a str>,
    metrics: Vec<Named<'a>>,
    charts: Vec<Chart<'a>>,
    /// Runs that can't be read.
    unreadable: usize,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    label: &'a str,
}

/// The arms of a plan under one load on one machine.
#[derive(Serialize)]
struct Chart<'a> {
    plan: &'a str,
    load: &'a str,
    machine: &'a str,
    label: &'a str,
    scale: Scale,
    arms: Vec<Arm<'a>>,
}

#[derive(Serialize)]
struct Arm<'a> {
    arm: &'a str,
    /// How many results there are.
    runs: usize,
    /// The newest of them.
    results: Vec<Found<'a>>,
    /// Those among the newest results.
    changes: Vec<Changed<'a>>,
}

/// What one run found.
#[derive(Serialize)]
struct Found<'a> {
    started: &'a str,
    run: &'a str,
    commit: String,
    estimate: f64,
    low: Option<f64>,
    high: Option<f64>,
    validity: &'a str,
    /// In words.
    text: String,
}

/// A change of the level.
#[derive(Serialize)]
struct Changed<'a> {
    /// When the first run of the new level began.
    started: &'a str,
    before: f64,
    after: f64,
    text: String,
    /// What measures both sides at once, where their commits are known.
    command: Option<String>,
}

impl Past {
    pub(crate) fn of(directory: &Path) -> Past {
        Past {
            directory: directory.to_owned(),
            history: Mutex::default(),
        }
    }

    /// The page's document, of this metric or of each plan's first; or why there is none.
    pub(crate) async fn document(
        self: &Arc<Past>,
        metric: Option<String>,
    ) -> Result<Document, String> {
        let past = Arc::clone(self);
        let made = on_thread(move || {
            let json = past.json(metric.as_deref());
            json.map(|json| Document::of(&json))
                .map_err(|error| error.to_string())
        });
        made.await.map_err(|error| error.to_string())?
    }

    fn json(&self, metric: Option<&str>) -> Result<String, HistoryError> {
        let mut opened = locked(&self.history);
        let history = match &mut *opened {
            Some(history) => history,
            none => none.insert(History::of_directory(&self.directory)?),
        };
        let found = history.read_runs(&self.directory, |_, _| {})?;
        let metrics = history.metrics()?;
        let rows = history.rows(&Which {
            metric: metric.map(str::to_owned),
            only_primary: metric.is_none(),
            ..Which::default()
        })?;
        let mut courses: Vec<Course<'_>> = courses(&rows).collect();
        // Those of one chart together; arms stay in order.
        courses.sort_by_key(|course| place(*course));
        let charts = courses.chunk_by(|a, b| place(*a) == place(*b));
        let page = Page {
            metric,
            metrics: metrics
                .iter()
                .map(|name| Named {
                    name,
                    label: history_label(name),
                })
                .collect(),
            charts: charts.map(chart).collect(),
            unreadable: found.unreadable.len(),
        };
        Ok(serde_json::to_string(&page).unwrap_or_default())
    }
}

/// What the courses of a chart have in common.
fn place<'a>(course: Course<'a>) -> [&'a str; 5] {
    let row: &'a Row = course.newest();
    [&row.plan, &row.regime, &row.machine, &row.metric, &row.unit]
}

fn chart<'a>(courses: &[Course<'a>]) -> Chart<'a> {
    let [plan, load, machine, metric, unit] = place(courses[0]);
    let rows = courses.iter().flat_map(|course| drawn(*course));
    let figures = rows.flat_map(|row| [Some(row.estimate), row.low, row.high]);
    Chart {
        plan,
        load,
        machine,
        label: history_label(metric),
        scale: history_scale(unit, metric, figures.flatten()),
        arms: courses.iter().map(|course| arm(*course)).collect(),
    }
}

fn drawn(course: Course<'_>) -> &[Row] {
    &course.rows[course.rows.len().saturating_sub(DRAWN)..]
}

fn arm(course: Course<'_>) -> Arm<'_> {
    let drawn = drawn(course);
    let is_drawn = |change: &Change<'_>| change.first.started > drawn[0].started;
    let changes = course.changes().into_iter().filter(is_drawn);
    Arm {
        arm: &course.newest().arm,
        runs: course.rows.len(),
        results: drawn.iter().map(result).collect(),
        changes: changes.map(changed).collect(),
    }
}

fn result(row: &Row) -> Found<'_> {
    Found {
        started: &row.started,
        run: &row.run,
        commit: row.short_commit(),
        estimate: row.estimate,
        low: row.low,
        high: row.high,
        validity: &row.validity,
        text: history_amount(&row.unit, &row.metric, row.estimate, row.low.zip(row.high)),
    }
}

fn changed(change: Change<'_>) -> Changed<'_> {
    let first = change.first;
    let levels = [change.before, change.after];
    let course = history_change(&first.unit, &first.metric, levels);
    Changed {
        started: &first.started,
        before: change.before,
        after: change.after,
        text: format!("{}, {}: {course}", first.day(), first.arm),
        command: change.check(),
    }
}
