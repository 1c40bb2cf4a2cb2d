//! The truth: what the services themselves say was injected.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// The account that a service of calibration prints at its end, as far as it is used here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Account {
    requests: f64,
    iterations: f64,
    injected_iterations: f64,
    base_cpu_ns: f64,
    injected_cpu_ns: f64,
    cpu_ns: f64,
}

/// By how much the injected work makes a request dearer, as a share of what it costs without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Truth {
    /// From the count of iterations and the CPU time of those that every request runs.
    pub(crate) counted: f64,
    /// From the clock's readings around the injected iterations themselves.
    pub(crate) clocked: f64,
}

impl Account {
    /// Reads the account of an arm from the logs of a run's only launch.
    pub(crate) fn of_arm(logs: &Path, arm: &str) -> Result<Account> {
        let log = logs.join(format!("0+{arm}+app.log"));
        let text = fs::read_to_string(&log).with_context(|| format!("read the log of {arm}"))?;
        Account::in_log(&text).with_context(|| format!("the log of {arm}"))
    }

    /// The last line of a service that was ended in order.
    fn in_log(text: &str) -> Result<Account> {
        let last = text.lines().last().context("is empty")?;
        let line: Value =
            serde_json::from_str(last).context("ends without an account; was it killed?")?;
        let number = |key: &str| line[key].as_f64().with_context(|| format!("has no {key}"));
        Ok(Account {
            requests: number("requests")?,
            iterations: number("iterations")?,
            injected_iterations: number("injected_iterations")?,
            base_cpu_ns: number("base_cpu_ns")?,
            injected_cpu_ns: number("injected_cpu_ns")?,
            cpu_ns: number("cpu_ns")?,
        })
    }
}

impl Truth {
    /// What was injected into the treatment's requests.
    pub(crate) fn of(treatment: &Account, baseline: &Account) -> Truth {
        let Account {
            requests,
            iterations,
            injected_iterations,
            base_cpu_ns,
            cpu_ns,
            ..
        } = *treatment;
        let counted_ns = base_cpu_ns * injected_iterations / iterations;
        // The baseline has the same brackets with nothing between: what they show is no injection.
        let empty_ns = baseline.injected_cpu_ns / baseline.requests * requests;
        let clocked_ns = treatment.injected_cpu_ns - empty_ns;
        Truth {
            counted: counted_ns / (cpu_ns - counted_ns),
            clocked: clocked_ns / (cpu_ns - clocked_ns),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two million requests of 50 µs in the loop and 70 µs in all before something is injected.
    pub(crate) fn log(injected_iterations: u64, injected_ns: u64) -> String {
        let requests = 2_000_000u64;
        format!(
            "listening on 127.0.0.1:4711\n{{\"requests\":{requests},\"iterations\":25000,\
             \"injected_iterations\":{injected_iterations},\"base_cpu_ns\":{},\
             \"injected_cpu_ns\":{},\"injected_wall_ns\":0,\"bracket_cpu_ns\":220,\
             \"bracket_wall_ns\":25,\"cpu_ns\":{}}}\n",
            requests * 50_000,
            // What empty brackets show beyond the least.
            requests * (injected_ns + 90),
            requests * (70_000 + injected_ns),
        )
    }

    #[test]
    fn the_truth_is_a_share_of_a_request_without() {
        let [treatment, baseline] =
            [log(350, 700), log(0, 0)].map(|text| Account::in_log(&text).unwrap());
        let truth = Truth::of(&treatment, &baseline);
        assert!((truth.counted - 0.01).abs() < 1e-12, "{truth:?}");
        assert!((truth.clocked - 0.01).abs() < 1e-12, "{truth:?}");
    }

    #[test]
    fn a_service_that_left_no_account_is_told() {
        let table = [
            ("", "is empty"),
            ("listening on 127.0.0.1:1\n", "was it killed"),
            ("{\"requests\": 5}\n", "has no iterations"),
        ];
        for (text, named) in table {
            let error = Account::in_log(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
