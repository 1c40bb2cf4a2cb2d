//! The calibration as text for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use windage_model::{Interval, Metric};

use super::findings::{Findings, Unit, Width};
use super::observed::LENGTHS_S;

/// Spaces between columns.
const GAP: u16 = 2;

/// The report, for 80 columns.
pub(super) fn text(findings: &Findings) -> String {
    let mut text = String::from("Recovery of known costs\n");
    for judged in [Metric::CpuPerRequest, Metric::ServiceTimeP50] {
        text.push('\n');
        text += &recovery(findings, judged);
    }
    text += "\nShort experiments, cut from these runs: consecutive windows of one arm and the\n\
             baseline that fill the time. \"Inside\": 95 % intervals that hold the truth.\n\
             \"False\": intervals that exclude zero where nothing was injected.\n\n";
    text += &counts(findings);
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
        text += "* extrapolated from shorter experiments by the square root of time\n";
    }
    text
}

fn recovery(findings: &Findings, judged: Metric) -> String {
    let of_metric = findings.recovered.iter().filter(|r| r.metric == judged);
    let rows = of_metric.map(|found| {
        let unit = match found.unit {
            Unit::Share => "%",
            Unit::Microseconds => "µs",
        };
        let figure = |value: f64| signed(found.unit, value);
        let Interval {
            estimate,
            low,
            high,
            ..
        } = found.interval;
        vec![
            found.arm.clone(),
            format!("{} {unit}", figure(found.truth)),
            format!("{} {unit}", figure(estimate)),
            format!("{} to {} {unit}", figure(low), figure(high)),
            if found.is_inside() {
                "inside"
            } else {
                "MISSED"
            }
            .to_owned(),
        ]
    });
    let headings = [name(judged), "truth", "found", "95 % interval", "truth is"];
    table(&headings, rows)
}

fn counts(findings: &Findings) -> String {
    let rows = findings.counts.iter().map(|c| {
        vec![
            name(c.metric).to_owned(),
            format!("{} s", c.seconds),
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

fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::CpuPerRequest => "CPU per request",
        Metric::Throughput => "throughput",
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
    use super::super::findings::tests::findings;
    use super::*;

    #[test]
    fn a_calibration_reads_well() {
        insta::assert_snapshot!(text(&findings()));
    }
}
