//! Windage's side: sends requests to the keeper and remembers what it reported.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixCredentials, recvmsg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::channel::{Channel, ChannelError, Received};
use crate::wire::{MAX_MESSAGE_BYTES, Notice, Request, SpawnRequest};
use crate::{
    CONTROL_FD_VARIABLE, Child, Containment, Exit, KeeperError, KeeperOptions, RUN_VARIABLE, Spawn,
    cgroup, lookup, start,
};

/// An answer takes microseconds, but longer on a machine that swaps or waits for a network file
/// system.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How long killing everything may take.
const END_WITHIN: Duration = Duration::from_secs(10);
/// How many exits `wait` can still report; the oldest are forgotten.
const REMEMBERED_EXITS: usize = 4096;

/// Windage's handle of the keeper. Dropping it ends everything that the keeper started.
pub struct Keeper {
    channel: Channel,
    births: OwnedFd,
    /// Windage's own child, not yet reaped: the keeper, or its guardian.
    direct: Option<Pid>,
    keeper_pid: u32,
    containment: Containment,
    run_id: String,
    next_child: u64,
    ended: VecDeque<Ended>,
    to_remove: Vec<PathBuf>,
    /// How long the process may take that runs at the end.
    at_end_within: Duration,
    gone: bool,
}

struct Ended {
    exit: Exit,
    handed_out: bool,
}

impl Keeper {
    /// Starts a keeper.
    ///
    /// # Errors
    /// A bad run id; a requested containment that is not available; an executable that does not run
    /// or is not a keeper.
    pub fn start(options: KeeperOptions) -> Result<Keeper, KeeperError> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let id = &options.run_id;
        if id.is_empty() || id.len() > 64 || id.starts_with('.') || !id.bytes().all(allowed) {
            return Err(KeeperError::RunId {
                run_id: options.run_id,
            });
        }
        let candidates = options
            .containment
            .map_or(Containment::ALL.to_vec(), |only| vec![only]);
        let mut reasons = Vec::new();
        for containment in candidates {
            match Keeper::start_with(&options, containment) {
                Err(KeeperError::Unavailable { reason, .. }) => reasons.push((containment, reason)),
                outcome => return outcome,
            }
        }
        // The last one tried needs the least, so its reason is the one to fix.
        let (containment, reason) = reasons
            .pop()
            .unwrap_or((Containment::Subreaper, String::new()));
        Err(KeeperError::Unavailable {
            containment,
            reason,
        })
    }

    fn start_with(
        options: &KeeperOptions,
        containment: Containment,
    ) -> Result<Keeper, KeeperError> {
        let started = start::launch(options, containment)?;
        let mut keeper = Keeper {
            channel: Channel::new(started.control),
            births: started.births,
            direct: Some(started.direct),
            keeper_pid: started.direct.as_raw().unsigned_abs(),
            containment,
            run_id: options.run_id.clone(),
            next_child: 1,
            ended: VecDeque::new(),
            to_remove: Vec::new(),
            at_end_within: Duration::ZERO,
            gone: false,
        };
        match keeper.answer()? {
            Notice::Ready => {
                keeper.keeper_pid = keeper.birth(0)?;
                Ok(keeper)
            }
            Notice::Unavailable { reason } => Err(KeeperError::Unavailable {
                containment,
                reason,
            }),
            other => Err(unexpected(&other)),
        }
    }

    /// How the processes are contained.
    #[must_use]
    pub fn containment(&self) -> Containment {
        self.containment
    }

    /// The keeper's pid.
    #[must_use]
    pub fn keeper_pid(&self) -> u32 {
        self.keeper_pid
    }

    /// Starts a process; returns when the program runs.
    ///
    /// # Errors
    /// The program is not found, or a step before its execution failed; too many children.
    pub fn spawn(&mut self, spawn: Spawn) -> Result<Child, KeeperError> {
        let program = spawn.program.clone();
        let id = self.next_child;
        let (request, inherit) = resolve(spawn, id, &self.run_id)?;
        let answer = self.ask(&Request::Spawn(Box::new(request)), inherit)?;
        self.next_child += 1;
        match answer {
            Notice::Done => Ok(Child {
                id,
                pid: self.birth(id)?,
            }),
            Notice::NotStarted { step, path, errno } => {
                let path = path.map(crate::wire::Bytes::into_path);
                Err(KeeperError::spawn(&program, step, path.as_deref(), errno))
            }
            Notice::TooManyChildren => Err(KeeperError::TooManyChildren),
            other => Err(unexpected(&other)),
        }
    }

    /// Signals the process, and only it.
    ///
    /// # Errors
    /// It has ended, or there is no signal with that number.
    pub fn signal(&mut self, child: &Child, signal: i32) -> Result<(), KeeperError> {
        self.send_signal(child, signal, false)
    }

    /// Signals the process and those of its descendants that stayed in its process group.
    ///
    /// # Errors
    /// As [`Keeper::signal`].
    pub fn signal_group(&mut self, child: &Child, signal: i32) -> Result<(), KeeperError> {
        self.send_signal(child, signal, true)
    }

    /// The exits reported since the last call, without waiting. Exits that `wait` or `stop`
    /// returned are not repeated.
    ///
    /// # Errors
    /// The keeper has ended.
    pub fn poll(&mut self) -> Result<Vec<Exit>, KeeperError> {
        let received = self.take_in();
        let mut fresh = Vec::new();
        for ended in self.ended.iter_mut().filter(|ended| !ended.handed_out) {
            ended.handed_out = true;
            fresh.push(ended.exit);
        }
        match received {
            // Known exits come first; the next call reports that the keeper has ended.
            Err(error) if fresh.is_empty() => Err(error),
            _ => Ok(fresh),
        }
    }

    /// Waits for the child's end; returns `None` if it still runs after `within`. May be called
    /// again after the end.
    ///
    /// # Errors
    /// The keeper has ended, or the child is unknown.
    pub fn wait(&mut self, child: &Child, within: Duration) -> Result<Option<Exit>, KeeperError> {
        if child.id == 0 || child.id >= self.next_child {
            return Err(KeeperError::UnknownChild { child: child.id });
        }
        let deadline = Instant::now() + within;
        loop {
            let received = self.take_in();
            if let Some(exit) = self.take_exit(child.id) {
                return Ok(Some(exit));
            }
            received?;
            if !self.ready_before(deadline, PollFlags::POLLIN)? {
                return Ok(None);
            }
        }
    }

    /// Ends a child: sends `signal`, and after `within` SIGKILL to its entire process group.
    ///
    /// # Errors
    /// The keeper has ended; the child is unknown, or survives SIGKILL.
    pub fn stop(
        &mut self,
        child: &Child,
        signal: i32,
        within: Duration,
    ) -> Result<Exit, KeeperError> {
        if let Some(exit) = self.wait(child, Duration::ZERO)? {
            return Ok(exit);
        }
        self.unless_ended(child, signal, false)?;
        if let Some(exit) = self.wait(child, within)? {
            return Ok(exit);
        }
        self.unless_ended(child, libc::SIGKILL, true)?;
        self.wait(child, END_WITHIN)?
            .ok_or(KeeperError::Unkillable {
                child: child.id,
                within: END_WITHIN,
            })
    }

    /// Kills everything that was started, including daemons, and returns when all of it has ended.
    /// The keeper stays and can start more; the exits are reported as usual.
    ///
    /// # Errors
    /// The keeper has ended, or a process can't be killed within the time limit of an answer.
    pub fn kill_all(&mut self) -> Result<(), KeeperError> {
        match self.ask(&Request::KillAll, None)? {
            Notice::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes a cgroup directory and those below it at the end, after all processes are dead,
    /// however the end comes.
    ///
    /// # Errors
    /// The keeper has ended.
    pub fn remove_at_end(&mut self, dir: PathBuf) -> Result<(), KeeperError> {
        let dir = absolute(&dir)?;
        // Remembered on this side too, because a killed keeper removes nothing.
        self.to_remove.push(dir.clone());
        match self.ask(
            &Request::RemoveAtEnd {
                dir: dir.as_path().into(),
            },
            None,
        )? {
            Notice::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Runs a process at the end, after all others are dead, however the end comes; after `within` it
    /// is killed. It replaces the one of an earlier call. It can inherit no descriptor.
    ///
    /// # Errors
    /// The program is not found, or the keeper has ended.
    pub fn run_at_end(&mut self, spawn: Spawn, within: Duration) -> Result<(), KeeperError> {
        let id = self.next_child;
        let (request, _) = resolve(spawn, id, &self.run_id)?;
        let spawn = Box::new(request);
        match self.ask(&Request::RunAtEnd { spawn, within }, None)? {
            Notice::Done => {
                self.next_child += 1;
                self.at_end_within = within;
                Ok(())
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Kills what is left, runs what [`run_at_end`](Self::run_at_end) named; returns when all of it
    /// and the keeper have ended.
    ///
    /// # Errors
    /// A process can't be killed, or a cgroup directory can't be removed.
    pub fn shut_down(mut self) -> Result<(), KeeperError> {
        self.finish()
    }

    fn send_signal(&mut self, child: &Child, signal: i32, group: bool) -> Result<(), KeeperError> {
        if child.id == 0 || child.id >= self.next_child {
            return Err(KeeperError::UnknownChild { child: child.id });
        }
        match self.ask(
            &Request::Signal {
                child: child.id,
                signal,
                group,
            },
            None,
        )? {
            Notice::Done => Ok(()),
            Notice::NoSuchChild => Err(KeeperError::Ended { child: child.id }),
            Notice::Failed { errno } => {
                let source = std::io::Error::from_raw_os_error(errno);
                Err(KeeperError::Signal {
                    child: child.id,
                    signal,
                    source,
                })
            }
            other => Err(unexpected(&other)),
        }
    }

    fn unless_ended(&mut self, child: &Child, signal: i32, group: bool) -> Result<(), KeeperError> {
        match self.send_signal(child, signal, group) {
            Err(KeeperError::Ended { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    fn take_exit(&mut self, child: u64) -> Option<Exit> {
        let ended = self
            .ended
            .iter_mut()
            .find(|ended| ended.exit.child == child)?;
        ended.handed_out = true;
        Some(ended.exit)
    }

    /// Sends a request and waits for its answer.
    fn ask(&mut self, request: &Request, fd: Option<OwnedFd>) -> Result<Notice, KeeperError> {
        if self.gone {
            return Err(KeeperError::Gone);
        }
        self.channel.queue(request).map_err(|error| match error {
            ChannelError::TooLarge { bytes } => KeeperError::TooLarge {
                bytes,
                limit: MAX_MESSAGE_BYTES,
            },
            ChannelError::Garbled(error) => KeeperError::Protocol {
                what: error.to_string(),
            },
        })?;
        if let Some(fd) = fd {
            self.channel.attach(fd);
        }
        self.answer()
    }

    /// The next notice that is not an exit; exits before it are remembered.
    fn answer(&mut self) -> Result<Notice, KeeperError> {
        let deadline = Instant::now() + ANSWER_WITHIN;
        loop {
            if self.channel.flush().is_err() {
                self.gone = true;
                return Err(KeeperError::Gone);
            }
            if let Some(answer) = self.take_in()? {
                return Ok(answer);
            }
            let mut wanted = PollFlags::POLLIN;
            wanted.set(PollFlags::POLLOUT, self.channel.has_unsent());
            if !self.ready_before(deadline, wanted)? {
                // A late answer would be taken for the answer to the next request.
                self.gone = true;
                return Err(KeeperError::Silent {
                    within: ANSWER_WITHIN,
                });
            }
        }
    }

    /// Receives what has arrived without waiting, until there is an answer or nothing more.
    fn take_in(&mut self) -> Result<Option<Notice>, KeeperError> {
        loop {
            let next = self.channel.next::<Notice>();
            match next.map_err(|error| KeeperError::Protocol {
                what: error.to_string(),
            })? {
                Some(notice) => match notice.into_exit() {
                    Ok(exit) => self.remember(exit),
                    Err(answer) => return Ok(Some(answer)),
                },
                None => match self.channel.receive() {
                    Ok(Received::Bytes) => {}
                    Ok(Received::Nothing) if self.gone => return Err(KeeperError::Gone),
                    Ok(Received::Nothing) => return Ok(None),
                    Ok(Received::Closed) | Err(_) => {
                        self.gone = true;
                        return Err(KeeperError::Gone);
                    }
                },
            }
        }
    }

    fn remember(&mut self, exit: Exit) {
        if self.ended.len() >= REMEMBERED_EXITS {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended {
            exit,
            handed_out: false,
        });
    }

    /// Waits for the socket; `false` when the deadline came first.
    fn ready_before(&self, deadline: Instant, wanted: PollFlags) -> Result<bool, KeeperError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // Rounded up: a remainder below a millisecond must not become a busy loop.
            let left_ms = left
                .as_micros()
                .div_ceil(1000)
                .try_into()
                .unwrap_or(i32::MAX);
            let timeout = PollTimeout::try_from(left_ms).unwrap_or(PollTimeout::MAX);
            match poll(&mut [PollFd::new(self.channel.as_fd(), wanted)], timeout) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(KeeperError::system("poll")(errno)),
            }
        }
    }

    /// The pid, in our namespace, of the process that announced itself under this number. It did so
    /// before the keeper answered, so there is no wait.
    fn birth(&mut self, number: u64) -> Result<u32, KeeperError> {
        loop {
            let mut bytes = [0; 8];
            let mut credentials = nix::cmsg_space!(UnixCredentials);
            let mut slices = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
            let message = recvmsg::<()>(
                self.births.as_raw_fd(),
                &mut slices,
                Some(&mut credentials),
                flags,
            )
            .map_err(KeeperError::system(
                "recvmsg of a new process's credentials",
            ))?;
            let complete = message.bytes == size_of::<u64>();
            let pid = message
                .cmsgs()
                .map_err(KeeperError::system("recvmsg"))?
                .find_map(|part| match part {
                    ControlMessageOwned::ScmCredentials(sender) => u32::try_from(sender.pid()).ok(),
                    _ => None,
                });
            match pid {
                Some(pid) if complete && u64::from_le_bytes(bytes) == number => return Ok(pid),
                // The announcement of a process that then failed to start.
                Some(_) if complete => {}
                _ => {
                    return Err(KeeperError::Protocol {
                        what: "a process without a pid".to_owned(),
                    });
                }
            }
        }
    }

    /// Closes the connection, and waits until keeper and guardian have ended.
    fn finish(&mut self) -> Result<(), KeeperError> {
        let Some(direct) = self.direct else {
            return Ok(());
        };
        self.channel.finish_sending();
        let within = END_WITHIN + self.at_end_within;
        if !self.gone_before(direct, Instant::now() + within) {
            // Neither is reaped and the socket is open, so the pid is still the keeper's.
            let _ = kill(
                Pid::from_raw(self.keeper_pid.cast_signed()),
                Signal::SIGKILL,
            );
            if !self.gone_before(direct, Instant::now() + END_WITHIN) {
                return Err(KeeperError::Stuck {
                    run_id: self.run_id.clone(),
                    within: within + END_WITHIN,
                });
            }
        }
        self.direct = None;
        for dir in std::mem::take(&mut self.to_remove) {
            cgroup::remove_tree(&dir).map_err(|source| KeeperError::Directory { dir, source })?;
        }
        Ok(())
    }

    /// Waits for two ends: that of the socket, which is the keeper's, and that of our own child,
    /// which may be the guardian.
    fn gone_before(&mut self, direct: Pid, deadline: Instant) -> bool {
        loop {
            match self.channel.receive() {
                Ok(Received::Closed) | Err(_) => break,
                Ok(Received::Bytes) => continue,
                Ok(Received::Nothing) => {}
            }
            if !self
                .ready_before(deadline, PollFlags::POLLIN)
                .unwrap_or(false)
            {
                return false;
            }
        }
        loop {
            match waitpid(direct, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => return false,
                // Reaped here, or by a program that ignores SIGCHLD.
                _ => return true,
            }
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("run_id", &self.run_id)
            .field("containment", &self.containment)
            .field("keeper_pid", &self.keeper_pid)
            .finish_non_exhaustive()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // An error can't be reported here; the keeper goes on killing after us, if need be.
        let _ = self.finish();
    }
}

fn unexpected(notice: &Notice) -> KeeperError {
    KeeperError::Protocol {
        what: format!("{notice:?}"),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, KeeperError> {
    std::path::absolute(path).map_err(|source| KeeperError::System {
        call: "getcwd",
        source,
    })
}

/// The request for a process, with the program found and all paths absolute, because the keeper
/// does not change its directory with Windage.
fn resolve(
    spawn: Spawn,
    child: u64,
    run_id: &str,
) -> Result<(SpawnRequest, Option<OwnedFd>), KeeperError> {
    let cwd = absolute(&spawn.cwd)?;
    let program = lookup::find(&spawn.program, &spawn.env, &cwd)?;
    let cgroups = spawn
        .cgroups
        .iter()
        .map(|dir| absolute(dir))
        .collect::<Result<Vec<_>, _>>()?;

    let ours = [RUN_VARIABLE, CONTROL_FD_VARIABLE].map(OsStr::new);
    let given = spawn
        .env
        .iter()
        .filter(|(name, _)| !ours.contains(&name.as_os_str()));
    let mut env: Vec<_> = given
        .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
        .collect();
    env.push((OsStr::new(RUN_VARIABLE).into(), OsStr::new(run_id).into()));
    if spawn.inherit.is_some() {
        env.push((
            OsStr::new(CONTROL_FD_VARIABLE).into(),
            OsStr::new("3").into(),
        ));
    }

    let name = spawn.program.as_os_str();
    let args = std::iter::once(name).chain(spawn.args.iter().map(std::ffi::OsString::as_os_str));
    let request = SpawnRequest {
        child,
        program: program.as_path().into(),
        args: args.map(Into::into).collect(),
        env,
        cwd: cwd.as_path().into(),
        log: absolute(&spawn.log)?.as_path().into(),
        cgroups: cgroups.iter().map(|dir| dir.as_path().into()).collect(),
        cpus: spawn.cpus,
        inherits: spawn.inherit.is_some(),
        user: spawn.user,
        no_new_privs: spawn.no_new_privs,
    };
    Ok((request, spawn.inherit))
}
