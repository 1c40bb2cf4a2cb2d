//! The directory itself: what is in it, and who may write to it.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Manifest, RecordError, whole_file};

/// The format of a run directory, which stands in its manifest and in its journal: no other is read.
pub(crate) const FORMAT: u32 = 3;
pub(crate) const MANIFEST: &str = "manifest.json";
/// That of a thousand arms has less than a megabyte.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
const PLAN: &str = "plan.toml";
const RESOLVED: &str = "resolved.toml";
const HOST: &str = "host.json";
pub(crate) const LOCK: &str = "lock";
const LOGS: &str = "logs";
const WORK: &str = "work";

/// How long apart a lock is asked for that somebody else has, and for how long in all at least:
/// whoever only looks has it for a moment, or longer where he is kept from his core.
const LOCK_PAUSE: Duration = Duration::from_millis(5);
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// A run directory that has at least its manifest.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    manifest: Manifest,
}

impl RunDir {
    /// Whether a run can be made in `path`: it does not exist, or holds nothing.
    ///
    /// # Errors
    /// When the directory holds something, or can't be read.
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

    /// Makes `path`, which must not exist or hold nothing, a run directory. The manifest is written
    /// last: a directory that has it has everything. When it fails, what it wrote is removed.
    ///
    /// # Errors
    /// When the directory holds something, can't be made or written to, or a figure of the
    /// manifest is not finite.
    pub fn create(
        path: impl AsRef<Path>,
        manifest: &Manifest,
        plan_text: &str,
        resolved_text: &str,
        host: &serde_json::Value,
    ) -> Result<RunDir, RecordError> {
        let path = path.as_ref();
        let manifest_json = manifest.to_json()?;
        fs::create_dir_all(path).map_err(RecordError::io("create", path))?;
        if !holds_nothing_but(path, &[])? {
            return Err(RecordError::NotEmpty {
                path: path.to_owned(),
            });
        }
        let lock = lock(path)?;
        // Another run may have come between the look and the lock.
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
                fs::create_dir(&directory).map_err(RecordError::io("create", &directory))
            })
            .and_then(|()| whole_file::write(path, PLAN, plan_text.as_bytes()))
            .and_then(|()| whole_file::write(path, RESOLVED, resolved_text.as_bytes()))
            .and_then(|()| whole_file::write(path, HOST, host_json.as_bytes()))
            .and_then(|()| whole_file::write(path, MANIFEST, &manifest_json));
        if let Err(error) = filled {
            empty_again(path);
            return Err(error);
        }
        drop(lock);
        Ok(RunDir {
            path: path.to_owned(),
            manifest: manifest.clone(),
        })
    }

    /// Opens a run that is complete, going on or was cut.
    ///
    /// # Errors
    /// When there is no manifest, or it is damaged or of another format.
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
                why: format!("more than {MANIFEST_BYTES_MAX} bytes are no manifest"),
            });
        }
        let manifest = Manifest::from_json(&json, &manifest_path)?;
        Ok(RunDir { path, manifest })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the directory, without the path to it; where the path has none, as `.` has not,
    /// that by which the run began.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        match self.path.file_name() {
            Some(name) => name.to_string_lossy(),
            None => Cow::Borrowed(&self.manifest.run),
        }
    }

    /// What the run is.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The plan as it was given.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn plan_text(&self) -> Result<String, RecordError> {
        self.read_text(PLAN)
    }

    /// The plan with every default spelled out.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn resolved_text(&self) -> Result<String, RecordError> {
        self.read_text(RESOLVED)
    }

    /// The host's facts.
    ///
    /// # Errors
    /// When the file cannot be read or is no JSON.
    pub fn host(&self) -> Result<serde_json::Value, RecordError> {
        serde_json::from_str(&self.read_text(HOST)?).map_err(|cause| RecordError::Damaged {
            path: self.path.join(HOST),
            why: cause.to_string(),
        })
    }

    /// Where the log of a service goes. The directory of logs exists; the file is the caller's.
    #[must_use]
    pub fn log_path(&self, launch: u32, instance: &str, service: &str) -> PathBuf {
        let name = format!(
            "{launch}+{}+{}.log",
            path_part(instance),
            path_part(service)
        );
        self.path.join(LOGS).join(name)
    }

    /// The directory of a service's own (`{dir}` in a plan); the caller makes it.
    #[must_use]
    pub fn work_dir(&self, launch: u32, instance: &str, service: &str) -> PathBuf {
        let name = format!("{launch}+{}+{}", path_part(instance), path_part(service));
        self.path.join(WORK).join(name)
    }

    /// Writes or replaces a file of the run, such as `analysis.json`, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written; the old file, if any, is then still there.
    pub fn write_whole(&self, name: &str, contents: &[u8]) -> Result<PathBuf, RecordError> {
        whole_file::write(&self.path, name, contents)?;
        Ok(self.path.join(name))
    }

    /// Takes the lock of the run; it is held for as long as the file is open.
    pub(crate) fn lock(&self) -> Result<File, RecordError> {
        lock(&self.path)
    }

    fn read_text(&self, name: &str) -> Result<String, RecordError> {
        let path = self.path.join(name);
        fs::read_to_string(&path).map_err(RecordError::io("read", &path))
    }
}

/// All of it, unless it is too long; nothing but a file, as a pipe would keep its reader for good.
fn read_manifest(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        let cause = "it is no regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, cause));
    }
    let mut json = Vec::new();
    let mut longest = File::open(path)?.take(MANIFEST_BYTES_MAX + 1);
    longest.read_to_end(&mut json)?;
    Ok(json)
}

fn lock(directory: &Path) -> Result<File, RecordError> {
    let path = directory.join(LOCK);
    // Not truncated on opening: until the lock is held, the text is its holder's.
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(RecordError::io("open", &path))?;
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

/// Whoever asks whether a run goes on has its lock for a moment; a run that begins waits for that.
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

/// Removes what a failed [`RunDir::create`] has put into a directory that was empty. What cannot
/// be removed stays; the error that led here says more than a second one would.
fn empty_again(directory: &Path) {
    for name in [PLAN, RESOLVED, HOST, MANIFEST, LOCK] {
        let _ = fs::remove_file(directory.join(name));
    }
    for name in [LOGS, WORK] {
        let _ = fs::remove_dir(directory.join(name));
    }
}

/// A name as a part of a file name: what could be mistaken for a path or for the separator `+`
/// becomes `~` and its bytes in hexadecimal, so that different names stay different.
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
    fn what_can_be_no_manifest_is_not_read_to_its_end() {
        let endless = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        let large = |path: &Path| {
            let file = File::create(path).unwrap();
            file.set_len(MANIFEST_BYTES_MAX + 1).unwrap();
        };
        type Put<'a> = &'a dyn Fn(&Path);
        let table: [(Put<'_>, &str); 2] = [
            (&endless, "it is no regular file"),
            (&large, "more than 67108864 bytes are no manifest"),
        ];
        for (put, why) in table {
            let run = tempfile::tempdir().unwrap();
            put(&run.path().join(MANIFEST));
            let error = RunDir::open(run.path()).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(MANIFEST), "{error}");
        }
    }
}
