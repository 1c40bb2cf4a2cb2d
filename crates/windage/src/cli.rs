//! Verbs and flags, and the help that teaches them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use windage_serve::OtlpEndpoint;

use crate::verbs::compare::CompareFlags;
use crate::verbs::init::{Assignment, Attachment, Sweep};
use crate::verbs::load::LoadFlags;
use crate::verbs::picture::PictureFlags;
use crate::verbs::publish::PublishFlags;
use crate::verbs::serve::ServeFlags;
use crate::verbs::sink::SinkFlags;

/// Measures what telemetry costs the service it watches.
#[derive(Debug, Parser)]
#[command(
    name = "windage",
    version,
    about = "Measures what telemetry costs the service it watches.",
    long_about = "Measures what telemetry costs the service it watches: throughput, latency, CPU a \
        request and memory, with an interval around every figure, divided by the telemetry that \
        was really delivered.\n\nStart with `windage demo`. Then write a plan for your own \
        service with `windage init` and measure it with `windage run`.",
    after_help = "Exit codes: 0 measured · 2 usage or plan error · 3 a `stop` was not reached · \
        4 void · 5 could not measure · 130 interrupted"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure the built-in service: what the OpenTelemetry SDK costs, in about a minute.
    Demo(DemoFlags),
    /// Measure plans.
    Run(RunFlags),
    /// Recompute reports of runs from their directories.
    Report(ReportFlags),
    /// Hold a run against an earlier one of the same plan: did the overhead change?
    ///
    /// Printed are the overheads of both, the change with its 95 % interval and what it means (dearer,
    /// cheaper, same, inconclusive), what differs in host, versions, design and plan, and what speaks
    /// against comparing them. The exit code is 4 when one of them is void.
    Compare(CompareFlags),
    /// Show all runs of a directory in the browser, live while they go on
    ///
    /// A local page: the list of runs, the report of each, comparisons of two. It reads run
    /// directories, and keeps what it read in DIR/.windage-index.sqlite, which can be deleted at any
    /// time.
    ///
    /// Examples:
    ///   windage serve                            the runs in windage-runs, until Ctrl-C
    ///   windage serve results --listen 127.0.0.1:0 --json
    #[command(verbatim_doc_comment)]
    Serve(ServeFlags),
    /// Write a commented plan for your own service.
    Init(InitFlags),
    /// Put load on a URL and time the answers.
    Load(Box<LoadFlags>),
    /// Receive telemetry and count it
    ///
    /// Receives OTLP (gRPC, HTTP with protobuf or JSON), Datadog traces, Zipkin and Prometheus remote
    /// write, each on a port of its own on loopback, and says what came: how many spans, points and
    /// records, how large, from whom, how late, whether traces are whole. It can be made as ill as a
    /// backend gets, to see what a service loses then; while it runs, a line on standard input such as
    /// `slow 200ms` or `ok` changes that.
    ///
    /// Examples:
    ///   windage sink                                    all receivers on free ports, until Ctrl-C
    ///   windage sink --otlp-http 127.0.0.1:4318 --for 10s --json
    ///   windage sink --otlp-grpc 127.0.0.1:4317 --backend 'reject 429 retry 2s'
    ///   windage sink --otlp-http 127.0.0.1:4318 --print=3  also show the first three spans
    #[command(verbatim_doc_comment)]
    Sink(Box<SinkFlags>),
    /// Inject known costs and say what is found of them: how good is this machine today?
    ///
    /// A service that is built in gets a hundredth more work, busy waits of 0.5 to 20 µs, or sleeps of
    /// 20 to 200 µs into every request, each in an arm of its own, and is measured as any other. What
    /// was really injected is read from the service's own clocks. The two runs are cut into many short
    /// experiments. Printed are recovery (estimate against truth), coverage (how often the interval held
    /// the truth), false positives (how often zero was read as a difference), half-widths and the
    /// minimum detectable effect in 10, 30, 60 and 300 s.
    ///
    /// The result is kept in ~/.local/state/windage/calibration.json (or under XDG_STATE_HOME), and the
    /// report of every later run on this machine quotes it.
    ///
    /// Examples:
    ///   windage calibrate               three minutes, launches on top
    ///   windage calibrate --for 10m     more experiments, closer figures
    #[command(verbatim_doc_comment)]
    Calibrate(CalibrateFlags),
    /// Say what this machine can and can't measure, and what to do about it.
    Doctor(DoctorFlags),
    /// Print a completion script for a shell.
    Completions(CompletionsFlags),
}

#[derive(Args, Debug)]
pub(crate) struct OutputFlags {
    /// Print one JSON document (docs/FORMAT.md) instead of the report.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DemoFlags {
    /// The run's directory [default: windage-runs/TIME-demo].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Measuring time; launches, warm-up and drain come on top.
    #[arg(long = "for", value_name = "DURATION", default_value = "45s", value_parser = duration)]
    pub(crate) length: Duration,
    #[command(flatten)]
    pub(crate) publish: PublishFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage run experiments/go-http\n  windage run plan.toml --for \
    5m --rounds 10\n  windage run --resume windage-runs/20260101-120000-go-http"
)]
pub(crate) struct RunFlags {
    /// Plan files; a folder stands for its *.toml, sorted.
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub(crate) plans: Vec<PathBuf>,
    /// The run's directory; for several plans the directory that holds theirs.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with a run that was interrupted or killed.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["plans", "out", "thorough", "length", "rounds", "seed", "no_profile"])]
    pub(crate) resume: Option<PathBuf>,
    /// Measure as the plan's `[design.thorough]` says (without one: four times as long), and also
    /// under loads that are only for this.
    #[arg(long)]
    pub(crate) thorough: bool,
    /// Measuring time instead of the plan's `design.for`, `design.blocks` or `design.stop`.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) length: Option<Duration>,
    /// Rounds instead of the plan's `design.rounds`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Seed of the run order instead of the plan's `design.seed`.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Leave out the plan's `[profile]`, which takes a launch of its own.
    #[arg(long)]
    pub(crate) no_profile: bool,
    #[command(flatten)]
    pub(crate) publish: PublishFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// In which form a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For a terminal of 80 columns.
    Terminal,
    /// Tables for a pull request or a ticket.
    Markdown,
    /// One line for each arm and metric.
    Csv,
    /// One self-contained page.
    Html,
    /// What that page shows, as JSON.
    Page,
    /// A picture that stands alone, for a README or a ticket.
    Svg,
    /// The same picture as pixels.
    Png,
    /// The contract with other programs.
    Json,
    /// The table of a sweep's levels, and what it shows, as published speed guides have it; of whole
    /// processes what `time` prints.
    Guide,
    /// Several runs side by side: overhead by level, and what a request and a span cost.
    Summary,
    /// One line for each point of a curve, as CSV.
    Curves,
    /// One line for each stage of a chain of arms, as CSV.
    Stages,
    /// One line for each line of each arm's bill, as CSV: who used the machine's CPU for a request.
    Bill,
    /// One line for each BPF program that came with agents, as CSV.
    Bpf,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage report windage-runs/20260101-120000-app --format markdown\n  \
    windage report windage-runs/20260101-* --format guide --budget 2%\n  windage report \
    20260101-120000-haproxy 20260101-121500-envoy --format summary\n  windage report \
    20260101-120000-app --format png --picture forest --theme dark -o app.png"
)]
pub(crate) struct ReportFlags {
    /// The runs' directories, or their names alone; several are told one after the other, with a
    /// summary at the end.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The form of the report.
    #[arg(long, value_name = "FORM", default_value = "terminal")]
    pub(crate) format: ReportFormat,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// With `--format guide`: the overhead that you would bear, of the primary metric
    /// [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) budget: Option<f64>,
    /// The CPU time for which is said how many spans and events fit into it [default: 10ms].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) within: Option<Duration>,
    #[command(flatten)]
    pub(crate) picture: PictureFlags,
    /// Besides, push the results as OTLP metrics (HTTP, protobuf) to this receiver, such as
    /// http://127.0.0.1:4318; headers are those of OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<OtlpEndpoint>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage init --command 'bin/app -listen {listen}' --env \
    TELEMETRY=otel --otlp\n  windage init --command 'python3 app.py {port}' --env RATIO={ratio} \
    --sweep ratio=1.0,0.1,0.0\n  windage init --attach 4711 --url http://127.0.0.1:8080/"
)]
pub(crate) struct InitFlags {
    /// The plan to write.
    #[arg(value_name = "FILE", default_value = "plan.toml")]
    pub(crate) file: PathBuf,
    /// Names the run [default: the program's name].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How the service is launched, in words as a shell splits them; `{listen}` stands for the
    /// ADDRESS:PORT it gets, `{port}` for the port alone.
    #[arg(
        long,
        value_name = "WORDS",
        required_unless_present = "attach",
        conflicts_with = "attach"
    )]
    pub(crate) command: Option<String>,
    /// The service already runs: its process, or its address as http://HOST:PORT.
    #[arg(long, value_name = "PID|URL", conflicts_with_all = ["env", "otlp", "cpus"])]
    pub(crate) attach: Option<Attachment>,
    /// What is asked for [default: http://{app}/].
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The request's method.
    #[arg(long, value_name = "METHOD", default_value = "GET", value_parser = method)]
    pub(crate) method: String,
    /// Open load at this rate, such as 2000/s [default: closed, as fast as answers come].
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Connections for each arm.
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// A variable of the environment that switches telemetry on; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<Assignment>,
    /// A factor and its levels: one arm each, `{NAME}` stands for the level; may be given
    /// several times.
    #[arg(long, value_name = "NAME=LEVEL,…")]
    pub(crate) sweep: Vec<Sweep>,
    /// The service's cores [default: 0 where there are two or more].
    #[arg(long, value_name = "CORE,…", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// The generator's cores [default: one that the service doesn't use].
    #[arg(long, value_name = "CORE,…", value_delimiter = ',')]
    pub(crate) load_cpus: Vec<u32>,
    /// Send the telemetry arm's OTLP to windage's own receiver, which counts it.
    #[arg(long)]
    pub(crate) otlp: bool,
    /// Print the plan instead of writing it.
    #[arg(long, conflicts_with_all = ["file", "force"])]
    pub(crate) stdout: bool,
    /// Overwrite FILE.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CalibrateFlags {
    /// The directory that holds the two runs [default: windage-runs/TIME-calibration].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Measuring time of both runs together; launches, warm-up and drain come on top.
    #[arg(long = "for", value_name = "DURATION", default_value = "3m", value_parser = duration)]
    pub(crate) length: Duration,
    /// Rounds of each run, all services launched afresh in each: with more than one, intervals hold what launches
    /// differ by.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Seed of the run order.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorFlags {
    /// Plan files, a folder standing for its *.toml: say only what their agents need of the kernel
    /// and what of it is missing here. The exit code is 5 when something is.
    #[arg(value_name = "PLAN")]
    pub(crate) plans: Vec<PathBuf>,
    /// Print one JSON document instead of the list.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsFlags {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// As a plan's request has it; HTTP itself allows stranger ones.
fn method(text: &str) -> Result<String, String> {
    let letters = |b: u8| b.is_ascii_uppercase() || b == b'-';
    if !text.is_empty() && text.bytes().all(letters) {
        Ok(text.to_owned())
    } else {
        Err("a method is written in capitals, such as GET or POST".into())
    }
}

/// A share greater than zero that is written in percent.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim().trim_end_matches('%').trim_end();
    match percent.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err("a budget is written in percent and greater than zero, such as 2%".into()),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; durations look like `30s`, `5m` or `1h 30m`"))?;
    if duration.is_zero() {
        Err("it must be longer than nothing".into())
    } else {
        Ok(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn budgets_are_percent() {
        for (text, share) in [("2%", 0.02), ("5", 0.05), ("0.5 %", 0.005)] {
            assert_eq!(percent(text), Ok(share), "{text}");
        }
        for wrong in ["", "%", "0%", "-1%", "inf%", "NaN", "much"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_checked() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        for wrong in ["0s", "fast", "10", "-1s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
