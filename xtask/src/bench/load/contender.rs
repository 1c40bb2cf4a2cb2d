//! Who is measured: each contender's name, command line and output.

use anyhow::Result;

use super::parse::{self, Answer, Printed};
use super::scenario::Scenario;

/// A load generator, or a way to use one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    Windage,
    /// With starts as h2load has them: all connections at once.
    WindageBursts,
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
    /// A file for this run: h2load logs each request there, in scenarios that need its percentiles,
    /// and Windage reads its starts from there where they are in bursts.
    pub(super) file: String,
}

impl Contender {
    pub(super) const ALL: [Contender; 7] = [
        Contender::Windage,
        Contender::WindageBursts,
        Contender::Wrk,
        Contender::H2load,
        Contender::Oha,
        Contender::OhaCorrected,
        Contender::Floor,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Contender::Windage => "windage",
            Contender::WindageBursts => "windage-bursts",
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
            Contender::WindageBursts => "windage",
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
                let rate = rate_per_s.map(|rate| ["--rate".to_owned(), rate.to_string()]);
                windage(task, &lasts, &url, rate.as_slice().as_flattened())
            }
            Contender::WindageBursts => {
                windage(task, &lasts, &url, &words(&["--replay", &task.file]))
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

    /// What has to stand in the task's file before it begins: seconds, a line for each start.
    pub(super) fn starts(self, task: &Task<'_>) -> Option<String> {
        let rate_per_s = f64::from(task.scenario.rate_per_s?);
        let at_once = task.scenario.connections;
        (self == Contender::WindageBursts).then(|| {
            let starts = (rate_per_s * f64::from(task.lasts_s)) as u32;
            (0..starts)
                .map(|start| f64::from(start / at_once * at_once) / rate_per_s)
                .map(|at_s| format!("{at_s:.6}\n"))
                .collect()
        })
    }

    /// What its output says.
    pub(super) fn parse(self, printed: &Printed) -> Result<Answer> {
        match self {
            Contender::Windage | Contender::WindageBursts => parse::windage(printed),
            Contender::Wrk => parse::wrk(printed),
            Contender::H2load => parse::h2load(printed),
            Contender::Oha | Contender::OhaCorrected => parse::oha(printed),
            Contender::Floor => parse::floor(printed),
        }
    }
}

fn windage(task: &Task<'_>, lasts: &str, url: &str, starts: &[String]) -> Vec<String> {
    let connections = task.scenario.connections.to_string();
    let mut line = words(&["load", url, "--connections", &connections, "--for", lasts]);
    line.extend_from_slice(starts);
    // The others warm up within what they measure.
    line.extend(words(&["--warmup", "0s", "--json"]));
    line
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
        line.push(format!("--log-file={}", task.file));
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
            file: "/tmp/log".into(),
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
                Contender::WindageBursts,
                "open-2000",
                format!("load {url} --connections 8 --for 5s --replay /tmp/log --warmup 0s --json"),
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

    #[test]
    fn bursts_are_of_all_connections_and_keep_the_rate() {
        let task = Task {
            scenario: by_name("open-2000").unwrap(),
            address: "127.0.0.1:81".into(),
            lasts_s: 1,
            file: "/tmp/starts".into(),
        };
        let starts = Contender::WindageBursts.starts(&task).unwrap();
        let starts: Vec<&str> = starts.lines().collect();
        assert_eq!(starts.len(), 2000);
        assert_eq!(
            starts[..9],
            [["0.000000"; 8].as_slice(), &["0.004000"]].concat()
        );
        assert_eq!(Contender::Windage.starts(&task), None);
    }
}
