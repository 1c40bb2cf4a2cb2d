//! A manifest is read, or refused with an error that can be shown; what was read is written as a
//! manifest that reads the same.

use std::fs;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;
use windage_record::RunDir;

use crate::Corpus;

/// The run with the input as its manifest.
static FOLDER: OnceLock<TempDir> = OnceLock::new();

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Checks what the module says of an input.
pub fn check(json: &[u8]) -> Corpus {
    let path = FOLDER.get_or_init(folder).path();
    fs::write(path.join("manifest.json"), json).expect("a written manifest");
    match RunDir::open(path) {
        Ok(run) => assert_written(&run),
        Err(error) => assert!(error.to_string().contains("manifest.json"), "{error}"),
    }
    Corpus::Keep
}

fn assert_written(run: &RunDir) {
    let folder = folder();
    RunDir::create(folder.path(), run.manifest(), "", "", &Value::Null)
        .expect("a manifest that was read can be written");
    let again = RunDir::open(folder.path()).expect("a manifest that was written can be read");
    assert_eq!(again.manifest(), run.manifest());
}
