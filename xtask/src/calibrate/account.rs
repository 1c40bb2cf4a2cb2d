//! The truth: what the services themselves say was injected.

use std::fs;
use std::io;
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
    /// Reads the accounts of an arm from a run's logs, one of each launch, and adds them up.
    pub(crate) fn of_arm(logs: &Path, arm: &str) -> Result<Account> {
        let mut total: Option<Account> = None;
        for launch in 0.. {
            let text = match fs::read_to_string(logs.join(format!("{launch}+{arm}+app.log"))) {
                Ok(text) => text,
                Err(error) if launch > 0 && error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error).with_context(|| format!("read the log of {arm}")),
            };
            let account = Account::in_log(&text)
                .with_context(|| format!("the log of {arm} in launch {launch}"))?;
            total = Some(total.map_or(account, |before| before.plus(&account)));
        }
        total.with_context(|| format!("{arm} has no log"))
    }

    fn plus(&self, other: &Account) -> Account {
        Account {
            requests: self.requests + other.requests,
            base_cpu_ns: self.base_cpu_ns + other.base_cpu_ns,
            injected_cpu_ns: self.injected_cpu_ns + other.injected_cpu_ns,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            // The same program with the same flags.
            iterations: self.iterations,
            injected_iterations: self.injected_iterations,
        }
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
    fn launches_add_up() {
        let logs = tempfile::tempdir().unwrap();
        // By the clock a little less than 1 % in one launch and a little more in the other.
        for (launch, iterations, ns) in [(0, 350, 600), (1, 350, 800)] {
            let log_of_launch = logs.path().join(format!("{launch}+spin+app.log"));
            fs::write(log_of_launch, log(iterations, ns)).unwrap();
        }
        fs::write(logs.path().join("0+off+app.log"), log(0, 0)).unwrap();
        let account = |arm| Account::of_arm(logs.path(), arm);
        let truth = Truth::of(&account("spin").unwrap(), &account("off").unwrap());
        assert!((truth.counted - 0.01).abs() < 1e-12, "{truth:?}");
        assert!((truth.clocked - 0.01).abs() < 1e-12, "{truth:?}");
        assert!(account("busy").unwrap_err().to_string().contains("busy"));
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
