//! A disk that can fail, and whose power can be cut.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use super::*;

/// The unit in which a write can be torn: small, so that small records are torn as well.
const SECTOR_BYTES: usize = 64;

/// Passes calls on to the system, remembers them, and lets one fail.
#[derive(Debug)]
pub(crate) struct FakeDisk {
    calls: Arc<Mutex<Vec<Call>>>,
    fails_at: Option<usize>,
}

#[derive(Clone, Debug)]
enum Call {
    CreateDirectory(PathBuf),
    /// A file that was not there.
    Create(PathBuf, Inode),
    Rename(PathBuf, PathBuf),
    SyncDirectory(PathBuf),
    Write(Inode, Vec<u8>, u64),
    SetLen(Inode, u64),
    Sync(Inode),
}

type Inode = usize;

struct FakeFile {
    calls: Arc<Mutex<Vec<Call>>>,
    fails_at: Option<usize>,
    file: Box<dyn DiskFile>,
    inode: Inode,
}

fn locked(calls: &Mutex<Vec<Call>>) -> MutexGuard<'_, Vec<Call>> {
    calls.lock().unwrap()
}

/// Remembers a call, or fails.
fn called(calls: &Mutex<Vec<Call>>, fails_at: Option<usize>, call: Call) -> io::Result<()> {
    let mut calls = locked(calls);
    let fails = fails_at == Some(calls.len());
    calls.push(call);
    match fails {
        true => Err(io::Error::from_raw_os_error(libc::EIO)),
        false => Ok(()),
    }
}

impl FakeDisk {
    /// A disk whose call of this number fails.
    pub(crate) fn failing_at(fails_at: Option<usize>) -> &'static FakeDisk {
        // Run directories keep their disk for ever; a test has a few hundred of them.
        Box::leak(Box::new(FakeDisk {
            calls: Arc::default(),
            fails_at,
        }))
    }

    /// How many calls there were.
    pub(crate) fn count(&self) -> usize {
        locked(&self.calls).len()
    }

    fn called(&self, call: Call) -> io::Result<()> {
        called(&self.calls, self.fails_at, call)
    }

    /// Writes to `image` what `root` may hold after a power cut behind so many calls: all that was
    /// synced, and of everything else what `keeps` says, in any order.
    pub(crate) fn cut_power(
        &self,
        after: usize,
        root: &Path,
        image: &Path,
        mut keeps: impl FnMut() -> bool,
    ) {
        let mut platter = Platter::default();
        for call in &locked(&self.calls)[..after] {
            platter.take(call);
        }
        platter.lose_power(&mut keeps);
        platter.write(root, image);
    }
}

impl Disk for FakeDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.called(Call::CreateDirectory(path.to_owned()))?;
        SystemDisk.create_directory(path)
    }

    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>> {
        let inode = self.count();
        self.called(Call::Create(path.to_owned(), inode))?;
        Ok(Box::new(FakeFile {
            calls: Arc::clone(&self.calls),
            fails_at: self.fails_at,
            file: SystemDisk.open(path, how)?,
            inode,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.called(Call::Rename(from.to_owned(), to.to_owned()))?;
        SystemDisk.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.called(Call::SyncDirectory(path.to_owned()))?;
        SystemDisk.sync_directory(path)
    }
}

impl FakeFile {
    fn called(&self, call: Call) -> io::Result<()> {
        called(&self.calls, self.fails_at, call)
    }
}

impl DiskFile for FakeFile {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.called(Call::Write(self.inode, bytes.to_vec(), at))?;
        self.file.write_all_at(bytes, at)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.called(Call::SetLen(self.inode, bytes))?;
        self.file.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.called(Call::Sync(self.inode))?;
        self.file.sync()
    }
}

/// What survives a power cut.
#[derive(Default)]
struct Platter {
    /// Files by name; `None` is a directory.
    entries: BTreeMap<PathBuf, Option<Inode>>,
    contents: BTreeMap<Inode, Vec<u8>>,
    /// Changes of names that were not synced, with their directory.
    names: Vec<(PathBuf, Call)>,
    /// Changes of contents that were not synced.
    unsynced: Vec<(Inode, Call)>,
}

impl Platter {
    fn take(&mut self, call: &Call) {
        match call {
            Call::CreateDirectory(path) | Call::Create(path, _) | Call::Rename(path, _) => {
                self.names.push((parent_of(path).to_owned(), call.clone()));
            }
            Call::Write(inode, ..) | Call::SetLen(inode, _) => {
                self.unsynced.push((*inode, call.clone()));
            }
            Call::SyncDirectory(path) => {
                let is_of = |(of, _): &mut (PathBuf, Call)| of == path;
                let synced: Vec<_> = self.names.extract_if(.., is_of).collect();
                synced.iter().for_each(|(_, call)| self.enter(call));
            }
            Call::Sync(inode) => {
                let is_of = |(of, _): &mut (Inode, Call)| of == inode;
                let synced: Vec<_> = self.unsynced.extract_if(.., is_of).collect();
                synced
                    .iter()
                    .for_each(|(_, call)| self.change(call, &mut || true));
            }
        }
    }

    fn lose_power(&mut self, keeps: &mut impl FnMut() -> bool) {
        for (_, call) in std::mem::take(&mut self.names) {
            if keeps() {
                self.enter(&call);
            }
        }
        for (_, call) in std::mem::take(&mut self.unsynced) {
            self.change(&call, keeps);
        }
    }

    fn enter(&mut self, call: &Call) {
        match call {
            Call::CreateDirectory(path) => {
                self.entries.insert(path.clone(), None);
            }
            Call::Create(path, inode) => {
                self.entries.insert(path.clone(), Some(*inode));
            }
            Call::Rename(from, to) => {
                if let Some(of) = self.entries.remove(from) {
                    self.entries.insert(to.clone(), of);
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, call: &Call, keeps: &mut impl FnMut() -> bool) {
        match call {
            Call::Write(inode, bytes, at) => {
                let contents = self.contents.entry(*inode).or_default();
                let start = usize::try_from(*at).unwrap();
                for (number, sector) in bytes.chunks(SECTOR_BYTES).enumerate() {
                    if keeps() {
                        let from = start + number * SECTOR_BYTES;
                        let until = from + sector.len();
                        contents.resize(contents.len().max(until), 0);
                        contents[from..until].copy_from_slice(sector);
                    }
                }
            }
            Call::SetLen(inode, bytes) if keeps() => {
                let contents = self.contents.entry(*inode).or_default();
                contents.resize(usize::try_from(*bytes).unwrap(), 0);
            }
            _ => {}
        }
    }

    fn write(&self, root: &Path, image: &Path) {
        // A directory comes before what is in it. What lies in one that is lost, is lost.
        for (path, of) in &self.entries {
            let to = image.join(path.strip_prefix(root).unwrap());
            if !parent_of(&to).exists() {
                continue;
            }
            match of {
                None => fs::create_dir(to).unwrap(),
                Some(inode) => {
                    let nothing = Vec::new();
                    let contents = self.contents.get(inode).unwrap_or(&nothing);
                    fs::write(to, contents).unwrap();
                }
            }
        }
    }
}
