//! The calibration as text for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use windage_model::Metric;
use windage_stats::between_runs::FEWEST_RUNS;

use super::bias::{Bias, Sample};
use super::findings::{Findings, LENGTHS_S, Recovered, Unit, Width};
use super::observed::LAUNCHES;

/// Spaces between columns.
const GAP: u16 = 2;

/// The report, for 80 columns.
pub(super) fn text(findings: &Findings) -> String {
    let mut text = String::from("Recovery of known costs\n");
    for judged in [Metric::CpuPerRequest, Metric::ServiceTimeP50] {
        let found = findings.recovered.iter().filter(|r| r.metric == judged);
        let found: Vec<&Recovered> = found.collect();
        if !found.is_empty() {
            text.push('\n');
            text += &recovery(judged, &found);
        }
    }
    if !findings.biases.is_empty() {
        text += "\nBias: mean of what was found less the truth\n\n";
        text += &biases(&findings.biases);
    }
    text += &scatter_of_runs(findings);
    if !findings.counts.is_empty() {
        text += &format!(
            "\nExperiments of {LAUNCHES} launches, cut from these runs. \"Inside\": 95 % intervals that\n\
             hold the truth. \"False\": intervals that exclude zero where nothing was injected.\n\n"
        );
        text += &counts(findings);
    }
    text += "\nBy time of one arm and the baseline (medians where nothing was injected)\n\n";
    text += &widths(findings, "half-width of the interval", |w| w.half_width);
    text.push('\n');
    text += &widths(findings, "minimum detectable effect", |w| {
        w.minimum_detectable_effect
    });
    if findings
        .widths
        .iter()
        .any(|w| w.extrapolated_from_s.is_some())
    {
        text += "* scaled from another length by the square root of time\n";
    }
    text
}

/// One run: its intervals. Several: how many of their intervals hold the truth.
fn recovery(judged: Metric, found: &[&Recovered]) -> String {
    let is_repeated = found.iter().any(|of| of.run > 1);
    let arms = found.iter().filter(|of| of.run == 1);
    let rows = arms.map(|first| {
        let runs: Vec<&&Recovered> = found.iter().filter(|of| of.arm == first.arm).collect();
        let mean = |value: fn(&Recovered) -> f64| {
            let sum: f64 = runs.iter().map(|of| value(of)).sum();
            with_unit(first.unit, sum / runs.len() as f64)
        };
        let inside = runs.iter().filter(|of| of.is_inside()).count();
        let truth_is = match (is_repeated, inside) {
            (true, _) => format!("{inside} of {}", runs.len()),
            (false, 0) => "MISSED".to_owned(),
            (false, _) => "inside".to_owned(),
        };
        vec![
            first.arm.clone(),
            mean(|of| of.truth),
            mean(|of| of.interval.estimate),
            match is_repeated {
                true => mean(|of| of.interval.half_width()).replace('+', "±"),
                false => between(first.unit, first.interval.low, first.interval.high),
            },
            truth_is,
        ]
    });
    let headings = match is_repeated {
        true => [
            name(judged),
            "mean truth",
            "mean found",
            "mean half-width",
            "inside",
        ],
        false => [name(judged), "truth", "found", "95 % interval", "truth is"],
    };
    table(&headings, rows)
}

fn biases(biases: &[Bias]) -> String {
    let rows = biases.iter().map(|bias| {
        let (low, high) = bias.ends();
        vec![
            bias.arm
                .clone()
                .unwrap_or_else(|| "arms without a cost".to_owned()),
            with_unit(bias.unit, bias.pooled.mean),
            between(bias.unit, low, high),
            format!("{:.3}", bias.pooled.p_value),
            match bias.sample {
                Sample::Launches(count) => format!("{count} launches"),
                Sample::Runs(count) => format!("{count} runs"),
            },
        ]
    });
    table(
        &[
            name(Metric::CpuPerRequest),
            "bias",
            "95 % interval",
            "p",
            "over",
        ],
        rows,
    )
}

fn scatter_of_runs(findings: &Findings) -> String {
    if findings.runs == 0 {
        return String::new();
    }
    let found = match &findings.between_runs {
        Some(found) if found.is_known() => {
            let [sd, low, high] = [found.standard_deviation, found.low, found.high]
                .map(|share| format!("{:.2}", share * 100.0));
            format!(
                "{sd} %, 95 % interval {low} to {high} %, {} runs",
                found.runs
            )
        }
        _ => {
            format!("unknown; it needs {FEWEST_RUNS} runs: windage calibrate --runs {FEWEST_RUNS}")
        }
    };
    format!("\nStandard deviation between runs, CPU per request:\n{found}\n")
}

fn counts(findings: &Findings) -> String {
    let rows = findings.counts.iter().map(|c| {
        vec![
            name(c.metric).to_owned(),
            format!("{:.0} s", c.seconds),
            format!("{} of {}", c.inside, c.with_cost),
            format!("{} of {}", c.false_positives, c.without_cost),
        ]
    });
    table(&["metric", "time", "inside", "false"], rows)
}

fn widths(findings: &Findings, title: &str, figure: impl Fn(&Width) -> f64) -> String {
    let times = LENGTHS_S.map(|seconds| format!("{seconds} s"));
    let mut headings = vec![title];
    headings.extend(times.iter().map(String::as_str));
    let of_time = |metric: Metric, seconds: u32| {
        let mut widths = findings.widths.iter();
        widths.find(|w| w.metric == metric && w.seconds == seconds)
    };
    let rows = Metric::ALL.iter().filter_map(|&metric| {
        let cells = LENGTHS_S.map(|seconds| {
            let width = of_time(metric, seconds)?;
            // Figures line up below each other, marked or not.
            let mark = if width.extrapolated_from_s.is_some() {
                '*'
            } else {
                ' '
            };
            Some(format!("{:.2} %{mark}", figure(width) * 100.0))
        });
        let cells = cells.into_iter().collect::<Option<Vec<_>>>()?;
        Some([vec![name(metric).to_owned()], cells].concat())
    });
    table(&headings, rows)
}

fn signed(unit: Unit, value: f64) -> String {
    let scale = match unit {
        Unit::Share => 100.0,
        Unit::Microseconds => 1.0,
    };
    format!("{:+.2}", value * scale).replace('-', "−")
}

fn with_unit(unit: Unit, value: f64) -> String {
    format!("{} {}", signed(unit, value), symbol(unit))
}

fn between(unit: Unit, low: f64, high: f64) -> String {
    let (low, high) = (signed(unit, low), signed(unit, high));
    format!("{low} to {high} {}", symbol(unit))
}

fn symbol(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "%",
        Unit::Microseconds => "µs",
    }
}

fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::CpuPerRequest => "CPU per request",
        Metric::ServiceTimeP50 => "service time p50",
        Metric::ServiceTimeP10 => "service time p10",
        other => other.as_str(),
    }
}

fn table(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if index == 0 { (0, 0) } else { (GAP, 0) });
        column.set_cell_alignment(if index == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    let mut text = String::new();
    for line in table.lines() {
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::findings::tests::{findings, findings_of_runs};
    use super::*;

    #[test]
    fn a_calibration_reads_well() {
        insta::assert_snapshot!(text(&findings()));
    }

    #[test]
    fn several_runs_read_well() {
        insta::assert_snapshot!(text(&findings_of_runs()));
    }
}
