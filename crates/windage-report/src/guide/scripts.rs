//! Whole processes in the format of published measurements: a shell's `time` of each arm, and its
//! ratio to the baseline.

use windage_analysis::{Analysis, ArmAnalysis, Averaged, Script};
use windage_model::{Interval, Metric, Role};

use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE};
use crate::rows::cpu_metric;
use crate::rows::script::range;
use crate::summary;

/// Arms whose windows were whole processes, in plan order.
pub(super) fn scripts(analysis: &Analysis) -> impl Iterator<Item = (&ArmAnalysis, &Script)> {
    let arms = analysis.arms.iter();
    arms.filter_map(|arm| Some((arm, arm.script.as_ref()?)))
}

/// The title of an arm's times: "N = 10000, otel, sampling 0.5".
pub(super) fn title(arm: &ArmAnalysis, script: &Script) -> String {
    let iterations = script.iterations.map(|n| format!("N = {n}, "));
    format!("{}{}", iterations.unwrap_or_default(), one_line(&arm.name))
}

/// What a shell's `time` would print, line by line.
pub(super) fn as_timed(script: &Script) -> [String; 3] {
    let runs = number::counted(script.runs as u64, "run");
    let beside = match range(&script.real_s) {
        Some(range) => format!("({range} s; {runs})"),
        None => format!("({runs})"),
    };
    [
        format!("real    {}    {beside}", clock(&script.real_s)),
        format!("user    {}", clock(&script.user_s)),
        format!("sys     {}", clock(&script.system_s)),
    ]
}

/// Minutes and seconds as bash writes them: "0m17.505s".
fn clock(of: &Averaged) -> String {
    if !of.mean.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    // Times are not negative, and the cast saturates.
    let ms = (of.mean * 1e3).round() as u64;
    let (minutes, ms) = (ms / 60_000, ms % 60_000);
    format!("{minutes}m{}.{:03}s", ms / 1000, ms % 1000)
}

/// Observations about the processes, labelled with their topics.
pub(super) fn observations(analysis: &Analysis) -> Vec<Fact> {
    let mut facts = vec![Fact::new("most CPU", most_expensive(analysis))];
    let treatments = scripts(analysis).filter(|(arm, _)| arm.role == Role::Treatment);
    facts.extend(treatments.map(|(arm, _)| Fact::new("ratio", folds(analysis, arm))));
    let control = summary::control(analysis, cpu_metric(analysis));
    facts.push(Fact::new("control", control));
    facts
}

/// Which treatment takes the most CPU, if no other treatment's interval overlaps its own. All are
/// relative to the same baseline.
fn most_expensive(analysis: &Analysis) -> String {
    let cpu = cpu_metric(analysis);
    let treatments = scripts(analysis).filter(|(arm, _)| arm.role == Role::Treatment);
    let mut known: Vec<(&ArmAnalysis, Interval)> = treatments
        .filter_map(|(arm, _)| Some((arm, fold(arm, cpu)?)))
        .collect();
    known.sort_by(|(_, a), (_, b)| b.estimate.total_cmp(&a.estimate));
    let name = |arm: &ArmAnalysis| format!("`{}`", one_line(&arm.name));
    match known.as_slice() {
        [] => "unknown: no treatment has an interval".to_owned(),
        [(only, _)] => format!("{} is the only treatment", name(only)),
        [(first, of_first), rest @ ..] => {
            let near: Vec<String> = rest
                .iter()
                .filter(|(_, of)| of.high >= of_first.low)
                .map(|(arm, _)| name(arm))
                .collect();
            if near.is_empty() {
                format!("{} takes the most CPU of all treatments", name(first))
            } else {
                let near = near.join(", ");
                format!(
                    "unknown: {} takes the most CPU by its estimate, but its interval overlaps \
                     those of {near}",
                    name(first)
                )
            }
        }
    }
}

/// An arm's ratio to the baseline: "`otel`: CPU 3.41 times (3.38 to 3.44), … that of `off`".
fn folds(analysis: &Analysis, arm: &ArmAnalysis) -> String {
    let told = |metric, what: &str| {
        fold(arm, metric).map_or_else(
            || format!("{what} {NOT_AVAILABLE}"),
            |fold| {
                let [estimate, low, high] =
                    [fold.estimate, fold.low, fold.high].map(number::hundredths);
                format!("{what} {estimate} times ({low} to {high})")
            },
        )
    };
    let baseline = analysis.baseline().map(|baseline| one_line(&baseline.name));
    format!(
        "`{}`: {}, {} that of `{}`",
        one_line(&arm.name),
        told(cpu_metric(analysis), "CPU"),
        told(Metric::WallPerIteration, "elapsed time"),
        baseline.unwrap_or_default(),
    )
}

/// An arm as a multiple of the baseline.
fn fold(arm: &ArmAnalysis, metric: Metric) -> Option<Interval> {
    let difference = arm.metrics.get(&metric)?.difference.as_ref().ok()?;
    let relative = difference.relative.as_ref()?;
    relative
        .is_finite()
        .then(|| relative.map(|share| 1.0 + share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_bash_writes_them() {
        let table = [
            (17.505, "0m17.505s"),
            (0.0, "0m0.000s"),
            (0.1044, "0m0.104s"),
            (59.9996, "1m0.000s"),
            (125.25, "2m5.250s"),
            (f64::NAN, "n/a"),
        ];
        for (mean, expected) in table {
            let interval = None;
            assert_eq!(clock(&Averaged { mean, interval }), expected);
        }
    }
}
