//! One run of the study, and what is read from its analysis.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The metrics whose control is followed.
pub(crate) const METRICS: [&str; 2] = ["cpu_per_request", "throughput"];

/// The order in which a run's windows were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Mirrored,
    Sequential,
}

impl Order {
    pub(crate) const BOTH: [Order; 2] = [Order::Mirrored, Order::Sequential];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Order::Mirrored => "mirrored",
            Order::Sequential => "sequential",
        }
    }

    /// The plan, from the workspace's folder.
    pub(crate) fn plan(self) -> &'static str {
        match self {
            Order::Mirrored => "experiments/aa-nginx/plan.toml",
            Order::Sequential => "experiments/aa-nginx/sequential/plan.toml",
        }
    }
}

/// One run: a control, or why there is none. A failed run is a result as well.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) order: Order,
    pub(crate) number: u32,
    pub(crate) duration_s: f64,
    pub(crate) outcome: Result<Control, String>,
}

/// The control of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Control {
    /// The analysis's own verdict on the run.
    pub(crate) validity: String,
    /// In the order of [`METRICS`].
    pub(crate) metrics: [Reading; METRICS.len()],
}

/// The control's relative difference in one metric; shares, not percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) estimate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Half-width from variation within launches alone, where it was computed.
    pub(crate) within_launch_half_width: Option<f64>,
    pub(crate) exceeds_nil: bool,
}

impl Reading {
    pub(crate) fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

impl Control {
    /// Reads the control from an analysis.
    pub(crate) fn from_analysis(analysis: &str) -> Result<Control> {
        let analysis: Value =
            serde_json::from_str(analysis).context("standard output is not one JSON document")?;
        let arms = analysis["arms"]
            .as_array()
            .context("the analysis has no arms")?;
        let control = arms
            .iter()
            .find(|arm| arm["role"] == "control")
            .context("the analysis has no arm of role control")?;
        let [cpu, throughput] = METRICS.map(|metric| {
            reading(&control["metrics"][metric]).with_context(|| format!("the control's {metric}"))
        });
        let validity = analysis["validity"]["verdict"]
            .as_str()
            .context("no validity.verdict")?;
        Ok(Control {
            validity: validity.to_owned(),
            metrics: [cpu?, throughput?],
        })
    }
}

/// Reads a metric's relative difference from an analysis.
pub(crate) fn reading(metric: &Value) -> Result<Reading> {
    let relative = &metric["relative"];
    if relative.is_null() {
        let why = metric["missing"]["text"]
            .as_str()
            .unwrap_or("no reason is given");
        bail!("has no relative difference: {why}");
    }
    let number = |key: &str| {
        relative[key]
            .as_f64()
            .with_context(|| format!("no relative.{key}"))
    };
    Ok(Reading {
        estimate: number("estimate")?,
        low: number("low")?,
        high: number("high")?,
        within_launch_half_width: metric["within_launch_half_width"].as_f64(),
        exceeds_nil: metric["exceeds_nil"].as_bool().context("no exceeds_nil")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANALYSIS: &str = r#"{
        "schema": 1, "validity": { "verdict": "suspect", "reasons": [] },
        "arms": [
            { "id": "nginx", "role": "baseline", "metrics": {} },
            { "id": "control", "role": "control", "metrics": {
                "cpu_per_request": { "relative": { "estimate": 0.01, "low": -0.02, "high": 0.04 },
                    "within_launch_half_width": 0.005, "exceeds_nil": false },
                "throughput": { "relative": { "estimate": -0.2, "low": -0.3, "high": -0.1 },
                    "within_launch_half_width": null, "exceeds_nil": true } } }
        ] }"#;

    #[test]
    fn a_control_is_read() {
        let control = Control::from_analysis(ANALYSIS).unwrap();
        assert_eq!(control.validity, "suspect");
        let [cpu, throughput] = control.metrics;
        assert_eq!((cpu.estimate, cpu.low, cpu.high), (0.01, -0.02, 0.04));
        assert_eq!(
            (cpu.within_launch_half_width, cpu.exceeds_nil),
            (Some(0.005), false)
        );
        assert_eq!(
            (throughput.within_launch_half_width, throughput.exceeds_nil),
            (None, true)
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let table = [
            ("", "", "not one JSON document"),
            (
                r#""role": "control""#,
                r#""role": "treatment""#,
                "role control",
            ),
            (r#""throughput""#, r#""through""#, "throughput"),
            (
                r#"{ "estimate": 0.01, "low": -0.02, "high": 0.04 }"#,
                "null",
                "cpu_per_request",
            ),
            (r#""low": -0.3, "#, "", "relative.low"),
            (r#""verdict""#, r#""word""#, "validity.verdict"),
        ];
        for (from, to, named) in table {
            let text = if from.is_empty() {
                String::new()
            } else {
                ANALYSIS.replace(from, to)
            };
            let error = format!("{:#}", Control::from_analysis(&text).unwrap_err());
            assert!(error.contains(named), "{named}: {error}");
        }
    }
}
