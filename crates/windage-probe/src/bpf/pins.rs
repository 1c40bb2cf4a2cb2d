//! BPF programs and links that are pinned in a file system of the type `bpf`.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Held, call};
use crate::parse::cgroup::{path, unescape};

/// `BPF_OBJ_GET` of `linux/bpf.h`.
const OBJ_GET: libc::c_long = 7;
/// The most files that are looked at.
const FILES_MAX: usize = 10_000;

/// A file that holds a program or a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// The file.
    pub path: PathBuf,
    /// The object; of a link its program as well.
    pub holds: Held,
    /// Whether it is an iterator, which does nothing until the file is read.
    pub is_iterator: bool,
}

/// The pins in all file systems that this process sees. Maps, and files that may not be read, are
/// left out.
pub(super) fn all() -> Vec<Pin> {
    let mounts = fs::read("/proc/self/mounts").unwrap_or_default();
    let mut found = Vec::new();
    let mut next = file_systems(&mounts);
    let mut files = 0;
    while let Some(dir) = next.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            files += 1;
            if files > FILES_MAX {
                return found;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => next.push(entry.path()),
                Ok(kind) if kind.is_file() => found.extend(pin(&entry.path())),
                _ => {}
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Where file systems of the type `bpf` are mounted.
fn file_systems(mounts: &[u8]) -> Vec<PathBuf> {
    let point = |line: &[u8]| {
        // device point type options …
        let mut fields = line.split(|byte| *byte == b' ').skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        (kind == b"bpf").then(|| path(&unescape(point)))
    };
    mounts
        .split(|byte| *byte == b'\n')
        .filter_map(point)
        .collect()
}

fn pin(path: &Path) -> Option<Pin> {
    let object = open(path).ok()?;
    let notes = fs::read_to_string(format!("/proc/self/fdinfo/{}", object.as_raw_fd())).ok()?;
    let mut holds = Held::default();
    holds.note(&notes);
    (holds != Held::default()).then(|| Pin {
        path: path.to_owned(),
        holds,
        is_iterator: notes.lines().any(|line| line == "link_type:\titer"),
    })
}

/// The object, whatever its type; aya's functions expect one type each.
fn open(path: &Path) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Get {
        path: u64,
        descriptor: u32,
        flags: u32,
    }
    let path = CString::new(path.as_os_str().as_bytes())?;
    let attributes = Get {
        path: path.as_ptr() as u64,
        descriptor: 0,
        flags: 0,
    };
    // SAFETY: these are the attributes of the command, and the path outlives the call.
    unsafe { call::opening(OBJ_GET, &attributes) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use nix::mount::{MntFlags, MsFlags, mount, umount2};

    use super::*;
    use crate::bpf::{Bpf, KernelBpf, LeftBehind, left_behind};
    use crate::skip::skip;

    /// `BPF_OBJ_PIN`, `BPF_PROG_LOAD` and `BPF_RAW_TRACEPOINT_OPEN` of `linux/bpf.h`.
    const OBJ_PIN: libc::c_long = 6;
    const PROG_LOAD: libc::c_long = 5;
    const RAW_TRACEPOINT_OPEN: libc::c_long = 17;
    const RAW_TRACEPOINT: u32 = 17;

    /// A file system for pins, unmounted when dropped.
    struct Mounted(tempfile::TempDir);

    impl Mounted {
        fn new() -> Option<Mounted> {
            let dir = tempfile::tempdir().unwrap();
            let none = None::<&str>;
            mount(none, dir.path(), Some("bpf"), MsFlags::empty(), none).ok()?;
            Some(Mounted(dir))
        }
    }

    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = umount2(self.0.path(), MntFlags::MNT_DETACH);
        }
    }

    /// A program that does nothing, and its link to the beginning of all system calls.
    fn attached() -> io::Result<[OwnedFd; 2]> {
        #[repr(C)]
        struct Load {
            kind: u32,
            instructions: u32,
            program: u64,
            licence: u64,
            log: [u64; 2],
            kernel_version: u32,
            flags: u32,
            name: [u8; 16],
        }
        #[repr(C)]
        struct Attach {
            name: u64,
            program: u32,
        }
        // r0 = 0; exit
        let program: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
        let load = Load {
            kind: RAW_TRACEPOINT,
            instructions: 2,
            program: program.as_ptr() as u64,
            licence: c"GPL".as_ptr() as u64,
            log: [0; 2],
            kernel_version: 0,
            flags: 0,
            name: *b"windage_left\0\0\0\0",
        };
        // SAFETY: the attributes of the command; what they point to outlives the call.
        let program = unsafe { call::opening(PROG_LOAD, &load) }?;
        let attach = Attach {
            name: c"sys_enter".as_ptr() as u64,
            program: program.as_raw_fd().cast_unsigned(),
        };
        // SAFETY: as above.
        let link = unsafe { call::opening(RAW_TRACEPOINT_OPEN, &attach) }?;
        Ok([program, link])
    }

    fn pin_at(path: &Path, object: &OwnedFd) -> io::Result<()> {
        #[repr(C)]
        struct PinAt {
            path: u64,
            object: u32,
            flags: u32,
        }
        let path = CString::new(path.as_os_str().as_bytes())?;
        let attributes = PinAt {
            path: path.as_ptr() as u64,
            object: object.as_fd().as_raw_fd().cast_unsigned(),
            flags: 0,
        };
        // SAFETY: the attributes of the command; the path outlives the call. It returns zero, which
        // is no descriptor of ours, so it is not made with `call::opening`.
        let failed = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                OBJ_PIN,
                &raw const attributes,
                size_of::<PinAt>(),
            )
        };
        match failed {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// What this test's own program left.
    fn left(id: u32) -> Option<LeftBehind> {
        let all = left_behind(&KernelBpf, || Held::by_others_than(|_| false)).unwrap();
        all.into_iter().find(|of| of.program.id == id)
    }

    fn id_of(object: &OwnedFd) -> Held {
        let notes = fs::read_to_string(format!("/proc/self/fdinfo/{}", object.as_raw_fd()));
        let mut held = Held::default();
        held.note(&notes.unwrap());
        held
    }

    #[test]
    fn a_pinned_link_is_left_behind_once_no_process_holds_it() {
        let test = "a_pinned_link_is_left_behind_once_no_process_holds_it";
        if KernelBpf.objects().is_err() {
            return skip(test, "this user may not use bpf()");
        }
        let Some(mounted) = Mounted::new() else {
            return skip(test, "a file system for pins can't be mounted");
        };
        let [program, link] = attached().unwrap();
        let held = id_of(&link);
        let (id, link_id) = (
            *held.programs.first().unwrap(),
            *held.links.first().unwrap(),
        );
        let path = mounted.0.path().join("below");
        fs::create_dir(&path).unwrap();
        let path = path.join("link");
        pin_at(&path, &link).unwrap();
        assert_eq!(left(id), None, "this process holds it");
        drop((program, link));
        let found = left(id).unwrap();
        assert_eq!(
            (found.links.clone(), found.pins.clone()),
            (vec![link_id], vec![path.clone()])
        );
        assert_eq!(found.removal(), [format!("rm {}", path.display())]);
        fs::remove_file(&path).unwrap();
        let gone = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            left(id).is_none()
        });
        assert!(gone, "removed by its command");
    }

    #[test]
    fn file_systems_are_found_by_their_type() {
        let mounts =
            b"sysfs /sys sysfs rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\nnone /a\\040b bpf rw 0 0\n";
        let expected = ["/sys/fs/bpf", "/a b"].map(PathBuf::from);
        assert_eq!(file_systems(mounts), expected);
    }
}
