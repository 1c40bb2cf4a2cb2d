//! Contenders' output as an [`Answer`]: pure functions, tested on real output.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bench::study::Quantity;

pub(super) const OWN_CPU: Quantity = Quantity::new("CPU per request, self-reported", "µs", 2);
pub(super) const P50: Quantity = Quantity::new("latency p50", "µs", 1);
pub(super) const P99: Quantity = Quantity::new("latency p99", "µs", 1);
pub(super) const P999: Quantity = Quantity::new("latency p99.9", "µs", 1);
pub(super) const LONGEST: Quantity = Quantity::new("longest latency", "µs", 1);
pub(super) const LAG_P99: Quantity = Quantity::new("send lag p99", "µs", 1);
pub(super) const LAG_P999: Quantity = Quantity::new("send lag p99.9", "µs", 1);

/// A contender's report on its own run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Completed answers, of any status.
    pub(super) requests: u64,
    /// Errors, by the contender's own count.
    pub(super) errors: u64,
    /// Completed answers per second, over the time that the contender counts.
    pub(super) throughput_per_s: f64,
    /// Whether Windage's verdict on its run is suspect or void.
    pub(super) is_warned: bool,
    /// The contender's latencies, and what Windage and the floor loop report of themselves; NaN if
    /// missing.
    pub(super) values: Vec<(Quantity, f64)>,
}

/// `wrk --latency`.
pub(super) fn wrk(text: &str, _log: &str) -> Result<Answer> {
    let percentile = |name: &str| {
        let mut percents = text.lines().filter_map(|line| line.trim().split_once('%'));
        let time = percents.find(|(percent, _)| *percent == name);
        time.map_or(f64::NAN, |(_, time)| microseconds(time.trim()))
    };
    let mut lines = text.lines().map(str::trim);
    let requests = lines.find_map(|line| line.split_once(" requests in "));
    Ok(Answer {
        requests: number(requests.context("no `requests in` line")?.0)?,
        errors: wrk_errors(text)?,
        throughput_per_s: number(after(text, "Requests/sec:")?)?,
        values: vec![(P50, percentile("50")), (P99, percentile("99"))],
        ..Answer::default()
    })
}

/// `Socket errors: connect 0, read 1, write 0, timeout 2` and `Non-2xx or 3xx responses: 3`; wrk
/// leaves out either if there are none.
fn wrk_errors(text: &str) -> Result<u64> {
    let mut errors = match after(text, "Non-2xx or 3xx responses:") {
        Ok(count) => number(count)?,
        Err(_) => 0,
    };
    if let Ok(classes) = after(text, "Socket errors:") {
        for class in classes.split(',') {
            errors += number::<u64>(class.split_whitespace().last().unwrap_or_default())?;
        }
    }
    Ok(errors)
}

/// `h2load`, with or without `--log-file`: it prints no percentiles itself. The log has one line
/// per request.
pub(super) fn h2load(text: &str, log: &str) -> Result<Answer> {
    let counts = after(text, "requests:")?;
    let count = |name: &str| {
        let mut counts = counts
            .split(',')
            .filter_map(|part| part.trim().split_once(' '));
        let found = counts.find(|(_, what)| *what == name);
        number::<u64>(
            found
                .with_context(|| format!("no count of requests {name}"))?
                .0,
        )
    };
    let mut finished = after(text, "finished in")?.split(',');
    let rate = finished.find_map(|part| part.trim().strip_suffix(" req/s"));
    let mut values = percentiles(h2load_log(log)?);
    if values.is_empty() {
        let longest = after(text, "time for request:")?.split_whitespace().nth(1);
        values.push((LONGEST, longest.map_or(f64::NAN, microseconds)));
    }
    Ok(Answer {
        requests: count("done")?,
        errors: count("failed")? + count("timeout")?,
        throughput_per_s: number(rate.context("no req/s in the `finished in` line")?)?,
        values,
        ..Answer::default()
    })
}

/// The third column: microseconds until the end of the response. A failed request has status −1.
fn h2load_log(log: &str) -> Result<Vec<u64>> {
    let mut times_us = Vec::new();
    for line in log.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[_, status, time_us] = columns.as_slice() else {
            bail!("a line of h2load's log has {} columns", columns.len());
        };
        if status != "-1" {
            times_us.push(number(time_us)?);
        }
    }
    Ok(times_us)
}

/// Percentiles by nearest rank; none without values.
fn percentiles(mut times_us: Vec<u64>) -> Vec<(Quantity, f64)> {
    times_us.sort_unstable();
    let of = [(P50, 500), (P99, 990), (P999, 999), (LONGEST, 1000)];
    let at = |(quantity, per_mille): (Quantity, usize)| {
        let rank = (times_us.len() * per_mille).div_ceil(1000);
        Some((quantity, *times_us.get(rank.checked_sub(1)?)? as f64))
    };
    of.into_iter().filter_map(at).collect()
}

/// `oha --output-format json`: seconds, and null for missing values.
pub(super) fn oha(text: &str, _log: &str) -> Result<Answer> {
    let json = document(text)?;
    let in_us = |value: &Value| figure(value) * 1e6;
    let percentiles = &json["latencyPercentiles"];
    // Requests cut off by the deadline are neither answers nor errors.
    let cut_off = json["errorDistribution"]["aborted due to deadline"].as_u64();
    let requests = sum(&json["statusCodeDistribution"]);
    let total_s = json["summary"]["total"].as_f64();
    Ok(Answer {
        requests,
        errors: sum(&json["errorDistribution"]) - cut_off.unwrap_or_default(),
        // Its own `requestsPerSec` includes the requests that were cut off.
        throughput_per_s: requests as f64 / total_s.context("no summary.total")?,
        values: vec![
            (P50, in_us(&percentiles["p50"])),
            (P99, in_us(&percentiles["p99"])),
            (P999, in_us(&percentiles["p99.9"])),
            (LONGEST, in_us(&json["summary"]["slowest"])),
        ],
        ..Answer::default()
    })
}

/// `windage load --json`.
pub(super) fn windage(text: &str, _log: &str) -> Result<Answer> {
    let json = document(text)?;
    let (times, lags) = (&json["response_time_us"], &json["send_lag_us"]);
    Ok(Answer {
        requests: json["requests"].as_u64().context("no requests")?,
        errors: sum(&json["errors"]),
        throughput_per_s: json["rate"]["achieved"]
            .as_f64()
            .context("no rate.achieved")?,
        is_warned: json["validity"]["verdict"] != "valid",
        values: vec![
            (P50, figure(&times["p50"])),
            (P99, figure(&times["p99"])),
            (P999, figure(&times["p999"])),
            (LONGEST, figure(&times["max"])),
            (LAG_P99, figure(&lags["p99"])),
            (LAG_P999, figure(&lags["p999"])),
            (OWN_CPU, figure(&json["generator"]["cpu_us_per_request"])),
        ],
    })
}

/// The floor loop: one line of JSON.
pub(super) fn floor(text: &str, _log: &str) -> Result<Answer> {
    let json = document(text)?;
    let requests = json["requests"].as_u64().context("no requests")?;
    Ok(Answer {
        requests,
        throughput_per_s: requests as f64 / json["seconds"].as_f64().context("no seconds")?,
        values: vec![(OWN_CPU, figure(&json["cpu_us_per_request"]))],
        ..Answer::default()
    })
}

fn document(text: &str) -> Result<Value> {
    serde_json::from_str(text.trim()).context("its output is not one JSON document")
}

fn figure(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The sum of the counts by class.
fn sum(classes: &Value) -> u64 {
    let counts = classes
        .as_object()
        .into_iter()
        .flat_map(|classes| classes.values());
    counts.filter_map(Value::as_u64).sum()
}

/// The rest of the line after a label.
fn after<'t>(text: &'t str, label: &str) -> Result<&'t str> {
    let mut lines = text.lines().map(str::trim);
    let rest = lines
        .find_map(|line| line.strip_prefix(label))
        .map(str::trim);
    rest.with_context(|| format!("no `{label}` line"))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T> {
    let number = text.trim().parse().ok();
    number.with_context(|| format!("`{text}` is not a number"))
}

/// `47.00us`, `4.44ms`, `1.11s`, `2m`, as printed by wrk and h2load. NaN for anything else.
fn microseconds(text: &str) -> f64 {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic());
    let (value, unit) = text.split_at(unit_at.unwrap_or(text.len()));
    let scale = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => f64::NAN,
    };
    value.parse().unwrap_or(f64::NAN) * scale
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
