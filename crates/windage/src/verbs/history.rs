//! `windage history`: the course of results over many runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use windage_history::{Course, FILE_NAME, Found, History, HistoryError, Which, courses, to_json};
use windage_model::Metric;
use windage_record::RUNS;

use super::report::print;
use crate::exit::Exit;
use crate::flag_values::metric;
use crate::git::git;
use crate::message;

mod shown;

/// How long reading may take before it says how far it is.
const QUIET_FOR: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage history\n  windage history --plan app --metric rss_peak --since v1.4\n  \
    windage history --export history.csv      for a repository, a cache, a spreadsheet\n  \
    windage history --import history.csv      on the next machine\n\n\
    A change point never fails a build. It names the commits to compare:\n  \
    windage check PLAN --base LAST --head FIRST"
)]
pub(crate) struct HistoryFlags {
    /// The directory of runs to read [default: windage-runs, if it exists].
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The database, which is created if missing [default: history.sqlite in the directory].
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only this plan.
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Only arms whose id begins with this.
    #[arg(long, value_name = "ID")]
    arm: Option<String>,
    /// This metric, such as cpu_per_request [default: each plan's first].
    #[arg(long, value_name = "NAME", value_parser = metric)]
    metric: Option<Metric>,
    /// Show by how much the newest result exceeds that of this commit or run: creep since a release.
    /// Names of commits, such as tags, need the repository as the current directory.
    #[arg(long, value_name = "COMMIT|RUN", conflicts_with = "rows")]
    since: Option<String>,
    /// Show every row, not only the newest.
    #[arg(long)]
    rows: bool,
    /// Add the rows of a CSV that was exported.
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,
    /// Write all rows to a CSV, and show nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "rows", "since", "plan", "arm", "metric"])]
    export: Option<PathBuf>,
    /// Print one JSON document (docs/FORMAT.md) instead of text.
    #[arg(long)]
    json: bool,
}

/// Why history can't be shown.
#[derive(Debug, thiserror::Error)]
enum Unshown {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("{}: {why}", path.display())]
    File { path: PathBuf, why: std::io::Error },
    #[error("can't write {}: {why}", path.display())]
    Write { path: PathBuf, why: std::io::Error },
    #[error("{}: {why}", path.display())]
    Csv { path: PathBuf, why: HistoryError },
    #[error("--since {0}: no result here is of that commit or run")]
    NoResult(String),
    #[error("there is no {RUNS} here: name a directory of runs, or a database with --file")]
    NoRuns,
}

impl Unshown {
    fn exit(&self) -> Exit {
        match self {
            Unshown::History(HistoryError::Unusable { .. })
            | Unshown::Csv {
                why: HistoryError::Unusable { .. },
                ..
            }
            | Unshown::Write { .. } => Exit::CouldNotMeasure,
            _ => Exit::Usage,
        }
    }
}

/// Reads what is new, and shows the course of results.
pub(crate) fn history(flags: &HistoryFlags) -> Exit {
    match shown(flags) {
        Ok(text) => print(&text),
        Err(error) => {
            message::error(&error);
            error.exit()
        }
    }
}

fn shown(flags: &HistoryFlags) -> Result<String, Unshown> {
    let usual = Path::new(RUNS);
    let directory = match &flags.directory {
        Some(directory) => Some(directory.as_path()),
        None => usual.is_dir().then_some(usual),
    };
    let file = match (&flags.file, directory) {
        (Some(file), _) => file.clone(),
        (None, Some(directory)) => directory.join(FILE_NAME),
        (None, None) => return Err(Unshown::NoRuns),
    };
    if let Some(directory) = directory {
        // Before a database is made in it.
        std::fs::read_dir(directory).map_err(|why| of_file(directory, why))?;
    }
    let mut history = History::open(&file)?;
    // Before runs are read: they know better than what was exported once.
    if let Some(path) = &flags.import {
        let csv = File::open(path).map_err(|why| of_file(path, why))?;
        let added = history.import(csv).map_err(|why| of_csv(path, why))?;
        anstream::eprintln!("{added} rows imported from {}", path.display());
    }
    let found = match directory {
        Some(directory) => history.read_runs(directory, progress())?,
        None => Found::default(),
    };
    for (path, why) in &found.unreadable {
        message::warning(format_args!("{} is left out: {why}", path.display()));
    }
    if let Some(path) = &flags.export {
        let rows = export(&history, path)?;
        anstream::eprintln!("{rows} rows exported to {}", path.display());
        return Ok(String::new());
    }
    let which = Which {
        plan: flags.plan.clone(),
        arm: flags.arm.clone(),
        metric: flags.metric.map(|metric| metric.as_str().to_owned()),
        only_primary: flags.metric.is_none(),
    };
    let rows = history.rows(&which)?;
    let mut courses: Vec<_> = courses(&rows).collect();
    // Those of one machine together; arms stay in order.
    courses.sort_by_key(|course| shown::place(*course));
    let since = flags.since.as_deref().map(|name| Since::of(name, &courses));
    let since = since.transpose()?;
    Ok(match flags.json {
        true => format!(
            "{:#}\n",
            to_json(&courses, &found, since.as_ref().map(|since| &*since.of))
        ),
        false => shown::text(&courses, flags.rows, since.as_ref()),
    })
}

/// With what the newest results are compared.
struct Since {
    /// As the user wrote it.
    name: String,
    /// A run, or a commit's hash.
    of: String,
}

impl Since {
    fn of(name: &str, courses: &[Course<'_>]) -> Result<Since, Unshown> {
        let has = |of: &str| courses.iter().any(|course| course.row_of(of).is_some());
        let commit = format!("{name}^{{commit}}");
        let hash = || {
            let verify = [
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &commit,
            ];
            git(".".as_ref(), verify).ok()
        };
        let named = Some(name.to_owned()).filter(|name| has(name));
        let of = named.or_else(hash).filter(|of| has(of));
        Ok(Since {
            of: of.ok_or_else(|| Unshown::NoResult(name.to_owned()))?,
            name: name.to_owned(),
        })
    }
}

/// Replaces the file only when all rows are written.
fn export(history: &History, path: &Path) -> Result<usize, Unshown> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let of_write = |why| Unshown::Write {
        path: path.to_owned(),
        why,
    };
    let file = tempfile::NamedTempFile::new_in(folder.unwrap_or(".".as_ref())).map_err(of_write)?;
    let rows = history.export(&file).map_err(|why| of_csv(path, why))?;
    file.persist(path).map_err(|error| of_write(error.error))?;
    Ok(rows)
}

/// Says how far reading is, after a while.
fn progress() -> impl FnMut(usize, usize) {
    let mut said = Instant::now();
    move |number, all| {
        if said.elapsed() > QUIET_FOR {
            anstream::eprintln!("reading run {number} of {all}");
            said = Instant::now();
        }
    }
}

fn of_file(path: &Path, why: std::io::Error) -> Unshown {
    Unshown::File {
        path: path.to_owned(),
        why,
    }
}

fn of_csv(path: &Path, why: HistoryError) -> Unshown {
    Unshown::Csv {
        path: path.to_owned(),
        why,
    }
}
