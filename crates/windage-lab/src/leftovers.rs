//! Ends processes that programs left running: their process groups, and processes that left them.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use windage_probe::ArmProbe;

/// The time limit for killing a process group.
const GROUP_GONE_WITHIN: Duration = Duration::from_secs(1);
/// How long processes that were killed may take to end.
const PROCESSES_GONE_WITHIN: Duration = Duration::from_secs(5);
/// The interval between checks that they have ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Kills what a check or an agent left in its process group. It would run beside what is measured,
/// or hold a port. Processes that left the group on purpose live on.
pub(crate) fn end_its_group(leader: u32) {
    let group = leader.cast_signed();
    // A signal to group 0 or 1 would go to our own group, or to every process.
    if group <= 1 {
        return;
    }
    let deadline = Instant::now() + GROUP_GONE_WITHIN;
    // The leader is reaped, but the kernel does not reuse its number as long as its group has
    // members, and then only after all other numbers. The group has ended when the keeper has
    // reaped what was killed.
    while killpg(Pid::from_raw(group), Signal::SIGKILL).is_ok() && Instant::now() < deadline {
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Kills every process that a probe finds; names those that survive.
pub(crate) fn end_all(probe: &mut ArmProbe) -> Vec<String> {
    let deadline = Instant::now() + PROCESSES_GONE_WITHIN;
    loop {
        let is_listed = probe.refresh_tasks().is_ok();
        let alive: Vec<u32> = probe.process_ids().collect();
        if !is_listed || alive.is_empty() || Instant::now() >= deadline {
            return alive.iter().map(|pid| format!("process {pid}")).collect();
        }
        for pid in alive {
            // It may just have ended.
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
