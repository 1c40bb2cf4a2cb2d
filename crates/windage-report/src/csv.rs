//! CSV for spreadsheets and data frames: one row per arm and metric; or per point of a curve, per
//! stage of a chain of arms, per line of a bill, or per BPF program.

mod bill;
mod bpf;
mod curves;
mod stages;

use Column::{Ends, Figure, Text};
use windage_analysis::{Analysis, ArmAnalysis, Fidelity, MetricAnalysis};
use windage_analysis::{InFamily, VarianceComponents};
use windage_model::{Difference, Interval, Metric};

use crate::fact::one_line;
pub use bill::bill_csv;
pub use bpf::bpf_csv;
pub use curves::curves_csv;
pub use stages::stages_csv;

/// Why a report could not be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The CSV writer refused a row.
    #[error("csv: a row could not be written; the analysis is intact, use --format json instead")]
    Csv(#[from] ::csv::Error),
    /// What the CSV writer returned is not UTF-8.
    #[error("csv: the table is not UTF-8; the analysis is unharmed, ask for --format json instead")]
    NotUtf8(#[from] std::string::FromUtf8Error),
    /// The XML could not be written.
    #[error("junit: {0}; the analysis is unharmed, ask for --format json instead")]
    Junit(#[from] quick_junit::SerializeError),
}

/// A column: its heading, and a row's value; empty if unknown.
pub(crate) enum Column<Row> {
    Text(&'static str, fn(&Row) -> Option<String>),
    Figure(&'static str, fn(&Row) -> Option<f64>),
    /// An estimate, followed by columns for the low and the high end.
    Ends(&'static str, fn(&Row) -> Option<Interval>),
}

impl<Row> Column<Row> {
    fn headings(&self) -> Vec<String> {
        match self {
            Text(name, _) | Figure(name, _) => vec![(*name).to_owned()],
            Ends(name, _) => ["", "_low", "_high"]
                .map(|end| format!("{name}{end}"))
                .into(),
        }
    }

    fn fields(&self, row: &Row) -> Vec<String> {
        match self {
            Text(_, field) => vec![field(row).unwrap_or_default()],
            Figure(_, field) => vec![figure(field(row))],
            Ends(_, field) => {
                let of = field(row).map(|of| [of.estimate, of.low, of.high].map(Some));
                of.unwrap_or_default().map(figure).into()
            }
        }
    }
}

/// Writes a heading row, and a row for each of these.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory should never fail.
pub(crate) fn table<Row>(
    columns: &[Column<Row>],
    rows: impl IntoIterator<Item = Row>,
) -> Result<String, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().flat_map(Column::headings))?;
    for row in rows {
        writer.write_record(columns.iter().flat_map(|column| column.fields(&row)))?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|e| ::csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8(bytes)?)
}

/// What a row is computed from.
struct Line<'a> {
    analysis: &'a Analysis,
    arm: &'a ArmAnalysis,
    metric: Metric,
    result: &'a MetricAnalysis,
}

impl<'a> Line<'a> {
    fn difference(&self) -> Option<&'a Difference> {
        self.result.difference.as_ref().ok()
    }

    fn family(&self) -> Option<&'a InFamily> {
        self.result.inference.in_family.as_ref()
    }

    fn scatter(&self) -> Option<&'a VarianceComponents> {
        self.result.inference.variance_components.as_ref()
    }

    fn telemetry(&self) -> Option<&'a Fidelity> {
        self.arm.fidelity.as_ref()
    }
}

fn columns<'a>() -> Vec<Column<Line<'a>>> {
    vec![
        Text("run", |of| text(&of.analysis.run)),
        Text("plan", |of| text(&of.analysis.plan)),
        Text("arm", |of| text(of.arm.id.as_str())),
        Text("name", |of| text(&of.arm.name)),
        Text("role", |of| word(of.arm.role.as_str())),
        Text("levels", |of| text(&levels(of.arm))),
        Text("metric", |of| word(of.metric.as_str())),
        Text("unit", |of| word(of.metric.unit().as_str())),
        Figure("baseline", |of| of.result.baseline),
        Figure("value", |of| of.result.arm),
        Ends("difference", |of| Some(of.difference()?.absolute)),
        Ends("relative", |of| of.difference()?.relative),
        Figure("confidence", |of| {
            let of = of.difference()?;
            Some(of.relative.as_ref().unwrap_or(&of.absolute).confidence)
        }),
        Text("exceeds_zero", |of| word(of.result.exceeds_zero()?)),
        Text("verdict", |of| word(of.result.verdict?.as_str())),
        Figure("minimum_detectable_effect", |of| {
            of.difference()?.minimum_detectable_effect
        }),
        Text("windows", |of| word(of.result.windows)),
        Text("rounds", |of| word(of.result.rounds)),
        Text("validity", |of| {
            let own = of.result.validity.soundness();
            word(of.analysis.validity.soundness().max(own).as_str())
        }),
        Text("missing", |of| {
            word(of.result.difference.as_ref().err()?.code().as_str())
        }),
        Text("family", |of| {
            word(of.result.inference.seat()?.family.as_str())
        }),
        Text("family_comparisons", |of| {
            word(of.result.inference.seat()?.comparisons)
        }),
        Figure("family_low", |of| Some(of.family()?.interval.low)),
        Figure("family_high", |of| Some(of.family()?.interval.high)),
        Text("family_exceeds_zero", |of| {
            word(of.family()?.interval.excludes_zero())
        }),
        Text("family_verdict", |of| word(of.family()?.verdict?.as_str())),
        Figure("time_needed_s", |of| of.result.inference.time_needed_s),
        Figure("launch_sd", |of| of.scatter()?.launch_sd),
        Figure("block_sd", |of| Some(of.scatter()?.block_sd)),
        Figure("window_sd", |of| of.scatter()?.window_sd),
        Text("telemetry_of", |of| word(of.telemetry()?.of.as_str())),
        Text("backend", |of| word(of.telemetry()?.backend)),
        Figure("expected", |of| of.telemetry()?.expected),
        Text("delivered", |of| word(of.telemetry()?.delivered)),
        Figure("lost", |of| of.telemetry()?.lost),
        Text("beyond_sampling", |of| {
            word(of.telemetry()?.beyond_sampling?)
        }),
        Text("lost_by_reason", |of| {
            let reasons = of.telemetry()?.by_reason.iter();
            let reasons = reasons.map(|loss| (loss.reason.to_string(), loss.lost.to_string()));
            text(&pairs(reasons))
        }),
        Figure("bytes_per_span", |of| of.telemetry()?.bytes_per_span),
        Figure("wire_bytes_per_span", |of| {
            of.telemetry()?.wire_bytes_per_span
        }),
        Figure("traces_complete", |of| {
            Some(of.telemetry()?.traces.as_ref()?.complete.as_ref()?.estimate)
        }),
        Figure("export_delay_us_p50", |of| {
            Some(of.telemetry()?.export_delay?.p50_ns as f64 / 1e3)
        }),
        Figure("export_delay_us_p99", |of| {
            Some(of.telemetry()?.export_delay?.p99_ns as f64 / 1e3)
        }),
        Text("export_requests", |of| {
            word(of.telemetry()?.counts.export_requests)
        }),
        Text("refused_spans", |of| {
            word(of.telemetry()?.counts.refused_spans)
        }),
        Text("retried_requests", |of| {
            word(of.telemetry()?.counts.retried_requests)
        }),
        Text("repeated_spans", |of| {
            word(of.telemetry()?.counts.repeated_spans)
        }),
    ]
}

/// The analyses as one CSV table with a heading row: a row for each run, arm and metric.
///
/// Units have their own column; figures are not rounded, and missing ones are empty. `relative`,
/// its ends, `minimum_detectable_effect` and the standard deviations are shares (0.01 is 1 %).
/// `levels` is `k=v;k=v` with `\;` for a `;` within. The `family` columns have the interval
/// adjusted for its family: of the ratio, or of the difference where there is no ratio. `validity`
/// is the worse of the run's and the metric's own. Delivered telemetry is repeated in all rows of
/// an arm; `lost_by_reason` is `reason=n;reason=n`. An apostrophe precedes text that a spreadsheet
/// would take for a formula. If a run has several loads, a last column `regime` names the load.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory should never fail.
pub fn csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let mut columns = columns();
    if analyses
        .iter()
        .any(|analysis| !analysis.other_loads.is_empty())
    {
        columns.push(Text("regime", |of| regime(of.analysis)));
    }
    let lines = each_arm(analyses).flat_map(|(analysis, arm)| {
        arm.metrics.iter().map(move |(&metric, result)| Line {
            analysis,
            arm,
            metric,
            result,
        })
    });
    table(&columns, lines)
}

/// All arms under all loads of all runs.
fn each_arm(analyses: &[Analysis]) -> impl Iterator<Item = (&Analysis, &ArmAnalysis)> {
    let loads = analyses.iter().flat_map(Analysis::regimes);
    loads.flat_map(|analysis| analysis.arms.iter().map(move |arm| (analysis, arm)))
}

/// The name of the load; empty if there is only one.
fn regime(analysis: &Analysis) -> Option<String> {
    text(analysis.regime.as_deref()?)
}

/// Text that Windage itself chooses.
pub(crate) fn word(of: impl ToString) -> Option<String> {
    Some(of.to_string())
}

/// Text from a plan or a program, which needs guarding.
pub(crate) fn text(of: &str) -> Option<String> {
    Some(guarded(of))
}

/// Not rounded; readers of the file round themselves. NaN and infinity count as missing.
fn figure(value: Option<f64>) -> String {
    let finite = value.filter(|v| v.is_finite());
    finite.map_or(String::new(), |v| v.to_string())
}

fn levels(arm: &ArmAnalysis) -> String {
    let levels = arm.levels.iter();
    pairs(levels.map(|(factor, level)| (factor.clone(), level.to_string())))
}

/// `k=v;k=v` with `\;` for a `;` within.
fn pairs(of: impl Iterator<Item = (String, String)>) -> String {
    let within = |text: String| text.replace(';', r"\;");
    let pairs = of.map(|(key, value)| format!("{}={}", within(key), within(value)));
    pairs.collect::<Vec<_>>().join(";")
}

/// Text that no spreadsheet evaluates (OWASP, "CSV Injection").
fn guarded(text: &str) -> String {
    let text = one_line(text);
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    if text.starts_with(FORMULA) {
        format!("'{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_disarmed() {
        let table = [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-2", "'-2"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'=1"),
            ("\u{200b}=1", "'=1"),
            ("off", "off"),
            ("a=b", "a=b"),
        ];
        for (text, expected) in table {
            assert_eq!(guarded(text), expected, "{text:?}");
        }
    }

    #[test]
    fn figures_are_unrounded_or_empty() {
        let table = [
            (Some(61.234_567), "61.234567"),
            (Some(-0.004), "-0.004"),
            (Some(f64::NAN), ""),
            (Some(f64::NEG_INFINITY), ""),
            (None, ""),
        ];
        for (value, expected) in table {
            assert_eq!(figure(value), expected);
        }
    }
}
