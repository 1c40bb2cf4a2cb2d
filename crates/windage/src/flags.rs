//! The flags of most verbs, and their help texts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use windage_export::Table;
use windage_serve::OtlpEndpoint;

use crate::flag_values::duration;
use crate::verbs::calibrate::Part;
use crate::verbs::init::values::{Assignment, Attachment, Sweep};
use crate::verbs::picture::PictureFlags;
use crate::verbs::publish::PublishFlags;

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
#[command(
    after_help = "Examples:\n  windage demo\n  windage demo --for 2m --out windage-runs/demo"
)]
pub(crate) struct DemoFlags {
    /// The run directory [default: windage-runs/TIME-demo].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Let others read the run directory, as far as the umask allows. Without it, only its owner
    /// can: environments and logs may contain secrets.
    #[arg(long)]
    pub(crate) shared: bool,
    /// Measuring time, without launches, warm-up and drain.
    #[arg(long = "for", value_name = "DURATION", default_value = "64s", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) length: Duration,
    /// Print every figure in the report, not only those that changed.
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) publish: PublishFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage run plan.toml --quick\n  windage run experiments/go-http\n  \
    windage run plan.toml --for 5m --rounds 20\n  windage run plan.toml --dry-run\n  windage run \
    --resume windage-runs/20260101-120000-go-http"
)]
pub(crate) struct RunFlags {
    /// Plan files; a folder means all its *.toml files, sorted; a file may list plans.
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub(crate) plans: Vec<PathBuf>,
    /// The run directory; with several plans, the directory that holds their run directories.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Let others read the run directory, as far as the umask allows. Without it, only its owner
    /// can: environments and logs may contain secrets.
    #[arg(long)]
    pub(crate) shared: bool,
    /// Continue a run that was interrupted or killed.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["plans", "out", "shared", "thorough", "quick", "length", "rounds", "seed", "no_profile"])]
    pub(crate) resume: Option<PathBuf>,
    /// Use the plan's `[design.thorough]` (without one, four times the length), and measure the
    /// regimes that are marked as thorough.
    #[arg(long)]
    pub(crate) thorough: bool,
    /// A first look in about a minute, launches not counted: as many launches as a verdict needs if
    /// that takes no longer than two minutes, and CPU alone where arms can take turns. Without
    /// `[profile]` and `design.stop`.
    #[arg(long, conflicts_with_all = ["thorough", "length", "rounds"])]
    pub(crate) quick: bool,
    /// Measuring time of all rounds, interleaved and isolated load together, instead of the plan's
    /// `design.for`, `design.blocks` or `design.stop`.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) length: Option<Duration>,
    /// Number of rounds, instead of the plan's `design.rounds`. Launches are the sample: a verdict
    /// needs 13 or more.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Seed of the run order, instead of the plan's `design.seed`.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print what would be launched, for how long and under which load, and end. Nothing is launched
    /// or written.
    #[arg(long, conflicts_with_all = ["resume", "json"])]
    pub(crate) dry_run: bool,
    /// Keep what services wrote into their own directories (work/). Without it, only runs that fail,
    /// are interrupted or void keep it.
    #[arg(long)]
    pub(crate) keep_work: bool,
    /// Skip the plan's `[profile]`, which needs launches of its own.
    #[arg(long)]
    pub(crate) no_profile: bool,
    /// Print every figure in the report, not only those that changed.
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) publish: PublishFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Text for a terminal of 80 columns.
    Terminal,
    /// Markdown tables for a pull request or a ticket.
    Markdown,
    /// CSV, one line per arm and metric.
    Csv,
    /// One self-contained HTML page.
    Html,
    /// The data of that page, as JSON.
    Page,
    /// A picture for a README or a ticket, as SVG.
    Svg,
    /// The same picture, as PNG.
    Png,
    /// The analysis as JSON, for other programs.
    Json,
    /// A guide to a sweep: a table of its levels and the key observations; for whole processes, the
    /// figures that `time` prints.
    Guide,
    /// A summary of several runs: overhead by level, and the cost per request and per span.
    Summary,
    /// CSV, one line per point of a curve.
    Curves,
    /// CSV, one line per stage of a chain of arms.
    Stages,
    /// CSV, one line per line of each arm's bill: who used the machine's CPU per request.
    Bill,
    /// CSV, one line per BPF program that came with agents.
    Bpf,
    /// Budgets as test cases, in JUnit's XML.
    Junit,
    /// Budgets as annotations of a GitHub workflow.
    Annotations,
    /// Budgets as Markdown for a comment on a pull request: the verdict first.
    Comment,
    /// Overheads as Bencher's adapter `json` reads them.
    Bencher,
    /// Overheads as github-action-benchmark's `customSmallerIsBetter` reads them.
    BenchmarkAction,
    /// Raw records, one row per isolated window.
    Windows,
    /// Raw records, one row per block of turns and arm.
    Blocks,
    /// Raw records, one row per launch and arm.
    Launches,
}

impl ReportFormat {
    /// The table of raw records that it is, if it is one.
    pub(crate) fn table(self) -> Option<Table> {
        match self {
            ReportFormat::Windows => Some(Table::Windows),
            ReportFormat::Blocks => Some(Table::Blocks),
            ReportFormat::Launches => Some(Table::Launches),
            _ => None,
        }
    }
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage report windage-runs/20260101-120000-app --format markdown\n  \
    windage report windage-runs/20260101-* --format guide --budget 2%\n  windage report \
    20260101-120000-haproxy 20260101-121500-envoy --format summary\n  windage report \
    20260101-120000-app --format png --picture forest --theme dark -o app.png\n  windage report \
    20260101-120000-app --format windows -o windows.parquet"
)]
pub(crate) struct ReportFlags {
    /// Run directories, or just their names; with several, each report is printed, then a summary.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The format of the report.
    #[arg(long, value_name = "FORM", default_value = "terminal")]
    pub(crate) format: ReportFormat,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// With `--format terminal`: print every figure, not only those that changed.
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(crate) all: bool,
    /// Write to a file instead of standard output.
    #[arg(long, short, value_name = "FILE", visible_alias = "out")]
    pub(crate) output: Option<PathBuf>,
    /// With `--format windows`, `blocks` or `launches`: write Parquet, not CSV, as an `--output` that
    /// ends in .parquet does.
    #[arg(long)]
    pub(crate) parquet: bool,
    /// With `--format guide`: the overhead of the primary metric that you can accept [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) budget: Option<f64>,
    /// The CPU time to fill in planning figures: how many spans and events fit into it [default:
    /// 10ms].
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) within: Option<Duration>,
    #[command(flatten)]
    pub(crate) picture: PictureFlags,
    /// Also push the results as OTLP metrics (HTTP, protobuf) to this receiver, such as
    /// http://127.0.0.1:4318; headers come from OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<OtlpEndpoint>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage init --command 'bin/app -listen {listen}' --env \
    TELEMETRY=otel --otlp\n  windage init --command 'python3 app.py {port}' --env RATIO={ratio} \
    --sweep ratio=1.0,0.1,0.0\n  windage init --command 'nginx -c {dir}/nginx.conf -p {dir}' \
    --file nginx.conf\n  windage init --attach 4711 --url http://127.0.0.1:8080/"
)]
pub(crate) struct InitFlags {
    /// The plan to write.
    #[arg(value_name = "PLAN", default_value = "plan.toml")]
    pub(crate) file: PathBuf,
    /// Name of the run [default: the program's name].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The command that launches the service, split into words as a shell does; `{listen}` stands
    /// for its ADDRESS:PORT, `{port}` for the port alone.
    #[arg(
        long,
        value_name = "WORDS",
        required_unless_present = "attach",
        conflicts_with = "attach"
    )]
    pub(crate) command: Option<String>,
    /// A service that already runs: its process id, or its address as http://HOST:PORT.
    #[arg(long, value_name = "PID|URL", conflicts_with_all = ["env", "otlp", "cpus"])]
    pub(crate) attach: Option<Attachment>,
    /// The URL to request [default: http://{app}/].
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The request's method.
    #[arg(long, value_name = "METHOD", default_value = "GET", value_parser = method)]
    pub(crate) method: String,
    /// Open loop at this rate, such as 2000/s [default: closed loop, as fast as answers come].
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Connections per arm.
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// An environment variable that switches telemetry on; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<Assignment>,
    /// A factor and its levels, one arm per level; `{NAME}` stands for the level; may be given
    /// several times.
    #[arg(long, value_name = "NAME=LEVEL,…")]
    pub(crate) sweep: Vec<Sweep>,
    /// A configuration file of the service in which the arms differ: it is copied to
    /// FILE.template beside the plan, where `{listen}` stands for the address and `{setting}` for
    /// `off` or `on`. The command reads it from `{dir}/FILE`.
    #[arg(long = "file", id = "config", value_name = "FILE", conflicts_with_all = ["attach", "stdout"])]
    pub(crate) config: Option<PathBuf>,
    /// The service's cores [default: 0 if there are two or more].
    #[arg(long, value_name = "CORE,…", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// The generator's cores [default: one that the service doesn't use].
    #[arg(long, value_name = "CORE,…", value_delimiter = ',')]
    pub(crate) load_cpus: Vec<u32>,
    /// Send the telemetry arm's OTLP to Windage's own receiver, which counts it.
    #[arg(long)]
    pub(crate) otlp: bool,
    /// Print the plan instead of writing it.
    #[arg(long, conflicts_with_all = ["file", "force"])]
    pub(crate) stdout: bool,
    /// Overwrite the plan, and a template of `--file`, if they exist.
    #[arg(long)]
    pub(crate) force: bool,
}

impl InitFlags {
    /// The plan's folder.
    pub(crate) fn folder(&self) -> &Path {
        // An empty path means the current folder, but can't be opened.
        let parent = self.file.parent().filter(|of| !of.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage calibrate              three minutes, plus launches\n  \
    windage calibrate --for 10m    narrower intervals\n  windage calibrate --runs 5     also how \
    much runs differ"
)]
pub(crate) struct CalibrateFlags {
    /// The directory for the runs [default: windage-runs/TIME-calibration].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Measuring time of one CPU run and the latency run together, without launches, warm-up and
    /// drain.
    #[arg(long = "for", value_name = "DURATION", default_value = "3m", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) length: Duration,
    /// Rounds per run; each launches all services afresh. An experiment needs 14.
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Repeat the CPU run; from five runs on the variance between runs is known.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Calibrate only this, for all of --for.
    #[arg(long, value_name = "PART")]
    pub(crate) only: Option<Part>,
    /// Seed of the run order.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage doctor\n  windage doctor experiments/agent-ladder --json"
)]
pub(crate) struct DoctorFlags {
    /// Plan files (a folder means all its *.toml files): check only what they need, that is
    /// programs, users, variables of the environment, and the kernel features of agents. The exit
    /// code is 5 when something is missing.
    #[arg(value_name = "PLAN")]
    pub(crate) plans: Vec<PathBuf>,
    /// Print one JSON document instead of the list.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  windage completions bash > \
    ~/.local/share/bash-completion/completions/windage")]
pub(crate) struct CompletionsFlags {
    /// The shell to complete for.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage schema > plan.schema.json\n  windage schema analysis > analysis.schema.json"
)]
pub(crate) struct SchemaFlags {
    /// Of which file.
    #[arg(value_name = "FILE", default_value = "plan")]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// What people write: plan.toml
    Plan,
    /// What a run finds: analysis.json
    Analysis,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  mkdir -p ~/.local/share/man/man1 && windage man ~/.local/share/man/man1"
)]
pub(crate) struct ManFlags {
    /// An existing folder: windage.1, windage-run.1 and so on are written there.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// The same rule as for a plan's `request`; HTTP itself allows more.
fn method(text: &str) -> Result<String, String> {
    let letters = |b: u8| b.is_ascii_uppercase() || b == b'-';
    if !text.is_empty() && text.bytes().all(letters) {
        Ok(text.to_owned())
    } else {
        Err("a method is written in capitals, such as GET or POST".into())
    }
}

/// Reads a percentage greater than zero as a share.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim().trim_end_matches('%').trim_end();
    match percent.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err("a budget is written in percent and greater than zero, such as 2%".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_percent() {
        for (text, share) in [("2%", 0.02), ("5", 0.05), ("0.5 %", 0.005)] {
            assert_eq!(percent(text), Ok(share), "{text}");
        }
        for wrong in ["", "%", "0%", "-1%", "inf%", "NaN", "much"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
