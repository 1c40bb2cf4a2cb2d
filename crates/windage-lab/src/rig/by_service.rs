//! What each service of an arm uses, where several are launched for it.

use windage_model::ArmIndex;
use windage_probe::{Linux, ProcessTrees};
use windage_record::{Entry, ServiceUsed, ServicesUsed};

use crate::process_set::Instance;
use crate::readings::Reading;

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

impl ByService {
    /// Of so many arms, before their first load.
    pub(super) fn of(instances: &[Instance], arms: usize) -> ByService {
        let mut roots = Vec::new();
        let mut services = |instance: &Instance| {
            let running = instance.services.iter();
            let running = running.filter_map(|of| Some((of.name.clone(), of.pid()?)));
            let running: Vec<(String, u32)> = running.collect();
            if running.len() < 2 {
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

    /// Looks for new processes: between windows only. A process brings what it has used so far to
    /// the next reading, so one before that must show it.
    pub(super) fn refresh(&mut self) {
        if self.has_any() {
            // Without its latest processes a service's share is smaller, and the next look finds them.
            let _ = self.trees.refresh();
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

    /// Books what the services of a set used in a window of an arm.
    pub(super) fn window(&mut self, arm: ArmIndex, set: usize, readings: [&Reading; 2]) {
        self.book(arm, set, readings, |of| &mut of.windows_ns);
    }

    /// Books what they used in a block in which an arm had turns.
    pub(super) fn turns(&mut self, arm: ArmIndex, set: usize, readings: [&Reading; 2]) {
        let lasted_ns = self.book(arm, set, readings, |of| &mut of.turns_ns);
        self.arms[arm.get()].turns_time_ns += lasted_ns;
    }

    /// Books what they used while nothing had load.
    pub(super) fn idle(&mut self, arm: ArmIndex, set: usize, readings: [&Reading; 2]) {
        let lasted_ns = self.book(arm, set, readings, |of| &mut of.idle_ns);
        self.arms[arm.get()].idle_time_ns += lasted_ns;
    }

    /// Returns the time between the readings; zero if either is missing, which leaves everything as
    /// it was.
    fn book(
        &mut self,
        arm: ArmIndex,
        set: usize,
        [from, to]: [&Reading; 2],
        account: fn(&mut ServiceUsed) -> &mut u64,
    ) -> u64 {
        let used = |service: &Service| {
            let (before, after) = (
                from.services_ns.get(service.tree)?,
                to.services_ns.get(service.tree)?,
            );
            after.checked_sub(*before)
        };
        let services = &self.sets[set];
        let used: Option<Vec<u64>> = services.iter().map(used).collect();
        let Some(used) = used.filter(|used| !used.is_empty()) else {
            return 0;
        };
        let so_far = &mut self.arms[arm.get()].services;
        if so_far.is_empty() {
            let named = services.iter().map(|service| ServiceUsed {
                service: service.name.clone(),
                ..ServiceUsed::default()
            });
            *so_far = named.collect();
        }
        for (of, more) in so_far.iter_mut().zip(used) {
            *account(of) += more;
        }
        to.at_ns.saturating_sub(from.at_ns)
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

    fn reading(at_ns: u64, services_ns: &[u64]) -> Reading {
        Reading {
            at_ns,
            services_ns: services_ns.to_vec(),
            ..Reading::default()
        }
    }

    #[test]
    fn services_are_booked_apart_by_what_their_arm_did() {
        let mut of = by_service();
        let readings = [
            reading(1_000, &[10, 100]),
            reading(3_000, &[40, 105]),
            reading(4_000, &[41, 105]),
        ];
        let [start, loaded, end] = &readings;
        of.turns(ArmIndex(0), 0, [start, loaded]);
        of.turns(ArmIndex(0), 0, [start, loaded]);
        of.window(ArmIndex(0), 0, [start, end]);
        of.idle(ArmIndex(0), 0, [loaded, end]);
        of.turns(ArmIndex(1), 1, [start, loaded]);
        let service = |name: &str, windows_ns, turns_ns, idle_ns| ServiceUsed {
            service: name.to_owned(),
            windows_ns,
            turns_ns,
            idle_ns,
        };
        let expected = ServicesUsed {
            launch: 3,
            arm: ArmIndex(0),
            turns_time_ns: 4_000,
            idle_time_ns: 1_000,
            services: vec![service("app", 31, 60, 1), service("collector", 5, 10, 0)],
        };
        assert_eq!(of.entries(3), [Entry::Services(expected)]);
        assert_eq!(of.entries(3), [], "once only");
    }

    #[test]
    fn a_missing_reading_leaves_everything_as_it_was() {
        let mut of = by_service();
        of.turns(ArmIndex(0), 0, [&reading(0, &[]), &reading(9, &[5, 5])]);
        of.turns(ArmIndex(0), 0, [&reading(0, &[7, 5]), &reading(9, &[5, 5])]);
        assert_eq!(of.entries(0), []);
    }
}
