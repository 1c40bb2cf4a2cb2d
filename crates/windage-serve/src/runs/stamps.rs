//! Detects whether a run directory changed since it was read, without reading it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use windage_record::{RunState, Timing};

use super::snapshot::is_being_written;

/// Modification times and lengths of the files that the analysis reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    manifest: Option<Stamp>,
    journal: Option<Stamp>,
    /// They are copied last.
    histograms: [Option<Stamp>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified_s: i64,
    modified_ns: i64,
    /// Reveals changes of permissions, and copies that kept the original's modification time.
    changed_s: i64,
    changed_ns: i64,
    bytes: u64,
}

impl Stamps {
    /// The stamps of a run directory; `None` for a directory without a run or the remains of one,
    /// and for one that can't be read.
    pub(crate) fn of(directory: &Path) -> Option<Stamps> {
        let of = |name| Stamp::of(&directory.join(name));
        let (manifest, journal) = (of("manifest.json"), of("journal.bin"));
        match (&manifest, &journal) {
            (Err(NotThere), Err(NotThere)) | (Ok(None), Ok(None)) => return None,
            _ => {}
        }
        Some(Stamps {
            manifest: manifest.unwrap_or_default(),
            journal: journal.unwrap_or_default(),
            histograms: Timing::ALL.map(|timing| of(timing.file_name()).unwrap_or_default()),
        })
    }

    /// When the run began, or was last written, to sort runs that were not read yet.
    pub(crate) fn age_key(&self) -> i64 {
        let stamp = self.manifest.or(self.journal);
        stamp.map_or(i64::MIN, |stamp| stamp.modified_s)
    }

    /// As the index keeps it. It contains windage's version, since another version may report the
    /// same records differently.
    pub(crate) fn text(&self) -> String {
        let stamp = |stamp: Option<Stamp>| match stamp {
            Some(stamp) => format!(
                "{}.{:09}/{}.{:09}+{}",
                stamp.modified_s, stamp.modified_ns, stamp.changed_s, stamp.changed_ns, stamp.bytes
            ),
            None => "none".to_owned(),
        };
        let [response, service] = self.histograms;
        let files = [self.manifest, self.journal, response, service].map(stamp);
        format!("{} {}", env!("CARGO_PKG_VERSION"), files.join(" "))
    }
}

/// The file does not exist.
struct NotThere;

impl Stamp {
    /// `Ok(None)` for something that exists but is unreadable or not a file.
    fn of(file: &Path) -> Result<Option<Stamp>, NotThere> {
        match fs::metadata(file) {
            Ok(found) if !found.is_file() => Ok(None),
            Ok(found) => Ok(Some(Stamp {
                modified_s: found.mtime(),
                modified_ns: found.mtime_nsec(),
                changed_s: found.ctime(),
                changed_ns: found.ctime_nsec(),
                bytes: found.size(),
            })),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Err(NotThere),
                _ => Ok(None),
            },
        }
    }
}

/// What was read of a run; valid as long as nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its stamps, as the index keeps them.
    pub(crate) stamps: String,
    /// The run's state.
    pub(crate) state: RunState,
}

impl Seen {
    /// Whether reading the run again would give the same. A run in progress may have broken off
    /// without a trace in its files: then its lock shows it.
    pub(crate) fn still_holds(&self, directory: &Path, now: &Stamps) -> bool {
        self.stamps == now.text()
            && (self.state != RunState::GoingOn || is_being_written(directory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, SystemTime};

    fn text(directory: &Path) -> String {
        Stamps::of(directory).unwrap().text()
    }

    #[test]
    fn relevant_changes_change_the_stamps() {
        type Change = fn(&Path);
        let table: [(Change, &str); 4] = [
            (
                |run| fs::write(run.join("journal.bin"), "more").unwrap(),
                "the run continued",
            ),
            (
                |run| fs::write(run.join("response_time.hlog"), "").unwrap(),
                "the copy is complete now",
            ),
            (
                |run| {
                    let mode = Permissions::from_mode(0o600);
                    fs::set_permissions(run.join("manifest.json"), mode).unwrap();
                },
                "it is readable now",
            ),
            (
                |run| {
                    let journal = File::options().append(true).open(run.join("journal.bin"));
                    journal
                        .unwrap()
                        .set_modified(SystemTime::UNIX_EPOCH)
                        .unwrap();
                },
                "its time differs",
            ),
        ];
        for (change, why) in table {
            let run = tempfile::tempdir().unwrap();
            for file in ["manifest.json", "journal.bin"] {
                fs::write(run.path().join(file), "").unwrap();
            }
            let before = text(run.path());
            assert_eq!(text(run.path()), before);
            // Kernel file times are as coarse as its ticks.
            std::thread::sleep(Duration::from_millis(20));
            change(run.path());
            assert_ne!(text(run.path()), before, "{why}");
        }
    }

    #[test]
    fn other_things_than_files_have_no_stamp() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(Stamps::of(run.path()), None);
        symlink("/dev/zero", run.path().join("manifest.json")).unwrap();
        assert_eq!(Stamps::of(run.path()), Some(Stamps::default()));
        fs::create_dir(run.path().join("journal.bin")).unwrap();
        assert_eq!(Stamps::of(run.path()), None, "none of the files is usable");
    }
}
