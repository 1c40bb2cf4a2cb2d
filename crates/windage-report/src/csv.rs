//! One row for each arm and metric, for spreadsheets and data frames; or one for each point of a
//! curve, for each stage of a chain of arms, for each line of a bill, or for each BPF program.

mod bill;
mod bpf;
mod curves;
mod stages;

use windage_analysis::{Analysis, ArmAnalysis, Inference, MetricAnalysis};
use windage_model::{Interval, Metric, Soundness, Verdict};

use crate::ReportError;
use crate::facts::one_line;
pub use bill::bill_csv;
pub use bpf::bpf_csv;
pub use curves::curves_csv;
pub use stages::stages_csv;

const COLUMNS: &[&str] = &[
    "run",
    "plan",
    "arm",
    "name",
    "role",
    "levels",
    "metric",
    "unit",
    "baseline",
    "value",
    "difference",
    "difference_low",
    "difference_high",
    "relative",
    "relative_low",
    "relative_high",
    "confidence",
    "exceeds_nil",
    "verdict",
    "smallest_visible",
    "windows",
    "rounds",
    "validity",
    "missing",
    "family",
    "family_comparisons",
    "family_low",
    "family_high",
    "family_exceeds_nil",
    "family_verdict",
    "needs_s",
    "launch_sd",
    "block_sd",
    "window_sd",
    "telemetry_of",
    "backend",
    "expected",
    "delivered",
    "lost",
    "beyond_sampling",
    "lost_by_reason",
    "bytes_per_span",
    "wire_bytes_per_span",
    "traces_complete",
    "export_delay_us_p50",
    "export_delay_us_p99",
    "export_requests",
    "refused_spans",
    "retried_requests",
    "repeated_spans",
];

/// The analyses as one CSV table with a heading row: a row for each run, arm and metric.
///
/// Units stand in their own column; figures are written in full, absent ones are empty.
/// `relative`, its ends, `smallest_visible` and the standard deviations are shares (0.01 is 1 %). `levels` is `k=v;k=v` with `\;` for a `;` within. The
/// columns of the family are of the interval that holds together with all others of its family:
/// of the ratio, or of the difference where there is no ratio. `validity` is the worse of the
/// run's and the metric's own. What was delivered is the same in all rows of an arm;
/// `lost_by_reason` is `reason=n;reason=n`. Text that a spreadsheet would take for a formula is preceded by an
/// apostrophe. Where a run has several loads, a last column `regime` names them.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory, it has no reason to.
pub fn csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let several = analyses.iter().any(|analysis| !analysis.further.is_empty());
    let regime = several.then_some("regime");
    writer.write_record(COLUMNS.iter().copied().chain(regime))?;
    for analysis in analyses.iter().flat_map(Analysis::regimes) {
        let regime = several.then(|| self::regime(analysis));
        for arm in &analysis.arms {
            for (&metric, result) in &arm.metrics {
                let record = record(analysis, arm, metric, result);
                writer.write_record(record.into_iter().chain(regime.clone()))?;
            }
        }
    }
    finished(writer)
}

pub(crate) fn finished(writer: ::csv::Writer<Vec<u8>>) -> Result<String, ReportError> {
    let bytes = writer
        .into_inner()
        .map_err(|e| ::csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8(bytes)?)
}

/// The name of the load; empty where there is only one.
fn regime(analysis: &Analysis) -> String {
    analysis.regime.as_deref().map_or(String::new(), guarded)
}

fn record(
    analysis: &Analysis,
    arm: &ArmAnalysis,
    metric: Metric,
    result: &MetricAnalysis,
) -> Vec<String> {
    let difference = result.difference.as_ref().ok();
    let absolute = difference.map(|d| &d.absolute);
    let relative = difference.and_then(|d| d.relative.as_ref());
    let mut fields = vec![
        guarded(&analysis.run),
        guarded(&analysis.plan),
        guarded(arm.id.as_str()),
        guarded(&arm.name),
        arm.role.as_str().to_owned(),
        guarded(&levels(arm)),
        metric.as_str().to_owned(),
        metric.unit().as_str().to_owned(),
        figure(result.baseline),
        figure(result.arm),
    ];
    fields.extend(ends(absolute));
    fields.extend(ends(relative));
    fields.extend([
        figure(relative.or(absolute).map(|interval| interval.confidence)),
        result
            .exceeds_nil()
            .map_or(String::new(), |exceeds| exceeds.to_string()),
        result.verdict.map_or("", Verdict::as_str).to_owned(),
        figure(difference.and_then(|d| d.smallest_visible)),
        result.windows.to_string(),
        result.rounds.to_string(),
        worse(analysis, result).as_str().to_owned(),
        result
            .difference
            .as_ref()
            .err()
            .map_or("", |missing| missing.code.as_str())
            .to_owned(),
    ]);
    fields.extend(in_family(&result.inference));
    fields.extend(firmness(&result.inference));
    fields.extend(telemetry(arm));
    fields
}

fn in_family(inference: &Inference) -> [String; 6] {
    let (seat, of) = (inference.seat(), inference.in_family.as_ref());
    let verdict = of.and_then(|of| of.verdict);
    [
        seat.map_or("", |seat| seat.family.as_str()).to_owned(),
        seat.map_or(String::new(), |seat| seat.comparisons.to_string()),
        figure(of.map(|of| of.interval.low)),
        figure(of.map(|of| of.interval.high)),
        of.map_or(String::new(), |of| of.interval.excludes_nil().to_string()),
        verdict.map_or("", Verdict::as_str).to_owned(),
    ]
}

fn firmness(inference: &Inference) -> [String; 4] {
    let scatter = inference.scatter.as_ref();
    [
        figure(inference.needs_s),
        figure(scatter.and_then(|s| s.launch_sd)),
        figure(scatter.map(|s| s.block_sd)),
        figure(scatter.and_then(|s| s.window_sd)),
    ]
}

fn telemetry(arm: &ArmAnalysis) -> [String; 16] {
    let Some(of) = &arm.fidelity else {
        return Default::default();
    };
    let complete = of.traces.as_ref().and_then(|t| t.complete.as_ref());
    let us = |ns: u64| ns as f64 / 1e3;
    let reasons = of.by_reason.iter();
    let reasons = reasons.map(|loss| (loss.reason.to_string(), loss.lost.to_string()));
    [
        of.of.as_str().to_owned(),
        of.backend.to_string(),
        figure(of.expected),
        of.delivered.to_string(),
        figure(of.lost),
        of.beyond_sampling
            .map_or(String::new(), |beyond| beyond.to_string()),
        guarded(&pairs(reasons)),
        figure(of.bytes_per_span),
        figure(of.wire_bytes_per_span),
        figure(complete.map(|share| share.estimate)),
        figure(of.export_delay.map(|delay| us(delay.p50_ns))),
        figure(of.export_delay.map(|delay| us(delay.p99_ns))),
        of.counts.export_requests.to_string(),
        of.counts.refused_spans.to_string(),
        of.counts.retried_requests.to_string(),
        of.counts.repeated_spans.to_string(),
    ]
}

fn worse(analysis: &Analysis, result: &MetricAnalysis) -> Soundness {
    analysis
        .validity
        .soundness()
        .max(result.validity.soundness())
}

pub(crate) fn ends(interval: Option<&Interval>) -> [String; 3] {
    [
        figure(interval.map(|i| i.estimate)),
        figure(interval.map(|i| i.low)),
        figure(interval.map(|i| i.high)),
    ]
}

/// In full: a reader of the file rounds for itself. NaN and infinity are absent figures.
pub(crate) fn figure(value: Option<f64>) -> String {
    value
        .filter(|v| v.is_finite())
        .map_or(String::new(), |v| v.to_string())
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
pub(crate) fn guarded(text: &str) -> String {
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
    fn figures_are_written_in_full_or_not_at_all() {
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
