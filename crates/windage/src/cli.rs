//! Verbs and their help texts.

use std::sync::LazyLock;

use clap::{Parser, Subcommand};

use crate::flags::{
    CalibrateFlags, CompletionsFlags, DemoFlags, DoctorFlags, InitFlags, ManFlags, ReportFlags,
    RunFlags, SchemaFlags,
};
use crate::verbs::bisect::BisectFlags;
use crate::verbs::check::CheckFlags;
use crate::verbs::clean::CleanFlags;
use crate::verbs::compare::CompareFlags;
use crate::verbs::history::HistoryFlags;
use crate::verbs::load::LoadFlags;
use crate::verbs::serve::ServeFlags;
use crate::verbs::sink::SinkFlags;

/// The version, and of what and for what the program was built; the commit is known of what is distributed.
static BUILT: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("WINDAGE_COMMIT").unwrap_or("unknown");
    let libc = match cfg!(target_env = "musl") {
        true => "musl",
        false => "gnu",
    };
    let (version, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    format!("{version}\ncommit {commit}\ntarget {arch}-linux-{libc}")
});

/// Measures what telemetry costs the service it watches.
#[derive(Debug, Parser)]
#[command(
    name = "windage",
    version,
    long_version = BUILT.as_str(),
    about = "Measures what telemetry costs the service it watches.",
    long_about = "Measures what telemetry costs the service it watches: throughput, latency, CPU \
        per request and memory, each with a confidence interval, and the cost of each span that \
        was delivered.\n\nStart with `windage demo`. Then write a plan for your own service with \
        `windage init` and measure it with `windage run`.",
    after_help = "Exit codes: 0 measured · 1 a budget is exceeded (`check`) · 2 usage or plan error · \
        3 undecided, or `stop` not reached · 4 void · 5 could not measure · 130 interrupted"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure the built-in service: what the OpenTelemetry SDK costs, in about a minute.
    ///
    /// It needs no plan and no privileges. It launches a small JSON service with a database in
    /// several arms, without telemetry and with the SDK at several sampling ratios, puts load on
    /// them, and prints the report. The run stays in its directory for `windage report`.
    Demo(DemoFlags),
    /// Measure one or more plans.
    ///
    /// A plan names the service, the arms to compare and the load: `windage init` writes one,
    /// docs/FORMAT.md explains every key. The programs that the plan launches must be installed;
    /// agents usually need root (`windage doctor PLAN` lists what is missing). Each run gets a
    /// directory with its raw data, analysis.json and report.html, and its report is printed.
    Run(RunFlags),
    /// Decide whether telemetry costs no more than the plan's budgets allow, for CI.
    ///
    /// It needs plans with `[[budget]]`. It measures until every budget is decided or --within is
    /// over: *within* when the upper bound of the cost is not above the limit, *exceeded* when the
    /// lower bound is. Bounds hold at every look, each with the budget's confidence (95 % unless it
    /// says otherwise). The exit code is 0 when all are within, 1 when one is exceeded, 3 when one is
    /// undecided; what could not be measured never passes.
    Check(CheckFlags),
    /// Find the commit that made telemetry, or the service itself, cost more.
    ///
    /// It needs a plan with budgets of a change, and a git repository. Each step is `windage check
    /// --base GOOD --head COMMIT`, with both built and measured at the same time: first the bad
    /// commit, then the one that halves what is left. Commits that don't build, or can't be decided
    /// in the time, are passed over. 100 commits take eight steps of some five minutes, and twice that
    /// where a commit exceeds a budget.
    Bisect(BisectFlags),
    /// Print the report of one or more runs, in any format.
    ///
    /// It needs only the run directories: every figure is recomputed from the raw data in them. A
    /// run that was interrupted or is still in progress can be reported too.
    Report(ReportFlags),
    /// Compare a run with an earlier run of the same plan: did the overhead change?
    ///
    /// It needs the two run directories. It prints the overhead of both runs, the change with its
    /// 95 % interval and its verdict (increased, decreased, unchanged, inconclusive), what differs
    /// in host, versions, design and plan, and reasons not to compare the two. The exit code is 4
    /// when either run is void.
    Compare(CompareFlags),
    /// Show the course of results over many runs, and where it changes.
    ///
    /// It reads the runs of a directory into a database of results, which outlives them, and shows
    /// the newest result of each arm, what changed since a release (--since), and change points:
    /// between which commits the level went up or down, as far as one can say with one false alarm
    /// in a thousand results. A change point fails nothing: it names the two commits that `windage
    /// check --base` then measures at the same time.
    History(HistoryFlags),
    /// Show all runs of a directory in the browser, live while they go on.
    ///
    /// It serves a local page with the list of runs, the report of each run, and comparisons of two
    /// runs. It needs a directory of runs. Its index is DIR/.windage-index.sqlite, which can be
    /// deleted at any time.
    Serve(ServeFlags),
    /// Write a commented plan for your own service.
    ///
    /// It needs either --command, which launches the service, or --attach, for a service that
    /// already runs. What switches telemetry on is given by --env, by a configuration file
    /// (--file), or edited in the plan. The plan is then measured by `windage run`.
    Init(InitFlags),
    /// Put load on a URL and time the responses.
    ///
    /// It needs no plan, and loads only this machine unless --allow names another host. It prints
    /// response and service times, the rates that were intended, offered and achieved, errors, and
    /// warnings about figures that should not be trusted.
    Load(Box<LoadFlags>),
    /// Receive telemetry and count it.
    ///
    /// It receives OTLP (gRPC, HTTP with protobuf or JSON), Datadog traces, Zipkin and Prometheus
    /// remote write, each on its own loopback port, and reports what arrived: how many spans,
    /// points and records, their size, their source, their delay, and whether traces are complete.
    /// It needs nothing but a service that exports to it. It can simulate a faulty backend
    /// (--backend), to show what a service then loses; a line on standard input, such as `slow
    /// 200ms` or `ok`, changes the backend while it runs.
    Sink(Box<SinkFlags>),
    /// Inject known costs and report how well they are found: how good is this machine today?
    ///
    /// It needs no plan. It launches a built-in service whose arms do 1 % more work, wait 2 µs,
    /// sleep for 20 to 200 µs, do much more work in every 200th request, or work by a timer beside
    /// requests, and measures it like any other. The true cost is read from the service's own
    /// counts and clocks. Every 14 launches are an experiment.
    ///
    /// It prints recovery (estimate compared with truth), bias (the mean of estimate less truth),
    /// coverage (how often the interval holds the truth), false positives (how often zero is read
    /// as a difference), half-widths, the minimum detectable effect in 10, 30, 60 and 300 s, and
    /// with --runs the standard deviation between runs. The result is kept in
    /// ~/.local/state/windage/calibration.json (or under XDG_STATE_HOME); reports of later runs on
    /// this machine quote it.
    Calibrate(CalibrateFlags),
    /// Report what this machine can and can't measure, and what to do about it.
    ///
    /// It checks cores, noise, privileges, limits and kernel features in about two seconds, and
    /// prints a remedy for each problem. It needs no privileges, but run it as the user who will
    /// run `windage run`. The exit code is 5 when the machine can't measure.
    Doctor(DoctorFlags),
    /// Remove services' files of runs, or whole old runs.
    ///
    /// It removes what services wrote into their own directories (work/), which reports don't need:
    /// of the runs that are named, or of all in windage-runs. With --older-than it removes whole runs
    /// instead. It refuses directories that are no run and runs in progress, with --older-than also runs
    /// with files that windage did not write, and follows no links.
    Clean(CleanFlags),
    /// Print a completion script for a shell.
    Completions(CompletionsFlags),
    /// Print the JSON Schema of plans, from which editors complete, or of results.
    ///
    /// Write it beside the plan and name it in the plan's first line: `#:schema plan.schema.json`. Editors
    /// with a TOML language server (Even Better TOML, Taplo) then complete keys, show what they mean, and
    /// mark mistakes. From the schema of `analysis.json`, which is what `--json` prints for one plan, tools such
    /// as quicktype make types of many languages.
    Schema(SchemaFlags),
    /// Write the manual pages into a folder.
    Man(ManFlags),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_valid() {
        Cli::command().debug_assert();
    }
}
