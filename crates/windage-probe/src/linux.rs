//! The real system behind the seam.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::time::ClockId;
use nix::unistd::{self, SysconfVar};

use crate::system::{Clock, Entry, OpenFile, System};

/// The system that this program runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl System for Linux {
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(File::open(path)?))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        fs::read_dir(dir)?
            .map(|entry| {
                let entry = entry?;
                Ok(Entry {
                    name: entry.file_name(),
                    is_dir: entry.file_type()?.is_dir(),
                })
            })
            .collect()
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn clock_ns(&self, clock: Clock) -> io::Result<u64> {
        let time = clock_id(clock)?.now()?;
        let parts = u64::try_from(time.tv_sec())
            .ok()
            .zip(u64::try_from(time.tv_nsec()).ok());
        parts
            .and_then(|(s, ns)| s.checked_mul(1_000_000_000)?.checked_add(ns))
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn run(&self, program: &str, args: &[String]) -> io::Result<bool> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.status()?.success())
    }

    fn pause(&self, lasts: Duration) {
        std::thread::sleep(lasts);
    }

    fn page_bytes(&self) -> u64 {
        // Every kernel that does not answer has 4 KiB and 100/s.
        configured(SysconfVar::PAGE_SIZE).unwrap_or(4096)
    }

    fn user_ticks_per_s(&self) -> u64 {
        configured(SysconfVar::CLK_TCK).unwrap_or(100)
    }

    fn process_id(&self) -> u32 {
        std::process::id()
    }

    fn share(&self) -> Arc<dyn System> {
        Arc::new(*self)
    }
}

impl OpenFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match FileExt::read_at(self, buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Makes a command enter cgroups before its program starts, so that all of its CPU is counted
/// there. Each file is a cgroup's `cgroup.procs`.
pub(crate) fn enter_on_exec(command: &mut Command, procs_files: &[PathBuf]) -> io::Result<()> {
    let files = procs_files
        .iter()
        .map(|path| OpenOptions::new().write(true).open(path))
        .collect::<io::Result<Vec<File>>>()?;
    let enter = move || {
        // "0" means the writing process, so its id need not be formatted.
        files
            .iter()
            .try_for_each(|mut file| file.write(b"0").map(drop))
    };
    // SAFETY: between fork and exec the closure only calls write(2), which is
    // async-signal-safe, on descriptors opened before; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(enter) };
    Ok(())
}

fn configured(what: SysconfVar) -> Option<u64> {
    u64::try_from(unistd::sysconf(what).ok()??).ok()
}

fn clock_id(clock: Clock) -> io::Result<ClockId> {
    Ok(match clock {
        Clock::Monotonic => ClockId::CLOCK_MONOTONIC,
        Clock::Boot => ClockId::CLOCK_BOOTTIME,
        Clock::Wall => ClockId::CLOCK_REALTIME,
        Clock::ThisProcess => ClockId::CLOCK_PROCESS_CPUTIME_ID,
        Clock::Process(id) => cpu_clock_id(id)?,
    })
}

const CPUCLOCK_SCHED: libc::clockid_t = 2;

/// The CPU clock of a process, computed as `clock_getcpuclockid(3)` does.
///
/// The id is part of the kernel's interface (`include/linux/posix-timers.h`: the complement of the
/// process id, above three bits for the kind). The library function also asks the kernel whether
/// the process exists, which reading the clock shows anyway.
fn cpu_clock_id(id: u32) -> io::Result<ClockId> {
    // Ids end at 2^22 (PID_MAX_LIMIT), so a valid one fits in 28 bits.
    let id = libc::clockid_t::try_from(id)
        .ok()
        .filter(|&id| id < 1 << 28);
    let id = id.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    Ok(ClockId::from_raw((!id << 3) | CPUCLOCK_SCHED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::Pid;

    #[test]
    fn a_process_clock_is_that_of_the_c_library() {
        let id = std::process::id();
        let expected = nix::time::clock_getcpuclockid(Pid::this()).unwrap();
        assert_eq!(cpu_clock_id(id).unwrap(), expected);
    }

    #[test]
    fn no_clock_without_a_process() {
        for id in [u32::MAX, 1 << 28, (1 << 22) + 1] {
            let error = Linux.clock_ns(Clock::Process(id)).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{id}");
        }
    }
}
