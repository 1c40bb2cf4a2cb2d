//! Where the latest calibration of a machine is kept.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde_json::Value;
use thiserror::Error;

/// Why it was not kept.
#[derive(Debug, Error)]
pub(crate) enum StoreError {
    #[error("the calibration is not kept: neither XDG_STATE_HOME nor HOME names a folder; set one")]
    NoFolder,
    #[error("the calibration can't be kept in {file}: {source}")]
    Write { file: PathBuf, source: io::Error },
}

/// `$XDG_STATE_HOME/windage/calibration.json`, or the same under `~/.local/state`; `None` when
/// neither is known.
fn file() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let folder = env::var_os(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("windage/calibration.json"))
}

/// Keeps a calibration in the place of the one before, and says where.
pub(super) fn keep(document: &Value) -> Result<PathBuf, StoreError> {
    let file = file().ok_or(StoreError::NoFolder)?;
    match write_whole(&file, &format!("{document:#}\n")) {
        Ok(()) => Ok(file),
        Err(source) => Err(StoreError::Write { file, source }),
    }
}

/// The calibration that was kept last; `None` when there is none that can be read, or when it is
/// of another kind of processor: a folder may be shared by machines.
pub(super) fn latest(cpu_model: &Value) -> Option<Value> {
    let text = fs::read_to_string(file()?).ok()?;
    of_this_machine(&text, cpu_model)
}

fn of_this_machine(text: &str, cpu_model: &Value) -> Option<Value> {
    let document: Value = serde_json::from_str(text).ok()?;
    (&document["machine"]["cpu_model"] == cpu_model).then_some(document)
}

/// Beside the file, then renamed: who reads it meanwhile finds the old one or the new one.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    let written = fs::File::create(&beside).and_then(|mut new| {
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&beside, file)
    });
    if written.is_err() {
        // It may not even have been made.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_takes_the_place_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("windage/calibration.json");
        for text in ["one", "two"] {
            write_whole(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        let kept = fs::read_dir(file.parent().unwrap()).unwrap().count();
        assert_eq!(kept, 1, "nothing half-written stays");
        let nowhere = file.join("below/a/file");
        assert!(write_whole(&nowhere, "three").is_err());
    }

    #[test]
    fn a_calibration_of_another_machine_is_not_quoted() {
        let text = r#"{"date": "2026-11-22", "machine": {"cpu_model": "A"}}"#;
        let of = |model: &str| of_this_machine(text, &Value::from(model));
        assert_eq!(of("A").unwrap()["date"], "2026-11-22");
        assert_eq!(of("B"), None);
        assert_eq!(of_this_machine("half a docu", &Value::from("A")), None);
    }
}
