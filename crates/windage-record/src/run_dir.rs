//! The run directory: its files, and its lock.

use std::borrow::Cow;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_files::{Access, Owner};

use crate::disk::{Disk, SystemDisk, create_directories};
use crate::{Manifest, RecordError, whole_file};

/// The directory that holds runs unless the user names another.
pub const RUNS: &str = "windage-runs";
pub(crate) const MANIFEST: &str = "manifest.json";
/// The manifest of a thousand arms has less than a megabyte.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
const PLAN: &str = "plan.toml";
pub(crate) const RESOLVED: &str = "resolved.toml";
const HOST: &str = "host.json";
pub(crate) const LOCK: &str = "lock";
const LOGS: &str = "logs";
pub(crate) const WORK: &str = "work";

/// Interval between attempts to take a lock that another process has, and the minimum total time. A
/// process that only checks whether a run is in progress has it for a moment, or longer when it is
/// preempted.
const LOCK_PAUSE: Duration = Duration::from_millis(5);
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// A run directory with at least a manifest.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    manifest: Manifest,
    disk: &'static dyn Disk,
}

impl RunDir {
    /// Checks that a run can be created in `path`: it does not exist, or is empty.
    ///
    /// # Errors
    /// When the directory is not empty, or can't be read.
    pub fn check_free(path: impl AsRef<Path>) -> Result<(), RecordError> {
        let path = path.as_ref();
        match fs::metadata(path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
            _ if holds_nothing_but(path, &[])? => Ok(()),
            _ => Err(RecordError::NotEmpty {
                path: path.to_owned(),
            }),
        }
    }

    /// Makes the directory of a new run, if it is missing, and decides who may read it.
    ///
    /// # Errors
    /// When it can't be created or changed.
    pub fn make(path: impl AsRef<Path>, access: Access) -> Result<(), RecordError> {
        let path = path.as_ref();
        windage_files::make_run_dir(path, access).map_err(RecordError::io("create", path))
    }

    /// Turns `path`, which must be missing or empty, into a run directory; makes it private if it is
    /// missing. The manifest is written last: a directory with a manifest is complete. On failure,
    /// everything written is removed.
    ///
    /// # Errors
    /// When the directory is not empty, can't be created or written to, or a figure of the manifest
    /// is not finite.
    pub fn create(
        path: impl AsRef<Path>,
        manifest: &Manifest,
        plan_text: &str,
        resolved_text: &str,
        host: &serde_json::Value,
    ) -> Result<RunDir, RecordError> {
        let path = path.as_ref();
        RunDir::create_on(&SystemDisk, path, manifest, plan_text, resolved_text, host)
    }

    /// As [`RunDir::create`], on a disk that tests fake.
    pub(crate) fn create_on(
        disk: &'static dyn Disk,
        path: &Path,
        manifest: &Manifest,
        plan_text: &str,
        resolved_text: &str,
        host: &serde_json::Value,
    ) -> Result<RunDir, RecordError> {
        let manifest_json = manifest.to_json()?;
        let is_new = !path.is_dir();
        create_directories(disk, path)?;
        if is_new {
            RunDir::make(path, Access::default())?;
        }
        if !holds_nothing_but(path, &[])? {
            return Err(RecordError::NotEmpty {
                path: path.to_owned(),
            });
        }
        let lock = lock(path)?;
        // Another run may have started between the check and the lock.
        if !holds_nothing_but(path, &[LOCK])? {
            return Err(RecordError::NotEmpty {
                path: path.to_owned(),
            });
        }
        // `{:#}` is pretty-printed JSON, which cannot fail.
        let host_json = format!("{host:#}\n");
        let filled = [LOGS, WORK]
            .iter()
            .try_for_each(|name| {
                let directory = path.join(name);
                let created = disk.create_directory(&directory);
                created.map_err(RecordError::io("create", &directory))
            })
            .and_then(|()| whole_file::write(disk, path, PLAN, plan_text.as_bytes()))
            .and_then(|()| whole_file::write(disk, path, RESOLVED, resolved_text.as_bytes()))
            .and_then(|()| whole_file::write(disk, path, HOST, host_json.as_bytes()))
            .and_then(|()| whole_file::write(disk, path, MANIFEST, &manifest_json));
        if let Err(error) = filled {
            empty_again(path);
            return Err(error);
        }
        drop(lock);
        Ok(RunDir {
            path: path.to_owned(),
            manifest: manifest.clone(),
            disk,
        })
    }

    /// Opens a run that is complete, in progress or cut.
    ///
    /// # Errors
    /// When there is no manifest, or it is damaged or has another format.
    pub fn open(path: impl AsRef<Path>) -> Result<RunDir, RecordError> {
        let path = path.as_ref().to_owned();
        let manifest_path = path.join(MANIFEST);
        let json = match read_manifest(&manifest_path) {
            Err(cause)
                if matches!(
                    cause.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Err(RecordError::NotARun { path });
            }
            read => read.map_err(RecordError::io("read", &manifest_path))?,
        };
        if json.len() as u64 > MANIFEST_BYTES_MAX {
            return Err(RecordError::Damaged {
                path: manifest_path,
                why: format!("it is larger than {MANIFEST_BYTES_MAX} bytes"),
            });
        }
        let manifest = Manifest::from_json(&json, &manifest_path)?;
        Ok(RunDir {
            path,
            manifest,
            disk: &SystemDisk,
        })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name by which commands find the run from the working directory: that of the directory if
    /// it is in [`RUNS`], else its path.
    #[must_use]
    pub fn found_at(&self) -> String {
        let below = self.path.strip_prefix(RUNS).unwrap_or(&self.path);
        below.display().to_string()
    }

    /// The name of the directory without its path. If the path has none, such as `.`, the name with
    /// which the run began.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        match self.path.file_name() {
            Some(name) => name.to_string_lossy(),
            None => Cow::Borrowed(&self.manifest.run),
        }
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The plan with every default written out.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn resolved_text(&self) -> Result<String, RecordError> {
        self.read_text(RESOLVED)
    }

    /// The host's facts.
    ///
    /// # Errors
    /// When the file cannot be read or is not JSON.
    pub fn host(&self) -> Result<serde_json::Value, RecordError> {
        serde_json::from_str(&self.read_text(HOST)?).map_err(|cause| RecordError::Damaged {
            path: self.path.join(HOST),
            why: cause.to_string(),
        })
    }

    /// The path of a service's log. The directory of logs exists; the caller creates the file.
    #[must_use]
    pub fn log_path(&self, launch: u32, instance: &str, service: &str) -> PathBuf {
        let name = format!(
            "{launch}+{}+{}.log",
            path_part(instance),
            path_part(service)
        );
        self.path.join(LOGS).join(name)
    }

    /// The directory of a service (`{dir}` in a plan); [`RunDir::make_work_dir`] creates it.
    #[must_use]
    pub fn work_dir(&self, launch: u32, instance: &str, service: &str) -> PathBuf {
        let name = format!("{launch}+{}+{}", path_part(instance), path_part(service));
        self.path.join(WORK).join(name)
    }

    /// Creates the directory of a service. Where it belongs to another user than the run, that user
    /// may enter the directories above it, but list and read nothing there.
    ///
    /// # Errors
    /// When it can't be created or given to that user.
    pub fn make_work_dir(&self, directory: &Path, owner: Option<Owner>) -> Result<(), RecordError> {
        let make = || {
            windage_files::create_dir(directory)?;
            windage_files::give(directory, owner)?;
            let of_run = windage_files::owner(&self.path)?;
            if owner.is_some_and(|owner| owner.uid != of_run.uid) {
                windage_files::let_enter(&self.path)?;
                windage_files::let_enter(&self.path.join(WORK))?;
            }
            Ok(())
        };
        make().map_err(RecordError::io("create", directory))
    }

    /// Atomically writes or replaces a file of the run, such as `analysis.json`.
    ///
    /// # Errors
    /// When it cannot be written; an old file, if any, is then unchanged.
    pub fn write_whole(&self, name: &str, contents: &[u8]) -> Result<PathBuf, RecordError> {
        whole_file::write(self.disk, &self.path, name, contents)?;
        Ok(self.path.join(name))
    }

    /// Where it is written.
    pub(crate) fn disk(&self) -> &'static dyn Disk {
        self.disk
    }

    /// Takes the lock of the run, which lasts as long as the file is open.
    pub(crate) fn lock(&self) -> Result<File, RecordError> {
        lock(&self.path)
    }

    fn read_text(&self, name: &str) -> Result<String, RecordError> {
        let path = self.path.join(name);
        windage_files::read_to_string(&path).map_err(RecordError::io("read", &path))
    }
}

/// Reads the whole file unless it is too long.
fn read_manifest(path: &Path) -> io::Result<Vec<u8>> {
    let mut json = Vec::new();
    let mut longest = windage_files::open(path)?.take(MANIFEST_BYTES_MAX + 1);
    longest.read_to_end(&mut json)?;
    Ok(json)
}

fn lock(directory: &Path) -> Result<File, RecordError> {
    let path = directory.join(LOCK);
    // Not truncated on opening: until the lock is taken, the text is its holder's.
    let mut file = windage_files::open_or_create(&path).map_err(RecordError::io("open", &path))?;
    match lock_patiently(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let holder = match file.read_to_string(&mut text) {
                Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
                _ => "another process".to_owned(),
            };
            return Err(RecordError::Locked {
                path: directory.to_owned(),
                holder,
            });
        }
        Err(TryLockError::Error(cause)) => return Err(RecordError::io("lock", &path)(cause)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "process {}", std::process::id()))
        .map_err(RecordError::io("write", &path))?;
    Ok(file)
}

/// A process that checks whether a run is in progress has its lock for a moment; a starting run waits
/// for that.
fn lock_patiently(file: &File) -> Result<(), TryLockError> {
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if waited < LOCK_PATIENCE => {
                std::thread::sleep(LOCK_PAUSE);
                waited += LOCK_PAUSE;
            }
            locked_or_failed => return locked_or_failed,
        }
    }
}

fn holds_nothing_but(directory: &Path, allowed: &[&str]) -> Result<bool, RecordError> {
    let entries = fs::read_dir(directory).map_err(RecordError::io("list", directory))?;
    for entry in entries {
        let name = entry
            .map_err(RecordError::io("list", directory))?
            .file_name();
        if !allowed.iter().any(|a| name == *a) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes what a failed [`RunDir::create`] has written into an empty directory. Failures to remove
/// are ignored; the first error says more.
fn empty_again(directory: &Path) {
    for name in [PLAN, RESOLVED, HOST, MANIFEST, LOCK] {
        let _ = fs::remove_file(directory.join(name));
    }
    for name in [LOGS, WORK] {
        let _ = fs::remove_dir(directory.join(name));
    }
}

/// A name as part of a file name. Replaces characters that could form a path, and the separator
/// `+`, with `~` and their bytes in hexadecimal, so that different names stay different.
pub(crate) fn path_part(name: &str) -> String {
    let mut part = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
            part.push(char::from(byte));
        } else {
            part.push_str(&format!("~{byte:02x}"));
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_neither_leave_the_directory_nor_collide() {
        let table = [
            ("otel-sampling-1.0", "otel-sampling-1.0"),
            ("a+b", "a~2bb"),
            ("../../etc", "..~2f..~2fetc"),
            ("a b", "a~20b"),
            ("a~20b", "a~7e20b"),
            ("é", "~c3~a9"),
        ];
        for (name, part) in table {
            assert_eq!(path_part(name), part, "{name}");
        }
    }
    #[test]
    fn oversized_manifests_are_not_read_to_their_end() {
        let endless = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        let large = |path: &Path| {
            let file = File::create(path).unwrap();
            file.set_len(MANIFEST_BYTES_MAX + 1).unwrap();
        };
        type Put<'a> = &'a dyn Fn(&Path);
        let table: [(Put<'_>, &str); 2] = [
            (&endless, "it is not a regular file"),
            (&large, "it is larger than 67108864 bytes"),
        ];
        for (put, why) in table {
            let run = tempfile::tempdir().unwrap();
            put(&run.path().join(MANIFEST));
            let error = RunDir::open(run.path()).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(MANIFEST), "{error}");
        }
    }
}
