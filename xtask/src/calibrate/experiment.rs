//! One run: what was found, and the truth.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::account::{Account, Truth};
use crate::record::trial::{Order, Reading, reading};

/// The metrics that are followed.
pub(crate) const METRICS: [&str; 3] = ["cpu_per_request", "throughput", "service_time_p50"];

/// One run. One that failed is a result as well.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    pub(crate) number: u32,
    pub(crate) order: Order,
    pub(crate) outcome: Result<Outcome, String>,
}

/// What a run found of nothing and of the injected cost.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) validity: String,
    /// By metric. CPU is always there; the sequential order has no interval for service times.
    pub(crate) control: [Option<Found>; METRICS.len()],
    /// CPU a request, the metric in which the truth is known.
    pub(crate) treatment: Found,
    pub(crate) truth: Truth,
}

/// A metric of an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) reading: Reading,
    /// Half-width that the interval would have without covariate; `None` where none was used.
    pub(crate) half_width_without_covariate: Option<f64>,
}

impl Outcome {
    /// Reads the analysis of a run and the accounts in its logs.
    pub(crate) fn read(analysis: &Value, logs: &Path) -> Result<Outcome> {
        let arms = analysis["arms"].as_array().context("there are no arms")?;
        let of_role = |role: &str| {
            let arm = arms.iter().find(|arm| arm["role"] == role);
            arm.with_context(|| format!("there is no arm of role {role}"))
        };
        let account = |role: &str| {
            let id = of_role(role)?["id"].as_str().context("an arm has no id")?;
            Account::of_arm(logs, id)
        };
        Ok(Outcome {
            validity: analysis["validity"]["verdict"]
                .as_str()
                .context("no validity.verdict")?
                .to_owned(),
            control: control(of_role("control")?).context("the control")?,
            treatment: found(of_role("treatment")?, METRICS[0]).context("the treatment")?,
            truth: Truth::of(&account("treatment")?, &account("baseline")?),
        })
    }

    /// How far the treatment's CPU a request is from the truth.
    pub(crate) fn error(&self) -> f64 {
        self.treatment.reading.estimate - self.truth.counted
    }

    /// Whether the interval of the treatment's CPU a request holds the truth.
    pub(crate) fn holds_truth(&self) -> bool {
        let Reading { low, high, .. } = self.treatment.reading;
        (low..=high).contains(&self.truth.counted)
    }
}

fn control(arm: &Value) -> Result<[Option<Found>; METRICS.len()]> {
    found(arm, METRICS[0])?;
    Ok(METRICS.map(|metric| found(arm, metric).ok()))
}

fn found(arm: &Value, name: &'static str) -> Result<Found> {
    let metric = &arm["metrics"][name];
    reading(metric).context(name).map(|reading| Found {
        reading,
        half_width_without_covariate: half_width(&metric["covariate"]["without"]),
    })
}

impl Found {
    /// Whether the interval from variation within launches alone leaves nil out: what these very
    /// launches tell, whatever others would.
    pub(crate) fn is_found_within_launches(&self) -> bool {
        let half_width = self.reading.within_launch_half_width;
        half_width.is_some_and(|half_width| self.reading.estimate.abs() > half_width)
    }
}

fn half_width(interval: &Value) -> Option<f64> {
    Some((interval["high"].as_f64()? - interval["low"].as_f64()?) / 2.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::super::account::tests::log;
    use super::*;

    fn metric(estimate: f64) -> Value {
        serde_json::json!({
            "relative": { "estimate": estimate, "low": estimate - 0.002, "high": estimate + 0.002 },
            "within_launch_half_width": 0.002,
            "exceeds_nil": estimate.abs() > 0.002,
        })
    }

    fn analysis(treatment: f64) -> Value {
        let metrics = |estimate: f64| {
            let all = METRICS.map(|name| (name.to_owned(), metric(estimate)));
            Value::Object(all.into_iter().collect())
        };
        serde_json::json!({
            "validity": { "verdict": "suspect" },
            "arms": [
                { "id": "off", "role": "baseline", "metrics": {} },
                { "id": "control", "role": "control", "metrics": metrics(0.0) },
                { "id": "spin", "role": "treatment", "metrics": metrics(treatment) },
            ]
        })
    }

    /// A run that found so much of an injected hundredth.
    pub(crate) fn outcome(treatment: f64) -> Outcome {
        let logs = tempfile::tempdir().unwrap();
        fs::write(logs.path().join("0+off+app.log"), log(0, 0)).unwrap();
        fs::write(logs.path().join("0+spin+app.log"), log(350, 700)).unwrap();
        Outcome::read(&analysis(treatment), logs.path()).unwrap()
    }

    #[test]
    fn what_was_found_is_held_against_the_truth() {
        for (estimate, holds) in [
            (0.0095, true),
            (0.0119, true),
            (0.0125, false),
            (0.0, false),
        ] {
            let outcome = outcome(estimate);
            assert_eq!(outcome.holds_truth(), holds, "{estimate}");
            assert!((outcome.error() - (estimate - 0.01)).abs() < 1e-12);
            assert!(!outcome.control[0].unwrap().reading.exceeds_nil);
        }
    }

    #[test]
    fn an_interval_without_covariate_is_read_where_there_is_one() {
        let mut analysis = analysis(0.01);
        analysis["arms"][1]["metrics"]["throughput"]["covariate"] =
            serde_json::json!({ "without": { "low": -0.01, "high": 0.01 } });
        let control = control(&analysis["arms"][1]).unwrap();
        let without = control.map(|found| found.unwrap().half_width_without_covariate);
        assert_eq!(without, [None, Some(0.01), None]);
    }

    #[test]
    fn cpu_must_be_there_and_the_rest_may_be() {
        let missing = serde_json::json!({ "missing": { "text": "too few" } });
        let mut analysis = analysis(0.01);
        let metrics = &mut analysis["arms"][1]["metrics"];
        metrics["service_time_p50"] = missing.clone();
        assert_eq!(control(&analysis["arms"][1]).unwrap()[2], None);
        analysis["arms"][1]["metrics"]["cpu_per_request"] = missing;
        let error = format!("{:#}", control(&analysis["arms"][1]).unwrap_err());
        assert!(error.contains("too few"), "{error}");
    }

    #[test]
    fn a_run_without_account_has_no_outcome() {
        let logs = tempfile::tempdir().unwrap();
        let error = Outcome::read(&analysis(0.01), logs.path()).unwrap_err();
        assert!(format!("{error:#}").contains("log of spin"), "{error:#}");
    }
}
