//! Facts about a run: how it was measured, on what machine, and how to repeat it.

use windage_analysis::{Analysis, ArmAnalysis, BatchFacts, Restored, StopOutcome};
use windage_model::{LoadModel, Metric, Revisions, Role, Unit, Until, WarningCode};

use crate::fact::{Fact, one_line, shell_word};
use crate::{calibration, duration, number, placement, self_reported, turns};

/// When, how and under which load it was measured. For a run under several loads only when: the
/// rest is shown with each load.
pub(crate) fn header(analysis: &Analysis) -> Vec<Fact> {
    let when = Fact::new(
        "when",
        format!(
            "{}, windage {}",
            one_line(&analysis.started),
            one_line(&analysis.windage)
        ),
    );
    let mut facts = vec![when];
    facts.extend(revisions(analysis));
    if analysis.other_loads.is_empty() {
        facts.push(Fact::new("design", design(analysis)));
        facts.extend(turns::facts(analysis));
        facts.push(Fact::new("load", load(analysis)));
        facts.extend(stop(analysis));
    }
    facts.extend(placement::fact(&analysis.design.placement));
    facts.extend(restored(analysis));
    facts
}

/// What it compares, if that is two revisions.
fn revisions(analysis: &Analysis) -> Option<Fact> {
    let Revisions { base, head } = analysis.revisions.as_ref()?;
    let (base, head) = (one_line(&base.in_words()), one_line(&head.in_words()));
    Some(Fact::new("revisions", format!("base {base}, head {head}")))
}

/// How a service that runs on was left.
fn restored(analysis: &Analysis) -> Option<Fact> {
    let Restored { service, failed } = analysis.restored.as_ref()?;
    let service = one_line(service);
    let text = match failed {
        None => format!("service `{service}` was switched back to the baseline"),
        Some(how) => format!(
            "service `{service}` was not switched back to the baseline and may still be in another \
             arm's state: {}",
            one_line(how)
        ),
    };
    Some(Fact::new("at the end", text))
}

/// The load, and how much was measured.
pub(crate) fn in_brief(analysis: &Analysis) -> Vec<Fact> {
    let load = match analysis.regime {
        Some(_) => regime(analysis),
        None => load(analysis),
    };
    let isolated = number::seconds(analysis.design.measured_s);
    let measured = match turns::in_brief(analysis) {
        Some(interleaved) => format!("{interleaved}, {isolated} isolated,"),
        None => isolated,
    };
    let load = format!("{load}; {measured} in {}", rounds(analysis));
    let mut facts = vec![Fact::new("load", load)];
    facts.extend(revisions(analysis));
    facts.extend(stop(analysis).into_iter().take(1));
    facts
}

/// Where to see more than the short report.
pub(crate) fn more(analysis: &Analysis) -> Vec<Fact> {
    let run = shell_word(&one_line(&analysis.found_at));
    let more = format!("windage report {run} --all; --format html makes a page");
    restored(analysis)
        .into_iter()
        .chain([Fact::new("more", more)])
        .collect()
}

/// The heading of one of several loads: its name and description.
pub(crate) fn regime(analysis: &Analysis) -> String {
    format!("{}: {}", regime_name(analysis), load(analysis))
}

/// The name of one of several loads.
pub(crate) fn regime_name(analysis: &Analysis) -> String {
    one_line(analysis.regime.as_deref().unwrap_or("load"))
}

/// How it was measured under one of several loads.
pub(crate) fn of_regime(analysis: &Analysis) -> Vec<Fact> {
    let mut facts = vec![Fact::new("design", design(analysis))];
    facts.extend(turns::facts(analysis));
    facts.extend(stop(analysis));
    facts
}

/// Whether the stop rule was met, and what intervals a run with a stop rule has.
fn stop(analysis: &Analysis) -> Vec<Fact> {
    let Some(stop) = analysis.design.stop else {
        return Vec::new();
    };
    vec![
        Fact::new("stop", stopped(analysis, stop)),
        Fact::new(
            "method",
            "intervals are confidence sequences: they hold at every look, including the one that \
             ends the run",
        ),
    ]
}

/// The stop rule, and how close the run came.
fn stopped(analysis: &Analysis, stop: StopOutcome) -> String {
    let within = duration::span(stop.within_s);
    let (metric, asked) = match (stop.until, stop.is_reached) {
        (Until::Known { metric, half_width }, _) => (metric, number::percent_two(half_width)),
        (Until::Budgets, true) => {
            return format!("stopped when every budget was decided; {within} were allowed");
        }
        (Until::Budgets, false) => {
            return format!("when every budget is decided, or after {within} of measuring");
        }
    };
    let label = metric.label();
    if stop.is_reached {
        return format!("stopped when {label} was known to ±{asked}; {within} were allowed");
    }
    let known = widest(analysis, metric).map_or("no interval yet".to_owned(), |half_width| {
        format!("±{}", number::percent_bound(half_width))
    });
    let is_cut_short = analysis.validity.has(WarningCode::RunIncomplete);
    let when = if is_cut_short {
        "before the run was interrupted".to_owned()
    } else {
        format!("within {within}")
    };
    format!("±{asked} of {label} was not reached {when}: {known}")
}

/// The widest half-width of the treatments, or of the control without treatments.
fn widest(analysis: &Analysis, metric: Metric) -> Option<f64> {
    let has = |role| analysis.arms.iter().any(|arm| arm.role == role);
    let waited_for = if has(Role::Treatment) {
        Role::Treatment
    } else {
        Role::Control
    };
    let arms = analysis.arms.iter().filter(|arm| arm.role == waited_for);
    let half_width = |arm: &ArmAnalysis| {
        let difference = arm.metrics.get(&metric)?.difference.as_ref().ok()?;
        Some(difference.relative.as_ref()?.half_width()).filter(|h| h.is_finite())
    };
    // No interval at all counts as the widest.
    let half_widths: Option<Vec<f64>> = arms.map(half_width).collect();
    half_widths?.into_iter().max_by(f64::total_cmp)
}

/// What Windage itself used.
pub(crate) fn own_cost(analysis: &Analysis) -> Fact {
    let cores = |v: f64| number::short(Unit::Cores, v);
    let cost = analysis.own_cost;
    let memory = cost.rss_bytes.map(|bytes| {
        let bytes = number::short(Unit::Bytes, bytes as f64);
        format!("; {bytes} resident at the end of a launch")
    });
    Fact::new(
        "windage",
        format!(
            "itself used {} for the load, {} for the sink, {} for the rest{}",
            cores(cost.generator_cores),
            cores(cost.sink_cores),
            cores(cost.rest_cores),
            memory.unwrap_or_default()
        ),
    )
}

/// Where the run is, and the commands that recompute or repeat it.
pub(crate) fn closing(analysis: &Analysis) -> Vec<Fact> {
    let run = Fact::new("run", one_line(&analysis.run));
    std::iter::once(run).chain(commands(analysis)).collect()
}

/// The commands that recompute or repeat the run. A document may be moved with its run, so that they
/// have no path.
pub(crate) fn commands(analysis: &Analysis) -> [Fact; 2] {
    let run = shell_word(&one_line(&analysis.run));
    [
        Fact::new("recompute", format!("windage report {run}")),
        Fact::new("repeat", one_line(&analysis.command)),
    ]
}

/// What else a reader needs to judge the run.
pub(crate) fn provenance(analysis: &Analysis) -> Vec<Fact> {
    let design = &analysis.design;
    let mut facts = vec![
        Fact::new("run", one_line(&analysis.run)),
        calibration::quoted_or_missing(analysis),
        Fact::new("seed", design.seed.to_string()),
        Fact::new("margin", number::percent_short(design.margin)),
        Fact::new("CPU source", design.cpu_source.as_str()),
        Fact::new("windage", one_line(&analysis.windage)),
    ];
    let versions = analysis.versions.iter();
    facts.extend(versions.map(|(of, version)| Fact::new(one_line(of), one_line(version))));
    facts.extend(self_reported::facts(analysis));
    facts
}

/// The machine.
pub(crate) fn host(analysis: &Analysis) -> Vec<Fact> {
    let mut facts = Vec::new();
    match &analysis.host {
        serde_json::Value::Object(host) => {
            // Quoted elsewhere; host.json has all of it.
            let rest = host.iter().filter(|(key, _)| *key != calibration::KEY);
            rest.for_each(|(key, value)| flatten(&one_line(key), value, &mut facts));
        }
        host => flatten("", host, &mut facts),
    }
    facts
}

fn design(analysis: &Analysis) -> String {
    let design = &analysis.design;
    // Without turns all of it is isolated, which needs no word.
    let measured = match design.turns {
        Some(_) => "isolated",
        None => "measured",
    };
    format!(
        "{} order, {}, {}, {}, {} {measured}, seed {}",
        design.order.as_str(),
        rounds(analysis),
        number::counted(design.blocks.into(), "block"),
        windows(analysis),
        number::seconds(design.measured_s),
        design.seed,
    )
}

fn rounds(analysis: &Analysis) -> String {
    match (analysis.design.rounds, analysis.design.rounds_planned) {
        (done, planned) if done == planned => number::counted(done.into(), "round"),
        (done, planned) => format!("{done} of {planned} rounds"),
    }
}

/// The length of windows.
fn windows(analysis: &Analysis) -> String {
    let design = &analysis.design;
    let window = number::seconds(design.window_s);
    match (design.load, design.batch) {
        (LoadModel::Open | LoadModel::Closed, _) => format!("windows of {window}"),
        (LoadModel::Batch, Some(of)) if !of.iterations_chosen => {
            "windows as long as their iterations take".to_owned()
        }
        (LoadModel::Batch, _) => format!("windows of about {window}"),
    }
}

/// How much was measured: "rounds: 8, blocks: 412, windows of 100 ms".
pub(crate) fn extent(analysis: &Analysis) -> String {
    let design = &analysis.design;
    let interleaved = turns::in_brief(analysis).map_or(String::new(), |of| format!(", {of}"));
    format!(
        "rounds: {}, blocks: {}, {}{interleaved}",
        number::count(design.rounds.into()),
        number::count(design.blocks.into()),
        windows(analysis)
    )
}

/// The load: "open loop, 2000/s, 8 connections; below saturation".
pub(crate) fn load(analysis: &Analysis) -> String {
    let design = &analysis.design;
    let mut text = match (design.load, design.rate_per_s) {
        (LoadModel::Batch, _) => batch(design.batch),
        (model, Some(rate)) => format!(
            "{} loop, {}/s, {} connections",
            model.as_str(),
            number::plain(rate),
            design.connections
        ),
        (model, None) => format!(
            "{} loop, {} connections",
            model.as_str(),
            design.connections
        ),
    };
    if design.load != LoadModel::Batch {
        text.push_str(&saturation(analysis));
    }
    text
}

/// Iterations per window, and whether each window was a process.
fn batch(of: Option<BatchFacts>) -> String {
    let Some(of) = of else {
        return "batch: iterations of a program".to_owned();
    };
    let (fewest, most) = (of.iterations_fewest, of.iterations_most);
    let chosen = if of.iterations_chosen { "auto, " } else { "" };
    let number = match (fewest, most) {
        (fewest, most) if fewest == most => number::counted(most, "iteration"),
        (fewest, most) => format!(
            "{} to {} iterations",
            number::count(fewest),
            number::count(most)
        ),
    };
    let process = if of.whole_processes {
        ", each window a whole process"
    } else {
        ""
    };
    format!("batch: {chosen}{number} of a program{process}")
}

/// Overhead at saturation differs from overhead below it, so the load says which it was.
fn saturation(analysis: &Analysis) -> String {
    let metric = analysis.primary;
    let measured: Vec<_> = analysis
        .arms
        .iter()
        .filter_map(|arm| Some((arm, arm.metrics.get(&metric)?)))
        .collect();
    let saturated: Vec<_> = measured
        .iter()
        .filter(|(_, result)| result.saturated)
        .map(|(arm, _)| format!("`{}`", one_line(&arm.name)))
        .collect();
    match (measured.len(), saturated.len()) {
        (0, _) => String::new(),
        (_, 0) => "; below saturation".to_owned(),
        (all, some) if all == some => "; the subject is saturated".to_owned(),
        _ => format!("; saturated in: {}", saturated.join(", ")),
    }
}

/// Nested facts become `outer.inner`, lists one line.
fn flatten(prefix: &str, value: &serde_json::Value, facts: &mut Vec<Fact>) {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = one_line(key);
                let path = if prefix.is_empty() {
                    key
                } else {
                    format!("{prefix}.{key}")
                };
                flatten(&path, value, facts);
            }
        }
        Value::Null => {}
        other if prefix.is_empty() => facts.push(Fact::new("host", scalar(other))),
        other => facts.push(Fact::new(prefix, scalar(other))),
    }
}

fn scalar(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => one_line(text),
        Value::Array(items) => items.iter().map(scalar).collect::<Vec<_>>().join(", "),
        other => one_line(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_load_names_its_iterations_per_window() {
        let of = |whole_processes, iterations_chosen, [fewest, most]: [u64; 2]| {
            Some(BatchFacts {
                whole_processes,
                iterations_chosen,
                iterations_fewest: fewest,
                iterations_most: most,
            })
        };
        let table = [
            (None, "iterations of a program"),
            (of(false, false, [1, 1]), "1 iteration of a program"),
            (
                of(true, false, [10_000, 10_000]),
                "10,000 iterations of a program, each window a whole process",
            ),
            (
                of(false, true, [52, 52]),
                "auto, 52 iterations of a program",
            ),
            (
                of(false, true, [40, 1_052]),
                "auto, 40 to 1,052 iterations of a program",
            ),
        ];
        for (facts, expected) in table {
            assert_eq!(batch(facts), format!("batch: {expected}"));
        }
    }

    #[test]
    fn nested_facts_are_flattened() {
        let mut facts = Vec::new();
        let host = serde_json::json!({
            "kernel": "6.1", "cpu": {"model": "x", "cores": 2}, "flags": ["a", "b"], "none": null
        });
        flatten("", &host, &mut facts);
        let mut shown: Vec<_> = facts
            .iter()
            .map(|f| format!("{}={}", f.label, f.text))
            .collect();
        shown.sort();
        assert_eq!(
            shown,
            ["cpu.cores=2", "cpu.model=x", "flags=a, b", "kernel=6.1"]
        );
    }
}
