//! The study as a page, for people.

use std::fmt::Write as _;

use super::document::Record;
use super::experiment::{Experiment, Found, METRICS};
use super::summary::{ControlLine, Summary, TreatmentLine, summarise};
use crate::record::page::{none, percent, ranged};
use crate::record::trial::Reading;

/// The whole page.
pub(crate) fn page(record: &Record) -> String {
    let (machine, study) = (&record.machine, &record.study);
    let facts = [
        format!("- Command: `{}`", study.command),
        format!("- Machine: {}", machine.in_words()),
        format!(
            "- Versions: measured by windage {}, evaluated by {}; {}",
            study.measured_by, machine.commit, machine.rustc
        ),
        format!("- Runs: {} of {}", record.experiments.len(), study.asked),
    ];
    let mut page = format!("# Calibration: a known cost of 1 %, {}\n\n", study.measured);
    page += &facts.join("\n");
    page += "\n\n";
    page += &summary(&summarise(&record.experiments));
    page += "\n## Every run\n\n";
    page += &runs(&record.experiments);
    page
}

/// The summary's tables, as on the page and on the terminal.
pub(crate) fn summary(summary: &Summary) -> String {
    let mut text = String::from(
        "Intervals are of 95 %, from the scatter of launches. Those \"within launches\" are from the \
         scatter within them alone and hold for these launches, as those of a run with a single \
         launch do.\n\n## The injected cost, in CPU a request\n\nThe truth is from the count of \
         iterations and the service's own CPU clock (in brackets: from the clock's readings around \
         the injected ones themselves).\n\n\
         | order | runs | hold the truth | share | exclude nil | … within launches | median estimate \
         | median truth | median half-width | bias | RMSE |\n\
         |---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for line in summary.treatments.iter().filter(|line| line.runs > 0) {
        text += &treatment(line);
    }
    text += "\n## The control: nothing injected\n\n\
         | metric | order | runs | exclude nil | median half-width | … within launches \
         | runs with covariate | median half-width without | RMSE |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n";
    for line in summary.controls.iter().filter(|line| line.runs > 0) {
        text += &control(line);
    }
    if summary.comparisons.iter().any(|c| c.ratio.is_some()) {
        text += "\n## What the order is worth\n\n\
             | arm | metric | RMSE sequential / mirrored |\n|---|---|---|\n";
        for comparison in &summary.comparisons {
            let ratio = ranged(comparison.ratio, |x| format!("{x:.1}"));
            let (arm, metric) = (comparison.arm, comparison.metric);
            let _ = writeln!(text, "| {arm} | `{metric}` | {ratio} |");
        }
    }
    if summary.failed > 0 {
        let _ = writeln!(text, "\n{} runs gave no result.", summary.failed);
    }
    text
}

fn treatment(line: &TreatmentLine) -> String {
    let share = |value: Option<f64>| value.map_or_else(none, percent);
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} ({}) | {} | {} | {} |\n",
        line.order.as_str(),
        line.runs,
        line.hold_truth,
        ranged(line.coverage, |x| format!("{:.0} %", x * 100.0)),
        line.found,
        line.found_within_launches,
        share(line.median_estimate),
        share(line.median_truth_counted),
        share(line.median_truth_clocked),
        share(line.median_half_width),
        line.bias
            .map_or_else(none, |x| format!("{:+.3} %", x * 100.0)),
        share(line.rmse),
    )
}

fn control(line: &ControlLine) -> String {
    let share = |value: Option<f64>| value.map_or_else(none, percent);
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        line.metric,
        line.order.as_str(),
        line.runs,
        line.false_positives,
        share(line.median_half_width),
        share(line.median_half_width_within_launches),
        line.with_covariate,
        share(line.median_half_width_without_covariate),
        share(line.rmse),
    )
}

fn runs(experiments: &[Experiment]) -> String {
    let mut text = String::from("| run | order | validity | truth | found |");
    for metric in METRICS {
        let _ = write!(text, " control `{metric}` |");
    }
    text += "\n|---:|---|---|---:|---|---|---|---|\n";
    for experiment in experiments {
        let (number, order) = (experiment.number, experiment.order.as_str());
        let cells = match &experiment.outcome {
            Err(why) => vec!["none".to_owned(), why.replace(['|', '\n'], " ")],
            Ok(outcome) => {
                let mark = if outcome.holds_truth() {
                    ""
                } else {
                    " **missed**"
                };
                let found = reading(&outcome.treatment.reading);
                let mut cells = vec![
                    outcome.validity.clone(),
                    percent(outcome.truth.counted),
                    format!("{found}{mark}"),
                ];
                cells.extend(outcome.control.iter().map(|found| match found {
                    None => none(),
                    Some(Found { reading: r, .. }) if r.exceeds_nil => {
                        format!("{} **not nil**", reading(r))
                    }
                    Some(Found { reading: r, .. }) => reading(r),
                }));
                cells
            }
        };
        let _ = writeln!(text, "| {number} | {order} | {} |", cells.join(" | "));
    }
    text
}

fn reading(reading: &Reading) -> String {
    let [estimate, low, high] =
        [reading.estimate, reading.low, reading.high].map(|x| format!("{:+.2}", x * 100.0));
    format!("{estimate} % [{low}, {high}]")
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::record;

    #[test]
    fn the_page_shows_summary_and_every_run() {
        let page = record().markdown();
        for part in [
            "# Calibration: a known cost of 1 %, 2026-01-02",
            "measured by windage abc, evaluated by def",
            "Runs: 5 of 6",
            "| mirrored | 2 | 2 | 100 % [34 %, 100 %] | 2 | 2 | 1.00 % | 1.00 % (1.00 %) | 0.20 % |",
            "| sequential | 2 | 0 |",
            "| `throughput` | mirrored | 2 | 0 | 0.20 % | 0.20 % | 0 | 0.20 % |",
            "| treatment | `cpu_per_request` | 10.0 [",
            "| 1 | mirrored | suspect | 1.00 % | +1.10 % [+0.90, +1.30] | +0.00 %",
            "+2.00 % [+1.80, +2.20] **missed**",
            "| 3 | mirrored | none | it   ended |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}
