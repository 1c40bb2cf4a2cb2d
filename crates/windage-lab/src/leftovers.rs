//! What programs left running is ended: their process groups, and what left those on purpose.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use windage_probe::ArmProbe;

/// How long it may take to kill a process group.
const GROUP_GONE_WITHIN: Duration = Duration::from_secs(1);
/// How long processes that were killed may take to end.
const PROCESSES_GONE_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked whether they are gone.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Ends what a check or an agent left in its process group, which would run beside what is measured
/// or hold a port. What left the group on purpose lives on.
pub(crate) fn end_its_group(leader: u32) {
    let group = leader.cast_signed();
    // To a group of 0 or 1 a signal is one to our own group, or to everybody.
    if group <= 1 {
        return;
    }
    let deadline = Instant::now() + GROUP_GONE_WITHIN;
    // The leader itself is reaped, but no process gets its number while anything is left of its
    // group, and after that not before all other numbers had their turn. The group is gone when
    // the keeper has reaped what was killed.
    while killpg(Pid::from_raw(group), Signal::SIGKILL).is_ok() && Instant::now() < deadline {
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Kills every process that a probe finds; what lives on in spite of that, in words.
pub(crate) fn end_all(probe: &mut ArmProbe) -> Vec<String> {
    let deadline = Instant::now() + PROCESSES_GONE_WITHIN;
    loop {
        let is_listed = probe.refresh_tasks().is_ok();
        let alive: Vec<u32> = probe.process_ids().collect();
        if !is_listed || alive.is_empty() || Instant::now() >= deadline {
            return alive.iter().map(|pid| format!("process {pid}")).collect();
        }
        for pid in alive {
            // One that has just ended needs no killing.
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
