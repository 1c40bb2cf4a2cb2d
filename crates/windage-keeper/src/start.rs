//! Starts a keeper: sockets, launch, choice of containment.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socketpair, sockopt};
use nix::unistd::Pid;

use crate::keeper::{BIRTH_FD, CONTROL_FD};
use crate::launch::{Launch, LaunchError};
use crate::{Containment, KEEPER_VERB, KeeperError, KeeperOptions, RUN_VARIABLE};

/// A keeper that was launched and has not answered yet.
pub(crate) struct Started {
    pub(crate) control: OwnedFd,
    pub(crate) births: OwnedFd,
    /// Windage's own child: the keeper, or its guardian.
    pub(crate) direct: Pid,
}

/// Executes the keeper.
pub(crate) fn launch(
    options: &KeeperOptions,
    containment: Containment,
) -> Result<Started, KeeperError> {
    let pair = |kind| {
        socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)
            .map_err(KeeperError::system("socketpair"))
    };
    let (control, far_control) = pair(SockType::Stream)?;
    // Packets, one per new process, each with its sender's credentials. The kernel translates the
    // pid in them to the reader's namespace, without a race (unix(7), SCM_CREDENTIALS).
    let (births, far_births) = pair(SockType::SeqPacket)?;
    setsockopt(&births, sockopt::PassCred, &true)
        .map_err(KeeperError::system("setsockopt(SO_PASSCRED)"))?;

    let prepared = prepare(options, containment, far_control, far_births)?;
    let launched = match containment {
        Containment::PidNamespace => in_new_namespace(prepared)?,
        Containment::Cgroup | Containment::Subreaper => prepared.start(None),
    };
    match launched {
        Ok(direct) => Ok(Started {
            control,
            births,
            direct,
        }),
        Err(LaunchError::Failed { step, errno, .. }) => Err(KeeperError::spawn(
            &options.executable,
            step,
            None,
            errno as i32,
        )),
        Err(LaunchError::Abandoned) => Err(KeeperError::Gone),
    }
}

/// Starts it as pid 1 of a new pid namespace. `unshare` applies to the children of the calling
/// *thread*, so it runs on a thread that does nothing else.
///
/// No parent-death signal is set: it would fire when that thread ends.
fn in_new_namespace(launch: Launch) -> Result<Result<Pid, LaunchError>, KeeperError> {
    let unavailable = |reason| KeeperError::Unavailable {
        containment: Containment::PidNamespace,
        reason,
    };
    let thread = std::thread::Builder::new()
        .name("keeper-start".to_owned())
        .spawn(move || {
            unshare(CloneFlags::CLONE_NEWPID)?;
            Ok::<_, Errno>(launch.start(None))
        });
    let thread = thread.map_err(|source| KeeperError::System {
        call: "clone",
        source,
    })?;
    match thread.join() {
        Ok(Ok(launched)) => Ok(launched),
        Ok(Err(errno)) => Err(unavailable(format!(
            "unshare(CLONE_NEWPID): {}",
            io::Error::from(errno)
        ))),
        Err(_) => Err(unavailable(
            "the thread that starts the keeper panicked".to_owned(),
        )),
    }
}

fn prepare(
    options: &KeeperOptions,
    containment: Containment,
    control: OwnedFd,
    births: OwnedFd,
) -> Result<Launch, KeeperError> {
    let system = |call| move |source| KeeperError::System { call, source };
    let null = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(system("open /dev/null"))?;
    let null_again = null.try_clone().map_err(system("dup"))?;
    // Standard error is shared, so that a keeper's panic is visible.
    let stderr = io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .map_err(system("dup of standard error"))?;
    let text = |text: &OsStr| {
        CString::new(text.as_bytes()).map_err(|_| KeeperError::System {
            call: "execve",
            source: io::ErrorKind::InvalidInput.into(),
        })
    };
    let words = [
        "windage",
        KEEPER_VERB,
        containment.as_str(),
        &options.run_id,
    ];
    let marker = format!("{RUN_VARIABLE}={}", options.run_id);
    Ok(Launch {
        program: text(options.executable.as_os_str())?,
        argv: words
            .iter()
            .map(|word| text(OsStr::new(word)))
            .collect::<Result<_, _>>()?,
        envp: vec![text(OsStr::new(&marker))?],
        fds: vec![
            (null.into(), 0),
            (null_again.into(), 1),
            (stderr, 2),
            (control, CONTROL_FD),
            (births, BIRTH_FD),
        ],
        ..Launch::default()
    })
}
