//! The A/A study: the same server twice, in the two orders, many times.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::AaArgs;
use super::files::Files;
use super::machine::{self, Machine};
use super::page::{Record, summary_markdown};
use super::summary::summarise;
use super::trial::{Control, Order, Trial};
use crate::{command, workspace};

/// Runs the study. The files are written after each run, so that an interrupted study is kept.
pub(super) fn run(args: &AaArgs) -> Result<ExitCode> {
    let date = machine::today()?;
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => workspace::root().join("record").join(&date),
    };
    let files = Files::claim(&folder, "aa-nginx")?;
    let windage = build()?;
    let runs = workspace::root()
        .join("windage-runs")
        .join(format!("aa-nginx-{}", std::process::id()));

    let mut record = Record {
        date,
        command: format!("cargo xtask record aa --runs {}", args.runs),
        machine: Machine::read()?,
        asked: Order::BOTH.len() * args.runs as usize,
        trials: Vec::new(),
    };
    for number in 1..=args.runs {
        for order in Order::BOTH {
            let place = format!("run {number} of {}, {}", args.runs, order.as_str());
            anstream::eprintln!("==> {place}");
            let out = runs.join(format!("{number:02}-{}", order.as_str()));
            let trial = measure(Command::new(&windage), &out, order, number)?;
            if let Err(why) = &trial.outcome {
                anstream::eprintln!("{place}: {why}");
            }
            record.trials.push(trial);
            files.write(&record.json(), &record.markdown())?;
        }
    }
    anstream::println!("{}", summary_markdown(&summarise(&record.trials)));
    anstream::println!("{}\n{}", files.page.display(), files.document.display());
    Ok(ExitCode::SUCCESS)
}

/// Builds `windage` as it is measured with, and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    command::run(workspace::cargo().args(["build", "--release", "--package", "windage"]))?;
    let metadata = workspace::metadata()?;
    let target = metadata["target_directory"]
        .as_str()
        .context("no target_directory")?;
    Ok(Path::new(target).join("release/windage"))
}

/// One run; only a `windage` that can't be started is an error, all else is a result.
fn measure(mut run: Command, out: &Path, order: Order, number: u32) -> Result<Trial> {
    run.args(["run", order.plan(), "--json", "--out"])
        .arg(out)
        .current_dir(workspace::root())
        .stderr(Stdio::inherit());
    let started = Instant::now();
    let output = run
        .output()
        .with_context(|| format!("could not start {}", command::line(&run)))?;
    let duration_s = started.elapsed().as_secs_f64();
    if output.status.code() == Some(130) {
        bail!("interrupted; the runs before are kept");
    }
    // A void run still has an analysis: what it says of the control is what is asked here.
    let outcome = Control::from_analysis(&String::from_utf8_lossy(&output.stdout))
        .map_err(|error| format!("{} ended with {}: {error:#}", order.plan(), output.status));
    Ok(Trial {
        order,
        number,
        duration_s,
        outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANALYSIS: &str = r#"{ "validity": { "verdict": "void" }, "arms": [ { "role": "control",
        "metrics": {
            "cpu_per_request": { "relative": { "estimate": 0.1, "low": 0, "high": 0.2 },
                "exceeds_nil": false },
            "throughput": { "relative": { "estimate": 0.2, "low": 0, "high": 0.4 },
                "exceeds_nil": false } } } ] }"#;

    /// A shell in the place of `windage`: `$0`… are the arguments that it is given.
    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("ANALYSIS", ANALYSIS);
        shell
    }

    fn trial(script: &str) -> Result<Trial> {
        measure(shell(script), Path::new("out/01"), Order::Sequential, 1)
    }

    #[test]
    fn what_a_run_says_is_kept_whatever_its_exit_code() {
        for script in [r#"echo "$ANALYSIS""#, r#"echo "$ANALYSIS"; exit 4"#] {
            let control = trial(script).unwrap().outcome.unwrap();
            assert_eq!(control.validity, "void", "{script}");
            assert_eq!(control.metrics[1].estimate, 0.2, "{script}");
        }
    }

    #[test]
    fn a_failed_run_is_a_result() {
        let outcome = trial("exit 5").unwrap().outcome.unwrap_err();
        assert!(outcome.contains("exit status: 5"), "{outcome}");
        // The plan, and no path of the machine: this goes into a record that is published.
        assert!(
            outcome.starts_with("experiments/aa-nginx/sequential/plan.toml "),
            "{outcome}"
        );
    }

    #[test]
    fn an_interrupted_run_ends_the_study() {
        assert!(trial("exit 130").is_err());
    }
}
