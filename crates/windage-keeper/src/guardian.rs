//! The keeper's parent where no namespace holds the processes. It outlives the keeper just long
//! enough to kill what the keeper left behind.

use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{ForkResult, fork, pipe2};

use crate::contain::Hold;

/// Forks: the parent becomes the guardian and never returns; the child returns as the keeper,
/// with a descriptor that hangs up when the guardian dies.
///
/// This process must have a single thread and no child. `sockets` are closed in the guardian: open
/// there, they would hide the keeper's death from Windage.
pub(crate) fn split_off<S>(hold: Hold, sockets: S) -> Result<(Hold, S, OwnedFd), Errno> {
    set_child_subreaper(true)?;
    let (alive, held_open) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: the process has a single thread, so the child may go on like any program.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            drop((sockets, alive));
            // Kept until this process ends, however it ends.
            let _held_open = held_open;
            let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(child), ended) == Err(Errno::EINTR) {}
            hold.kill_all(|_| {});
            hold.remove();
            std::process::exit(0)
        }
        ForkResult::Child => {
            drop(held_open);
            set_child_subreaper(true)?;
            Ok((hold, sockets, alive))
        }
    }
}
