//! `cargo xtask bench sink`: Windage's sink compared with other receivers, and whether it counts
//! exactly and stays small.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::line::Places;
use super::study::{
    Bound, Flags, Goal, LOAD_CORE, Plan, Quantity, Reading, Run, Runner, SERVER_CORE, Scenario,
    Study,
};

mod connections;
mod exactness;
mod generator;
mod payload;
mod provide;
mod receiver;
mod scenario;
mod sender;

use connections::{MEMORY, Turn};
use exactness::MODES;
use generator::Load;
use receiver::{RECEIVERS, Receiving};
use scenario::SCENARIOS;

/// Few enough that the receiver is the bottleneck, enough that it never waits itself.
const CONNECTIONS: u32 = 8;

/// Load before the measurement, for code that compiles, and caches and memory that grow.
const WARMUP: Duration = Duration::from_millis(500);

/// Timeout of an answer. The slowest receiver takes a fraction of a second for the largest request.
const TIMEOUT: Duration = Duration::from_secs(20);

const SPANS_PER_CPU: Quantity = Quantity::new("spans per CPU second", "million", 3);
const BYTES_PER_CPU: Quantity = Quantity::new("bytes per CPU second", "MB", 0);
const CPU: Quantity = Quantity::new("CPU per request", "µs", 2);
const SPANS_PER_S: Quantity = Quantity::new("spans per second", "million", 3);
const CORES: Quantity = Quantity::new("cores busy", "", 2);

const HTTP: &str = "http-512";
const GRPC: &str = "grpc-512";

const GOALS: &[Goal] = &[
    at_least((HTTP, "windage"), SPANS_PER_CPU, None, 2.0),
    at_least((GRPC, "windage"), SPANS_PER_CPU, None, 1.0),
    of_collector(HTTP, 10.0),
    of_collector(GRPC, 5.0),
    of_discarding(HTTP, 0.6),
    of_discarding(GRPC, 0.3),
    worst(Turn::Each.scenario(), MEMORY, 64.0),
    worst(Turn::AtOnce.scenario(), MEMORY, 64.0),
    worst(exactness::SCENARIO, exactness::OFF_BY, 0.0),
];

const fn at_least(of: Run, quantity: Quantity, against: Option<Run>, least: f64) -> Goal {
    Goal::of(of, quantity, against, Bound::AtLeast(least))
}

const fn of_collector(scenario: &'static str, least: f64) -> Goal {
    let against = Some((scenario, "collector"));
    at_least((scenario, "windage"), SPANS_PER_CPU, against, least)
}

/// There is no discarding receiver for gRPC, so gRPC is compared with HTTP.
const fn of_discarding(scenario: &'static str, least: f64) -> Goal {
    let of = (scenario, "windage-count-only");
    at_least(of, BYTES_PER_CPU, Some((HTTP, "discard")), least)
}

const fn worst(scenario: &'static str, quantity: Quantity, most: f64) -> Goal {
    Goal::of((scenario, Goal::WORST), quantity, None, Bound::AtMost(most))
}

const METHOD: &str = "\
Each receiver is launched afresh on one core (`collector-all-cores` on all) and gets load from `windage load` on another: \
a closed loop on 8 connections, half a second of warm-up and then the measured time. CPU is that of the receiver's \
process, all its threads, by its process clock from before the load to after it. Spans are the requests that were answered \
with success, times the spans in each; receivers that count must have counted the same, or the run has \
failed. Every request of a scenario has the same bytes: spans with ten attributes each, in traces of four. The Collector \
has an OTLP receiver and an exporter that does nothing, no processor, and no metrics of its own; it does not report its \
count, and over gRPC with gzip its status is not checked. `discard` reads HTTP requests and looks only at \
their length; there is no such floor for gRPC. `exactness` and the scenarios of many connections run only `windage sink`, \
once each.";

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// How many spans each mode of `exactness` delivers
    #[arg(long, default_value_t = 100_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    spans: u64,
    /// How many connections are open in `in-turn` and `at-once`
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
}

/// Runs the study.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let (spans, connections) = (args.spans, args.connections);
    let sink = Sink {
        lasts: Duration::from_secs(args.flags.lasts_s.unwrap_or(2).into()),
        spans,
        connections,
        programs: provide::programs()?,
    };
    let plan = Plan {
        name: "sink",
        title: "The sink compared with other receivers",
        method: METHOD,
        rounds: 7,
        lasts_s: args.flags.lasts_s.unwrap_or(2),
        further_flags: format!(" --spans {spans} --connections {connections}"),
        scenarios: scenarios(connections),
        compared: &[SPANS_PER_CPU],
        goals: GOALS,
    };
    Study::run(plan, &args.flags, &sink)
}

fn scenarios(connections: u32) -> Vec<Scenario> {
    let compared = SCENARIOS.iter().map(|scenario| Scenario {
        name: scenario.name,
        meaning: scenario.meaning(),
        contenders: scenario.receivers().map(|receiver| receiver.name).collect(),
        is_once: false,
    });
    let exactness = Scenario {
        name: exactness::SCENARIO,
        meaning: exactness::MEANING.to_owned(),
        contenders: MODES.iter().map(|mode| mode.name).collect(),
        is_once: true,
    };
    let crowds = Turn::ALL.map(|turn| Scenario {
        name: turn.scenario(),
        meaning: format!(
            "{connections} connections to `windage sink` with all counters, {}",
            turn.meaning()
        ),
        contenders: SCENARIOS.iter().map(|scenario| scenario.name).collect(),
        is_once: true,
    });
    compared.chain([exactness]).chain(crowds).collect()
}

struct Sink {
    lasts: Duration,
    /// In each mode of `exactness`.
    spans: u64,
    /// In each scenario of many connections.
    connections: u32,
    programs: Places,
}

impl Runner for Sink {
    type Stage = ();

    fn stage(&self, _scenario: &'static str) -> Result<()> {
        Ok(())
    }

    fn measure(
        &self,
        _stage: &(),
        scenario: &'static str,
        contender: &'static str,
    ) -> Result<Reading> {
        if scenario == exactness::SCENARIO {
            return exactness::measure(contender, self.spans, &self.programs);
        }
        let turn = Turn::ALL
            .into_iter()
            .find(|turn| turn.scenario() == scenario);
        if let Some(turn) = turn {
            let scenario = scenario::by_name(contender);
            return turn.measure(scenario, self.connections, &self.programs);
        }
        self.compare(scenario::by_name(scenario), contender)
    }

    fn versions(&self) -> Result<Vec<String>> {
        provide::versions(&self.programs)
    }

    fn commands(&self, scenario: &Scenario) -> Vec<String> {
        let Some(of) = SCENARIOS.iter().find(|of| of.name == scenario.name) else {
            return Vec::new();
        };
        let receivers = of
            .receivers()
            .map(|receiver| match receiver.has_all_cores() {
                true => receiver.line(of.protocol),
                false => format!(
                    "taskset --cpu-list {SERVER_CORE} {}",
                    receiver.line(of.protocol)
                ),
            });
        let load = format!(
            "taskset --cpu-list {LOAD_CORE} {}",
            self.load(of, self.lasts).line()
        );
        receivers.chain([load]).collect()
    }
}

impl Sink {
    fn load(&self, scenario: &'static scenario::Scenario, lasts: Duration) -> Load {
        Load {
            scenario,
            connections: CONNECTIONS,
            rate_per_s: None,
            lasts,
            timeout: TIMEOUT,
        }
    }

    fn compare(&self, scenario: &'static scenario::Scenario, contender: &str) -> Result<Reading> {
        let receiver = RECEIVERS.iter().find(|receiver| receiver.name == contender);
        let receiver = receiver.context("unknown receiver")?;
        let body = scenario.write_body()?;
        let receiving = Receiving::launch(receiver, scenario.protocol, &[], &self.programs)?;
        let put_on = |lasts| {
            let load = self.load(scenario, lasts);
            load.put_on(receiving.address, body.path(), &self.programs)
        };
        let before = put_on(WARMUP)?;
        let cpu_before = receiving.cpu()?;
        let measured = put_on(self.lasts)?;
        let cpu_s = (receiving.cpu()? - cpu_before).as_secs_f64();
        let memory = receiving.memory()?;

        let refused = before.refused + measured.refused;
        if refused > 0 {
            bail!("it refused {refused} requests");
        }
        let delivered = (before.requests + measured.requests) * scenario.spans as u64;
        let account = receiving.finish()?;
        if let Some(counted) = account["spans"].as_u64()
            && counted != delivered
        {
            let repeated = account["repeated_spans"].as_u64().unwrap_or_default();
            bail!(
                "it counted {counted} spans and {repeated} as repeated, \
                 and {delivered} were delivered"
            );
        }
        let body_bytes = fs::metadata(&body)
            .context("read the size of the body")?
            .len();
        let requests = measured.requests as f64;
        let spans = requests * scenario.spans as f64;
        Ok(Reading::of([
            (SPANS_PER_CPU, spans / cpu_s / 1e6),
            (BYTES_PER_CPU, requests * body_bytes as f64 / cpu_s / 1e6),
            (CPU, cpu_s * 1e6 / requests),
            (SPANS_PER_S, spans / measured.seconds / 1e6),
            (CORES, cpu_s / measured.seconds),
            (MEMORY, memory.rss_peak_bytes as f64 / 1e6),
        ]))
    }
}

#[cfg(test)]
mod tests;
