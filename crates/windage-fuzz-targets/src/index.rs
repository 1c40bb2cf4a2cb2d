//! A row of the index of `windage serve` is read and kept as it is, or the index is rebuilt without
//! it. `reopen_index` asserts that the index is sound afterwards.
//!
//! The input's first byte is the type of the row's value, `t` for text and `b` for bytes; the rest is
//! the value.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rusqlite::Connection;
use tempfile::TempDir;
use windage_serve::reopen_index;

use crate::Corpus;

const FILE_NAME: &str = ".windage-index.sqlite";

/// A folder for the index, and the bytes of one without rows.
static EMPTY: OnceLock<(TempDir, Vec<u8>)> = OnceLock::new();

fn empty() -> (TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(reopen_index(folder.path()), (0, None));
    let bytes = fs::read(folder.path().join(FILE_NAME)).expect("a new index");
    (folder, bytes)
}

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let (insert, value) = match input.split_first() {
        Some((b't', value)) => ("INSERT INTO run VALUES ('a', '', CAST(?1 AS TEXT))", value),
        Some((b'b', value)) => ("INSERT INTO run VALUES ('a', '', ?1)", value),
        _ => return Corpus::Reject,
    };
    let (folder, bytes) = EMPTY.get_or_init(empty);
    let path = folder.path().join(FILE_NAME);
    fs::write(&path, bytes).expect("a written index");
    put(&path, insert, value);
    let (known, note) = reopen_index(folder.path());
    let is_rebuilt = note.is_some_and(|note| note.contains("is rebuilt from the runs"));
    assert_eq!(known, usize::from(!is_rebuilt));
    Corpus::Keep
}

fn put(path: &Path, insert: &str, value: &[u8]) {
    let connection = Connection::open(path).expect("an index");
    connection.execute(insert, [value]).expect("room for a row");
}
