//! The change of each metric's overheads, as drawn by the page: both overheads and the change for
//! each arm.

use serde::Serialize;
use windage_analysis::{ChangeVerdict, ComparedArm, ComparedLoad, ComparedMetric};
use windage_model::{Direction, Interval, Metric, Role};

use super::figures::{arms, mark};
use crate::number;
use crate::page::BandWire;
use crate::rows::{ON_ITS_OWN_MEANS, headline, unique_names};

/// One metric, with all arms that have a relative change in it.
#[derive(Serialize)]
pub(super) struct ChangesWire {
    metric: &'static str,
    heading: String,
    title: String,
    about: String,
    notes: Vec<String>,
    /// Which direction is a higher overhead.
    direction: &'static str,
    margin: f64,
    rows: Vec<RowWire>,
}

#[derive(Serialize)]
struct RowWire {
    /// Its id.
    arm: String,
    name: String,
    a: BandWire,
    b: BandWire,
    change: BandWire,
    verdict: Option<&'static str>,
    /// "+3.1 points, increased" and "+2.4 to +3.8".
    point: String,
    range: String,
    /// Both overheads and the change, as alternative text.
    text: String,
}

/// The primary metric first.
pub(super) fn changes(load: &ComparedLoad) -> Vec<ChangesWire> {
    let others = Metric::ALL.iter().copied();
    let others = others.filter(|metric| *metric != load.primary);
    let all = std::iter::once(load.primary).chain(others);
    all.filter_map(|metric| of_metric(load, metric)).collect()
}

fn of_metric(load: &ComparedLoad, metric: Metric) -> Option<ChangesWire> {
    let names = unique_names(arms(load).map(|arm| (&arm.id, arm.name.as_str())));
    let row = |(arm, name): (&ComparedArm, String)| row(arm, name, arm.metrics.get(&metric)?);
    let rows: Vec<RowWire> = arms(load).zip(names).filter_map(row).collect();
    let found = arms(load).filter_map(|arm| arm.metrics.get(&metric));
    let is_marked = found.map(mark).any(|mark| !mark.is_empty());
    let margin = number::percent_short(load.margin);
    (!rows.is_empty()).then(|| ChangesWire {
        metric: metric.as_str(),
        heading: headline(metric),
        title: format!(
            "{}: overhead in both runs, and its change",
            headline(metric)
        ),
        about: format!("Overheads with intervals. Shaded: ±{margin}."),
        notes: is_marked
            .then(|| format!("{ON_ITS_OWN_MEANS}."))
            .into_iter()
            .collect(),
        direction: match metric.direction() {
            Direction::Lower => "(higher overhead →)",
            Direction::Higher => "(← higher overhead)",
        },
        margin: load.margin,
        rows,
    })
}

fn row(arm: &ComparedArm, name: String, of: &ComparedMetric) -> Option<RowWire> {
    let change = of.change.as_ref().ok()?.relative.as_ref()?;
    let [a, b] = [&of.a, &of.b].map(|side| side.relative.as_ref());
    let written = |share: &Interval| Some(number::percent(share)?.to_string());
    let shown = number::percent(change)?;
    let verdict = of.verdict.map_or(String::new(), |verdict| {
        let marked_verdict = format!("{} {}", verdict.as_str(), mark(of));
        format!(", {}", marked_verdict.trim_end())
    });
    let point = format!("{} points", shown.estimate);
    let (then, now) = (written(a?)?, written(b?)?);
    Some(RowWire {
        arm: arm.id.to_string(),
        a: BandWire::of(a?)?,
        b: BandWire::of(b?)?,
        change: BandWire::of(change)?,
        verdict: of.verdict.map(ChangeVerdict::as_str),
        text: format!(
            "{then} in A, {now} in B, change {point} ({}){verdict}",
            shown.range()
        ),
        point: point + &verdict,
        range: shown.range(),
        name: match arm.role {
            Role::Control if name != "control" => format!("{name} (control)"),
            Role::Control | Role::Baseline | Role::Treatment => name,
        },
    })
}
