//! The real `bpf()` call, through aya.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use aya::maps::{MapError, MapInfo, loaded_maps};
use aya::programs::links::{LinkError, LinkInfo};
use aya::programs::{ProgramError, ProgramInfo, loaded_links, loaded_programs};
use aya::sys::{Stats, SyscallError, enable_stats};

use super::{Bpf, Link, Map, Objects, Pin, Program, pins};
use crate::ProbeError;
use crate::error::has_left;
use crate::parse::number_after;

/// The kernel that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelBpf;

impl Bpf for KernelBpf {
    fn objects(&self) -> Result<Objects, ProbeError> {
        Ok(Objects {
            programs: present(loaded_programs().map(|info| program(&info?)))?,
            links: links()?,
            maps: present(loaded_maps().map(|info| map(&info?)))?,
        })
    }

    fn enable_statistics(&self) -> Result<OwnedFd, ProbeError> {
        enable_stats(Stats::RunTime).map_err(|failed| Failed::from(failed).into())
    }

    fn pins(&self) -> Vec<Pin> {
        pins::all()
    }
}

/// A failed call, from any of aya's errors.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) call: &'static str,
    pub(crate) source: io::Error,
}

impl From<SyscallError> for Failed {
    fn from(error: SyscallError) -> Failed {
        Failed {
            call: error.call,
            source: error.io_error,
        }
    }
}

impl From<Failed> for ProbeError {
    fn from(failed: Failed) -> ProbeError {
        ProbeError::bpf(failed.call, failed.source)
    }
}

/// The three listings have error types of their own for the same failed call.
macro_rules! failed_from {
    ($($error:ident, $listing:literal;)+) => {
        $(impl From<$error> for Failed {
            fn from(error: $error) -> Failed {
                match error {
                    $error::SyscallError(error) => error.into(),
                    other => Failed { call: $listing, source: io::Error::other(other) },
                }
            }
        })+
    };
}

failed_from! {
    ProgramError, "bpf_prog_get_info_by_fd";
    LinkError, "bpf_link_get_info_by_fd";
    MapError, "bpf_map_get_info_by_fd";
}

fn program(info: &ProgramInfo) -> Result<Program, Failed> {
    Ok(Program {
        id: info.id(),
        name: String::from_utf8_lossy(info.name()).into_owned(),
        kind: kind(&info.program_type()),
        runs: info.run_count(),
        run_ns: nanoseconds(info.run_time()),
        memory_bytes: memory_bytes(info.fd()?.as_fd())?,
    })
}

fn map(info: &MapInfo) -> Result<Map, Failed> {
    Ok(Map {
        id: info.id(),
        name: String::from_utf8_lossy(info.name()).into_owned(),
        memory_bytes: memory_bytes(info.fd()?.as_fd())?,
    })
}

fn links() -> Result<Vec<Link>, Failed> {
    let link = |info: LinkInfo| Link {
        id: info.id(),
        program: info.program_id(),
    };
    match present(loaded_links().map(|info| Ok(link(info?)))) {
        // Before Linux 5.8 the command to list links is unknown.
        Err(failed) if failed.source.raw_os_error() == Some(libc::EINVAL) => Ok(vec![]),
        listed => listed,
    }
}

/// The objects that still existed when they were read.
fn present<T>(looked_at: impl Iterator<Item = Result<T, Failed>>) -> Result<Vec<T>, Failed> {
    looked_at
        .filter(|object| !matches!(object, Err(failed) if has_left(&failed.source)))
        .collect()
}

/// The kernel's name for a program type; `unknown` for a type newer than aya.
///
/// aya uses the names of `linux/bpf.h`, such as `BPF_PROG_TYPE_KPROBE`.
fn kind(program_type: &impl Debug) -> String {
    match format!("{program_type:?}").strip_prefix("BPF_PROG_TYPE_") {
        Some(word) => word.to_lowercase(),
        None => "unknown".to_owned(),
    }
}

/// Saturates at 584 years, which runs never reach.
fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The memory of an object, from the fdinfo of its descriptor.
fn memory_bytes(object: BorrowedFd<'_>) -> Result<u64, Failed> {
    let notes = fs::read(format!("/proc/self/fdinfo/{}", object.as_raw_fd()));
    let bytes = notes.and_then(|notes| {
        let missing = || io::Error::other("its fdinfo has no `memlock:`");
        number_after(&notes, b"memlock:").ok_or_else(missing)
    });
    bytes.map_err(|source| Failed {
        call: "read of /proc/self/fdinfo",
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_for_types() {
        #[derive(Debug)]
        #[expect(non_camel_case_types, reason = "as linux/bpf.h writes them")]
        enum Constant {
            BPF_PROG_TYPE_KPROBE,
            BPF_PROG_TYPE_RAW_TRACEPOINT,
            __MAX_BPF_PROG_TYPE,
        }
        assert_eq!(kind(&Constant::BPF_PROG_TYPE_KPROBE), "kprobe");
        let raw = Constant::BPF_PROG_TYPE_RAW_TRACEPOINT;
        assert_eq!(kind(&raw), "raw_tracepoint");
        assert_eq!(kind(&Constant::__MAX_BPF_PROG_TYPE), "unknown");
    }

    #[test]
    fn vanished_objects_are_left_out_and_other_errors_end_the_listing() {
        let failed = |errno| {
            Err(Failed {
                call: "bpf_prog_get_fd_by_id",
                source: io::Error::from_raw_os_error(errno),
            })
        };
        let went = [Ok(1), failed(libc::ENOENT), Ok(3)];
        assert_eq!(present(went.into_iter()).unwrap(), [1, 3]);
        let forbidden = [Ok(1), failed(libc::EPERM)];
        let error = present(forbidden.into_iter()).unwrap_err();
        assert_eq!(error.source.raw_os_error(), Some(libc::EPERM));
    }
}
