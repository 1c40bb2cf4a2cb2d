//! Files and directories of a run: who may read them, and who owns them.
//!
//! A run directory is made by [`make_run_dir`], which decides both. Everything that is created in
//! it later **follows the directory in which it is created**: it gets the same owner, and is
//! private if the directory is. So a resumed run, and a report written later, keep to what the
//! beginning of the run decided.
//!
//! A run directory may have been written by somebody else. Its files are never opened through a
//! symbolic link, and nothing but regular files is read.

#![forbid(unsafe_code)]

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// Permission bits by which others than the owner read.
const OTHERS_READ: u32 = 0o044;
/// Permission bits by which others than the owner enter a directory.
const OTHERS_ENTER: u32 = 0o011;
/// Permission bits by which others than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// An owner of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

/// Who may read a new run directory, and who owns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Whether the umask decides who may read it; otherwise only its owner may.
    pub is_shared: bool,
    /// The owner, if Windage is root; `None` for Windage's own user.
    pub owner: Option<Owner>,
}

/// Makes the directory of a new run, and the directories above it that are missing. A directory
/// that exists keeps its owner.
///
/// # Errors
/// When one of them can't be created or changed.
pub fn make_run_dir(path: &Path, access: Access) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        make_parents(parent, access.owner)?;
    }
    let mode = if access.is_shared { 0o777 } else { 0o700 };
    match DirBuilder::new().mode(mode).create(path) {
        Err(_) if path.is_dir() && access.is_shared => Ok(()),
        Err(_) if path.is_dir() => fs::set_permissions(path, Permissions::from_mode(mode)),
        made => made.and_then(|()| give(path, access.owner)),
    }
}

/// Missing directories above a run directory: the umask decides who may read them.
fn make_parents(path: &Path, owner: Option<Owner>) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_parents(parent, owner)?;
    }
    match fs::create_dir(path) {
        Err(_) if path.is_dir() => Ok(()),
        made => made.and_then(|()| give(path, owner)),
    }
}

/// Creates a directory that follows the one above it, which must exist. One that exists stays as it
/// is.
///
/// # Errors
/// When it can't be created.
pub fn create_dir(path: &Path) -> io::Result<()> {
    let above = Directory::above(path)?;
    let mode = if above.is_private { 0o700 } else { 0o777 };
    match DirBuilder::new().mode(mode).create(path) {
        Err(_) if path.is_dir() => Ok(()),
        created => created.and_then(|()| give(path, above.to_give())),
    }
}

/// Creates a directory and all that are missing above it, as [`create_dir`] does.
///
/// # Errors
/// When one of them can't be created.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_dir_all(parent)?;
    }
    create_dir(path)
}

/// Gives a file or directory to another user; `None` changes nothing.
///
/// # Errors
/// When it is a symbolic link, or its owner can't be changed.
pub fn give(path: &Path, to: Option<Owner>) -> io::Result<()> {
    let Some(owner) = to else { return Ok(()) };
    let file = open_as_it_is(OpenOptions::new().read(true), path)?;
    fchown(file, Some(owner.uid), Some(owner.gid))
}

/// Lets everybody enter a directory without listing it.
///
/// # Errors
/// When its permissions can't be changed.
pub fn let_enter(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.mode() | OTHERS_ENTER;
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
}

/// Creates a file to read and write that follows its directory.
///
/// # Errors
/// When there is something at that path, or the file can't be created.
pub fn create_new(path: &Path) -> io::Result<File> {
    let above = Directory::above(path)?;
    let mode = if above.is_private { 0o600 } else { 0o666 };
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    if let Some(owner) = above.to_give() {
        // Only of a file made here: one that was there may be a hard link to anybody's.
        fchown(&file, Some(owner.uid), Some(owner.gid))?;
    }
    Ok(file)
}

/// Opens a file to read and write; creates it as [`create_new`] does if it is missing.
///
/// # Errors
/// When it is not a regular file, or can't be opened or created.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true), path)
}

/// Opens a file to append to; creates it as [`create_new`] does if it is missing.
///
/// # Errors
/// As for [`open_or_create`].
pub fn append(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().append(true), path)
}

fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match create_new(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => regular(options, path),
    }
}

/// Opens a file to read.
///
/// # Errors
/// When it is not a regular file, or can't be opened.
pub fn open(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true), path)
}

/// Reads a whole file.
///
/// # Errors
/// As for [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file as text.
///
/// # Errors
/// As for [`open`]; also when it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Writes a file that replaces whatever was at that path.
///
/// # Errors
/// When that can't be removed, or the file can't be created or written.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => create_new(path)?.write_all(contents),
    }
}

/// Why what is at this path may have been written by others than root and `owner`; `None` if only
/// they can have.
///
/// # Errors
/// When it can't be examined.
pub fn writable_by_others(path: &Path, owner: Option<Owner>) -> io::Result<Option<String>> {
    let found = fs::symlink_metadata(path)?;
    let uid = found.uid();
    let is_ours = uid == 0 || owner.is_some_and(|owner| owner.uid == uid);
    Ok(if found.is_symlink() {
        Some("is a symbolic link".to_owned())
    } else if !is_ours {
        Some(format!("belongs to user {uid}"))
    } else if found.mode() & OTHERS_WRITE != 0 {
        Some("can be written by others than its owner".to_owned())
    } else {
        None
    })
}

/// The directory that a new file follows.
struct Directory {
    is_private: bool,
    owner: Owner,
}

impl Directory {
    fn above(path: &Path) -> io::Result<Directory> {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        let found = fs::metadata(parent.unwrap_or(Path::new(".")))?;
        Ok(Directory {
            is_private: found.mode() & OTHERS_READ == 0,
            owner: owner_of(&found),
        })
    }

    /// The owner to give a new file to; only root can give files away.
    fn to_give(&self) -> Option<Owner> {
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let own = Owner {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
        };
        Some(self.owner).filter(|owner| uid.is_root() && *owner != own)
    }
}

fn owner_of(found: &Metadata) -> Owner {
    Owner {
        uid: found.uid(),
        gid: found.gid(),
    }
}

/// The owner of a file or directory.
///
/// # Errors
/// When it can't be examined.
pub fn owner(path: &Path) -> io::Result<Owner> {
    Ok(owner_of(&fs::symlink_metadata(path)?))
}

/// How much can still be written where a file or directory is.
///
/// # Errors
/// When it can't be examined.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = nix::sys::statvfs::statvfs(path)?;
    Ok(found
        .blocks_available()
        .saturating_mul(found.fragment_size()))
}

fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Looked at first, because opening a pipe would wait for its other end.
    if fs::symlink_metadata(path)?.is_file() {
        return open_as_it_is(options, path);
    }
    let cause = "it is not a regular file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, cause))
}

/// Opens what is at this path, not what a link there points to.
fn open_as_it_is(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(libc::O_NOFOLLOW).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    /// What the umask of the test leaves of these bits.
    fn left_by_the_umask(bits: u32) -> u32 {
        let probe = tempfile::tempdir().unwrap();
        let path = probe.path().join("probe");
        DirBuilder::new().mode(bits).create(&path).unwrap();
        mode(&path)
    }

    #[test]
    fn what_is_created_follows_its_directory() {
        let table = [
            (false, 0o700, 0o600),
            (true, left_by_the_umask(0o777), left_by_the_umask(0o666)),
        ];
        for (is_shared, of_directories, of_files) in table {
            let dir = tempfile::tempdir().unwrap();
            let run = dir.path().join("runs/run");
            let access = Access {
                is_shared,
                owner: None,
            };
            make_run_dir(&run, access).unwrap();
            assert_eq!(mode(run.parent().unwrap()), left_by_the_umask(0o777));
            create_dir_all(&run.join("work/1")).unwrap();
            drop(create_new(&run.join("new")).unwrap());
            drop(open_or_create(&run.join("work/opened")).unwrap());
            append(&run.join("work/log"))
                .unwrap()
                .write_all(b"a")
                .unwrap();
            append(&run.join("work/log"))
                .unwrap()
                .write_all(b"b")
                .unwrap();
            write(&run.join("work/1/whole"), b"x").unwrap();
            for directory in ["", "work", "work/1"] {
                assert_eq!(mode(&run.join(directory)), of_directories, "{directory}");
            }
            for file in ["new", "work/opened", "work/log", "work/1/whole"] {
                assert_eq!(mode(&run.join(file)), of_files, "{file}");
            }
            assert_eq!(read_to_string(&run.join("work/log")).unwrap(), "ab");
            // An existing directory is made private, too.
            fs::set_permissions(&run, Permissions::from_mode(0o755)).unwrap();
            make_run_dir(&run, access).unwrap();
            assert_eq!(mode(&run), if is_shared { 0o755 } else { 0o700 });
        }
    }

    #[test]
    fn files_of_others_are_private_where_others_may_only_enter() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        make_run_dir(&run, Access::default()).unwrap();
        let_enter(&run).unwrap();
        assert_eq!(mode(&run), 0o711);
        drop(create_new(&run.join("file")).unwrap());
        create_dir(&run.join("logs")).unwrap();
        assert_eq!(mode(&run.join("file")), 0o600);
        assert_eq!(mode(&run.join("logs")), 0o700);
    }

    #[test]
    fn root_creates_files_of_the_owner_of_the_directory() {
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("runs/run");
        let nobody = Owner {
            uid: 65534,
            gid: 65533,
        };
        let access = Access {
            is_shared: false,
            owner: Some(nobody),
        };
        make_run_dir(&run, access).unwrap();
        create_dir(&run.join("logs")).unwrap();
        drop(append(&run.join("logs/log")).unwrap());
        write(&run.join("plan"), b"x").unwrap();
        for name in ["..", "", "logs", "logs/log", "plan"] {
            assert_eq!(owner(&run.join(name)).unwrap(), nobody, "{name}");
        }
    }

    #[test]
    fn only_regular_files_are_opened_and_no_links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("precious"), "keep").unwrap();
        symlink(at("precious"), at("link")).unwrap();
        symlink(at("missing"), at("dangling")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in ["link", "dangling", "pipe", "."] {
            let error = open(&at(name)).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{name}: {error}");
            assert!(append(&at(name)).is_err(), "{name}");
            assert!(open_or_create(&at(name)).is_err(), "{name}");
        }
        // Opened without a look at what it is.
        let own = owner(&at("precious")).unwrap();
        give(&at("precious"), Some(own)).unwrap();
        assert!(give(&at("link"), Some(own)).is_err());
        write(&at("link"), b"ours").unwrap();
        assert_eq!(fs::read(at("precious")).unwrap(), b"keep");
        assert!(!at("missing").exists());
        assert_eq!(read_to_string(&at("link")).unwrap(), "ours");
    }

    #[test]
    fn what_others_can_have_written_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "x").unwrap();
        let me = owner(&path).unwrap();
        let stranger = Owner {
            uid: me.uid + 1,
            gid: 0,
        };
        let table = [
            (0o600, Some(me), None),
            (0o644, Some(me), None),
            (0o664, Some(me), Some("can be written by others")),
            (0o646, Some(me), Some("can be written by others")),
        ];
        for (bits, by, expected) in table {
            fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
            let found = writable_by_others(&path, by).unwrap();
            match expected {
                None => assert_eq!(found, None, "{bits:o}"),
                Some(part) => assert!(found.unwrap().contains(part), "{bits:o}"),
            }
        }
        symlink(&path, dir.path().join("link")).unwrap();
        let link = writable_by_others(&dir.path().join("link"), Some(me)).unwrap();
        assert_eq!(link.as_deref(), Some("is a symbolic link"));
        if me.uid == 0 {
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            give(&path, Some(stranger)).unwrap();
        }
        let other = (me.uid != 0).then_some(stranger);
        let found = writable_by_others(&path, other).unwrap().unwrap();
        assert!(found.starts_with("belongs to user"), "{found}");
    }
}
