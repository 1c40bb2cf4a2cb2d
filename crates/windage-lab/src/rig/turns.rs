//! Blocks of interleaved load: arms take turns, and counters are read at the ends of the block.

use std::time::Duration;

use windage_load::{LoadFacts, SubjectCpu, monotonic_ns};
use windage_model::{ArmIndex, ArmTurns, CpuSource, LoadModel, TurnBlock};

use super::by_service::Account;
use super::driver::Driver;
use super::launched::RealLaunched;
use super::services::Services;
use crate::LabError;
use crate::conduct::TurnPlace;
use crate::drive::{DrivenTurns, Loaded, iterate_in_turns};
use crate::order::{TurnDraw, takers};
use crate::readings::{Reading, used};
use crate::sleep::all_asleep;
use crate::turn_length::{TurnLength, drawn};
use crate::warnings;

/// How long arms have after a block's load to go to sleep before the counters are read.
const ASLEEP_WITHIN: Duration = Duration::from_millis(20);

/// What turns have used so far, in all launches of a load: otherwise the first block of each launch
/// would not know the heaviest arm.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnsSoFar {
    /// CPU and requests, by arm.
    spent: Vec<(u64, u64)>,
}

impl TurnsSoFar {
    fn take(&mut self, block: &TurnBlock) {
        for of in &block.arms {
            let index = of.arm.get();
            if self.spent.len() <= index {
                self.spent.resize(index + 1, (0, 0));
            }
            let (cpu_ns, requests) = &mut self.spent[index];
            *cpu_ns += of.cpu_ns.unwrap_or(0);
            *requests += of.exchanges.completed;
        }
    }

    /// The arm that uses the most CPU per request. The baseline and its control always stay, so it
    /// is a treatment.
    pub(super) fn heaviest(&self) -> Option<ArmIndex> {
        let per_request = |(cpu_ns, requests): (u64, u64)| cpu_ns as f64 / requests.max(1) as f64;
        let arms = (0u16..).map(ArmIndex).zip(self.spent.iter().copied());
        let treatments =
            arms.filter(|(arm, (_, requests))| *arm > ArmIndex::CONTROL && *requests > 0);
        let by_cost = |(_, a): &(ArmIndex, (u64, u64)), (_, b): &(ArmIndex, (u64, u64))| {
            per_request(*a).total_cmp(&per_request(*b))
        };
        treatments.max_by(by_cost).map(|(arm, _)| arm)
    }
}

impl RealLaunched<'_, '_> {
    /// One block of turns. The first of a launch waits until the work deferred by windows is done.
    pub(super) fn turns_of_block(
        &mut self,
        place: TurnPlace,
        draw: TurnDraw,
    ) -> Result<TurnBlock, LabError> {
        let Some(interleaving) = self.services.setting.plan.design.interleaving else {
            let text = "the plan has no turns".to_owned();
            return Err(LabError::Unsupported(text));
        };
        self.end_windows()?;
        self.has_turns = true;
        let sets: Vec<usize> = (0..self.services.instances.len()).collect();
        let changes = self.services.process_changes(&sets);
        self.list_anew(place.block)?;
        let services = &mut self.services;
        let throttled_ns = services.throttled_ns(&sets);
        let heaviest = services.turns.heaviest();
        let (order, arms) = takers(draw.order, &services.alive(), heaviest);
        let rates_per_s: Vec<f64> = arms.iter().map(|arm| services.rate_per_s(*arm)).collect();
        let is_batch = services.load.model == LoadModel::Batch;
        let fewest = services.fewest_of_turn();
        let length = |of| TurnLength::of(&rates_per_s, is_batch, fewest, of);
        let (order, turn) = drawn(order, interleaving, length);
        let turns = draw.turns(u16::try_from(arms.len()).unwrap_or(u16::MAX), turn.groups);
        let start = services.last.clone();
        let started_ns = services.setting.clock.now_ns();
        let since_reading_ns = monotonic_ns().saturating_sub(start.at_ns);
        // The arms of a block get the same requests.
        let seed = services.setting.plan.design.seed.rotate_left(32) ^ u64::from(place.block);
        let driven = services.drive_turns(&arms, &turns, &turn, seed)?;
        let is_awake = services.settle_down();
        services.list_without_cgroups(&sets);
        let end = services.read(None)?;
        let mut block = TurnBlock {
            launch: place.launch,
            round: place.round,
            block: place.block,
            order,
            started_ns: started_ns.saturating_sub(since_reading_ns),
            lasted_ns: end.at_ns.saturating_sub(start.at_ns),
            load_ns: driven.report.duration_ns,
            turn: turn.size,
            arms: of_arms(services, &arms, &turns, &driven, [&start, &end], &is_awake),
            exchanges: driven.report.exchanges,
            generator_ns: driven.report.generator_cpu_ns,
            sink_ns: end.sink_ns.saturating_sub(start.sink_ns),
            windage_ns: end.windage_ns.saturating_sub(start.windage_ns),
            machine: match (&start.machine, &end.machine) {
                (Some(start), Some(end)) => end.delta(start),
                _ => Default::default(),
            },
            warnings: services.disturbances([&start, &end], &sets, changes, throttled_ns),
        };
        services.book_turns([&start, &end]);
        let is_machine_known = start.machine.is_some() && end.machine.is_some();
        services.last = end;
        services.notice_deaths(None)?;
        let facts = load_facts(services, &driven, &block, is_machine_known);
        let disturbances = std::mem::take(&mut block.warnings);
        block.warnings = warnings::of_turns(&block, &facts);
        block.warnings.extend(disturbances);
        // A service that died earlier had no turn, and is no fault of this block.
        for arm in &arms {
            let death = services.death(services.setting.set_of(*arm));
            block.warnings.extend(death.map(super::measuring::died));
        }
        for of in &block.arms {
            services.completed[of.arm.get()] += of.exchanges.completed;
            services.note_rate_in_turns(&block, of);
        }
        services.turns.take(&block);
        Ok(block)
    }
}

impl Services<'_, '_> {
    /// The arms whose services live.
    fn alive(&self) -> Vec<ArmIndex> {
        let arms = self.setting.arms();
        arms.filter(|arm| self.death(self.setting.set_of(*arm)).is_none())
            .collect()
    }

    /// Books what each service used in a block or in the drain after one. What an arm without a turn
    /// used there was deferred by its turns in others.
    pub(super) fn book_turns(&mut self, readings: [&Reading; 2]) {
        for arm in self.setting.arms() {
            let set = self.setting.set_of(arm);
            self.by_service.book(Account::Turns, arm, set, readings);
        }
    }

    /// Requests or iterations per second of one arm alone.
    fn rate_per_s(&self, arm: ArmIndex) -> f64 {
        let planned = self.load.rate_per_s;
        let found = planned.unwrap_or(self.achieved_per_s[arm.get()]);
        if found > 0.0 { found } else { 1.0 }
    }

    /// The fewest requests of a turn: in a closed loop each thread sends one.
    fn fewest_of_turn(&self) -> u64 {
        match self.load.model {
            LoadModel::Closed => u64::from(self.load.threads.min(self.load.connections_max)).max(1),
            LoadModel::Open | LoadModel::Batch => 1,
        }
    }

    /// Takes the rate of an arm from its turns where it has had no load of its own.
    fn note_rate_in_turns(&mut self, block: &TurnBlock, of: &ArmTurns) {
        let takers = block.arms.iter().filter(|of| of.turns > 0).count();
        let own_ns = block.load_ns as f64 / takers.max(1) as f64;
        let known = &mut self.achieved_per_s[of.arm.get()];
        if *known == 0.0 && own_ns > 0.0 {
            *known = of.exchanges.completed as f64 * 1e9 / own_ns;
        }
    }

    fn drive_turns(
        &mut self,
        arms: &[ArmIndex],
        turns: &[u16],
        length: &TurnLength,
        seed: u64,
    ) -> Result<DrivenTurns, LabError> {
        match &mut self.driver {
            Driver::Http(http) => {
                let requests = length.requests.first().copied().unwrap_or(1);
                let loaded = Loaded {
                    load: self.load,
                    lasts: length.lasts,
                    seed,
                };
                http.take_turns(loaded, arms, turns, requests, &mut self.scratch)
            }
            Driver::Resident(residents) => {
                let sets: Vec<usize> = arms.iter().map(|arm| self.setting.set_of(*arm)).collect();
                let (keeper, instances) = (&mut *self.keeper, &mut self.instances);
                let driven = iterate_in_turns(turns, &length.requests, |position, iterations| {
                    let set = sets[position];
                    let instance = (set, &mut instances[set]);
                    let driven = residents.iterate(keeper, instance, iterations)?;
                    Ok(driven.trouble.is_none())
                })?;
                for set in sets {
                    residents.flush_window(keeper, (set, &mut instances[set]))?;
                }
                Ok(driven)
            }
            // The plan layer refuses turns of processes that live for one window.
            Driver::Process => Ok(DrivenTurns::default()),
        }
    }

    /// Waits until every set of processes sleeps, within a bound; returns which don't.
    fn settle_down(&mut self) -> Vec<bool> {
        let probes = self
            .instances
            .iter_mut()
            .map(|instance| &mut instance.probe);
        all_asleep(probes.collect(), ASLEEP_WITHIN)
    }
}

fn of_arms(
    services: &Services<'_, '_>,
    arms: &[ArmIndex],
    turns: &[u16],
    driven: &DrivenTurns,
    [start, end]: [&Reading; 2],
    is_awake: &[bool],
) -> Vec<ArmTurns> {
    let of_arm = |arm: ArmIndex| {
        let set = services.setting.set_of(arm);
        let position = arms.iter().position(|taker| *taker == arm);
        let own = |turn: &&u16| position == Some(usize::from(**turn));
        ArmTurns {
            arm,
            turns: u32::try_from(turns.iter().filter(own).count()).unwrap_or(u32::MAX),
            cpu_ns: used(start, end, set),
            is_awake: is_awake.get(set).copied().unwrap_or(false),
            exchanges: position
                .and_then(|at| driven.members.get(at).copied())
                .unwrap_or_default(),
        }
    };
    services.setting.arms().map(of_arm).collect()
}

fn load_facts(
    services: &Services<'_, '_>,
    driven: &DrivenTurns,
    block: &TurnBlock,
    is_machine_known: bool,
) -> LoadFacts {
    let load = services.load;
    let used_ns: Option<u64> = block.arms.iter().map(|of| of.cpu_ns).sum();
    let counts = |set: &crate::process_set::Instance| set.probe.source() != CpuSource::None;
    let is_counted = services.instances.iter().all(counts);
    LoadFacts {
        steal_ns: is_machine_known.then_some(block.machine.steal_ns),
        subject: used_ns.filter(|_| is_counted).map(|used_ns| SubjectCpu {
            used_ns,
            cores: f64::from(services.setting.run.manifest().design.subject_cores),
        }),
        threads: load.threads,
        ..LoadFacts::of(
            &driven.report,
            &services.scratch,
            load.model,
            load.connections_max.saturating_mul(load.streams),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::fixtures;

    #[test]
    fn the_heaviest_arm_is_the_treatment_with_the_most_cpu_per_request() {
        // By arm: CPU in µs and requests, in two blocks together.
        type Spent = &'static [(u64, u64)];
        let table: [(Spent, Option<u16>, &str); 6] = [
            (&[], None, "nothing is known yet"),
            (&[(900, 10), (900, 10)], None, "no treatment"),
            (&[(900, 10), (900, 10), (10, 10)], Some(2), "the only one"),
            (
                &[(10, 10), (10, 10), (500, 100), (100, 10), (20, 10)],
                Some(3),
                "per request, not in all",
            ),
            (
                &[(10, 10), (10, 10), (20, 10), (900, 0)],
                Some(2),
                "an arm without an answer has no cost per request",
            ),
            (&[(10, 10), (10, 10), (0, 0)], None, "no treatment answered"),
        ];
        for (spent, expected, why) in table {
            let mut so_far = TurnsSoFar::default();
            let arms: Vec<u16> = (0u16..).zip(spent).map(|(arm, _)| arm).collect();
            for block in 0..2 {
                let mut block = fixtures::turn_block(0, block, &arms);
                for (of, (cpu_us, requests)) in block.arms.iter_mut().zip(spent) {
                    of.cpu_ns = Some(cpu_us * 500);
                    of.exchanges.completed = requests / 2;
                }
                so_far.take(&block);
            }
            assert_eq!(so_far.heaviest(), expected.map(ArmIndex), "{why}");
        }
    }

    #[test]
    fn cpu_that_can_not_be_read_is_not_heavy() {
        let mut so_far = TurnsSoFar::default();
        let mut block = fixtures::turn_block(0, 0, &[0, 1, 2, 3]);
        block.arms[2].cpu_ns = None;
        so_far.take(&block);
        assert_eq!(so_far.heaviest(), Some(ArmIndex(3)));
    }
}
