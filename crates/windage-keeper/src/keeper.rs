//! The keeper's side: one thread, one loop, one way to end.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, CpuSet, unshare};
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{MsgFlags, getsockopt, send, sockopt};
use nix::unistd::{Pid, getpid};

use crate::cgroup::{self, RunCgroup};
use crate::channel::{Channel, Received};
use crate::contain::Hold;
use crate::guardian;
use crate::launch::{Launch, LaunchError, Step};
use crate::reap::{Reaped, reap_one};
use crate::wire::{Bytes, Notice, Request, SpawnRequest};
use crate::{Containment, Exit, KEEPER_VERB, MAX_CHILDREN};

/// The connection to Windage.
pub(crate) const CONTROL_FD: RawFd = 3;
/// Where the keeper (as number 0) and each child announce their pids.
pub(crate) const BIRTH_FD: RawFd = 4;

const EXIT_USAGE: i32 = 2;

/// How often the process that runs at the end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Signals from a terminal, a supervisor or a broken pipe. The keeper ends when Windage does and
/// not before, so that after Ctrl-C Windage can finish with its services alive.
const IGNORED: [Signal; 11] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGPIPE,
    Signal::SIGALRM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
];

/// The life of a keeper. The binary calls it first in `main`, before it starts a thread, when its
/// first argument is [`KEEPER_VERB`].
pub fn keeper_main() -> ! {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [verb, containment, run_id] = args.as_slice() else {
        misused()
    };
    let Some(containment) = Containment::from_name(containment).filter(|_| verb == KEEPER_VERB)
    else {
        misused()
    };
    let Some([control, births]) = take_descriptors() else {
        misused()
    };
    for ignored in IGNORED {
        // SAFETY: ignoring runs no handler.
        let _ = unsafe { signal(ignored, SigHandler::SigIgn) };
    }
    let mut channel = Channel::new(control);
    match begin(containment, run_id) {
        Ok(hold) => {
            let (hold, (channel, births), guardian) = match hold {
                Hold::PidNamespace => (hold, (channel, births), None),
                hold => match guardian::split_off(hold, (channel, births)) {
                    Ok((hold, sockets, guardian)) => (hold, sockets, Some(guardian)),
                    Err(_) => std::process::exit(1),
                },
            };
            serve(channel, births, hold, guardian)
        }
        Err(reason) => {
            let told =
                channel.queue(&Notice::Unavailable { reason }).is_ok() && channel.flush().is_ok();
            std::process::exit(i32::from(!told))
        }
    }
}

fn misused() -> ! {
    let _ = writeln!(
        io::stderr(),
        "`{KEEPER_VERB}` is for internal use; use another verb"
    );
    std::process::exit(EXIT_USAGE)
}

/// Takes over the two sockets, and closes all other descriptors that leaked into this process.
fn take_descriptors() -> Option<[OwnedFd; 2]> {
    // SAFETY: a plain system call; nothing in this process has opened a descriptor yet that it
    // would miss. Fails harmlessly before Linux 5.9.
    unsafe { libc::syscall(libc::SYS_close_range, BIRTH_FD + 1, u32::MAX, 0) };
    let take = |number: RawFd| {
        // SAFETY: the number is valid for a query, which answers EBADF if it is not open.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        if flags < 0 {
            return None;
        }
        // SAFETY: it is open, windage passed it for us to own, and it is taken just once.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        getsockopt(&fd, sockopt::SockType).ok()?;
        fcntl(&fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).ok()?;
        Some(fd)
    };
    Some([take(CONTROL_FD)?, take(BIRTH_FD)?])
}

/// Sets up the containment; the error is a sentence.
fn begin(containment: Containment, run_id: &str) -> Result<Hold, String> {
    match containment {
        Containment::PidNamespace if getpid().as_raw() == 1 => {
            own_proc();
            Ok(Hold::PidNamespace)
        }
        Containment::PidNamespace => Err("the keeper is not pid 1 of a namespace".to_owned()),
        Containment::Cgroup => RunCgroup::create(run_id).map(Hold::Cgroup),
        Containment::Subreaper => Ok(Hold::Descendants),
    }
}

/// Gives the services a `/proc` of their namespace. Without permission to mount, they see the
/// machine's, in which their own pids mean other processes. That is inconvenient, but no reason to
/// give up.
fn own_proc() {
    if unshare(CloneFlags::CLONE_NEWNS).is_err() {
        return;
    }
    let none = None::<&str>;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    // Slave: mounts made here stay here; later mounts of the machine still arrive.
    let _ = mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)
        .and_then(|()| mount(Some("proc"), "/proc", Some("proc"), flags, none));
}

struct Service {
    channel: Channel,
    births: OwnedFd,
    hold: Hold,
    /// Children not yet reaped.
    children: BTreeMap<u64, Pid>,
    to_remove: Vec<PathBuf>,
    at_end: Option<(SpawnRequest, Duration)>,
}

/// Serves until Windage or the guardian has ended, then ends everything.
fn serve(channel: Channel, births: OwnedFd, hold: Hold, guardian: Option<OwnedFd>) -> ! {
    let mut service = Service {
        channel,
        births,
        hold,
        children: BTreeMap::new(),
        to_remove: Vec::new(),
        at_end: None,
    };
    // For whatever reason serving ends, everything is killed.
    let served = service.serve(guardian.as_ref());
    service.hold.kill_all(|_| {});
    if let Some((spawn, within)) = service.at_end.take() {
        service.see_through(spawn, within);
        service.hold.kill_all(|_| {});
    }
    for dir in &service.to_remove {
        // Windage tries as well, and reports errors.
        let _ = cgroup::remove_tree(dir);
    }
    service.hold.remove();
    std::process::exit(i32::from(served.is_err()))
}

impl Service {
    fn serve(&mut self, guardian: Option<&OwnedFd>) -> Result<(), Errno> {
        let mut ends = SigSet::empty();
        ends.add(Signal::SIGCHLD);
        ends.thread_block()?;
        let child_ended =
            SignalFd::with_flags(&ends, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        send(
            self.births.as_raw_fd(),
            &0_u64.to_le_bytes(),
            MsgFlags::MSG_NOSIGNAL,
        )?;
        self.say(&Notice::Ready)?;
        loop {
            let mut wanted = PollFlags::POLLIN;
            wanted.set(PollFlags::POLLOUT, self.channel.has_unsent());
            let mut watched = vec![
                PollFd::new(self.channel.as_fd(), wanted),
                PollFd::new(child_ended.as_fd(), PollFlags::POLLIN),
            ];
            watched.extend(guardian.map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
            if watched.get(2).and_then(PollFd::any) == Some(true) {
                return Ok(());
            }
            while child_ended.read_signal()?.is_some() {}
            self.reap()?;
            match self.channel.receive()? {
                Received::Closed => return Ok(()),
                Received::Bytes | Received::Nothing => {}
            }
            while let Some(request) = self.channel.next::<Request>().map_err(|_| Errno::EPROTO)? {
                let answer = self.answer(request)?;
                self.say(&answer)?;
            }
            self.channel.flush()?;
        }
    }

    fn say(&mut self, notice: &Notice) -> Result<(), Errno> {
        self.channel.queue(notice).map_err(|_| Errno::EMSGSIZE)?;
        self.channel.flush()
    }

    /// Reaps all that ended, including adopted orphans, and reports the children among them.
    fn reap(&mut self) -> Result<(), Errno> {
        while let one @ Reaped::One { .. } = reap_one() {
            if let Some(notice) = bury(&mut self.children, one) {
                self.say(&notice)?;
            }
        }
        Ok(())
    }

    /// Carries out a request. An error means that Windage has ended.
    fn answer(&mut self, request: Request) -> Result<Notice, Errno> {
        Ok(match request {
            Request::Spawn(spawn) => return self.spawn(*spawn),
            Request::Signal {
                child,
                signal,
                group,
            } => match self.children.get(&child) {
                // Not reaped yet, so neither the pid nor the group can be reused.
                Some(pid) => send_signal(
                    if group {
                        Pid::from_raw(-pid.as_raw())
                    } else {
                        *pid
                    },
                    signal,
                ),
                None => Notice::NoSuchChild,
            },
            Request::RemoveAtEnd { dir } => {
                self.to_remove.push(dir.into_path());
                Notice::Done
            }
            Request::RunAtEnd { spawn, within } => {
                self.at_end = Some((*spawn, within));
                Notice::Done
            }
            Request::KillAll => {
                let mut notices = Vec::new();
                self.hold
                    .kill_all(|one| notices.extend(bury(&mut self.children, one)));
                for notice in notices {
                    self.say(&notice)?;
                }
                Notice::Done
            }
        })
    }

    /// Runs a process to its end, or until its time is over. Nobody is left to report an error to.
    fn see_through(&self, spawn: SpawnRequest, within: Duration) {
        let prepared = prepare(spawn, None, &self.hold, &self.births);
        let Ok(child) = prepared.and_then(|launch| launch.start(None)) else {
            return;
        };
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            match reap_one() {
                Reaped::One { pid, .. } if pid == child.as_raw() => return,
                Reaped::One { .. } => {}
                Reaped::NoneYet => std::thread::sleep(LOOK_EVERY),
                Reaped::NoChildren => return,
            }
        }
    }

    fn spawn(&mut self, spawn: SpawnRequest) -> Result<Notice, Errno> {
        let inherited = self.channel.take_fd();
        if self.children.len() >= MAX_CHILDREN {
            return Ok(Notice::TooManyChildren);
        }
        let child = spawn.child;
        let cgroups: Vec<PathBuf> = spawn
            .cgroups
            .iter()
            .cloned()
            .map(Bytes::into_path)
            .collect();
        let paths = Paths {
            log: spawn.log.clone(),
            cwd: spawn.cwd.clone(),
            cgroups,
        };
        let prepared = prepare(spawn, inherited, &self.hold, &self.births);
        match prepared.and_then(|launch| launch.start(Some(self.channel.as_fd()))) {
            Ok(pid) => {
                self.children.insert(child, pid);
                Ok(Notice::Done)
            }
            Err(LaunchError::Abandoned) => Err(Errno::EPIPE),
            Err(LaunchError::Failed { step, index, errno }) => {
                // The hold's own entrance, if any, comes first and is no path of Windage's.
                let first = usize::from(matches!(self.hold, Hold::Cgroup(_)));
                let path = match step {
                    Step::Log => Some(paths.log),
                    Step::Directory => Some(paths.cwd),
                    Step::Cgroup => index
                        .checked_sub(first)
                        .and_then(|index| paths.cgroups.get(index))
                        .map(|dir| dir.as_path().into()),
                    _ => None,
                };
                Ok(Notice::NotStarted {
                    step,
                    path,
                    errno: errno as i32,
                })
            }
        }
    }
}

/// The paths that an error may name.
struct Paths {
    log: Bytes,
    cwd: Bytes,
    cgroups: Vec<PathBuf>,
}

/// Removes a reaped process from the children; `None` for an orphan.
fn bury(children: &mut BTreeMap<u64, Pid>, reaped: Reaped) -> Option<Notice> {
    let Reaped::One {
        pid,
        status,
        user_ns,
        system_ns,
        max_rss_bytes,
    } = reaped
    else {
        return None;
    };
    let child = children
        .iter()
        .find(|(_, child)| child.as_raw() == pid)
        .map(|(id, _)| *id)?;
    children.remove(&child);
    Some(
        Exit {
            child,
            status,
            user_ns,
            system_ns,
            max_rss_bytes,
        }
        .into(),
    )
}

fn send_signal(to: Pid, number: i32) -> Notice {
    // Through libc: nix has no real-time signals.
    // SAFETY: a plain system call on numbers.
    match unsafe { libc::kill(to.as_raw(), number) } {
        0 => Notice::Done,
        _ => Notice::Failed {
            errno: Errno::last_raw(),
        },
    }
}

/// Opens and converts all that the child needs, so that nothing is left to do after the fork.
fn prepare(
    spawn: SpawnRequest,
    inherited: Option<OwnedFd>,
    hold: &Hold,
    births: &OwnedFd,
) -> Result<Launch, LaunchError> {
    let failed = |step, index| {
        move |error: io::Error| LaunchError::Failed {
            step,
            index,
            errno: errno_of(&error),
        }
    };
    let text = |bytes: Vec<u8>| {
        CString::new(bytes).map_err(|_| LaunchError::at(Step::Arguments)(Errno::EINVAL))
    };

    let null = File::open("/dev/null").map_err(failed(Step::Descriptors, 0))?;
    let log = windage_files::append(&spawn.log.into_path()).map_err(failed(Step::Log, 0))?;
    let log_again = log.try_clone().map_err(failed(Step::Log, 0))?;
    let mut fds: Vec<(OwnedFd, RawFd)> =
        vec![(null.into(), 0), (log.into(), 1), (log_again.into(), 2)];
    if spawn.inherits {
        let fd = inherited.ok_or(LaunchError::at(Step::Descriptors)(Errno::EBADF))?;
        fds.push((fd, 3));
    }

    let mut cgroups: Vec<OwnedFd> = Vec::new();
    cgroups.extend(hold.entrance().map_err(failed(Step::Cgroup, 0))?);
    for dir in spawn.cgroups {
        let index = cgroups.len();
        let procs = dir.into_path().join("cgroup.procs");
        let opened = File::options().write(true).open(&procs);
        cgroups.push(opened.map_err(failed(Step::Cgroup, index))?.into());
    }

    let variable = |(name, value): (Bytes, Bytes)| {
        text([name.into_vec(), b"=".to_vec(), value.into_vec()].concat())
    };
    let births = births.try_clone().map_err(failed(Step::Descriptors, 0))?;
    Ok(Launch {
        program: text(spawn.program.into_vec())?,
        argv: spawn
            .args
            .into_iter()
            .map(|arg| text(arg.into_vec()))
            .collect::<Result<_, _>>()?,
        envp: spawn
            .env
            .into_iter()
            .map(variable)
            .collect::<Result<_, _>>()?,
        cwd: Some(text(spawn.cwd.into_vec())?),
        cgroups,
        cpus: spawn
            .cpus
            .map(|cpus| cpu_set(&cpus))
            .transpose()
            .map_err(LaunchError::at(Step::Cpus))?,
        fds,
        birth: Some((births, spawn.child)),
        oom_score_adj: higher_oom_score().map(text).transpose()?,
        user: spawn.user,
        no_new_privs: spawn.no_new_privs,
    })
}

/// A higher inclination than the keeper's to be killed when memory runs out, so that the subject is
/// killed before Windage; `None` where it is unknown or can't be higher.
fn higher_oom_score() -> Option<Vec<u8>> {
    const HIGHER_BY: i32 = 500;
    const HIGHEST: i32 = 1000;
    let text = std::fs::read_to_string("/proc/self/oom_score_adj").ok()?;
    let own: i32 = text.trim().parse().ok()?;
    let higher = (own + HIGHER_BY).min(HIGHEST);
    (higher > own).then(|| higher.to_string().into_bytes())
}

fn cpu_set(cpus: &[u32]) -> Result<CpuSet, Errno> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(usize::try_from(*cpu).unwrap_or(usize::MAX))?;
    }
    Ok(set)
}

fn errno_of(error: &io::Error) -> Errno {
    error
        .raw_os_error()
        .map_or(Errno::UnknownErrno, Errno::from_raw)
}
