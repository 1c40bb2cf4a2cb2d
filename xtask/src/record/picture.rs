//! A study as a picture: every run's interval, both orders side by side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use plotters::prelude::*;
use serde_json::Value;

use super::trial::Order;

/// Width and height, in pixels: it is read at the width of a page of text.
const SIZE: (u32, u32) = (960, 400);
/// Intervals that hold nil, and those that don't (Okabe & Ito's palette, told apart by all).
const HOLDS: RGBColor = RGBColor(0, 114, 178);
const MISSES: RGBColor = RGBColor(213, 94, 0);

/// One run's estimate and interval, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    run: f64,
    low: f64,
    estimate: f64,
    high: f64,
}

impl Bar {
    fn holds_nil(&self) -> bool {
        self.low <= 0.0 && 0.0 <= self.high
    }
}

/// Draws a study's JSON as SVG, beside it, for one metric.
pub(super) fn run(record: &Path, metric: &str) -> Result<ExitCode> {
    let text =
        fs::read_to_string(record).with_context(|| format!("can't read {}", record.display()))?;
    let study: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", record.display()))?;
    let path = picture_path(record, metric);
    let svg = draw(&study, metric)?;
    fs::write(&path, svg).with_context(|| format!("can't write {}", path.display()))?;
    anstream::println!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}

fn picture_path(record: &Path, metric: &str) -> PathBuf {
    let stem = record.file_stem().map(|s| s.to_string_lossy().into_owned());
    record.with_file_name(format!("{}-{metric}.svg", stem.unwrap_or_default()))
}

fn draw(study: &Value, metric: &str) -> Result<String> {
    let panels = Order::BOTH.map(|order| (order, bars(study, order, metric)));
    if panels.iter().all(|(_, bars)| bars.is_empty()) {
        bail!("the study has no run with `{metric}`");
    }
    let all = panels.iter().flat_map(|(_, bars)| bars);
    // One scale for both: the difference in width is the message.
    let reach = all
        .clone()
        .fold(0.5, |reach: f64, bar| reach.max(-bar.low).max(bar.high))
        * 1.05;
    let runs = all.fold(1.0, |runs: f64, bar| runs.max(bar.run));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let halves = root.split_evenly((1, 2));
        for ((order, bars), half) in panels.iter().zip(&halves) {
            panel(half, *order, bars, runs, reach, metric)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    order: Order,
    bars: &[Bar],
    runs: f64,
    reach: f64,
    metric: &str,
) -> Result<()> {
    let missed = bars.iter().filter(|bar| !bar.holds_nil()).count();
    let caption = format!("{}: {missed} of {} miss nil", order.as_str(), bars.len());
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..runs + 1.0, -reach..reach)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_desc("run")
        .y_desc(format!("{metric}: difference read, %"))
        .x_label_formatter(&|run| format!("{run:.0}"))
        .y_label_formatter(&|share| format!("{share:+.1}"))
        .draw()?;
    chart.draw_series(LineSeries::new([(0.0, 0.0), (runs + 1.0, 0.0)], BLACK))?;
    chart.draw_series(bars.iter().map(|bar| {
        let color = if bar.holds_nil() { HOLDS } else { MISSES };
        ErrorBar::new_vertical(bar.run, bar.low, bar.estimate, bar.high, color.filled(), 6)
    }))?;
    Ok(())
}

fn bars(study: &Value, order: Order, metric: &str) -> Vec<Bar> {
    let runs = study["runs"].as_array().map_or(&[][..], Vec::as_slice);
    runs.iter()
        .filter(|run| run["order"] == order.as_str())
        .filter_map(|run| {
            let reading = &run["control"][metric];
            let percent = |name: &str| Some(reading[name].as_f64()? * 100.0);
            Some(Bar {
                run: run["number"].as_f64()?,
                low: percent("low")?,
                estimate: percent("estimate")?,
                high: percent("high")?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study() -> Value {
        let run = |number: u32, order: &str, low: f64, high: f64| {
            serde_json::json!({
                "number": number, "order": order,
                "control": { "cpu_per_request": {
                    "low": low, "estimate": f64::midpoint(low, high), "high": high
                } }
            })
        };
        serde_json::json!({ "runs": [
            run(1, "mirrored", -0.01, 0.01),
            run(1, "sequential", 0.02, 0.03),
            { "number": 2, "order": "mirrored", "control": null, "failure": "it ended" },
        ] })
    }

    #[test]
    fn runs_become_bars_in_percent() {
        let found = bars(&study(), Order::Mirrored, "cpu_per_request");
        assert_eq!(found.len(), 1, "a run that failed has none");
        assert!(found[0].holds_nil());
        assert!((found[0].high - 1.0).abs() < 1e-12);
        assert!(!bars(&study(), Order::Sequential, "cpu_per_request")[0].holds_nil());
    }

    #[test]
    fn the_picture_says_how_many_miss_nil() {
        let svg = draw(&study(), "cpu_per_request").unwrap();
        assert!(svg.contains("mirrored: 0 of 1 miss nil"), "{svg}");
        assert!(svg.contains("sequential: 1 of 1 miss nil"), "{svg}");
        assert!(draw(&study(), "unheard_of").is_err());
    }

    #[test]
    fn it_lies_beside_its_record() {
        let path = picture_path(Path::new("record/d/aa-nginx.json"), "throughput");
        assert_eq!(path, Path::new("record/d/aa-nginx-throughput.svg"));
    }
}
