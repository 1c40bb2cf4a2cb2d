//! The database of rows.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, named_params, params};
use thiserror::Error;

use crate::database::{DatabaseKind, Unusable, memory_database, open_database};
use crate::document;
use crate::row::Row;

/// The database's name in a directory of runs.
pub const FILE_NAME: &str = "history.sqlite";
const KIND: DatabaseKind = DatabaseKind {
    application_id: i32::from_be_bytes(*b"wndh"),
    version: 1,
    can_be_rebuilt: false,
    tables: "\
        CREATE TABLE row (plan TEXT NOT NULL, regime TEXT NOT NULL, arm TEXT NOT NULL, \
        metric TEXT NOT NULL, started TEXT NOT NULL, run TEXT NOT NULL, commit_id TEXT NOT NULL, \
        machine TEXT NOT NULL, windage TEXT NOT NULL, unit TEXT NOT NULL, estimate REAL NOT NULL, \
        low REAL, high REAL, launches INTEGER NOT NULL, validity TEXT NOT NULL, \
        is_primary INTEGER NOT NULL, \
        PRIMARY KEY (plan, regime, arm, metric, machine, unit, started, run)) WITHOUT ROWID; \
        CREATE TABLE source (path TEXT PRIMARY KEY NOT NULL, stamp TEXT NOT NULL) WITHOUT ROWID;",
};

/// Rows of runs, in a file that is also written by other processes.
#[derive(Debug)]
pub struct History {
    connection: Connection,
    path: PathBuf,
}

/// Why history can't be read or kept.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The file can't serve.
    #[error("{} {why}{}", path.display(), remedy(why))]
    Unusable {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        why: Unusable,
    },
    /// A directory of runs can't be listed.
    #[error("can't list the runs in {}: {why}", path.display())]
    Runs {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// A CSV can't be read or written.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// A CSV has a row that can't be.
    #[error(
        "line {line}: plan, arm, metric and started must not be empty, and low <= estimate <= high"
    )]
    Row {
        /// The line in the CSV.
        line: u64,
    },
}

fn remedy(why: &Unusable) -> &'static str {
    match why {
        Unusable::Foreign => ": name another file with --file",
        Unusable::Content(_) => {
            ": use the windage that wrote it, or move it away; what came from run directories is read again, the rest from a CSV \
             that was exported (--import)"
        }
        Unusable::Access(_) => "",
    }
}

/// Which rows are asked for; `None` stands for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// The plan's name.
    pub plan: Option<String>,
    /// The arm's id, or what it begins with.
    pub arm: Option<String>,
    /// The metric.
    pub metric: Option<String>,
    /// Only each plan's first metric.
    pub only_primary: bool,
}

/// What a directory of runs had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Runs that were read now.
    pub read: usize,
    /// Runs that were known.
    pub known: usize,
    /// Runs that have not ended, or whose report was not written.
    pub without_analysis: usize,
    /// Runs that can't be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl History {
    /// Opens the database at a path, which is created if missing.
    ///
    /// # Errors
    /// When it can't serve.
    pub fn open(path: &Path) -> Result<History, HistoryError> {
        let connection = open_database(path, KIND).map_err(|why| unusable(path, why))?;
        Ok(History {
            connection,
            path: path.to_owned(),
        })
    }

    /// Opens the database of a directory of runs. Where none is and none can be made, rows are kept in
    /// memory.
    ///
    /// # Errors
    /// When there is one that can't serve: what it has must not be missing without a word.
    pub fn of_directory(directory: &Path) -> Result<History, HistoryError> {
        let path = directory.join(FILE_NAME);
        let in_memory = || {
            let connection = memory_database(KIND).map_err(|why| unusable(&path, why))?;
            Ok(History {
                connection,
                path: path.clone(),
            })
        };
        if is_run(directory) {
            return in_memory();
        }
        match History::open(&path) {
            Err(HistoryError::Unusable {
                why: Unusable::Access(_),
                ..
            }) if !path.exists() => in_memory(),
            opened => opened,
        }
    }

    /// Reads the runs of a directory, and of its folders, that are new or changed. Rows of runs that
    /// are no longer there stay. `progress` gets the number of each run and of all.
    ///
    /// # Errors
    /// When the directory can't be listed, or the database can't be written.
    pub fn read_runs(
        &mut self,
        directory: &Path,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Found, HistoryError> {
        // The same from wherever it is read.
        let runs = directory.canonicalize().and_then(|path| runs_in(&path));
        let runs = runs.map_err(|why| HistoryError::Runs {
            path: directory.to_owned(),
            why,
        })?;
        let mut found = Found::default();
        let all = runs.len();
        self.write(|connection| {
            let mut known =
                connection.prepare("SELECT 1 FROM source WHERE path = ?1 AND stamp = ?2")?;
            let mut forget = connection
                .prepare("DELETE FROM row WHERE plan = ?1 AND run = ?2 AND started = ?3")?;
            let mut keep = connection
                .prepare("INSERT OR REPLACE INTO source (path, stamp) VALUES (?1, ?2)")?;
            for (number, run) in (1..).zip(runs) {
                progress(number, all);
                let file = run.join("analysis.json");
                let Some(stamp) = stamp(&file) else {
                    found.without_analysis += 1;
                    continue;
                };
                let name = run.to_string_lossy();
                if known.exists(params![name, stamp])? {
                    found.known += 1;
                    continue;
                }
                let text = fs::read_to_string(&file).map_err(|error| error.to_string());
                match text.and_then(|text| document::read(&text).map_err(|e| e.to_string())) {
                    Ok(of) => {
                        // What it no longer has must not stay.
                        forget.execute(params![of.plan, of.run, of.started])?;
                        insert(connection, &of.rows)?;
                        keep.execute(params![name, stamp])?;
                        found.read += 1;
                    }
                    Err(why) => found.unreadable.push((file, why)),
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Adds the rows of a CSV with a header, and returns how many there are. A row that is known is
    /// replaced.
    ///
    /// # Errors
    /// When a line can't be read, and nothing is added then, or the database can't be written.
    pub fn import(&mut self, from: impl Read) -> Result<usize, HistoryError> {
        let mut reader = csv::Reader::from_reader(from);
        let mut rows = Vec::new();
        for row in reader.deserialize() {
            let row: Row = row?;
            // The header is line 1.
            let line = rows.len() as u64 + 2;
            if !row.is_sound() {
                return Err(HistoryError::Row { line });
            }
            rows.push(row);
        }
        self.write(|connection| insert(connection, &rows))?;
        Ok(rows.len())
    }

    /// Writes all rows as CSV, in order of plan, arm, metric and time.
    ///
    /// # Errors
    /// When they can't be read or written.
    pub fn export(&self, to: impl Write) -> Result<usize, HistoryError> {
        let mut writer = csv::Writer::from_writer(to);
        let rows = self.rows(&Which::default())?;
        for row in &rows {
            writer.serialize(row)?;
        }
        writer.flush().map_err(csv::Error::from)?;
        Ok(rows.len())
    }

    /// Rows, those of a series together and in order of time.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn rows(&self, which: &Which) -> Result<Vec<Row>, HistoryError> {
        let read = || -> rusqlite::Result<Vec<Row>> {
            // The order of its key.
            let mut select = self.connection.prepare(
                "SELECT * FROM row WHERE plan = ifnull(:plan, plan) AND metric = ifnull(:metric, metric) \
                 AND substr(arm, 1, length(ifnull(:arm, ''))) = ifnull(:arm, '') \
                 AND is_primary >= :only_primary \
                 ORDER BY plan, regime, arm, metric, machine, unit, started, run",
            )?;
            let wanted = named_params! {
                ":plan": which.plan,
                ":metric": which.metric,
                ":arm": which.arm,
                ":only_primary": which.only_primary,
            };
            let rows = select.query_map(wanted, |row| {
                Ok(Row {
                    plan: row.get("plan")?,
                    regime: row.get("regime")?,
                    arm: row.get("arm")?,
                    metric: row.get("metric")?,
                    started: row.get("started")?,
                    run: row.get("run")?,
                    commit: row.get("commit_id")?,
                    machine: row.get("machine")?,
                    windage: row.get("windage")?,
                    unit: row.get("unit")?,
                    estimate: row.get("estimate")?,
                    low: row.get("low")?,
                    high: row.get("high")?,
                    launches: row.get("launches")?,
                    validity: row.get("validity")?,
                    is_primary: row.get("is_primary")?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| unusable(&self.path, error.into()))
    }

    /// The metrics that rows have, in order of their names.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn metrics(&self) -> Result<Vec<String>, HistoryError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let all = "SELECT DISTINCT metric FROM row ORDER BY metric";
            let mut select = self.connection.prepare(all)?;
            select.query_map((), |row| row.get(0))?.collect()
        };
        read().map_err(|error| unusable(&self.path, error.into()))
    }

    /// All or nothing.
    fn write(
        &mut self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), HistoryError> {
        let written = self.connection.transaction().and_then(|transaction| {
            write(&transaction)?;
            transaction.commit()
        });
        written.map_err(|error| unusable(&self.path, error.into()))
    }
}

fn unusable(path: &Path, why: Unusable) -> HistoryError {
    HistoryError::Unusable {
        path: path.to_owned(),
        why,
    }
}

fn insert(connection: &Connection, rows: &[Row]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO row VALUES (:plan, :regime, :arm, :metric, :started, :run, :commit, \
         :machine, :windage, :unit, :estimate, :low, :high, :launches, :validity, :is_primary)",
    )?;
    for row in rows {
        insert.execute(named_params! {
            ":plan": row.plan,
            ":regime": row.regime,
            ":arm": row.arm,
            ":metric": row.metric,
            ":started": row.started,
            ":run": row.run,
            ":commit": row.commit,
            ":machine": row.machine,
            ":windage": row.windage,
            ":unit": row.unit,
            ":estimate": row.estimate,
            ":low": row.low,
            ":high": row.high,
            ":launches": row.launches,
            ":validity": row.validity,
            ":is_primary": row.is_primary,
        })?;
    }
    Ok(())
}

/// The runs in a directory and in its folders, or the one run that it is, in order.
fn runs_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    if is_run(directory) {
        return Ok(vec![directory.to_owned()]);
    }
    let mut runs = Vec::new();
    for folder in folders(directory)? {
        match is_run(&folder) {
            true => runs.push(folder),
            false => runs.extend(
                folders(&folder)
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|of| is_run(of)),
            ),
        }
    }
    runs.sort();
    Ok(runs)
}

fn is_run(directory: &Path) -> bool {
    directory.join("manifest.json").is_file()
}

/// The directories in a directory; links are left out.
fn folders(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    Ok(folders.map(|entry| entry.path()).collect())
}

/// Changes with the file; `None` if there is none.
fn stamp(file: &Path) -> Option<String> {
    let found = fs::symlink_metadata(file).ok().filter(|of| of.is_file())?;
    let modified = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!(
        "{}.{:09}+{}",
        modified.as_secs(),
        modified.subsec_nanos(),
        found.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::row;
    use proptest::prelude::*;

    fn document(estimate: &str) -> String {
        format!(
            r#"{{"windage": "0.1.0", "run": "20260101-000000-shop", "plan": "shop", "started": "2026-01-01T00:00:00Z",
            "host": {{"cpu_model": "6502", "cpus_online": 2}}, "regime": null, "primary": "cpu_per_request",
            "validity": {{"verdict": "valid", "reasons": []}}, "other_loads": [], "arms": [
              {{"id": "off", "role": "baseline", "versions": {{}}, "metrics": {{}}}},
              {{"id": "otel", "role": "treatment", "versions": {{"commit": "3f2a"}}, "metrics": {{
                "cpu_per_request": {{"unit": "us", "rounds": 14, "validity": {{"verdict": "suspect"}},
                  "relative": {{"estimate": {estimate}, "low": 0.04, "high": 0.07}}, "difference": null}},
                "rss_peak": {{"unit": "bytes", "rounds": 14, "validity": {{"verdict": "valid"}},
                  "relative": null, "difference": {{"estimate": 4096, "low": null, "high": null}}}},
                "errors_per_request": {{"unit": "1", "rounds": 14, "validity": {{"verdict": "valid"}},
                  "relative": null, "difference": null}}}}}}]}}"#
        )
    }

    fn new() -> (tempfile::TempDir, History) {
        let folder = tempfile::tempdir().unwrap();
        let history = History::open(&folder.path().join("history.sqlite")).unwrap();
        (folder, history)
    }

    fn run(folder: &Path, name: &str, analysis: Option<&str>) {
        let run = folder.join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("manifest.json"), "{}").unwrap();
        if let Some(text) = analysis {
            fs::write(run.join("analysis.json"), text).unwrap();
        }
    }

    #[test]
    fn only_a_missing_database_is_replaced_by_memory() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE_NAME);
        let other = History::open(&file).unwrap();
        other.connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let refused = History::of_directory(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("locked"), "{refused}");
        drop(other);
        History::of_directory(folder.path()).unwrap();

        // Root may write everywhere, but creates no file in a directory that is not there.
        let missing = folder.path().join("missing");
        let rows = History::of_directory(&missing).unwrap();
        assert_eq!(rows.rows(&Which::default()).unwrap(), []);
    }

    #[test]
    fn runs_are_read_once_and_again_when_they_change() {
        let (folder, mut history) = new();
        let runs = folder.path();
        run(runs, "all/a", Some(&document("0.05")));
        run(runs, "b", None);
        run(runs, "c", Some("{"));
        let read = |history: &mut History| history.read_runs(runs, |_, _| {}).unwrap();
        let found = read(&mut history);
        assert_eq!((found.read, found.known, found.without_analysis), (1, 0, 1));
        assert!(
            found.unreadable[0].0.ends_with("c/analysis.json"),
            "{found:?}"
        );
        assert_eq!(read(&mut history).known, 1);

        let rows = history.rows(&Which::default()).unwrap();
        let [cpu, rss] = &rows[..] else {
            panic!("{rows:?}")
        };
        assert_eq!(
            (&cpu.unit[..], cpu.estimate, cpu.low, cpu.is_primary),
            ("share", 0.05, Some(0.04), true)
        );
        assert_eq!(
            (&cpu.commit[..], &cpu.machine[..], &cpu.validity[..]),
            ("3f2a", "6502, 2 cores", "suspect")
        );
        assert_eq!(
            (&rss.unit[..], rss.estimate, rss.low),
            ("bytes", 4096.0, None)
        );

        let changed = document("0.0525").replace("rss_peak", "rss_steady");
        run(runs, "all/a", Some(&changed));
        assert_eq!(read(&mut history).read, 1);
        assert_eq!(history.rows(&Which::default()).unwrap()[0].estimate, 0.0525);
        fs::remove_dir_all(runs.join("all")).unwrap();
        read(&mut history);
        assert_eq!(
            history.rows(&Which::default()).unwrap().len(),
            2,
            "rows outlive runs"
        );

        let of_two = changed.replace("\"other_loads\"", "\"revisions\": {}, \"other_loads\"");
        run(runs, "all/a", Some(&of_two));
        read(&mut history);
        assert_eq!(
            history.rows(&Which::default()).unwrap(),
            [],
            "of two revisions"
        );
    }

    #[test]
    fn rows_are_chosen() {
        let (_folder, mut history) = new();
        let mut rows: Vec<Row> = (0..3).map(|day| row("otel-1.0", day, 0.05)).collect();
        rows.push(row("zipkin", 1, 0.02));
        rows.push(Row {
            metric: "rss_peak".to_owned(),
            is_primary: false,
            ..row("otel-1.0", 1, 1.0)
        });
        history
            .write(|connection| insert(connection, &rows))
            .unwrap();
        let count = |which: Which| history.rows(&which).unwrap().len();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(count(Which::default()), 5);
        assert_eq!(
            count(Which {
                arm: some("otel"),
                ..Which::default()
            }),
            4
        );
        assert_eq!(
            count(Which {
                metric: some("rss_peak"),
                ..Which::default()
            }),
            1
        );
        assert_eq!(
            count(Which {
                only_primary: true,
                ..Which::default()
            }),
            4
        );
        assert_eq!(
            count(Which {
                plan: some("other"),
                ..Which::default()
            }),
            0
        );
    }

    #[test]
    fn bad_lines_add_nothing_and_are_named() {
        let (_folder, mut history) = new();
        let mut csv = Vec::new();
        history
            .write(|connection| insert(connection, &[row("otel", 1, 0.05)]))
            .unwrap();
        history.export(&mut csv).unwrap();
        let good = String::from_utf8(csv).unwrap();
        for (bad, expected) in [
            (good.replace(",14,", ",many,"), "line: 2"),
            (good.replace("shop,", ","), "line 2: plan"),
            (good.replace("arm,", ""), "CSV"),
        ] {
            let (_folder, mut history) = new();
            let error = history.import(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(history.rows(&Which::default()).unwrap(), []);
        }
    }

    #[test]
    fn others_databases_are_left_alone_and_damaged_ones_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("foreign.sqlite");
        Connection::open(&foreign)
            .unwrap()
            .execute_batch("CREATE TABLE t (x)")
            .unwrap();
        let before = fs::read(&foreign).unwrap();
        let error = History::open(&foreign).unwrap_err().to_string();
        assert!(
            error.contains("database of another program") && error.contains("--file"),
            "{error}"
        );
        assert_eq!(fs::read(&foreign).unwrap(), before);

        let damaged = folder.path().join("damaged.sqlite");
        fs::write(&damaged, "garbage ".repeat(100)).unwrap();
        let error = History::open(&damaged).unwrap_err().to_string();
        assert!(
            error.contains("is damaged") && error.contains("--import"),
            "{error}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn csv_keeps_every_row(
            texts in prop::collection::vec("[^\\x00]{1,8}", 6),
            estimate in -1e9..1e9f64,
            width in prop::option::of(0.0..1e9f64),
            launches: u32,
        ) {
            let of = |i: usize| texts[i].clone();
            let row = Row {
                plan: of(0), regime: of(1), arm: of(2), metric: of(3), started: of(4), run: of(5),
                estimate, launches,
                low: width.map(|width| estimate - width),
                high: width.map(|width| estimate + width),
                ..row("otel", 1, 0.0)
            };
            let (_folder, mut history) = new();
            history.write(|connection| insert(connection, std::slice::from_ref(&row))).unwrap();
            let mut csv = Vec::new();
            history.export(&mut csv).unwrap();
            let (_other_folder, mut other) = new();
            prop_assert_eq!(other.import(&csv[..]).unwrap(), 1);
            prop_assert_eq!(other.import(&csv[..]).unwrap(), 1, "again");
            prop_assert_eq!(other.rows(&Which::default()).unwrap(), [row]);
        }
    }
}
