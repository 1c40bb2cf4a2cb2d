//! A database of what was read of runs, so that a new server knows it at once.
//!
//! The run directories are the source. The index can be deleted at any time, and is deleted when it
//! is damaged.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use windage_history::{DatabaseKind, Unusable, open_database};

use super::row::Row;
use super::stamps::Seen;

/// The index's name in the directory of runs.
pub(crate) const FILE_NAME: &str = ".windage-index.sqlite";
const KIND: DatabaseKind = DatabaseKind {
    application_id: i32::from_be_bytes(*b"wndg"),
    // It changes with the tables and with [`Row`].
    version: 2,
    can_be_rebuilt: true,
    tables: "CREATE TABLE run (name TEXT PRIMARY KEY NOT NULL, stamps TEXT NOT NULL, row TEXT NOT NULL) \
             WITHOUT ROWID",
};

/// A run as the index knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) seen: Seen,
    pub(crate) row: Row,
}

/// The database, or nothing if there can't be one.
#[derive(Debug)]
pub(crate) struct Index(Option<Connection>);

impl Index {
    /// Opens the index of a directory. Returns what it knows, and a note if something was wrong.
    pub(crate) fn open(directory: &Path) -> (Index, Vec<Known>, Option<String>) {
        let path = directory.join(FILE_NAME);
        match open(&path) {
            Ok((index, known, unwritable)) => {
                let note = unwritable.map(|error| in_memory(&path, &error.to_string()));
                (index, known, note)
            }
            Err(Unusable::Access(error)) => {
                (Index(None), Vec::new(), Some(in_memory(&path, &error)))
            }
            Err(Unusable::Content(why)) => rebuilt(&path, &why),
            Err(Unusable::Foreign) => (Index(None), Vec::new(), Some(foreign(&path))),
        }
    }

    /// No index; nothing is kept on disk.
    pub(crate) fn none() -> Index {
        Index(None)
    }

    /// Keeps what was read of a run.
    ///
    /// # Errors
    /// When it can't be written; then no more is written.
    pub(crate) fn put(&mut self, known: &Known) -> Result<(), String> {
        self.write(|connection| {
            let row = serde_json::to_string(&known.row).unwrap_or_default();
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO run (name, stamps, row) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![known.name, known.seen.stamps, row])
        })
    }

    /// Removes runs that no longer exist.
    ///
    /// # Errors
    /// As for [`Index::put`].
    pub(crate) fn remove(&mut self, names: &[String]) -> Result<(), String> {
        self.write(|connection| {
            let mut remove = connection.prepare_cached("DELETE FROM run WHERE name = ?1")?;
            names.iter().map(|name| remove.execute([name])).sum()
        })
    }

    fn write(
        &mut self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
    ) -> Result<(), String> {
        let Some(connection) = &self.0 else {
            return Ok(());
        };
        let Err(error) = write(connection) else {
            return Ok(());
        };
        let path = connection.path().unwrap_or(FILE_NAME).to_owned();
        self.0 = None;
        Err(in_memory(Path::new(&path), &error.to_string()))
    }
}

/// Opens the index of a directory, writes again what it knows, and opens it once more. Returns how
/// many runs it knows, and the note if something was wrong at first.
///
/// Public only because a fuzz target is a crate of its own.
///
/// # Panics
/// When the index is not sound afterwards.
#[doc(hidden)]
#[must_use]
pub fn reopen_index(directory: &Path) -> (usize, Option<String>) {
    let (mut index, known, note) = Index::open(directory);
    for one in &known {
        assert_eq!(index.put(one), Ok(()));
    }
    drop(index);
    let (_, again, nothing) = Index::open(directory);
    assert_eq!((&again, nothing), (&known, None));
    (known.len(), note)
}

fn in_memory(path: &Path, error: &str) -> String {
    let path = path.display();
    format!("{path} can't be written ({error}); the list of runs is kept in memory only")
}

fn foreign(path: &Path) -> String {
    let path = path.display();
    format!(
        "{path} is no index of windage but a database of another program: it is left alone, and \
         the list of runs is kept in memory only; move it elsewhere"
    )
}

/// Replaces an unusable index with a new one.
fn rebuilt(path: &Path, why: &str) -> (Index, Vec<Known>, Option<String>) {
    let made = delete(path)
        .map_err(|error| error.to_string())
        .and_then(|()| open(path).map_err(|unusable| unusable.to_string()));
    let shown = path.display();
    match made {
        Ok((index, known, _)) => {
            let note = format!("{shown} {why}: it is rebuilt from the runs");
            (index, known, Some(note))
        }
        Err(error) => {
            let note = format!(
                "{shown} {why}, and can't be rebuilt ({error}); the list of runs is kept in \
                 memory only"
            );
            (Index(None), Vec::new(), Some(note))
        }
    }
}

/// Deletes the file and SQLite's files next to it.
fn delete(path: &Path) -> io::Result<()> {
    for suffix in ["-journal", "-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        // It rarely exists.
        let _ = fs::remove_file(PathBuf::from(beside));
    }
    fs::remove_file(path)
}

/// The content of the index at that path, which is created if missing; and why it can't be written,
/// if it is read-only.
fn open(path: &Path) -> Result<(Index, Vec<Known>, Option<rusqlite::Error>), Unusable> {
    let connection = open_database(path, KIND)?;
    let known = read(&connection)?;
    // Shows now whether it can be written, and not with the first run that is read.
    Ok(match connection.execute_batch("BEGIN IMMEDIATE; COMMIT") {
        Ok(()) => (Index(Some(connection)), known, None),
        Err(error) => (Index(None), known, Some(error)),
    })
}

fn read(connection: &Connection) -> Result<Vec<Known>, Unusable> {
    let mut select = connection.prepare("SELECT name, stamps, row FROM run")?;
    let mut rows = select.query([])?;
    let mut known = Vec::new();
    while let Some(found) = rows.next()? {
        let row: String = found.get(2)?;
        let row: Row = serde_json::from_str(&row)
            .map_err(|error| Unusable::Content(format!("has a row that is damaged ({error})")))?;
        known.push(Known {
            name: found.get(0)?,
            seen: Seen {
                stamps: found.get(1)?,
                state: row.state.into(),
            },
            row,
        });
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_record::RunState;

    fn known(name: &str) -> Known {
        let row = Row {
            state: RunState::Ended.into(),
            ..Row::default()
        };
        Known {
            name: name.to_owned(),
            seen: Seen {
                stamps: "1".to_owned(),
                state: RunState::Ended,
            },
            row,
        }
    }

    /// A directory with an index of two runs.
    fn filled() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let (mut index, none, note) = Index::open(directory.path());
        assert_eq!((none.len(), note), (0, None));
        for name in ["a", "b/ä"] {
            index.put(&known(name)).unwrap();
        }
        directory
    }

    #[test]
    fn the_index_survives_a_restart() {
        let directory = filled();
        let (mut index, found, note) = Index::open(directory.path());
        assert_eq!((found, note), (vec![known("a"), known("b/ä")], None));
        index.remove(&["a".to_owned(), "never".to_owned()]).unwrap();
        drop(index);
        let (_, found, _) = Index::open(directory.path());
        assert_eq!(found, [known("b/ä")]);
        let files = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 1, "nothing is left beside the index");
    }

    #[test]
    fn an_unusable_index_is_rebuilt() {
        let sql = |sql: &str| {
            let sql = sql.to_owned();
            move |path: &Path| Connection::open(path).unwrap().execute_batch(&sql).unwrap()
        };
        type Spoil = Box<dyn Fn(&Path)>;
        let table: [(Spoil, &str); 6] = [
            (
                Box::new(|p| fs::write(p, "<!DOCTYPE html>").unwrap()),
                "is damaged",
            ),
            (
                Box::new(|p| {
                    let mut bytes = fs::read(p).unwrap();
                    bytes[150..].fill(0xaa);
                    fs::write(p, bytes).unwrap();
                }),
                "is damaged",
            ),
            (
                Box::new(|p| {
                    let bytes = fs::read(p).unwrap();
                    fs::write(p, &bytes[..bytes.len() / 2]).unwrap();
                }),
                "is damaged",
            ),
            (Box::new(sql("PRAGMA user_version = 7")), "is of version 7"),
            (Box::new(sql("DROP TABLE run")), "is damaged"),
            (
                Box::new(sql("UPDATE run SET row = '{}'")),
                "has a row that is damaged",
            ),
        ];
        for (spoil, why) in table {
            let directory = filled();
            spoil(&directory.path().join(FILE_NAME));
            let (mut index, found, note) = Index::open(directory.path());
            let note = note.unwrap_or_else(|| panic!("no note, where it {why}"));
            assert!(
                note.contains(why) && note.contains("rebuilt") && !note.contains('\n'),
                "{note}"
            );
            assert_eq!(found, [], "{why}");
            index.put(&known("c")).unwrap();
            drop(index);
            assert_eq!(Index::open(directory.path()).1, [known("c")], "{why}");
        }
    }

    #[test]
    fn a_database_of_another_program_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch("CREATE TABLE run (name, stamps, row); PRAGMA user_version = 2")
            .unwrap();
        drop(other);
        let before = fs::read(&path).unwrap();
        let (mut index, found, note) = Index::open(directory.path());
        let note = note.unwrap();
        assert!(
            note.contains("another program") && note.contains("left alone"),
            "{note}"
        );
        assert_eq!(found, []);
        assert_eq!(index.put(&known("a")), Ok(()));
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn links_are_not_followed() {
        let elsewhere = filled();
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join(FILE_NAME);
        std::os::unix::fs::symlink(elsewhere.path().join(FILE_NAME), link).unwrap();
        let (_, found, note) = Index::open(directory.path());
        assert_eq!(found, []);
        assert!(note.unwrap().contains("in memory only"));
        assert_eq!(Index::open(elsewhere.path()).1.len(), 2);
    }

    #[test]
    fn the_schema_is_not_trusted() {
        let directory = filled();
        let (Index(connection), ..) = Index::open(directory.path());
        let trusted: bool = connection
            .unwrap()
            .pragma_query_value(None, "trusted_schema", |row| row.get(0))
            .unwrap();
        assert!(!trusted);
    }

    #[test]
    fn an_empty_file_is_a_valid_index() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE_NAME), "").unwrap();
        assert_eq!(Index::open(directory.path()).2, None);
    }

    #[test]
    fn servers_that_start_together_share_a_new_index() {
        for _ in 0..10 {
            let directory = tempfile::tempdir().unwrap();
            let together = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                for server in 0..4 {
                    let (directory, together) = (directory.path(), &together);
                    scope.spawn(move || {
                        together.wait();
                        let (mut index, _, note) = Index::open(directory);
                        assert_eq!(note, None);
                        assert_eq!(index.put(&known(&server.to_string())), Ok(()));
                    });
                }
            });
            let (_, found, note) = Index::open(directory.path());
            assert_eq!((found.len(), note), (4, None), "all entries are there");
        }
    }

    #[test]
    fn a_read_only_index_is_still_used() {
        let directory = filled();
        let other = Connection::open(directory.path().join(FILE_NAME)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (mut index, found, note) = Index::open(directory.path());
        assert_eq!(found, [known("a"), known("b/ä")]);
        assert!(note.unwrap().contains("in memory only"));
        assert_eq!(index.put(&known("c")), Ok(()));
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(Index::open(directory.path()).1.len(), 2);
    }

    #[test]
    fn without_a_writable_directory_there_is_no_index() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(FILE_NAME)).unwrap();
        let (mut index, found, note) = Index::open(directory.path());
        assert_eq!(found, []);
        assert!(note.unwrap().contains("in memory only"));
        assert_eq!(index.put(&known("a")), Ok(()));
        assert_eq!(index.remove(&["a".to_owned()]), Ok(()));
    }

    #[test]
    fn a_failed_write_is_reported_once() {
        let directory = filled();
        let (mut index, ..) = Index::open(directory.path());
        index
            .0
            .as_ref()
            .unwrap()
            .execute_batch("DROP TABLE run")
            .unwrap();
        let failure = index.put(&known("c")).unwrap_err();
        assert!(
            failure.contains(FILE_NAME) && failure.contains("in memory only"),
            "{failure}"
        );
        assert_eq!(index.put(&known("c")), Ok(()));
    }
}
