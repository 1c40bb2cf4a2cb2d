//! `windage clean`: removes services' files of runs, or whole old runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Value, json};
use windage_model::Unit;
use windage_record::{RUNS, RecordError, RunDir};
use windage_report::number;

use super::report::print;
use crate::exit::Exit;
use crate::flag_values::duration;
use crate::message;
use crate::run_name::find;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage clean --dry-run\n  windage clean 20260101-120000-app\n  windage \
    clean --older-than 30days"
)]
pub(crate) struct CleanFlags {
    /// Run directories, or just their names [default: all runs in windage-runs].
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Remove whole runs that began at least so long ago, with all that they recorded, and nothing of
    /// others.
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    older_than: Option<Duration>,
    /// Only say what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document (docs/FORMAT.md) instead of text.
    #[arg(long)]
    json: bool,
}

/// What was removed of a run, or would be.
struct Cleaned {
    run: PathBuf,
    /// Its bytes, or why they are still there.
    outcome: Result<u64, RecordError>,
}

/// Removes what the flags name, and reports its size.
pub(crate) fn clean(flags: &CleanFlags) -> Exit {
    let named = flags.runs.iter().map(|run| find(run)).collect();
    let runs = if flags.runs.is_empty() {
        all_runs()
    } else {
        named
    };
    let all = runs.into_iter().filter_map(|run| {
        let outcome = one(&run, flags).transpose()?;
        Some(Cleaned { run, outcome })
    });
    let all: Vec<Cleaned> = all.collect();
    for of in &all {
        if let Err(error) = &of.outcome {
            message::error(error);
        }
    }
    let text = match flags.json {
        true => format!("{:#}\n", document(&all, flags)),
        false => text(&all, flags),
    };
    let exits = all.iter().map(|of| match &of.outcome {
        Ok(_) => Exit::Success,
        Err(RecordError::NotARun { .. } | RecordError::NotOurs { .. }) => Exit::Usage,
        Err(_) => Exit::CouldNotMeasure,
    });
    exits.max().unwrap_or(Exit::Success).max(print(&text))
}

/// Cleans one run; `None` where there is nothing to remove.
fn one(run: &Path, flags: &CleanFlags) -> Result<Option<u64>, RecordError> {
    let run = RunDir::open(run)?;
    let age = SystemTime::now().duration_since(run.manifest().started());
    let bytes = match (flags.older_than, flags.dry_run) {
        (Some(limit), _) if age.is_ok_and(|age| age < limit) => return Ok(None),
        (Some(_), true) => run.removable_bytes()?,
        (Some(_), false) => run.remove()?,
        (None, true) => run.removable_work_bytes()?,
        (None, false) => run.remove_work()?,
    };
    Ok(Some(bytes).filter(|bytes| *bytes > 0))
}

/// The runs in the directory of runs, by name. Links and other directories are left out.
fn all_runs() -> Vec<PathBuf> {
    let entries = fs::read_dir(RUNS).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut runs: Vec<PathBuf> = directories
        .map(|entry| entry.path())
        .filter(|path| !matches!(RunDir::open(path), Err(RecordError::NotARun { .. })))
        .collect();
    runs.sort();
    runs
}

fn text(all: &[Cleaned], flags: &CleanFlags) -> String {
    let done = match flags.dry_run {
        true => "would be removed",
        false => "removed",
    };
    let what = match flags.older_than {
        Some(_) => "the run",
        None => "its work/",
    };
    let (mut out, mut sum) = (String::new(), 0);
    for of in all {
        if let Ok(bytes) = of.outcome {
            sum += bytes;
            let (run, size) = (of.run.display(), size(bytes));
            out += &format!("{run}: {size} {done} ({what})\n");
        }
    }
    out + &format!("{} {done}\n", size(sum))
}

/// A number of bytes, for people.
pub(crate) fn size(bytes: u64) -> String {
    number::short(Unit::Bytes, bytes as f64)
}

fn document(all: &[Cleaned], flags: &CleanFlags) -> Value {
    let run = |of: &Cleaned| {
        json!({
            "run": of.run.display().to_string(),
            "bytes": of.outcome.as_ref().ok(),
            "problem": of.outcome.as_ref().err().map(ToString::to_string),
        })
    };
    json!({
        "schema": 1,
        "removed": !flags.dry_run,
        "runs": all.iter().map(run).collect::<Vec<_>>(),
    })
}
