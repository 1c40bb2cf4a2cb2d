//! Databases in SQLite that belong to Windage, and others' that must be left alone.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

/// Where SQLite's file format has the application id, in the file's header.
const APPLICATION_ID_AT: usize = 68;
/// How long another process may lock the database.
const BUSY_FOR: Duration = Duration::from_secs(1);

/// A database of Windage.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseKind {
    /// Marks it: SQLite's `application_id`.
    pub application_id: i32,
    /// The version of its tables.
    pub version: i64,
    /// Whether all of it can be made again: then it is written without waiting for the disk.
    pub can_be_rebuilt: bool,
    /// The statements that create them.
    pub tables: &'static str,
}

/// Why a file can't serve as a database.
#[derive(Debug)]
pub enum Unusable {
    /// It is another program's database, and must be left alone.
    Foreign,
    /// Its content is unusable.
    Content(String),
    /// It can't be read or written, for this reason.
    Access(String),
}

/// Opens the database at a path, which is created if missing.
///
/// # Errors
/// When it is of another program, of another version, damaged, or not accessible.
pub fn open_database(path: &Path, kind: DatabaseKind) -> Result<Connection, Unusable> {
    // Before SQLite opens it, which may recover a journal and thereby change the file.
    let is_foreign = is_foreign(path, kind.application_id);
    if is_foreign.map_err(|error| Unusable::Access(error.to_string()))? {
        return Err(Unusable::Foreign);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // Its folder may be reached through links, the file itself must be none.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let folder = folder.map_err(|error| Unusable::Access(error.to_string()))?;
    let file = folder.join(path.file_name().unwrap_or_default());
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY_FOR)?;
    // Others who can write to the directory could put functions into the database's schema.
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    if kind.can_be_rebuilt {
        // If the process is killed, the database stays intact. A power loss may damage it.
        connection.pragma_update(None, "synchronous", "OFF")?;
    }
    if version(&connection)? == 0 {
        make(&connection, kind)?;
    }
    let version = version(&connection)?;
    if version != kind.version {
        return Err(Unusable::Content(format!(
            "is of version {version} and this windage has {}",
            kind.version
        )));
    }
    let check: String = connection.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    match check.as_str() {
        "ok" => Ok(connection),
        _ => Err(Unusable::Content("is damaged".to_owned())),
    }
}

/// A database that is not kept.
pub(crate) fn memory_database(kind: DatabaseKind) -> Result<Connection, Unusable> {
    let connection = Connection::open_in_memory()?;
    make(&connection, kind)?;
    Ok(connection)
}

/// Whether the file is a database with another application id. Links are refused by SQLite.
fn is_foreign(path: &Path, application_id: i32) -> io::Result<bool> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if !is_file {
        return Ok(false);
    }
    let mut header = Vec::new();
    let end = APPLICATION_ID_AT + size_of::<i32>();
    File::open(path)?
        .take(end as u64)
        .read_to_end(&mut header)?;
    let id = header.get(APPLICATION_ID_AT..end);
    Ok(header.starts_with(b"SQLite format 3\0") && id != Some(&application_id.to_be_bytes()[..]))
}

/// 0 in a new file.
fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Creates the tables at once, unless another process does so at the same time.
fn make(connection: &Connection, kind: DatabaseKind) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if version(&transaction)? == 0 {
        transaction.execute_batch(kind.tables)?;
        transaction.pragma_update(None, "application_id", kind.application_id)?;
        transaction.pragma_update(None, "user_version", kind.version)?;
    }
    transaction.commit()
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Unusable {
        use ErrorCode as E;
        match error.sqlite_error_code() {
            Some(
                E::CannotOpen
                | E::ReadOnly
                | E::PermissionDenied
                | E::DatabaseBusy
                | E::DatabaseLocked
                | E::DiskFull
                | E::SystemIoFailure
                | E::FileLockingProtocolFailed,
            ) => Unusable::Access(error.to_string()),
            _ => Unusable::Content(format!("is damaged ({error})")),
        }
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unusable::Content(why) => f.write_str(why),
            Unusable::Access(error) => f.write_str(error),
            Unusable::Foreign => f.write_str("is a database of another program"),
        }
    }
}
