//! The contenders: name, command line and parser of each.

use anyhow::Result;

use super::parse::{self, Answer};
use super::scenario::Scenario;

/// A load generator, or a way to use one.
pub(super) struct Contender {
    pub(super) name: &'static str,
    line: fn(&Scenario, u32) -> String,
    /// Parses what it printed and what it logged.
    pub(super) parse: fn(&str, &str) -> Result<Answer>,
}

pub(super) const CONTENDERS: &[Contender] = &[
    Contender {
        name: "windage",
        line: windage,
        parse: parse::windage,
    },
    // With h2load's starts: all connections at once.
    Contender {
        name: "windage-bursts",
        line: windage,
        parse: parse::windage,
    },
    Contender {
        name: "wrk",
        line: |scenario, lasts_s| {
            let connections = scenario.connections;
            format!("wrk -t1 -c{connections} -d{lasts_s}s --latency http://ADDRESS/")
        },
        parse: parse::wrk,
    },
    Contender {
        name: "h2load",
        line: h2load,
        parse: parse::h2load,
    },
    Contender {
        name: "oha",
        line: oha,
        parse: parse::oha,
    },
    // Counts from the intended start of a request.
    Contender {
        name: "oha-corrected",
        line: |scenario, lasts_s| oha(scenario, lasts_s) + " --latency-correction",
        parse: parse::oha,
    },
    // `subjects/floor`: no parser, no histogram; only the kernel's cost.
    Contender {
        name: "floor",
        line: |scenario, lasts_s| {
            let connections = scenario.connections;
            format!("floor ADDRESS --connections {connections} --for {lasts_s}s")
        },
        parse: parse::floor,
    },
];

/// The contender of this name.
pub(super) fn by_name(name: &str) -> &'static Contender {
    let found = CONTENDERS.iter().find(|contender| contender.name == name);
    found.expect("scenarios name contenders of the table")
}

impl Contender {
    fn is_in_bursts(&self) -> bool {
        self.name == "windage-bursts"
    }

    /// The command that does a scenario's task at ADDRESS. FILE holds the starts of bursts; in
    /// scenarios that need percentiles h2load logs each request to it.
    pub(super) fn line(&self, scenario: &Scenario, lasts_s: u32) -> String {
        let line = (self.line)(scenario, lasts_s);
        match scenario.rate_per_s {
            Some(rate) if self.is_in_bursts() => {
                line.replace(&format!("--rate {rate}"), "--replay FILE")
            }
            _ => line,
        }
    }

    /// The file's content before the run: seconds, one line per start. Empty except for bursts.
    pub(super) fn starts(&self, scenario: &Scenario, lasts_s: u32) -> String {
        let (true, Some(rate_per_s)) = (self.is_in_bursts(), scenario.rate_per_s) else {
            return String::new();
        };
        let at_once = scenario.connections;
        (0..rate_per_s * lasts_s)
            .map(|start| f64::from(start / at_once * at_once) / f64::from(rate_per_s))
            .map(|at_s| format!("{at_s:.6}\n"))
            .collect()
    }
}

/// Without a warm-up: the others' warm-up is in their measured time.
fn windage(scenario: &Scenario, lasts_s: u32) -> String {
    let rate = rate(scenario, "--rate ");
    let connections = scenario.connections;
    format!(
        "windage load http://ADDRESS/ --connections {connections} --for {lasts_s}s{rate} --warmup 0s --json"
    )
}

/// `--rps` is per client, and may be a fraction.
fn h2load(scenario: &Scenario, lasts_s: u32) -> String {
    let connections = scenario.connections;
    let rate = scenario.rate_per_s.map(|rate| {
        let of_each = f64::from(rate) / f64::from(connections);
        format!(" --rps={of_each}")
    });
    let log = if scenario.needs_percentiles {
        " --log-file=FILE"
    } else {
        ""
    };
    let rate = rate.unwrap_or_default();
    format!("h2load --h1 -t1 -c{connections} -D{lasts_s}s{rate}{log} http://ADDRESS/")
}

fn oha(scenario: &Scenario, lasts_s: u32) -> String {
    let rate = rate(scenario, "-q ");
    let connections = scenario.connections;
    format!(
        "oha --no-tui --output-format json -c {connections} -z {lasts_s}s{rate} http://ADDRESS/"
    )
}

fn rate(scenario: &Scenario, flag: &str) -> String {
    let rate = scenario.rate_per_s.map(|rate| format!(" {flag}{rate}"));
    rate.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::load::scenario;

    #[test]
    fn command_lines() {
        let table = [
            (
                "wrk",
                "closed",
                "wrk -t1 -c8 -d5s --latency http://ADDRESS/",
            ),
            (
                "h2load",
                "closed",
                "h2load --h1 -t1 -c8 -D5s http://ADDRESS/",
            ),
            (
                "h2load",
                "open-10000",
                "h2load --h1 -t1 -c8 -D5s --rps=1250 http://ADDRESS/",
            ),
            (
                "h2load",
                "stall",
                "h2load --h1 -t1 -c8 -D5s --rps=125 --log-file=FILE http://ADDRESS/",
            ),
            (
                "oha",
                "open-2000",
                "oha --no-tui --output-format json -c 8 -z 5s -q 2000 http://ADDRESS/",
            ),
            (
                "oha-corrected",
                "stall",
                "oha --no-tui --output-format json -c 8 -z 5s -q 1000 http://ADDRESS/ --latency-correction",
            ),
            (
                "windage",
                "open-10000",
                "windage load http://ADDRESS/ --connections 8 --for 5s --rate 10000 --warmup 0s --json",
            ),
            (
                "windage-bursts",
                "open-2000",
                "windage load http://ADDRESS/ --connections 8 --for 5s --replay FILE --warmup 0s --json",
            ),
            (
                "windage",
                "closed",
                "windage load http://ADDRESS/ --connections 8 --for 5s --warmup 0s --json",
            ),
            ("floor", "closed", "floor ADDRESS --connections 8 --for 5s"),
        ];
        for (contender, scenario, expected) in table {
            let line = by_name(contender).line(scenario::by_name(scenario), 5);
            assert_eq!(line, expected, "{contender} {scenario}");
        }
    }

    #[test]
    fn bursts_are_of_all_connections_and_keep_the_rate() {
        let scenario = scenario::by_name("open-2000");
        let starts = by_name("windage-bursts").starts(scenario, 1);
        let starts: Vec<&str> = starts.lines().collect();
        assert_eq!(starts.len(), 2000);
        assert_eq!(
            starts[..9],
            [["0.000000"; 8].as_slice(), &["0.004000"]].concat()
        );
        assert_eq!(by_name("windage").starts(scenario, 1), "");
    }
}
