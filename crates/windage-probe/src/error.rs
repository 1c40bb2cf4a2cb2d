//! What can go wrong, with the file or call at fault and what to do about it.

use std::io;
use std::path::PathBuf;

/// A reading that could not be taken.
///
/// That a process has left is not among these: see the crate's documentation.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A file or directory could not be opened, listed or read.
    #[error("cannot {call} {}: {source}{}", path.display(), remedy(source))]
    File {
        /// What was tried: `open`, `read` or `list`.
        call: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A file did not hold what the kernel's documentation says it holds.
    #[error(
        "{} holds {found:?} where {expected} was expected; this kernel writes it in a form that \
         windage does not know: please report it with the file's content",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// What should have been there.
        expected: &'static str,
        /// The beginning of what was there.
        found: String,
    },
    /// A CPU clock could not be read.
    #[error("cannot read the CPU clock of {whose}: {source}{}", remedy(source))]
    Clock {
        /// The process or thread, in words.
        whose: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A process that was named does not exist.
    #[error(
        "there is no process {process}; give the id of one that runs, as seen from here (a container counts its own)"
    )]
    NoSuchProcess {
        /// The id that was given.
        process: u32,
    },
    /// No thread of the kernel is to be seen.
    #[error(
        "/proc shows no thread of the kernel, or not its CPU; read it outside of containers, on a \
         kernel with CONFIG_SCHED_INFO"
    )]
    NoKernelThreads,
    /// This user may not ask the kernel for its BPF objects.
    #[error(
        "`{call}` is not permitted; run as root, or with CAP_BPF and CAP_SYS_ADMIN (in a \
         container: --privileged)"
    )]
    BpfNotPermitted {
        /// The command of `bpf()`.
        call: &'static str,
    },
    /// The kernel was built without the `bpf()` call, or a sandbox withholds it.
    #[error("the kernel has no bpf(2); use one with CONFIG_BPF_SYSCALL")]
    NoBpf,
    /// A command of `bpf()` failed otherwise.
    #[error("`{call}` failed: {source}{}", bpf_remedy(source))]
    Bpf {
        /// The command of `bpf()`.
        call: &'static str,
        /// What the system answered.
        source: io::Error,
    },
    /// There is nothing to read: the subject is out of reach.
    #[error(
        "the subject is attached by address only, so its processes can't be read; attach it by pid, unit or cgroup to measure them"
    )]
    OutOfReach,
}

impl ProbeError {
    /// What the answer to a command of `bpf()` means.
    pub(crate) fn bpf(call: &'static str, source: io::Error) -> ProbeError {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => ProbeError::BpfNotPermitted { call },
            Some(libc::ENOSYS) => ProbeError::NoBpf,
            _ => ProbeError::Bpf { call, source },
        }
    }
}

/// A command that the kernel does not know is an invalid argument to it.
fn bpf_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EINVAL) => "; this needs Linux 5.8 or later",
        _ => remedy(error),
    }
}

/// What to do about an error of the system, as the end of a message; empty when the error says
/// it all.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            "; each process and thread measured takes descriptors: raise the limit (ulimit -n)"
        }
        Some(libc::EACCES | libc::EPERM) => "; run as the service's user or as root",
        Some(libc::EROFS) => "; the file system is mounted read-only, as in most containers",
        Some(libc::EBUSY) => "; end the processes in it first",
        _ => "",
    }
}

/// Whether the error means that a process has left rather than that something is wrong: `open`
/// answers ENOENT, a file kept open ESRCH.
pub(crate) fn has_left(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}
