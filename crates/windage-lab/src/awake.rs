//! Keeps cores awake while the arms are idle.
//!
//! A core without work halts, and what wakes it then takes more CPU time: the timer of the calibration
//! service used 4.70 thousandths of a core while all arms were idle, and 4.18 while they took turns. Idle
//! CPU is subtracted from blocks in which the cores are awake, so it is read with the cores awake.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use windage_plan::Plan;

use crate::pin::Pinned;

/// Threads that use what is left of the services' cores, at the lowest priority, until dropped.
#[derive(Debug)]
pub(crate) struct Awake {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Starts one thread on each core that services are pinned to. Where none is pinned there is no
    /// telling which cores to keep awake.
    pub(crate) fn of(plan: &Plan) -> Awake {
        let services = plan.services.iter();
        let cores = services.filter_map(|service| service.cpus.as_deref());
        let cores: BTreeSet<u32> = cores.flatten().copied().collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let start = |core: u32| {
            let is_over = Arc::clone(&is_over);
            let named = std::thread::Builder::new().name("windage-awake".to_owned());
            // Without a thread, idle CPU is read all the same.
            named.spawn(move || stay_awake(core, &is_over)).ok()
        };
        let threads = cores.into_iter().filter_map(start).collect();
        Awake { is_over, threads }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Works on a core whenever nobody else does. At any other priority, or elsewhere, it would be in the
/// way.
fn stay_awake(core: u32, is_over: &AtomicBool) {
    let pinned = Pinned::this_thread(Some(&[core]));
    if pinned.refused.is_some() || !only_when_idle() {
        return;
    }
    let mut count = 0u64;
    while !is_over.load(Ordering::Relaxed) {
        count = std::hint::black_box(count.wrapping_add(1));
    }
}

/// Lets the calling thread run only when its core has nothing else to do.
fn only_when_idle() -> bool {
    // SAFETY: all fields may be zero, and `SCHED_IDLE` demands it of the priority.
    let no_priority: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live value; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const no_priority) == 0 }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;

    /// The core and the scheduling policy of each thread that keeps a core awake.
    fn awake() -> Vec<(String, String)> {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let stats =
            tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
        let ours = stats.filter(|stat| stat.contains("(windage-awake)"));
        let field = |stat: &str, number: usize| {
            let after_name = stat.rsplit_once(") ").unwrap().1;
            after_name.split(' ').nth(number - 3).unwrap().to_owned()
        };
        ours.map(|stat| (field(&stat, 39), field(&stat, 41)))
            .collect()
    }

    #[test]
    fn only_the_cores_of_pinned_services_are_kept_awake_and_only_for_a_time() {
        let plan = |cpus: &str| {
            let text = format!(
                "name = 'x'\n[[service]]\nname = 'app'\ncommand = ['x', '{{listen}}']\n{cpus}\n\
                 [load]\nmodel = 'open'\nrate = '100/s'\nrequest = 'GET http://{{app}}/'\n\
                 [[arm]]\nname = 'off'\nbaseline = true\n[[arm]]\nname = 'on'\n"
            );
            Plan::parse(&text, "plan.toml", Path::new("/")).unwrap()
        };
        assert!(Awake::of(&plan("")).threads.is_empty());
        let awake_on_the_core = [("0".to_owned(), libc::SCHED_IDLE.to_string())];
        {
            let _awake = Awake::of(&plan("cpus = [0]"));
            let began = Instant::now();
            while awake() != awake_on_the_core {
                assert!(began.elapsed() < Duration::from_secs(5), "{:?}", awake());
            }
        }
        assert_eq!(awake(), [], "it ends");
    }
}
