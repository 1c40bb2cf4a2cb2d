//! The sink in a run: addresses of its receivers, their behaviour, and which arm gets the credit.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use windage_model::{ArmIndex, Backend};
use windage_plan::{Arm, Plan, SinkDetail};
use windage_record::{Delivered, RunDir};
use windage_sink::{
    Counts, Detail, KeepOptions, Protocol, ScrapeTarget, Scraper, Sink, SinkOptions,
};

use crate::LabError;
use crate::names::Names;
use crate::pods::Node;
use crate::stretch::Stretch;

mod delivered;

use delivered::of_set;

/// Where payloads are kept, inside the run directory.
const PAYLOADS: &str = "payloads";
/// When the last process has ended, its data may still be in the kernel. Everything has arrived
/// when nothing came for this long.
const QUIET: Duration = Duration::from_millis(20);
/// The longest wait for that.
const QUIET_WITHIN: Duration = Duration::from_secs(1);

/// Receivers for every set of processes, and what they got in this launch.
#[derive(Debug)]
pub(crate) struct Receiving {
    sink: Sink,
    protocols: Vec<Protocol>,
    is_full: bool,
    sets: Vec<Set>,
}

/// One set of processes, which the sink knows by its number.
#[derive(Debug)]
struct Set {
    arms: Vec<ArmIndex>,
    /// The stretch in which spans end now.
    stretch: Option<Stretch>,
    /// The sink's counts at launch.
    before: Counts,
    /// The counts since then that were credited to any arm.
    credited: Counts,
    /// The same, per arm.
    arrived: Vec<Counts>,
}

impl Receiving {
    /// Opens the receivers that the plan names; `None` when it names none.
    pub(crate) fn start(
        plan: &Plan,
        run: &RunDir,
        sets: &[Vec<ArmIndex>],
        node: Option<&Node>,
    ) -> Result<Option<Receiving>, LabError> {
        let Some(wanted) = &plan.sink else {
            return Ok(None);
        };
        let named: Vec<&str> = plan.receivers().collect();
        let is_named = |protocol: &Protocol| named.contains(&protocol.placeholder());
        let protocols: Vec<Protocol> = Protocol::ALL.into_iter().filter(is_named).collect();
        let options = SinkOptions {
            cpus: plan.load.cpus.clone(),
            detail: match wanted.detail {
                SinkDetail::Full => Detail::Full,
                SinkDetail::Counts => Detail::Counts,
            },
            client_drop_p0s: wanted.client_drop_p0s,
            keep: wanted.keep_bytes.map(|max_bytes| KeepOptions {
                dir: run.path().join(PAYLOADS),
                max_bytes,
            }),
            // What is not of this machine reaches it only at an address of the node.
            ip: node.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |node| node.address),
            ..SinkOptions::default()
        };
        let sink = Sink::start(sets.len(), &protocols, options)?;
        let sets = sets.iter().map(|arms| Set {
            arms: arms.clone(),
            stretch: None,
            before: Counts::default(),
            credited: Counts::default(),
            arrived: vec![Counts::default(); arms.len()],
        });
        Ok(Some(Receiving {
            sink,
            protocols,
            is_full: wanted.detail == SinkDetail::Full,
            sets: sets.collect(),
        }))
    }

    /// CPU that the sink has used, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.sink.cpu_ns()
    }

    /// Gives a set the addresses of its receivers.
    pub(crate) fn name(&self, set: usize, names: &mut Names) {
        for &protocol in &self.protocols {
            if let Some(address) = self.sink.address(number(set), protocol) {
                names.add_receiver(protocol, address);
            }
        }
    }

    /// Scrapes a target on the sink's thread, for the first time after so long.
    pub(crate) fn scrape(&self, target: ScrapeTarget, after: Duration) -> Scraper {
        self.sink.scrape(target, after)
    }

    /// Begins a launch, before its first process: what arrived earlier counts for no arm.
    pub(crate) fn launch(&mut self, plan: &Plan) {
        for index in 0..self.sets.len() {
            self.forget(index);
            let set = &mut self.sets[index];
            set.stretch = None;
            if let Some(&first) = set.arms.first() {
                let backend = before_load(behaviour(&plan.arms[first.get()]));
                self.sink.set_backend(number(index), backend);
                self.enter(index, Stretch::unmeasured(first));
            }
        }
    }

    /// What a set received so far counts for no arm.
    pub(crate) fn forget(&mut self, set: usize) {
        let _ = self.sink.take(number(set));
        let before = self.sink.counts(number(set));
        let set = &mut self.sets[set];
        set.before = before;
        set.credited = Counts::default();
        set.arrived.fill(Counts::default());
    }

    /// From now on, the set's receivers behave as this arm's plan says.
    pub(crate) fn switch(&self, set: usize, arm: &Arm) {
        self.sink.set_backend(number(set), behaviour(arm));
    }

    /// From now on, spans of the set end in this stretch.
    pub(crate) fn enter(&mut self, set: usize, stretch: Stretch) {
        if self.sets[set].stretch != Some(stretch) {
            self.sets[set].stretch = Some(stretch);
            self.sink.begin_stretch(number(set), stretch.label());
        }
    }

    /// Credits an arm with what arrived since the last call, where several arms share a set.
    pub(crate) fn credit(&mut self, set: usize, arm: ArmIndex) {
        let counts = self.sink.counts(number(set));
        let set = &mut self.sets[set];
        if set.arms.len() > 1 {
            let since_launch = counts.since(&set.before);
            set.credit(arm, &since_launch);
        }
    }

    /// What each arm delivered until its services had ended. `last` is the arm of each set that had
    /// load last.
    pub(crate) fn finish(&mut self, launch: u32, last: &[ArmIndex]) -> Vec<Delivered> {
        self.await_quiet();
        let mut delivered = Vec::new();
        for (index, set) in self.sets.iter_mut().enumerate() {
            let delivery = self.sink.take(number(index));
            let all = delivery.total();
            set.credit(last[index], &all);
            delivered.extend(of_set(&set.arms, &set.arrived, &delivery, self.is_full));
        }
        for delivered in &mut delivered {
            delivered.launch = launch;
        }
        delivered.sort_by_key(|delivered| delivered.arm);
        delivered
    }

    /// Closes all receivers.
    pub(crate) fn shut_down(self) {
        let _ = self.sink.shut_down();
    }

    fn await_quiet(&self) {
        let read = || -> Vec<Counts> {
            (0..self.sets.len())
                .map(|index| self.sink.counts(number(index)))
                .collect()
        };
        let deadline = Instant::now() + QUIET_WITHIN;
        let mut before = read();
        while Instant::now() < deadline {
            std::thread::sleep(QUIET);
            let now = read();
            if now == before {
                return;
            }
            before = now;
        }
    }
}

impl Set {
    /// Credits what `since_launch` holds and is not credited yet.
    fn credit(&mut self, arm: ArmIndex, since_launch: &Counts) {
        let more = since_launch.since(&self.credited);
        self.credited = *since_launch;
        if let Some(at) = self.arms.iter().position(|own| *own == arm) {
            self.arrived[at] = self.arrived[at].plus(&more);
        }
    }
}

/// The sink knows receivers by number; each set of processes has one.
fn number(set: usize) -> ArmIndex {
    ArmIndex(u16::try_from(set).unwrap_or(u16::MAX))
}

fn behaviour(arm: &Arm) -> Backend {
    arm.backend
        .as_ref()
        .map(|backend| backend.behaviour)
        .unwrap_or_default()
}

/// The backend's behaviour before the load. A fault that ends by itself begins with the load, so
/// that all of it hits a working service, however long other arms take to start.
fn before_load(backend: Backend) -> Backend {
    match backend {
        Backend::Stall { lasts: Some(_) } | Backend::Down { lasts: Some(_) } => Backend::Ok,
        lasting => lasting,
    }
}

#[cfg(test)]
mod tests;
