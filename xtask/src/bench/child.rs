//! One contender's process: pinned, watched, ended on time, with its resource usage.
//!
//! Everything is read from outside and in the same way for each: `wait4` gives the CPU of the whole
//! process, including its start, and its peak memory.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::memory::Memory;

/// How often a running process is polled: often enough for late growth of its memory, seldom enough
/// not to disturb it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A process that has ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) usage: Usage,
}

/// What a process used from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// From before its start until it was seen to have ended.
    pub(super) wall_s: f64,
    pub(super) user_s: f64,
    /// In the kernel, on behalf of the process.
    pub(super) system_s: f64,
    pub(super) rss_peak_bytes: u64,
    /// How often the kernel took the core from it.
    pub(super) preemptions: u64,
}

impl Usage {
    pub(super) fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Pins the command's process to these cores, raises its limit on descriptors as far as allowed,
/// and makes it die with this program, however that ends.
pub(super) fn confine(command: &mut Command, cores: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core)
            .with_context(|| format!("core {core} does not fit into a CPU set"))?;
    }
    let (_, most_descriptors) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // SAFETY: between fork and exec only three async-signal-safe system calls are made and nothing
    // is allocated: an `Errno` becomes an `io::Error` without allocation.
    unsafe {
        command.pre_exec(move || {
            set_pdeathsig(Signal::SIGKILL)?;
            sched_setaffinity(Pid::from_raw(0), &set)?;
            setrlimit(Resource::RLIMIT_NOFILE, most_descriptors, most_descriptors)?;
            Ok(())
        });
    }
    Ok(())
}

/// Runs a command on a core to its end.
///
/// A command that takes longer than `patience` is killed, which is an error.
pub(super) fn run(command: &mut Command, core: usize, patience: Duration) -> Result<Ended> {
    confine(command, &[core])?;
    let printed = Printed::of(command)?;
    command.stdin(Stdio::null());
    let started = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("could not start {}", command.get_program().display()))?;
    let mut process = Process::new(child.id())?;
    let rss_seen_bytes = process.wait_until_ended(started + patience)?;
    let wall_s = started.elapsed().as_secs_f64();
    let (status, rusage) = process.reap()?;
    Ok(Ended {
        status,
        stdout: printed.stdout()?,
        stderr: printed.stderr()?,
        usage: usage(&rusage, wall_s, rss_seen_bytes),
    })
}

/// A command's output, in files and not in pipes: nothing has to read it during the measurement.
pub(super) struct Printed([File; 2]);

impl Printed {
    pub(super) fn of(command: &mut Command) -> Result<Printed> {
        let file = || tempfile::tempfile().context("make a temporary file");
        let [out, err] = [file()?, file()?];
        command.stdout(out.try_clone()?).stderr(err.try_clone()?);
        Ok(Printed([out, err]))
    }

    pub(super) fn stdout(&self) -> Result<String> {
        text(&self.0[0])
    }

    pub(super) fn stderr(&self) -> Result<String> {
        text(&self.0[1])
    }
}

/// Reads from the beginning, without moving the position at which the command writes.
fn text(file: &File) -> Result<String> {
    let length = file
        .metadata()
        .context("look at what a command printed")?
        .len();
    let mut bytes = vec![0; usize::try_from(length)?];
    file.read_exact_at(&mut bytes, 0)
        .context("read what a command printed")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A child that is killed and reaped if it is dropped before its end.
struct Process {
    pid: Pid,
    handle: OwnedFd,
    is_reaped: bool,
}

impl Process {
    fn new(id: u32) -> Result<Process> {
        let pid = Pid::from_raw(id.cast_signed());
        // SAFETY: no pointer is passed, and a child that was not reaped keeps its pid.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
        let fd = i32::try_from(Errno::result(fd).context("pidfd_open (Linux 5.3)")?)?;
        Ok(Process {
            pid,
            // SAFETY: the kernel created this descriptor just now, so nothing else owns it.
            handle: unsafe { OwnedFd::from_raw_fd(fd) },
            is_reaped: false,
        })
    }

    /// Returns the largest resident memory seen while waiting.
    fn wait_until_ended(&self, deadline: Instant) -> Result<u64> {
        let mut rss_seen_bytes = 0;
        let timeout = PollTimeout::try_from(LOOK_EVERY)?;
        loop {
            let mut ends = [PollFd::new(self.handle.as_fd(), PollFlags::POLLIN)];
            if poll(&mut ends, timeout).context("poll for the end of a process")? > 0 {
                return Ok(rss_seen_bytes);
            }
            if Instant::now() >= deadline {
                bail!("it did not end on time and was killed");
            }
            rss_seen_bytes = rss_seen_bytes.max(rss_peak_bytes(&self.pid.to_string()));
        }
    }

    fn reap(&mut self) -> Result<(ExitStatus, libc::rusage)> {
        let mut status = 0;
        let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both pointers are to valid memory of the right type, and the pid is that of a
        // child that was not reaped.
        let reaped =
            unsafe { libc::wait4(self.pid.as_raw(), &raw mut status, 0, rusage.as_mut_ptr()) };
        Errno::result(reaped).context("wait4")?;
        self.is_reaped = true;
        // SAFETY: zeroed is a valid value, and the kernel has filled it in.
        Ok((ExitStatus::from_raw(status), unsafe {
            rusage.assume_init()
        }))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_reaped {
            // The pid can't be reused before the process is reaped here.
            let _ = kill(self.pid, Signal::SIGKILL);
            let _ = self.reap();
        }
    }
}

/// The kernel's peak starts with the memory of the fork, which was this program's. If the peak is
/// no larger than that, the polled value is better.
fn usage(rusage: &libc::rusage, wall_s: f64, rss_seen_bytes: u64) -> Usage {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let kernels_peak_bytes = u64::try_from(rusage.ru_maxrss).unwrap_or_default() * 1024;
    let is_its_own = kernels_peak_bytes > rss_peak_bytes("self");
    Usage {
        wall_s,
        user_s: seconds(rusage.ru_utime),
        system_s: seconds(rusage.ru_stime),
        rss_peak_bytes: if is_its_own || rss_seen_bytes == 0 {
            kernels_peak_bytes
        } else {
            rss_seen_bytes
        },
        preemptions: u64::try_from(rusage.ru_nivcsw).unwrap_or_default(),
    }
}

/// Peak resident memory of a process, or 0 when it has ended.
fn rss_peak_bytes(process: &str) -> u64 {
    Memory::of(process).map_or(0, |memory| memory.rss_peak_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn shell(script: &str, patience: Duration) -> Result<Ended> {
        run(Command::new("sh").args(["-c", script]), 0, patience)
    }

    #[test]
    fn a_process_is_confined_and_its_output_kept() {
        let script = "grep Cpus_allowed_list /proc/self/status; ulimit -n; echo why >&2; exit 3";
        let ended = shell(script, PATIENCE).unwrap();
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!(lines, ["Cpus_allowed_list:\t0", &most.to_string()]);
        assert_eq!(
            (ended.stderr.as_str(), ended.status.code()),
            ("why\n", Some(3))
        );
    }

    #[test]
    fn cpu_and_memory_are_the_process_s_own() {
        // One second of the process's own CPU time, whatever else the machine does.
        let busy = shell("ulimit -t 1; while :; do :; done", PATIENCE).unwrap();
        assert!(busy.usage.cpu_s() > 0.7, "{busy:?}");
        assert!(
            busy.usage.wall_s > 0.7 && !busy.status.success(),
            "{busy:?}"
        );
        assert!(busy.usage.rss_peak_bytes > 100_000, "{busy:?}");
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let error = shell("exec sleep 60", Duration::from_millis(200)).unwrap_err();
        assert!(error.to_string().contains("on time"), "{error:#}");
    }
}
