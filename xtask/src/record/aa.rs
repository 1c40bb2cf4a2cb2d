//! Many runs without a true difference, as a table and a picture: the interval of every A/A
//! control, plans side by side.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use windage_analysis::wire::{self, AnalysisWire};

use super::report;
use crate::bench::median::median;

/// The width of a panel, and the distance from its middle to the end of the widest interval, in
/// pixels.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 400.0;
const REACH: f64 = 160.0;

/// Intervals that include zero, and those that exclude it (Okabe & Ito's colour-blind-safe
/// palette).
const HOLDS: &str = "#0072b2";
const MISSES: &str = "#d55e00";

/// A run's estimate and interval, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    low: f64,
    estimate: f64,
    high: f64,
}

impl Bar {
    fn holds_zero(&self) -> bool {
        self.low <= 0.0 && 0.0 <= self.high
    }
}

/// Prints the table and writes the picture.
pub(super) fn run(windage: &Path, runs: &[PathBuf], metric: &str, to: &Path) -> Result<()> {
    let analyses = wire::read(&report(windage, runs, "json")?).context("windage report")?;
    let plans = bars(&analyses, metric)?;
    fs::write(to, picture(&plans, metric)).with_context(|| format!("write {}", to.display()))?;
    anstream::print!("{}", table(&plans));
    Ok(())
}

type Plans = BTreeMap<String, Vec<Bar>>;

fn bars(analyses: &[AnalysisWire], metric: &str) -> Result<Plans> {
    let mut plans = Plans::new();
    for analysis in analyses {
        let bars = plans.entry(analysis.plan.clone()).or_default();
        let mut arms = analysis.under_first_load.arms.iter();
        let control = arms.find(|arm| arm.role == "control");
        let relative = control.and_then(|arm| arm.metrics.get(metric)?.relative.as_ref());
        // A void or interrupted run may have none.
        bars.extend(relative.and_then(|interval| {
            Some(Bar {
                low: interval.low? * 100.0,
                estimate: interval.estimate? * 100.0,
                high: interval.high? * 100.0,
            })
        }));
    }
    if plans.values().all(Vec::is_empty) {
        bail!("no control has `{metric}`");
    }
    Ok(plans)
}

fn missed(bars: &[Bar]) -> usize {
    bars.iter().filter(|bar| !bar.holds_zero()).count()
}

/// The truth is zero, so every estimate is an error.
fn table(plans: &Plans) -> String {
    let mut text = String::from(
        "| plan | runs | exclude zero | median half-width | RMS error |\n|---|---:|---:|---:|---:|\n",
    );
    for (plan, bars) in plans.iter().filter(|(_, bars)| !bars.is_empty()) {
        let n = bars.len();
        let median = median(bars.iter().map(|bar| (bar.high - bar.low) / 2.0));
        let median = median.map_or(f64::NAN, |median| median.estimate);
        let squares: f64 = bars.iter().map(|bar| bar.estimate * bar.estimate).sum();
        let rms = (squares / n as f64).sqrt();
        let _ = writeln!(
            text,
            "| {plan} | {n} | {} | {median:.2} % | {rms:.2} % |",
            missed(bars)
        );
    }
    text
}

/// All panels share one scale, so that widths can be compared.
fn picture(plans: &Plans, metric: &str) -> String {
    let ends = plans
        .values()
        .flatten()
        .flat_map(|bar| [-bar.low, bar.high]);
    let reach = ends.fold(0.5, f64::max);
    let y = |value: f64| HEIGHT / 2.0 - value / reach * REACH;
    let width = WIDTH * plans.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (panel, (plan, bars)) in plans.iter().enumerate() {
        let (left, missed, n) = (panel as f64 * WIDTH, missed(bars), bars.len());
        let _ = writeln!(
            svg,
            "<g transform=\"translate({left} 0)\"><text x=\"60\" y=\"20\" font-size=\"17\">{plan}: {missed} of {n} \
             exclude zero</text><text x=\"60\" y=\"390\">{metric}: difference in each run, %</text>"
        );
        for (value, color) in [(-reach, "#ccc"), (0.0, "black"), (reach, "#ccc")] {
            let y = y(value);
            let _ = writeln!(
                svg,
                "<path d=\"M60 {y}H{WIDTH}\" stroke=\"{color}\"/>\
                 <text x=\"54\" y=\"{y}\" text-anchor=\"end\">{value:+.1}</text>"
            );
        }
        for (index, bar) in bars.iter().enumerate() {
            let x = 60.0 + (WIDTH - 60.0) * (index as f64 + 0.5) / n as f64;
            let [low, estimate, high] = [bar.low, bar.estimate, bar.high].map(y);
            let color = if bar.holds_zero() { HOLDS } else { MISSES };
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {low:.1}V{high:.1}\" stroke=\"{color}\" stroke-width=\"2\"/>\
                 <circle cx=\"{x:.1}\" cy=\"{estimate:.1}\" r=\"3.5\" fill=\"{color}\"/>"
            );
        }
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans() -> Plans {
        let bar = |low: f64, high: f64| Bar {
            low,
            estimate: f64::midpoint(low, high),
            high,
        };
        Plans::from([
            ("mirrored".to_owned(), vec![bar(-1.0, 1.0), bar(-0.5, 1.5)]),
            ("sequential".to_owned(), vec![bar(2.0, 3.0)]),
            ("failed".to_owned(), Vec::new()),
        ])
    }

    #[test]
    fn the_table_counts() {
        let table = table(&plans());
        assert!(
            table.contains("| mirrored | 2 | 0 | 1.00 % | 0.35 % |\n"),
            "{table}"
        );
        assert!(
            table.ends_with("| sequential | 1 | 1 | 0.50 % | 2.50 % |\n"),
            "{table}"
        );
    }

    #[test]
    fn the_picture_has_every_interval_on_one_scale() {
        let svg = picture(&plans(), "cpu_per_request");
        assert!(svg.contains("mirrored: 0 of 2 exclude zero"), "{svg}");
        assert!(svg.contains("sequential: 1 of 1 exclude zero"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches(MISSES).count(), 2, "a line and a dot");
        // From −1 to +1 where the widest end is 3.
        assert!(svg.contains("253.3V146.7"), "{svg}");
    }
}
