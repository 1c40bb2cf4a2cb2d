//! Errors, with the file or call at fault and the remedy.

use std::io;
use std::path::PathBuf;

/// A reading that failed.
///
/// A process that ended is not an error: see the crate's documentation.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A file or directory could not be opened, listed or read.
    #[error("cannot {call} {}: {source}{}", path.display(), remedy(source))]
    File {
        /// The operation: `open`, `read` or `list`.
        call: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file's content is not as the kernel's documentation describes it.
    #[error(
        "{} holds {found:?} where {expected} was expected; windage does not know this form: please \
         report it with the file's content and the kernel's version",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
        /// The beginning of the actual content.
        found: String,
    },
    /// A CPU clock could not be read.
    #[error("cannot read the CPU clock of {whose}: {source}{}", remedy(source))]
    Clock {
        /// The process or thread, in words.
        whose: String,
        /// The system's error.
        source: io::Error,
    },
    /// The given process does not exist.
    #[error(
        "there is no process {process}; give the id of a running process, as seen from here (a container has its own ids)"
    )]
    NoSuchProcess {
        /// The given id.
        process: u32,
    },
    /// No kernel thread is visible.
    #[error(
        "/proc shows no kernel thread, or not its CPU; run windage outside containers, on a kernel \
         with CONFIG_SCHED_INFO"
    )]
    NoKernelThreads,
    /// This user may not list the kernel's BPF objects.
    #[error(
        "`{call}` is not permitted; run as root, or with CAP_BPF and CAP_SYS_ADMIN (in a \
         container: --privileged)"
    )]
    BpfNotPermitted {
        /// The command of `bpf()`.
        call: &'static str,
    },
    /// The kernel was built without the `bpf()` call, or a sandbox blocks it.
    #[error("the kernel has no bpf(2); use one with CONFIG_BPF_SYSCALL")]
    NoBpf,
    /// Another failure of a command of `bpf()`.
    #[error("`{call}` failed: {source}{}", bpf_remedy(source))]
    Bpf {
        /// The command of `bpf()`.
        call: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// There is nothing to read: the subject is out of reach.
    #[error(
        "the subject is attached by address only, so its processes can't be read; attach it by pid, unit or cgroup to measure them"
    )]
    OutOfReach,
}

impl ProbeError {
    /// The error that an answer to a command of `bpf()` means.
    pub(crate) fn bpf(call: &'static str, source: io::Error) -> ProbeError {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => ProbeError::BpfNotPermitted { call },
            Some(libc::ENOSYS) => ProbeError::NoBpf,
            _ => ProbeError::Bpf { call, source },
        }
    }
}

/// EINVAL also means that the kernel does not know the command.
fn bpf_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EINVAL) => "; this needs Linux 5.8 or later",
        _ => remedy(error),
    }
}

/// The remedy for a system error, as the end of a message; empty if the error says it all.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            "; each measured process and thread needs descriptors: raise the limit (ulimit -n)"
        }
        Some(libc::EACCES | libc::EPERM) => "; run as the service's user or as root",
        Some(libc::EROFS) => "; the file system is mounted read-only, as in most containers",
        Some(libc::EBUSY) => "; end the processes in it first",
        _ => "",
    }
}

/// Whether the error means that a process has ended: `open` gives ENOENT, a file kept open ESRCH.
pub(crate) fn has_left(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}
