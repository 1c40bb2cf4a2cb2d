//! What became of the overheads, in words made by rules.

use windage_analysis::{Change, ChangeVerdict, Comparable, ComparedArm, ComparedLoad};
use windage_analysis::{ComparedMetric, Comparison, Side};
use windage_model::{Interval, Metric, Role};

use super::primary::is_in_shares;
use super::tables::baseline_figures;
use crate::facts::one_line;
use crate::number::{self, Scale};
use crate::summary::{Piece, as_cost, ended, joined, reversed, text, without_stop};

/// How many treatments are spelled out before the rest is counted.
const SPELLED: usize = 4;

/// Below this share a baseline that moved is not said to have: so much it moves from hour to hour on
/// machines that are shared.
const SAME_BASELINE: f64 = 0.02;

/// The answer under one load: each treatment's change, then what became of the baseline.
pub(super) fn sentences(of: &Comparison, load: &ComparedLoad) -> Vec<Vec<Piece>> {
    if load.comparable == Comparable::No {
        let about = |regime: &Option<String>| regime.is_none() || *regime == load.regime;
        let mut graves = of.warnings.iter().filter(|warning| warning.code.is_grave());
        let why = graves.find(|warning| about(&warning.regime));
        let why = why.map_or(String::new(), |why| {
            format!(": {}", without_stop(&why.text))
        });
        let sentence = format!("These runs can't be compared, and no verdict is given{why}");
        return vec![ended(vec![text(sentence)])];
    }
    let mut sentences = vec![ended(changes(load))];
    sentences.extend(baseline(load).map(|said| ended(vec![text(said)])));
    sentences
}

fn changes(load: &ComparedLoad) -> Vec<Piece> {
    let is_told = |arm: &&ComparedArm| arm.role == Role::Treatment && !arm.is_bystander;
    let mut treatments: Vec<&ComparedArm> = load.arms.iter().filter(is_told).collect();
    if treatments.is_empty() {
        return vec![text("The runs have no treatment in common")];
    }
    let spelled = if treatments.len() > SPELLED {
        // What changed most comes first: what is left out matters less than what is told.
        treatments.sort_by(|one, other| size(other, load).total_cmp(&size(one, load)));
        SPELLED - 1
    } else {
        treatments.len()
    };
    let (told, counted) = treatments.split_at(spelled);
    // Only the first figure names its metric.
    let naming = told.iter().position(|arm| change(arm, load).is_some());
    let mut clauses: Vec<Vec<Piece>> = told
        .iter()
        .enumerate()
        .map(|(i, arm)| clause(arm, load, naming == Some(i)))
        .collect();
    clauses.extend(rest(counted, load));
    joined(clauses, "; ")
}

fn change<'a>(arm: &'a ComparedArm, load: &ComparedLoad) -> Option<&'a Change> {
    arm.metrics.get(&load.primary)?.change.as_ref().ok()
}

/// How much an overhead changed, either way; what has no change comes last.
fn size(arm: &ComparedArm, load: &ComparedLoad) -> f64 {
    let told = change(arm, load).and_then(|change| {
        if is_in_shares(load) {
            change.relative.as_ref()
        } else {
            Some(&change.absolute)
        }
    });
    told.map_or(f64::NEG_INFINITY, |told| told.estimate.abs())
}

fn clause(arm: &ComparedArm, load: &ComparedLoad, names_metric: bool) -> Vec<Piece> {
    let name = Piece::Arm(one_line(&arm.name));
    let Some(of) = arm.metrics.get(&load.primary) else {
        return vec![name, text(" was measured in neither run")];
    };
    let change = match &of.change {
        Ok(change) => change,
        Err(missing) => {
            let why = without_stop(&missing.text);
            return vec![name, text(format!(" has no change to tell ({why})"))];
        }
    };
    let metric = load.primary;
    let of_metric = if names_metric {
        format!(" of {}", metric.label())
    } else {
        String::new()
    };
    let mut said = judged(of, change, (metric, load.margin), &of_metric);
    if of.holds_in_family() == Some(false) {
        let all = match &of.in_family {
            Some(family) => format!("all {} comparisons", family.comparisons),
            None => "all comparisons of its family".to_owned(),
        };
        said.push_str(&format!(
            " (on its own, but not when {all} have to hold together)"
        ));
    }
    vec![name, text(said)]
}

/// "costs 1.2 percentage points more of CPU per request (0.4 to 2.0): 23.9 % instead of 22.7 %"
fn judged(
    of: &ComparedMetric,
    change: &Change,
    (metric, margin): (Metric, f64),
    of_metric: &str,
) -> String {
    let relative = change
        .relative
        .as_ref()
        .map(|change| as_cost(change, metric));
    let Some((cost, points)) = relative.and_then(|cost| {
        let points = points(&cost)?;
        Some((cost, points))
    }) else {
        return in_unit(change, metric, of_metric);
    };
    let (then, now) = (share(&of.a, metric), share(&of.b, metric));
    let matters = number::percent_short(margin);
    let matters = matters.trim_end_matches(" %");
    match of.verdict {
        Some(ChangeVerdict::Increased) => format!(
            " costs {} percentage points more{of_metric} ({points}): {now} instead of {then}",
            bare(&cost)
        ),
        Some(ChangeVerdict::Decreased) => {
            let less = reversed(&cost);
            let points = self::points(&less).unwrap_or_default();
            format!(
                " costs {} percentage points less{of_metric} ({points}): {now} instead of {then}",
                bare(&less)
            )
        }
        Some(ChangeVerdict::Unchanged) => format!(
            " costs the same{of_metric}, within ±{matters} percentage points: {then}, then {now}"
        ),
        Some(ChangeVerdict::Inconclusive) if cost.low > 0.0 || cost.high < 0.0 => {
            let (way, size) = if cost.low > 0.0 {
                ("more", points)
            } else {
                ("less", self::points(&reversed(&cost)).unwrap_or_default())
            };
            format!(
                " costs something {way}{of_metric}, {size} percentage points, but whether more than \
                 the {matters} that matter can't be told ({then}, then {now})"
            )
        }
        Some(ChangeVerdict::Inconclusive) | None => undirected(of, change, of_metric),
    }
}

/// A change that may be none, or is not to be judged. As in the tables: what may be zero has no
/// direction to be a cost in.
fn undirected(of: &ComparedMetric, change: &Change, of_metric: &str) -> String {
    let Some(shown) = change.relative.as_ref().and_then(number::percent) else {
        return " has no finite figure".to_owned();
    };
    let [then, now] = [&of.a, &of.b].map(|side| written(side.relative.as_ref()));
    let (estimate, range) = (&shown.estimate, shown.range());
    match (of.verdict, of_metric) {
        (None, _) => format!(
            ": without a verdict, the overhead{of_metric} changed by {estimate} percentage points \
             ({range}): {then}, then {now}"
        ),
        (Some(_), "") => {
            format!(": can't tell, within {range} percentage points ({then}, then {now})")
        }
        (Some(_), _) => format!(
            ": can't tell whether the overhead{of_metric} changed: the change lies within {range} \
             percentage points ({then}, then {now})"
        ),
    }
}

fn in_unit(change: &Change, metric: Metric, of_metric: &str) -> String {
    let interval = &change.absolute;
    let scale = Scale::fitting(metric.unit(), [interval.estimate]);
    scale
        .signed(interval)
        .map_or(" has no finite figure".to_owned(), |s| {
            format!(
                "'s difference changed by {}{of_metric} ({})",
                s.point(),
                s.range()
            )
        })
}

/// The size of a change without its sign, as percentage points.
fn bare(cost: &Interval) -> String {
    number::percent_unsigned(cost).map_or(String::new(), |shown| shown.estimate)
}

fn points(cost: &Interval) -> Option<String> {
    number::percent_unsigned(cost).map(|shown| shown.range())
}

/// What an arm costs in one run, as a share.
fn share(side: &Side, metric: Metric) -> String {
    let relative = side.relative.as_ref();
    written(relative.map(|relative| as_cost(relative, metric)).as_ref())
}

fn written(share: Option<&Interval>) -> String {
    let shown = share.and_then(number::percent_unsigned);
    shown.map_or(number::NOT_AVAILABLE.to_owned(), |shown| shown.point())
}

/// What is said of treatments that are not spelled out.
fn rest(counted: &[&ComparedArm], load: &ComparedLoad) -> Option<Vec<Piece>> {
    use ChangeVerdict::{Decreased, Inconclusive, Increased, Unchanged};
    // A change without a verdict has no ratio, or its verdict is withheld.
    let found = |arm: &ComparedArm| {
        change(arm, load).map(|_| arm.metrics.get(&load.primary).and_then(|of| of.verdict))
    };
    let count = |wanted| counted.iter().filter(|arm| found(arm) == wanted).count();
    let words = [
        (Some(Some(Increased)), ["is dearer", "are dearer"]),
        (Some(Some(Decreased)), ["is cheaper", "are cheaper"]),
        (Some(Some(Unchanged)), ["costs the same", "cost the same"]),
        (Some(Some(Inconclusive)), ["can't be told"; 2]),
        (Some(None), ["is not judged", "are not judged"]),
        (None, ["has no figure", "have no figure"]),
    ];
    let told: Vec<(usize, &str)> = words
        .into_iter()
        .map(|(verdict, [one, several])| match count(verdict) {
            1 => (1, one),
            count => (count, several),
        })
        .filter(|(count, _)| *count > 0)
        .collect();
    let said = match told.as_slice() {
        [] => return None,
        [(count, word)] => format!("{count} more {word}"),
        several => {
            let each: Vec<_> = several
                .iter()
                .map(|(n, word)| format!("{n} {word}"))
                .collect();
            format!("of {} more, {}", counted.len(), each.join(", "))
        }
    };
    Some(vec![text(said)])
}

/// What became of the service without telemetry. Descriptive: it has no interval.
fn baseline(load: &ComparedLoad) -> Option<String> {
    let (a, b) = baseline_figures(load)?;
    let metric = load.primary;
    let scale = Scale::fitting(metric.unit(), [a, b]);
    let share = b / a - 1.0;
    let signed = Scale::PERCENT.signed_point_to(share, 1);
    let (then, now) = (scale.with_unit(a), scale.with_unit(b));
    let what = metric.label();
    Some(if share.abs() < SAME_BASELINE {
        format!("The baseline itself is as it was: {now} of {what}, {then} before ({signed} %)")
    } else {
        format!(
            "The baseline itself went from {then} to {now} of {what} ({signed} %), which is the \
             service or the machine and no telemetry: shares of it tell more than differences"
        )
    })
}
