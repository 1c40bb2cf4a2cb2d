//! What each service of an arm uses, where several are launched for it.

use windage_model::ArmIndex;
use windage_probe::{Linux, ProcessTrees};
use windage_record::{CpuUsed, Entry, ServiceUsed, ServicesUsed};

use crate::process_set::Instance;
use crate::readings::{Credit, Reading, used};

/// The services of all sets of processes that have several, and what they used in this launch.
pub(super) struct ByService {
    trees: ProcessTrees,
    /// By set.
    sets: Vec<Vec<Service>>,
    /// By arm.
    arms: Vec<ServicesUsed>,
}

/// A service, and the number of its tree of processes.
struct Service {
    name: String,
    tree: usize,
}

/// What an arm did in a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    /// It had a window.
    Window,
    /// It had none, and was credited with what its set used.
    Outside,
    /// It was in a block of turns, or in the drain after one.
    Turns,
    /// Nothing.
    Idle,
}

impl ByService {
    /// Of so many arms, before their first load.
    pub(super) fn of(instances: &[Instance], arms: usize) -> ByService {
        let mut roots = Vec::new();
        let mut services = |instance: &Instance| {
            let running = instance.services.iter();
            let running = running.filter_map(|of| Some((of.name.clone(), of.pid()?)));
            let running: Vec<(String, u32)> = running.collect();
            // The processes of pods are others than those of their stand-ins.
            if running.len() < 2 || !instance.pods.is_empty() {
                return Vec::new();
            }
            let service = |(name, root)| {
                roots.push(root);
                Service {
                    name,
                    tree: roots.len() - 1,
                }
            };
            running.into_iter().map(service).collect()
        };
        let sets: Vec<Vec<Service>> = instances.iter().map(&mut services).collect();
        ByService {
            trees: ProcessTrees::new(&Linux, &roots),
            sets,
            arms: vec![ServicesUsed::default(); arms],
        }
    }

    /// Looks for new processes: between windows only. What they have used so far belongs to no
    /// stretch that begins at the last reading, so it is added there.
    pub(super) fn refresh(&mut self, last: &mut Reading) {
        if !self.has_any() {
            return;
        }
        // What is not found is missing from its service, and shows beside the arm's counter.
        let had_used_ns = self.trees.refresh().unwrap_or_default();
        for (of, more) in last.services_ns.iter_mut().zip(had_used_ns) {
            *of += more;
        }
    }

    /// CPU of every tree; nothing where one can't be read.
    pub(super) fn cpu_ns(&mut self) -> Vec<u64> {
        match self.has_any() {
            true => self.trees.cpu_ns().unwrap_or_default(),
            false => Vec::new(),
        }
    }

    fn has_any(&self) -> bool {
        self.sets.iter().any(|set| !set.is_empty())
    }

    /// Forgets what was booked so far.
    pub(super) fn forget(&mut self) {
        self.arms.fill(ServicesUsed::default());
    }

    /// Books what every set used between two readings to the arm credited with it, except the set
    /// that had load.
    pub(super) fn outside(
        &mut self,
        credit: &Credit,
        loaded: Option<usize>,
        readings: [&Reading; 2],
    ) {
        for (set, &arm) in credit.iter().enumerate() {
            if Some(set) != loaded {
                self.book(Account::Outside, arm, set, readings);
            }
        }
    }

    /// Books what the services of a set used between two readings. If one is missing, everything
    /// stays as it was.
    pub(super) fn book(
        &mut self,
        account: Account,
        arm: ArmIndex,
        set: usize,
        [from, to]: [&Reading; 2],
    ) {
        let of_service = |service: &Service| {
            let before = from.services_ns.get(service.tree)?;
            to.services_ns.get(service.tree)?.checked_sub(*before)
        };
        let services = &self.sets[set];
        let by_service: Option<Vec<u64>> = services.iter().map(of_service).collect();
        let (Some(by_service), Some(whole)) = (by_service, used(from, to, set)) else {
            return;
        };
        if by_service.is_empty() {
            return;
        }
        let so_far = &mut self.arms[arm.get()];
        if so_far.services.is_empty() {
            let named = services.iter().map(|service| ServiceUsed {
                service: service.name.clone(),
                ..ServiceUsed::default()
            });
            so_far.services = named.collect();
        }
        *account.of(&mut so_far.whole) += whole;
        for (of, more) in so_far.services.iter_mut().zip(by_service) {
            *account.of(&mut of.cpu) += more;
        }
        let lasted_ns = to.at_ns.saturating_sub(from.at_ns);
        match account {
            Account::Window => {}
            Account::Outside => so_far.outside_time_ns += lasted_ns,
            Account::Turns => so_far.turns_time_ns += lasted_ns,
            Account::Idle => so_far.idle_time_ns += lasted_ns,
        }
    }

    /// What was booked in this launch.
    pub(super) fn entries(&mut self, launch: u32) -> Vec<Entry> {
        let arms = (0u16..).map(ArmIndex).zip(std::mem::take(&mut self.arms));
        let arms = arms.filter(|(_, used)| !used.services.is_empty());
        arms.map(|(arm, used)| {
            Entry::Services(ServicesUsed {
                launch,
                arm,
                ..used
            })
        })
        .collect()
    }
}

impl Account {
    fn of(self, cpu: &mut CpuUsed) -> &mut u64 {
        match self {
            Account::Window => &mut cpu.windows_ns,
            Account::Outside => &mut cpu.outside_ns,
            Account::Turns => &mut cpu.turns_ns,
            Account::Idle => &mut cpu.idle_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sets: the first has two services, the second one.
    fn by_service() -> ByService {
        let service = |name: &str, tree| Service {
            name: name.to_owned(),
            tree,
        };
        ByService {
            trees: ProcessTrees::new(&windage_probe::FakeSystem::new(), &[]),
            sets: vec![vec![service("app", 0), service("collector", 1)], vec![]],
            arms: vec![ServicesUsed::default(); 2],
        }
    }

    /// The second service's clock misses a process, which the counter of the first set has.
    fn reading(at_ns: u64, services_ns: [u64; 2], unseen_ns: u64) -> Reading {
        Reading {
            at_ns,
            services_ns: services_ns.to_vec(),
            instances_ns: vec![Some(services_ns.iter().sum::<u64>() + unseen_ns), Some(9)],
            ..Reading::default()
        }
    }

    #[test]
    fn services_are_booked_apart_by_what_their_arm_did() {
        let mut of = by_service();
        let readings = [
            reading(1_000, [10, 100], 0),
            reading(3_000, [40, 105], 2),
            reading(4_000, [41, 105], 2),
        ];
        let [start, loaded, end] = &readings;
        let credit = vec![ArmIndex(0), ArmIndex(1)];
        of.outside(&credit, None, [start, end]);
        of.forget();
        of.book(Account::Turns, ArmIndex(0), 0, [start, loaded]);
        of.book(Account::Turns, ArmIndex(0), 0, [start, loaded]);
        of.book(Account::Window, ArmIndex(0), 0, [start, end]);
        of.book(Account::Idle, ArmIndex(0), 0, [loaded, end]);
        of.outside(&credit, Some(1), [start, loaded]);
        of.outside(&credit, Some(0), [start, loaded]);
        let cpu = |windows_ns, outside_ns, turns_ns, idle_ns| CpuUsed {
            windows_ns,
            outside_ns,
            turns_ns,
            idle_ns,
        };
        let service = |name: &str, cpu| ServiceUsed {
            service: name.to_owned(),
            cpu,
        };
        let expected = ServicesUsed {
            launch: 3,
            arm: ArmIndex(0),
            outside_time_ns: 2_000,
            turns_time_ns: 4_000,
            idle_time_ns: 1_000,
            whole: cpu(38, 37, 74, 1),
            services: vec![
                service("app", cpu(31, 30, 60, 1)),
                service("collector", cpu(5, 5, 10, 0)),
            ],
        };
        assert_eq!(of.entries(3), [Entry::Services(expected)]);
        assert_eq!(of.entries(3), [], "once only");
    }

    #[test]
    fn a_missing_reading_leaves_everything_as_it_was() {
        let mut of = by_service();
        let whole = reading(9, [5, 5], 0);
        let missing = Reading {
            services_ns: Vec::new(),
            ..whole.clone()
        };
        for from in [missing, reading(0, [7, 5], 0)] {
            of.book(Account::Turns, ArmIndex(0), 0, [&from, &whole]);
        }
        assert_eq!(of.entries(0), []);
    }
}
