//! The fake system for tests, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::open_files::read_file;
use crate::system::{Clock, Entry, OpenFile, System};

/// A system in memory, whose files, clocks and errors a test sets. Clones share one state.
///
/// It behaves like procfs and cgroupfs where the samplers depend on it. A file kept open follows
/// writes to its path, gives ESRCH once the file is removed, and does not come back when another
/// file takes its path. A directory created in a cgroup comes with files of its own and can be
/// removed while `cgroup.procs` is empty.
#[derive(Clone, Debug, Default)]
pub struct FakeSystem {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Content>,
    dirs: BTreeSet<PathBuf>,
    failing: BTreeMap<PathBuf, i32>,
    clocks: BTreeMap<Clock, u64>,
    born_with: BTreeMap<PathBuf, Vec<(String, Vec<u8>)>>,
    programs: BTreeMap<String, Vec<(PathBuf, Vec<u8>)>>,
    /// Every program that was run, with its arguments.
    ran: Vec<String>,
}

/// The current content, or the error number of a read.
type Content = Arc<Mutex<Result<Vec<u8>, i32>>>;

impl FakeSystem {
    /// A system without files; clocks that were not set give EINVAL.
    #[must_use]
    pub fn new() -> FakeSystem {
        FakeSystem::default()
    }

    /// Writes a file, new or old, and creates the directories above it.
    pub fn set(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = path.as_ref();
        let mut state = self.state();
        state.failing.remove(path);
        state.add_dirs_above(path);
        let file = state
            .files
            .entry(path.to_owned())
            .or_insert_with(|| Arc::new(Mutex::new(Ok(vec![]))));
        *lock(file) = Ok(content.as_ref().to_vec());
    }

    /// Removes a file, or a directory with its content, as if its process had ended.
    pub fn remove(&self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        let mut state = self.state();
        state.dirs.retain(|dir| !dir.starts_with(path));
        state.files.retain(|file, content| {
            let stays = !file.starts_with(path);
            if !stays {
                *lock(content) = Err(libc::ESRCH);
            }
            stays
        });
    }

    /// Makes every call on a path fail with this error number, and reads of it where it is kept
    /// open, until it is set again.
    pub fn fail(&self, path: impl AsRef<Path>, errno: i32) {
        let mut state = self.state();
        if let Some(content) = state.files.get(path.as_ref()) {
            *lock(content) = Err(errno);
        }
        state.failing.insert(path.as_ref().to_owned(), errno);
    }

    /// Ends the failure of a directory.
    pub fn mend(&self, dir: impl AsRef<Path>) {
        self.state().failing.remove(dir.as_ref());
    }

    /// Sets a clock.
    pub fn set_clock(&self, clock: Clock, now_ns: u64) {
        self.state().clocks.insert(clock, now_ns);
    }

    /// Removes a clock, as if its process had ended.
    pub fn remove_clock(&self, clock: Clock) {
        self.state().clocks.remove(&clock);
    }

    /// Sets the files with which a directory created in `parent` comes.
    pub fn born_with(&self, parent: impl AsRef<Path>, files: &[(&str, &str)]) {
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
        let mut state = self.state();
        state.dirs.insert(parent.as_ref().to_owned());
        state
            .born_with
            .insert(parent.as_ref().to_owned(), files.collect());
    }

    /// Adds a program that succeeds, and the files that it writes.
    pub fn program(&self, name: &str, writes: &[(&str, &str)]) {
        let writes = writes
            .iter()
            .map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()));
        let mut state = self.state();
        state.programs.insert(name.to_owned(), writes.collect());
    }

    /// Every program that was run, with its arguments.
    #[must_use]
    pub fn ran(&self) -> Vec<String> {
        self.state().ran.clone()
    }

    /// The content of a file; `None` if it does not exist.
    #[must_use]
    pub fn content(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        lock(self.state().files.get(path.as_ref())?).clone().ok()
    }

    /// Whether there is such a directory.
    #[must_use]
    pub fn has_dir(&self, path: impl AsRef<Path>) -> bool {
        self.state().dirs.contains(path.as_ref())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn add_dirs_above(&mut self, path: &Path) {
        self.dirs
            .extend(path.ancestors().skip(1).map(Path::to_owned));
    }

    fn check(&self, path: &Path) -> io::Result<()> {
        match self.failing.get(path) {
            Some(&errno) => Err(io::Error::from_raw_os_error(errno)),
            None => Ok(()),
        }
    }
}

impl System for FakeSystem {
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let state = self.state();
        state.check(path)?;
        let content = state
            .files
            .get(path)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        Ok(Box::new(FakeFile {
            content: Arc::clone(content),
        }))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let state = self.state();
        state.check(dir)?;
        if !state.dirs.contains(dir) {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let inside = |path: &Path, is_dir| {
            let name = path.file_name().filter(|_| path.parent() == Some(dir))?;
            Some(Entry {
                name: name.to_owned(),
                is_dir,
            })
        };
        let dirs = state.dirs.iter().filter_map(|path| inside(path, true));
        Ok(dirs
            .chain(state.files.keys().filter_map(|path| inside(path, false)))
            .collect())
    }

    /// The content of the file at that path.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let target = read_file(self, path)?;
        Ok(PathBuf::from(OsString::from_vec(target)))
    }

    fn clock_ns(&self, clock: Clock) -> io::Result<u64> {
        let now = self.state().clocks.get(&clock).copied();
        now.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        let parent = dir.parent().unwrap_or(dir);
        state.check(parent)?;
        if !state.dirs.contains(parent) {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        if !state.dirs.insert(dir.to_owned()) {
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        for (name, content) in state.born_with.get(parent).cloned().unwrap_or_default() {
            state
                .files
                .insert(dir.join(name), Arc::new(Mutex::new(Ok(content))));
        }
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        if !self.has_dir(dir) {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let occupied = self
            .content(dir.join("cgroup.procs"))
            .is_some_and(|procs| !procs.is_empty());
        if occupied || self.list(dir)?.iter().any(|entry| entry.is_dir) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        self.remove(dir);
        Ok(())
    }

    fn run(&self, program: &str, args: &[String]) -> io::Result<bool> {
        let writes = self.state().programs.get(program).cloned();
        let writes = writes.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        self.state()
            .ran
            .push(format!("{program} {}", args.join(" ")));
        for (path, content) in writes {
            self.set(path, content);
        }
        Ok(true)
    }

    fn pause(&self, _lasts: Duration) {}

    fn page_bytes(&self) -> u64 {
        4096
    }

    fn user_ticks_per_s(&self) -> u64 {
        100
    }

    fn process_id(&self) -> u32 {
        4711
    }

    fn share(&self) -> Arc<dyn System> {
        Arc::new(self.clone())
    }
}

#[derive(Debug)]
struct FakeFile {
    content: Content,
}

impl OpenFile for FakeFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &*lock(&self.content) {
            Ok(bytes) => {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = bytes.get(offset..).unwrap_or_default();
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
            Err(errno) => Err(io::Error::from_raw_os_error(*errno)),
        }
    }
}

/// A test that panicked elsewhere must not hide its message behind a poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &dyn OpenFile) -> Result<Vec<u8>, Option<i32>> {
        let mut buffer = [0; 16];
        let length = file.read_at(&mut buffer, 0).map_err(|e| e.raw_os_error())?;
        Ok(buffer[..length].to_vec())
    }

    #[test]
    fn a_file_kept_open_lives_and_dies_with_its_process() {
        let fake = FakeSystem::new();
        fake.set("/proc/7/statm", "1");
        let kept = fake.open(Path::new("/proc/7/statm")).unwrap();
        fake.set("/proc/7/statm", "2");
        assert_eq!(read(&*kept), Ok(b"2".to_vec()));
        fake.remove("/proc/7");
        assert_eq!(read(&*kept), Err(Some(libc::ESRCH)));
        fake.set("/proc/7/statm", "3");
        assert_eq!(
            read(&*kept),
            Err(Some(libc::ESRCH)),
            "another process under the same id"
        );
    }

    #[test]
    fn directories_list_what_is_directly_in_them() {
        let fake = FakeSystem::new();
        fake.set("/g/a/b/file", "");
        fake.set("/g/file", "");
        let mut names: Vec<_> = fake.list(Path::new("/g")).unwrap();
        names.sort();
        let expected = [
            Entry {
                name: "a".into(),
                is_dir: true,
            },
            Entry {
                name: "file".into(),
                is_dir: false,
            },
        ];
        assert_eq!(names, expected);
        assert!(fake.list(Path::new("/absent")).is_err());
    }
}
