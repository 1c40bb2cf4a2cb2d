//! Fork and exec. Everything that can allocate or fail is prepared before the fork; between fork
//! and exec there are only async-signal-safe calls (`signal-safety(7)`).

use std::ffi::{CStr, CString, c_char};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::CpuSet;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2};
use serde::{Deserialize, Serialize};

use crate::Credentials;

/// Descriptors are moved to this number and above, away from those that the child is given.
const FIRST_FREE_FD: RawFd = 16;

/// Linux has 64 signals, numbered from 1.
const LAST_SIGNAL: i32 = 64;

/// A step on the way to a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(i32)]
pub(crate) enum Step {
    Arguments,
    Log,
    Fork,
    Cgroup,
    Cpus,
    Descriptors,
    User,
    Directory,
    Exec,
}

impl Step {
    const ALL: [Step; 9] = [
        Step::Arguments,
        Step::Log,
        Step::Fork,
        Step::Cgroup,
        Step::Cpus,
        Step::Descriptors,
        Step::User,
        Step::Directory,
        Step::Exec,
    ];

    /// The step as an error shows it, before its path.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Step::Arguments => "passing its arguments",
            Step::Log => "opening its log",
            Step::Fork => "starting a process",
            Step::Cgroup => "entering the cgroup",
            Step::Cpus => "pinning it to its cores",
            Step::Descriptors => "passing its descriptors",
            Step::User => "becoming its `user`",
            Step::Directory => "entering its working directory",
            Step::Exec => "executing it",
        }
    }
}

/// Where and why a launch failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchError {
    /// A step failed; for `Step::Cgroup`, which of the cgroups.
    Failed {
        step: Step,
        index: usize,
        errno: Errno,
    },
    /// The peer hung up before the program ran.
    Abandoned,
}

impl LaunchError {
    pub(crate) fn at(step: Step) -> impl Fn(Errno) -> LaunchError {
        move |errno| LaunchError::Failed {
            step,
            index: 0,
            errno,
        }
    }
}

/// A program about to be executed.
#[derive(Default)]
pub(crate) struct Launch {
    pub(crate) program: CString,
    pub(crate) argv: Vec<CString>,
    /// `NAME=VALUE`.
    pub(crate) envp: Vec<CString>,
    pub(crate) cwd: Option<CString>,
    /// Opened `cgroup.procs` files, entered in this order.
    pub(crate) cgroups: Vec<OwnedFd>,
    pub(crate) cpus: Option<CpuSet>,
    /// Descriptors and their numbers in the new program; all others are close-on-exec.
    pub(crate) fds: Vec<(OwnedFd, RawFd)>,
    /// Where the child announces its pid, and under which number.
    pub(crate) birth: Option<(OwnedFd, u64)>,
    /// What it writes to its `oom_score_adj`; a refusal is not an error.
    pub(crate) oom_score_adj: Option<CString>,
    pub(crate) user: Option<Credentials>,
    pub(crate) no_new_privs: bool,
}

impl Launch {
    /// Runs it in a new session, with default signal dispositions and nothing blocked, and returns
    /// when the program runs. If `peer` closes meanwhile, the wait ends.
    pub(crate) fn start(mut self, peer: Option<BorrowedFd>) -> Result<Pid, LaunchError> {
        for (fd, _) in &mut self.fds {
            *fd = out_of_the_way(fd).map_err(LaunchError::at(Step::Descriptors))?;
        }
        let (report, near) = pipe2(OFlag::O_CLOEXEC).map_err(LaunchError::at(Step::Fork))?;
        let reporter = out_of_the_way(&near).map_err(LaunchError::at(Step::Fork))?;
        // Only the child may hold the writing end; otherwise its closing goes unnoticed.
        drop(near);
        let argv = null_ended(&self.argv);
        let envp = null_ended(&self.envp);

        // A handler of this process must not run in the child, where its pipes are shared.
        let mut mask = SigSet::empty();
        nix::sys::signal::pthread_sigmask(
            SigmaskHow::SIG_SETMASK,
            Some(&SigSet::all()),
            Some(&mut mask),
        )
        .map_err(LaunchError::at(Step::Fork))?;
        // SAFETY: the child calls nothing but `become_program`, which is async-signal-safe.
        let forked = unsafe { fork() };
        if let Ok(ForkResult::Child) = forked {
            // SAFETY: this is the child of a fork, and the arrays end in a null pointer and
            // point into `self`, which is alive.
            unsafe { self.become_program(&argv, &envp, reporter.as_raw_fd()) }
        }
        let unblocked =
            nix::sys::signal::pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&mask), None);
        drop(reporter);
        match forked
            .and_then(|fork| unblocked.map(|()| fork))
            .map_err(LaunchError::at(Step::Fork))?
        {
            ForkResult::Parent { child } => await_exec(child, &report, peer),
            ForkResult::Child => unreachable!("the child has become another program or exited"),
        }
    }

    /// The child's side: sets itself up and executes the program, or reports why not and exits.
    ///
    /// # Safety
    /// Only in the child of a fork; `argv` and `envp` must be null-ended arrays of C strings.
    unsafe fn become_program(
        &self,
        argv: &[*const c_char],
        envp: &[*const c_char],
        reporter: RawFd,
    ) -> ! {
        // SAFETY: async-signal-safe calls only, on descriptors and strings that `self` owns.
        unsafe {
            let (step, index) = self.set_up();
            if step == Step::Exec {
                let mut none: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut none);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
                libc::execve(self.program.as_ptr(), argv.as_ptr(), envp.as_ptr());
            }
            let report = Report::new(step, index, Errno::last_raw()).0;
            libc::write(reporter, report.as_ptr().cast(), report.len());
            libc::_exit(127)
        }
    }

    /// Does every step before exec. Returns the step that failed (errno says why), or `Exec`.
    ///
    /// # Safety
    /// Only in the child of a fork.
    unsafe fn set_up(&self) -> (Step, usize) {
        // SAFETY: async-signal-safe calls only, on descriptors and strings that `self` owns.
        unsafe {
            // Leaves the terminal's process group; fails only for a group leader, which a forked
            // child is not.
            libc::setsid();
            if let Some((socket, number)) = &self.birth {
                let number = number.to_le_bytes();
                let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
                libc::send(
                    socket.as_raw_fd(),
                    number.as_ptr().cast(),
                    number.len(),
                    flags,
                );
            }
            for signal in 1..=LAST_SIGNAL {
                // The C library reserves two signals and refuses them, which is fine.
                libc::signal(signal, libc::SIG_DFL);
            }
            for (index, procs) in self.cgroups.iter().enumerate() {
                if libc::write(procs.as_raw_fd(), c"0".as_ptr().cast(), 1) != 1 {
                    return (Step::Cgroup, index);
                }
            }
            if let Some(cpus) = &self.cpus
                && libc::sched_setaffinity(0, size_of::<CpuSet>(), std::ptr::from_ref(cpus).cast())
                    != 0
            {
                return (Step::Cpus, 0);
            }
            for (fd, number) in &self.fds {
                if libc::dup2(fd.as_raw_fd(), *number) < 0 {
                    return (Step::Descriptors, 0);
                }
            }
            // Before the change of user, after which the file would be root's.
            if let Some(score) = &self.oom_score_adj {
                write_whole(c"/proc/self/oom_score_adj", score);
            }
            if !self.become_user() {
                return (Step::User, 0);
            }
            if let Some(cwd) = &self.cwd
                && libc::chdir(cwd.as_ptr()) != 0
            {
                return (Step::Directory, 0);
            }
        }
        (Step::Exec, 0)
    }

    /// Groups first, because a user who is not root can't change them.
    ///
    /// # Safety
    /// Only in the child of a fork.
    unsafe fn become_user(&self) -> bool {
        // SAFETY: async-signal-safe calls on numbers, and on a list that `self` owns.
        unsafe {
            if let Some(Credentials { uid, gid, groups }) = &self.user
                && (libc::setgroups(groups.len(), groups.as_ptr()) != 0
                    || libc::setresgid(*gid, *gid, *gid) != 0
                    || libc::setresuid(*uid, *uid, *uid) != 0)
            {
                return false;
            }
            !self.no_new_privs || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        }
    }
}

/// Writes a file that exists, if that is allowed.
///
/// # Safety
/// Only in the child of a fork.
unsafe fn write_whole(path: &CStr, text: &CStr) {
    // SAFETY: async-signal-safe calls on strings that outlive them.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, text.as_ptr().cast(), text.count_bytes());
            libc::close(file);
        }
    }
}

/// What the child writes when a step fails: step, index and errno, each 4 bytes.
struct Report([u8; 12]);

impl Report {
    fn new(step: Step, index: usize, errno: i32) -> Report {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&(step as i32).to_le_bytes());
        // Cgroups are few; a clamped index would only name the wrong one in an error.
        bytes[4..8].copy_from_slice(&u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes());
        bytes[8..].copy_from_slice(&errno.to_le_bytes());
        Report(bytes)
    }

    fn read(&self) -> LaunchError {
        let word = |at: usize| self.0[at..at + 4].try_into().unwrap_or_default();
        let step = i32::from_le_bytes(word(0));
        LaunchError::Failed {
            step: Step::ALL
                .into_iter()
                .find(|s| *s as i32 == step)
                .unwrap_or(Step::Exec),
            index: usize::try_from(u32::from_le_bytes(word(4))).unwrap_or(usize::MAX),
            errno: Errno::from_raw(i32::from_le_bytes(word(8))),
        }
    }
}

/// Waits until the child's end of the pipe closes, which a successful exec does.
fn await_exec(child: Pid, report: &OwnedFd, peer: Option<BorrowedFd>) -> Result<Pid, LaunchError> {
    loop {
        let mut watched = vec![PollFd::new(report.as_fd(), PollFlags::POLLIN)];
        // A closed peer is reported without being asked for.
        watched.extend(peer.map(|peer| PollFd::new(peer, PollFlags::empty())));
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(LaunchError::at(Step::Fork)(errno)),
        }
        let happened: Vec<bool> = watched.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        if happened[0] {
            break;
        }
        if happened.get(1) == Some(&true) {
            return Err(LaunchError::Abandoned);
        }
    }
    let mut bytes = [0; 12];
    match nix::unistd::read(report, &mut bytes) {
        Ok(0) => Ok(child),
        outcome => {
            let _ = waitpid(child, None);
            Err(match outcome {
                Ok(_) => Report(bytes).read(),
                Err(errno) => LaunchError::at(Step::Fork)(errno),
            })
        }
    }
}

/// A close-on-exec duplicate whose number does not collide with those of a child.
fn out_of_the_way(fd: &OwnedFd) -> Result<OwnedFd, Errno> {
    use std::os::fd::FromRawFd;
    let moved = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(FIRST_FREE_FD))?;
    // SAFETY: fcntl has just made this descriptor; nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(moved) })
}

fn null_ended(strings: &[CString]) -> Vec<*const c_char> {
    strings
        .iter()
        .map(|s| s.as_ptr())
        .chain([std::ptr::null()])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn shell(script: &str) -> Launch {
        let null = File::options()
            .read(true)
            .write(true)
            .open("/dev/null")
            .unwrap();
        let text = |s: &str| CString::new(s).unwrap();
        Launch {
            program: text("/bin/sh"),
            argv: vec![text("sh"), text("-c"), text(script)],
            fds: (0..3)
                .map(|n| (null.try_clone().unwrap().into(), n))
                .collect(),
            ..Launch::default()
        }
    }

    #[test]
    fn reports_lead_back() {
        for step in Step::ALL {
            let expected = LaunchError::Failed {
                step,
                index: 3,
                errno: Errno::EACCES,
            };
            assert_eq!(Report::new(step, 3, libc::EACCES).read(), expected);
        }
    }

    #[test]
    fn each_failing_step_is_named() {
        let directory = Launch {
            cwd: Some(c"/no/such/place".into()),
            ..shell("true")
        };
        let program = Launch {
            program: c"/no/such/program".into(),
            ..shell("true")
        };
        let cgroup = Launch {
            cgroups: vec![File::open("/dev/null").unwrap().into()],
            ..shell("true")
        };
        let table = [
            (directory, Step::Directory, Errno::ENOENT),
            (program, Step::Exec, Errno::ENOENT),
            (cgroup, Step::Cgroup, Errno::EBADF),
        ];
        for (launch, step, errno) in table {
            assert_eq!(
                launch.start(None),
                Err(LaunchError::Failed {
                    step,
                    index: 0,
                    errno
                })
            );
        }
    }

    #[test]
    fn the_program_leads_a_session_and_exits_by_itself() {
        use nix::sys::wait::WaitStatus;
        // Field 6 of the stat file is the session.
        let pid =
            shell("read -r a b c d e session rest < /proc/$$/stat; test $session = $$ && exit 7")
                .start(None)
                .unwrap();
        assert_eq!(waitpid(pid, None).unwrap(), WaitStatus::Exited(pid, 7));
    }
}
