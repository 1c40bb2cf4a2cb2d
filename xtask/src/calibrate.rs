//! `cargo xtask calibrate`: runs `windage calibrate` many times, counts how often it was right, and
//! tests whether all of them together are biased.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use windage_stats::{Confidence, PooledBias, RunEstimate, between_runs, pooled_bias};

use crate::bench::median::median;
use crate::{command, machine, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often to calibrate; each draws a new order
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Measuring time of each
    #[arg(long = "for", value_name = "DURATION", default_value = "120s")]
    length: String,
    /// Rounds in each, all services launched afresh; a verdict needs 13
    #[arg(long, default_value_t = 14)]
    rounds: u32,
    /// Calibrate only `cpu`, only its smallest cost (`small`) or only `latency`, for all of --for; `all` for cpu and
    /// latency
    #[arg(long, value_name = "PART", default_value = "cpu", value_parser = ["cpu", "small", "latency", "all"])]
    only: String,
    /// Go on with a study: the calibrations that its folder has are not repeated
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
}

/// The part of `windage calibrate --json` that is read.
#[derive(Deserialize)]
struct Calibration {
    recovery: Vec<Recovered>,
    bias: Vec<Bias>,
}

/// Estimate less truth in CPU per request, with its standard error. The arm is null for all arms
/// without a cost as if they were one.
#[derive(Deserialize)]
struct Bias {
    arm: Option<String>,
    unit: String,
    mean: f64,
    standard_error: f64,
}

/// What one calibration found for one cost.
#[derive(Deserialize)]
struct Recovered {
    arm: String,
    unit: String,
    truth: f64,
    estimate: f64,
    low: f64,
    high: f64,
    inside: bool,
}

/// Repeats the calibration. What each found and the page are next to the runs and are written after
/// each, so that an interrupted study is kept and can go on.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let windage = workspace::build("crates/windage", "windage")?;
    let new = || -> Result<PathBuf> {
        let name = format!("calibrations-{}-{}", machine::today()?, std::process::id());
        Ok(workspace::root().join("windage-runs").join(name))
    };
    let folder = args.resume.clone().map_or_else(new, Ok)?;
    anstream::eprintln!("==> runs go to {}", folder.display());
    let mut calibrations = Vec::new();
    for number in 1..=args.runs {
        let found = folder.join(format!("{number:03}.json"));
        if found.exists() {
            let json = fs::read(&found).with_context(|| format!("read {}", found.display()))?;
            calibrations.push(parsed(&json));
            continue;
        }
        anstream::eprintln!("==> {number} of {}", args.runs);
        let mut calibrate = Command::new(&windage);
        calibrate
            .args(["calibrate", "--json", "--quiet", "--for", &args.length])
            .args(["--rounds", &args.rounds.to_string()])
            .args(args.only())
            .args(["--seed", &number.to_string(), "--out"])
            .arg(folder.join(format!("{number:03}")))
            // Reports of this machine must go on quoting its own calibration.
            .env("XDG_STATE_HOME", &folder);
        let json = calibrated(&mut calibrate)?;
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&found, &json))
            .with_context(|| format!("write {}", found.display()))?;
        calibrations.push(parsed(&json));
        let page = folder.join("README.md");
        fs::write(&page, args.page(&calibrations)?)
            .with_context(|| format!("write {}", page.display()))?;
    }
    anstream::println!("{}", args.page(&calibrations)?);
    Ok(ExitCode::SUCCESS)
}

/// What it printed; only an interruption is an error.
fn calibrated(calibrate: &mut Command) -> Result<Vec<u8>> {
    let output = calibrate.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not start {}", command::line(calibrate)))?;
    if output.status.code() == Some(130) {
        bail!("interrupted; the page has what was measured before");
    }
    Ok(output.stdout)
}

/// `None` if there is no result.
fn parsed(json: &[u8]) -> Option<Calibration> {
    serde_json::from_slice(json).ok()
}

impl Args {
    fn only(&self) -> &[&str] {
        match self.only.as_str() {
            "cpu" => &["--only", "cpu"],
            "small" => &["--only", "small"],
            "latency" => &["--only", "latency"],
            _ => &[],
        }
    }

    fn page(&self, calibrations: &[Option<Calibration>]) -> Result<String> {
        let Args {
            runs,
            length,
            rounds,
            only,
            resume: _,
        } = self;
        let mut page = format!(
            "# Calibration, many times\n\n- Date: {}\n\
             - Command: `cargo xtask calibrate --runs {runs} --for {length} --rounds {rounds} --only {only}`\n\
             - Machine: {}\n- Versions: {}\n- Calibrations: {} of {runs}\n\n",
            machine::today()?,
            machine::in_words()?,
            machine::versions()?,
            calibrations.len(),
        );
        page += &table(calibrations);
        page += &biases(calibrations);
        Ok(page)
    }
}

fn table(calibrations: &[Option<Calibration>]) -> String {
    let mut text = String::from(
        "Intervals are of 95 %. The truth is the median of the service's own counts. Where it is 0, an interval \
         that excludes zero is a false positive.\n\n\
         | injected | hold the truth | share | exclude zero | truth | estimate | half-width | mean error | RMS error |\n\
         |---|---:|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let done: Vec<&Calibration> = calibrations.iter().flatten().collect();
    let arms = done.first().map_or(&[][..], |first| &first.recovery);
    for arm in arms {
        let all = done.iter().flat_map(|calibration| &calibration.recovery);
        let found: Vec<&Recovered> = all.filter(|found| found.arm == arm.arm).collect();
        text += &row(arm, &found);
    }
    let failed = calibrations.len() - done.len();
    if failed > 0 {
        let _ = writeln!(text, "\n{failed} calibrations gave no result.");
    }
    text
}

/// What all calibrations say together.
fn biases(calibrations: &[Option<Calibration>]) -> String {
    let done: Vec<&Calibration> = calibrations.iter().flatten().collect();
    let arms = done.first().map_or(&[][..], |first| &first.bias);
    let rows = arms.iter().filter_map(|arm| {
        let all = done.iter().flat_map(|calibration| &calibration.bias);
        let same = all.filter(|of| of.arm == arm.arm);
        let estimates: Vec<RunEstimate> = same
            .map(|of| RunEstimate {
                estimate: of.mean,
                standard_error: of.standard_error,
            })
            .collect();
        let scatter = between_runs(&estimates)?.standard_deviation;
        Some(bias_row(
            arm,
            pooled_bias(&estimates)?,
            scatter,
            estimates.len(),
        ))
    });
    let rows: String = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\nPooled bias: the weighted mean of estimate less truth over all runs, with its interval of 95 %; beside it \
         the standard deviation between runs, beyond their own errors. The arms without a cost are pooled within \
         each run, because they share its baseline.\n\n\
         | injected | runs | pooled bias | interval | p | between runs |\n\
         |---|---:|---:|---|---:|---:|\n{rows}"
    )
}

fn bias_row(arm: &Bias, pooled: PooledBias, scatter: f64, runs: usize) -> String {
    let (scale, unit) = scale(&arm.unit);
    let (low, high) = pooled.ends(Confidence::P95);
    format!(
        "| {} | {runs} | {:+.3} {unit} | {:+.3} to {:+.3} {unit} | {:.3} | {:.3} {unit} |\n",
        arm.arm.as_deref().unwrap_or("nothing (all such arms)"),
        pooled.mean * scale,
        low * scale,
        high * scale,
        pooled.p_value,
        scatter * scale,
    )
}

/// How a unit of the JSON document is printed.
fn scale(unit: &str) -> (f64, &'static str) {
    match unit {
        "share" => (100.0, "%"),
        _ => (1.0, "µs"),
    }
}

fn row(arm: &Recovered, found: &[&Recovered]) -> String {
    let (scale, unit) = scale(&arm.unit);
    let n = found.len();
    let median = |value: fn(&Recovered) -> f64| {
        let median = median(found.iter().map(|of| value(of) * scale));
        median.map_or(f64::NAN, |median| median.estimate)
    };
    let count = |is: fn(&Recovered) -> bool| found.iter().filter(|of| is(of)).count();
    let inside = count(|of| of.inside);
    let (low, high) = share(inside, n);
    let errors = found.iter().map(|of| (of.estimate - of.truth) * scale);
    let mean_error = errors.clone().sum::<f64>() / n as f64;
    let rms_error = (errors.map(|error| error * error).sum::<f64>() / n as f64).sqrt();
    format!(
        "| {} | {inside} of {n} | {:.0} % [{:.0}, {:.0}] | {} | {:.2} {unit} | {:.2} {unit} | {:.2} {unit} \
         | {mean_error:+.2} {unit} | {rms_error:.2} {unit} |\n",
        arm.arm,
        inside as f64 / n as f64 * 100.0,
        low * 100.0,
        high * 100.0,
        count(|of| of.low > 0.0 || of.high < 0.0),
        median(|of| of.truth),
        median(|of| of.estimate),
        median(|of| (of.high - of.low) / 2.0),
    )
}

/// Wilson's score interval of a share, which stays inside 0…1 and is usable for few runs.
fn share(hits: usize, of: usize) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let (centre, scale) = (p + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
    (
        ((centre - spread) / scale).max(0.0),
        ((centre + spread) / scale).min(1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(estimate: f64) -> Option<Calibration> {
        let json = serde_json::json!({ "schema": 2, "recovery": [
            { "arm": "spin-iterations-550", "metric": "cpu_per_request", "unit": "share", "truth": 0.01,
              "estimate": estimate, "low": estimate - 0.002, "high": estimate + 0.002,
              "inside": (estimate - 0.01).abs() < 0.002 },
            { "arm": "busy-ns-0", "metric": "cpu_per_request", "unit": "us", "truth": 0.0,
              "estimate": 0.5, "low": -1.0, "high": 2.0, "inside": true },
        ], "bias": [
            { "arm": null, "unit": "share", "mean": estimate - 0.010, "standard_error": 0.001 },
            { "arm": "busy", "unit": "us", "mean": 0.5, "standard_error": 0.1 },
        ]});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn each_cost_has_its_row() {
        let found = [
            calibration(0.011),
            calibration(0.009),
            None,
            calibration(0.016),
        ];
        let table = table(&found);
        for row in [
            "| spin-iterations-550 | 2 of 3 | 67 % [21, 94] | 3 | 1.00 % | 1.10 % | 0.20 % | +0.20 % | 0.36 % |\n",
            "| busy-ns-0 | 3 of 3 | 100 % [44, 100] | 0 | 0.00 µs | 0.50 µs | 1.50 µs | +0.50 µs | 0.50 µs |\n",
            "\n1 calibrations gave no result.\n",
        ] {
            assert!(table.contains(row), "{row}\n{table}");
        }
    }

    #[test]
    fn all_calibrations_together_have_a_bias() {
        let found = [0.011, 0.009, 0.016].map(calibration);
        let text = biases(&found);
        // Errors of +0.1, −0.1 and +0.6 %: a variance of 13 (0.1 %)², of which 1 is their own. By hand, Student's t
        // with two degrees of freedom.
        for row in [
            "| nothing (all such arms) | 3 | +0.200 % | -0.696 to +1.096 % | 0.438 | 0.346 % |\n",
            "| busy | 3 | +0.500 µs | +0.500 to +0.500 µs | 0.000 | 0.000 µs |\n",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        for few in [&[][..], &[calibration(0.011)], &[None]] {
            assert_eq!(biases(few), "", "one run has no scatter between runs");
        }
    }

    #[test]
    fn shares_have_wilsons_interval() {
        // By hand: (0.95 + z²/40 ± z·√(0.95·0.05/20 + z²/1600)) / (1 + z²/20).
        let (low, high) = share(19, 20);
        assert!((low - 0.7639).abs() < 1e-4 && (high - 0.9911).abs() < 1e-4);
        assert_eq!((share(0, 20).0, share(20, 20).1), (0.0, 1.0));
    }

    #[test]
    fn an_interrupted_calibration_ends_the_study_and_a_failed_one_does_not() {
        let calibrated = |script| calibrated(Command::new("sh").args(["-c", script]));
        assert!(calibrated("exit 130").is_err());
        assert!(parsed(&calibrated("exit 5").unwrap()).is_none());
        let said = calibrated("echo '{\"recovery\":[],\"bias\":[]}'; exit 4").unwrap();
        assert!(parsed(&said).unwrap().recovery.is_empty());
    }
}
