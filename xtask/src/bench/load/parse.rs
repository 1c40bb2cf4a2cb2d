//! What contenders print, as one [`Answer`]: pure functions, tested on what the tools really printed.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What a contender wrote.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    pub(super) stdout: String,
    /// h2load's log: one line a request. Empty where none was asked for.
    pub(super) log: String,
}

/// What a contender says of its own run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Completed answers, of any status.
    pub(super) requests: u64,
    /// What went wrong, by the contender's own count.
    pub(super) errors: u64,
    /// Completed answers a second, over the time that the contender itself counts.
    pub(super) throughput_per_s: f64,
    /// What the contender calls latency.
    pub(super) latency_us: Percentiles,
    /// How late the contender itself was to send; Windage alone tells.
    pub(super) send_lag_us: Percentiles,
    /// CPU without starting up, as Windage and the floor loop read it themselves.
    pub(super) own_cpu_us_per_request: Option<f64>,
    /// Windage's own judgement of its run.
    pub(super) validity: Option<String>,
}

/// Percentiles that were told, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Percentiles {
    pub(super) p50: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) p999: Option<f64>,
    pub(super) max: Option<f64>,
}

/// `wrk --latency`.
pub(super) fn wrk(printed: &Printed) -> Result<Answer> {
    let text = &printed.stdout;
    let percentile = |name: &str| {
        text.lines()
            .filter_map(|line| line.trim().split_once('%'))
            .find(|(percent, _)| *percent == name)
            .and_then(|(_, time)| microseconds(time.trim()))
    };
    let requests = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in "))
        .context("no `requests in` line")?;
    Ok(Answer {
        requests: number(requests.0)?,
        errors: wrk_errors(text)?,
        throughput_per_s: number(after(text, "Requests/sec:")?)?,
        latency_us: Percentiles {
            p50: percentile("50"),
            p99: percentile("99"),
            ..Percentiles::default()
        },
        ..Answer::default()
    })
}

/// `Socket errors: connect 0, read 1, write 0, timeout 2` and `Non-2xx or 3xx responses: 3`;
/// wrk leaves either out when it has none.
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

/// `h2load`, with or without `--log-file`: it prints no percentiles itself.
pub(super) fn h2load(printed: &Printed) -> Result<Answer> {
    let text = &printed.stdout;
    let counts = after(text, "requests:")?;
    let count = |name: &str| {
        counts
            .split(',')
            .filter_map(|part| part.trim().split_once(' '))
            .find(|(_, what)| *what == name)
            .with_context(|| format!("no count of requests {name}"))
            .and_then(|(count, _)| number::<u64>(count))
    };
    let rate = after(text, "finished in")?
        .split(',')
        .find_map(|part| part.trim().strip_suffix(" req/s"))
        .context("no req/s in the `finished in` line")?;
    let longest = after(text, "time for request:")?.split_whitespace().nth(1);
    let mut latency_us = percentiles(h2load_log(&printed.log)?);
    latency_us.max = latency_us.max.or(longest.and_then(microseconds));
    Ok(Answer {
        requests: count("done")?,
        errors: count("failed")? + count("timeout")?,
        throughput_per_s: number(rate)?,
        latency_us,
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

/// Percentiles by nearest rank.
fn percentiles(mut times_us: Vec<u64>) -> Percentiles {
    times_us.sort_unstable();
    let at = |per_mille: usize| {
        let rank = (times_us.len() * per_mille).div_ceil(1000);
        times_us
            .get(rank.checked_sub(1)?)
            .map(|&time_us| time_us as f64)
    };
    Percentiles {
        p50: at(500),
        p99: at(990),
        p999: at(999),
        max: at(1000),
    }
}

/// `oha --output-format json`: seconds, and null where there is nothing.
pub(super) fn oha(printed: &Printed) -> Result<Answer> {
    let json = document(&printed.stdout)?;
    let counts = |name: &str| -> u64 {
        let classes = json[name].as_object();
        classes.map_or(0, |c| c.values().filter_map(Value::as_u64).sum())
    };
    let in_us = |value: &Value| value.as_f64().map(|seconds| seconds * 1e6);
    let percentiles = &json["latencyPercentiles"];
    // Requests that the deadline cut off are no answers, and no errors of anybody.
    let cut_off = json["errorDistribution"]["aborted due to deadline"]
        .as_u64()
        .unwrap_or_default();
    let requests = counts("statusCodeDistribution");
    let total_s = json["summary"]["total"]
        .as_f64()
        .context("no summary.total")?;
    Ok(Answer {
        requests,
        errors: counts("errorDistribution") - cut_off,
        // Its own `requestsPerSec` counts the requests that were cut off as well.
        throughput_per_s: requests as f64 / total_s,
        latency_us: Percentiles {
            p50: in_us(&percentiles["p50"]),
            p99: in_us(&percentiles["p99"]),
            p999: in_us(&percentiles["p99.9"]),
            max: in_us(&json["summary"]["slowest"]),
        },
        ..Answer::default()
    })
}

/// `windage load --json`.
pub(super) fn windage(printed: &Printed) -> Result<Answer> {
    let json = document(&printed.stdout)?;
    let percentiles = |name: &str| {
        let values = &json[name];
        Percentiles {
            p50: values["p50"].as_f64(),
            p99: values["p99"].as_f64(),
            p999: values["p999"].as_f64(),
            max: values["max"].as_f64(),
        }
    };
    let errors = json["errors"].as_object().context("no errors")?;
    Ok(Answer {
        requests: json["requests"].as_u64().context("no requests")?,
        errors: errors.values().filter_map(Value::as_u64).sum(),
        throughput_per_s: json["rate"]["achieved"]
            .as_f64()
            .context("no rate.achieved")?,
        latency_us: percentiles("response_time_us"),
        send_lag_us: percentiles("send_lag_us"),
        own_cpu_us_per_request: json["generator"]["cpu_us_per_request"].as_f64(),
        validity: Some(judgement(&json["validity"])),
    })
}

/// The verdict alone where there is an object around it.
fn judgement(validity: &Value) -> String {
    let verdict = validity.get("verdict").unwrap_or(validity);
    verdict
        .as_str()
        .map_or_else(|| verdict.to_string(), str::to_owned)
}

/// The floor loop: one line of JSON.
pub(super) fn floor(printed: &Printed) -> Result<Answer> {
    let json = document(&printed.stdout)?;
    let requests = json["requests"].as_u64().context("no requests")?;
    let seconds = json["seconds"].as_f64().context("no seconds")?;
    Ok(Answer {
        requests,
        throughput_per_s: requests as f64 / seconds,
        own_cpu_us_per_request: json["cpu_us_per_request"].as_f64(),
        ..Answer::default()
    })
}

fn document(text: &str) -> Result<Value> {
    serde_json::from_str(text.trim()).context("its output is not one JSON document")
}

/// What follows a label on its line.
fn after<'t>(text: &'t str, label: &str) -> Result<&'t str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix(label))
        .map(str::trim)
        .with_context(|| format!("no `{label}` line"))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T> {
    let text = text.trim();
    text.parse()
        .ok()
        .with_context(|| format!("`{text}` is not a number"))
}

/// `47.00us`, `4.44ms`, `1.11s`, `2m`; wrk and h2load write alike.
fn microseconds(text: &str) -> Option<f64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (value, unit) = text.split_at(unit_at);
    let scale = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    value.parse::<f64>().ok().map(|value| value * scale)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
