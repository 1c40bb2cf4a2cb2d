//! Stores the latest calibration of a machine.

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
    #[error(
        "the calibration can't be kept in {file}: {source}; make it writable, or set XDG_STATE_HOME \
         to a folder that is"
    )]
    Write { file: PathBuf, source: io::Error },
}

/// `$XDG_STATE_HOME/windage/calibration.json`, or the same under `~/.local/state`; `None` if
/// neither variable is set.
fn file() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let folder = env::var_os(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("windage/calibration.json"))
}

/// Replaces the kept calibration and returns the file's path.
pub(crate) fn keep(document: &Value) -> Result<PathBuf, StoreError> {
    let file = file().ok_or(StoreError::NoFolder)?;
    match write_whole(&file, &format!("{document:#}\n")) {
        Ok(()) => Ok(file),
        Err(source) => Err(StoreError::Write { file, source }),
    }
}

/// The facts that identify a machine: several machines may share a home.
const SAME: [&str; 4] = [
    "cpu_model",
    "cpus_online",
    "virtualised",
    "memory_total_bytes",
];

/// The latest calibration of this machine, which runs record; null if there is no readable one, or
/// if it belongs to a machine with other facts.
pub(crate) fn latest() -> Value {
    let text = file().and_then(|file| fs::read_to_string(file).ok());
    text.and_then(|text| of_this_machine(&text, &windage_lab::host_json()))
        .unwrap_or_default()
}

fn of_this_machine(text: &str, host: &Value) -> Option<Value> {
    let document: Value = serde_json::from_str(text).ok()?;
    let machine = document.get("machine")?;
    let is_same = |fact: &&str| {
        machine
            .get(*fact)
            .is_some_and(|there| *there == host[*fact])
    };
    SAME.iter().all(is_same).then_some(document)
}

/// Written beside the file and renamed, so that readers see either the old file or the new one.
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
        // It may not even exist.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_replaces_the_one_before() {
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
        let host = |cpus: u32| {
            serde_json::json!({
                "cpu_model": null, "cpus_online": cpus, "virtualised": true,
                "memory_total_bytes": 8,
            })
        };
        let text = serde_json::json!({ "date": "2026-11-22", "machine": host(2) }).to_string();
        assert_eq!(
            of_this_machine(&text, &host(2)).unwrap()["date"],
            "2026-11-22"
        );
        assert_eq!(of_this_machine(&text, &host(4)), None);
        for other in ["half a docu", "[]", "{}", r#"{"machine": {}}"#] {
            assert_eq!(of_this_machine(other, &host(2)), None, "{other}");
        }
    }
}
