//! Who is measured: each contender's name, command line and output.

use anyhow::Result;

use super::parse::{self, Answer, Printed};
use super::scenario::Scenario;

/// A load generator, or a way to use one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    Windage,
    Wrk,
    H2load,
    Oha,
    /// With `--latency-correction`: counts from when a request should have started.
    OhaCorrected,
    /// `subjects/floor`: no parser, no histogram, what the kernel alone costs.
    Floor,
}

/// What a contender is asked to do.
#[derive(Clone, Debug)]
pub(super) struct Task<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) address: String,
    pub(super) lasts_s: u32,
    /// Where h2load may log each request, in scenarios that need its percentiles.
    pub(super) log: String,
}

impl Contender {
    pub(super) const ALL: [Contender; 6] = [
        Contender::Windage,
        Contender::Wrk,
        Contender::H2load,
        Contender::Oha,
        Contender::OhaCorrected,
        Contender::Floor,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Contender::Windage => "windage",
            Contender::Wrk => "wrk",
            Contender::H2load => "h2load",
            Contender::Oha => "oha",
            Contender::OhaCorrected => "oha-corrected",
            Contender::Floor => "floor",
        }
    }

    /// The name of its program.
    pub(super) fn program(self) -> &'static str {
        match self {
            Contender::OhaCorrected => "oha",
            _ => self.as_str(),
        }
    }

    /// The arguments with which it does a task.
    pub(super) fn arguments(self, task: &Task<'_>) -> Vec<String> {
        let Scenario {
            connections,
            rate_per_s,
            ..
        } = *task.scenario;
        let lasts = format!("{}s", task.lasts_s);
        let url = format!("http://{}/", task.address);
        match self {
            Contender::Windage => {
                let mut line = words(&["load", &url, "--connections"]);
                line.extend([connections.to_string(), "--for".into(), lasts]);
                line.extend(
                    rate_per_s
                        .iter()
                        .flat_map(|r| ["--rate".into(), r.to_string()]),
                );
                // The others warm up within what they measure.
                line.extend(words(&["--warmup", "0s", "--json"]));
                line
            }
            Contender::Wrk => words(&[
                "-t1",
                &format!("-c{connections}"),
                &format!("-d{lasts}"),
                "--latency",
                &url,
            ]),
            Contender::H2load => h2load(task, &lasts, &url),
            Contender::Oha => oha(task, &lasts, &url, &[]),
            Contender::OhaCorrected => oha(task, &lasts, &url, &["--latency-correction"]),
            Contender::Floor => words(&[
                &task.address,
                "--connections",
                &connections.to_string(),
                "--for",
                &lasts,
            ]),
        }
    }

    /// What its output says.
    pub(super) fn parse(self, printed: &Printed) -> Result<Answer> {
        match self {
            Contender::Windage => parse::windage(printed),
            Contender::Wrk => parse::wrk(printed),
            Contender::H2load => parse::h2load(printed),
            Contender::Oha | Contender::OhaCorrected => parse::oha(printed),
            Contender::Floor => parse::floor(printed),
        }
    }
}

/// `--rps` is each client's, and takes a fraction.
fn h2load(task: &Task<'_>, lasts: &str, url: &str) -> Vec<String> {
    let scenario = task.scenario;
    let mut line = words(&["--h1", "-t1"]);
    line.push(format!("-c{}", scenario.connections));
    line.push(format!("-D{lasts}"));
    if let Some(rate_per_s) = scenario.rate_per_s {
        let of_each = f64::from(rate_per_s) / f64::from(scenario.connections);
        line.push(format!("--rps={of_each}"));
    }
    if scenario.needs_percentiles {
        line.push(format!("--log-file={}", task.log));
    }
    line.push(url.to_owned());
    line
}

fn oha(task: &Task<'_>, lasts: &str, url: &str, more: &[&str]) -> Vec<String> {
    let mut line = words(&["--no-tui", "--output-format", "json", "-c"]);
    line.extend([
        task.scenario.connections.to_string(),
        "-z".into(),
        lasts.into(),
    ]);
    if let Some(rate_per_s) = task.scenario.rate_per_s {
        line.extend(["-q".into(), rate_per_s.to_string()]);
    }
    line.extend(words(more));
    line.push(url.to_owned());
    line
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::load::scenario::by_name;

    fn line(contender: Contender, scenario: &str) -> String {
        let task = Task {
            scenario: by_name(scenario).unwrap(),
            address: "127.0.0.1:81".into(),
            lasts_s: 5,
            log: "/tmp/log".into(),
        };
        contender.arguments(&task).join(" ")
    }

    #[test]
    fn command_lines() {
        let url = "http://127.0.0.1:81/";
        let table = [
            (
                Contender::Wrk,
                "closed",
                format!("-t1 -c8 -d5s --latency {url}"),
            ),
            (
                Contender::H2load,
                "closed",
                format!("--h1 -t1 -c8 -D5s {url}"),
            ),
            (
                Contender::H2load,
                "open-10000",
                format!("--h1 -t1 -c8 -D5s --rps=1250 {url}"),
            ),
            (
                Contender::H2load,
                "stall",
                format!("--h1 -t1 -c8 -D5s --rps=125 --log-file=/tmp/log {url}"),
            ),
            (
                Contender::Oha,
                "open-2000",
                format!("--no-tui --output-format json -c 8 -z 5s -q 2000 {url}"),
            ),
            (
                Contender::OhaCorrected,
                "stall",
                format!(
                    "--no-tui --output-format json -c 8 -z 5s -q 1000 --latency-correction {url}"
                ),
            ),
            (
                Contender::Windage,
                "open-10000",
                format!("load {url} --connections 8 --for 5s --rate 10000 --warmup 0s --json"),
            ),
            (
                Contender::Windage,
                "closed",
                format!("load {url} --connections 8 --for 5s --warmup 0s --json"),
            ),
            (
                Contender::Floor,
                "closed",
                "127.0.0.1:81 --connections 8 --for 5s".to_owned(),
            ),
        ];
        for (contender, scenario, expected) in table {
            assert_eq!(
                line(contender, scenario),
                expected,
                "{contender:?} {scenario}"
            );
        }
    }
}
