//! The kernel's own account of BPF programs, taken in stretches of load that are no windows.

use std::time::{Duration, Instant};

use windage_model::{AgentCycle, ArmIndex, BpfStatistics, Event};
use windage_probe::bpf::{Bpf, Objects};

use super::{Attached, Live, RealRig};
use crate::LabError;
use crate::clock::whole_ns;
use crate::instance::note_exits;

/// What a stretch of load came to.
struct Counted {
    /// CPU of the arm's set, in nanoseconds; `None` when unreadable.
    cpu_ns: Option<u64>,
    requests: u64,
    duration_ns: u64,
}

impl<'a> RealRig<'a> {
    /// A stretch of load in which the kernel times every run of the agents' programs, and one as
    /// long without that just before, so that what the clock reads cost is known as well.
    pub(super) fn take_statistics(
        &mut self,
        live: &mut Live<'a>,
        attached: &mut Attached<'a>,
    ) -> Result<(), LabError> {
        let lasts = self.plan.design.bpf_statistics;
        let programs = attached.cycle.programs.as_ref();
        if lasts.is_zero() || programs.is_none_or(Vec::is_empty) {
            return Ok(());
        }
        let owner = attached.owner;
        let without = self.counted_stretch(live, owner, lasts)?;
        let statistics = match self.bpf.enable_statistics() {
            Ok(statistics) => statistics,
            Err(error) => {
                let text = format!("the kernel's statistics of BPF programs can't be had: {error}");
                (self.emit)(Event::Note { text });
                return Ok(());
            }
        };
        let before = self.bpf.objects();
        let with = self.counted_stretch(live, owner, lasts)?;
        let after = self.bpf.objects();
        drop(statistics);
        self.notice_death_of(live, attached)?;
        let (Ok(before), Ok(after)) = (before, after) else {
            return Ok(());
        };
        if attached.instance.death.is_some() || self.is_interrupted() {
            return Ok(());
        }
        take_runs(&mut attached.cycle, &before, &after);
        attached.cycle.statistics = Some(BpfStatistics {
            duration_ns: with.duration_ns,
            requests: with.requests,
            cpu_ns: with.cpu_ns,
            cpu_without_ns: without.cpu_ns,
            requests_without: without.requests,
        });
        Ok(())
    }

    /// Exits meanwhile, those of the agents among them, which are not with the others now.
    fn notice_death_of(
        &mut self,
        live: &mut Live<'a>,
        attached: &mut Attached<'a>,
    ) -> Result<(), LabError> {
        let services = live.instances.iter_mut().chain([&mut live.shared]);
        let all = services.chain([&mut attached.instance]);
        note_exits(all, &self.keeper.poll()?);
        attached.note_death();
        Ok(())
    }

    fn counted_stretch(
        &mut self,
        live: &mut Live<'a>,
        arm: ArmIndex,
        lasts: Duration,
    ) -> Result<Counted, LabError> {
        let set = self.instance_of(arm);
        self.quiet(live, set);
        let before_ns = live.instances[set].probe.cpu_ns().ok();
        let began = Instant::now();
        let requests = self.load_unmeasured(live, arm, lasts)?;
        let duration_ns = whole_ns(began.elapsed());
        let after_ns = live.instances[set].probe.cpu_ns().ok();
        Ok(Counted {
            cpu_ns: before_ns
                .zip(after_ns)
                .map(|(before, after)| after.saturating_sub(before)),
            requests,
            duration_ns,
        })
    }
}

/// Takes note of what each program did between two looks.
fn take_runs(cycle: &mut AgentCycle, before: &Objects, after: &Objects) {
    let find = |objects: &Objects, id: u32| {
        let found = objects.programs.iter().find(|program| program.id == id);
        found.map(|program| (program.runs, program.run_ns))
    };
    for program in cycle.programs.iter_mut().flatten() {
        let (runs, run_ns) = find(before, program.id).unwrap_or_default();
        if let Some((runs_after, run_ns_after)) = find(after, program.id) {
            program.runs = runs_after.saturating_sub(runs);
            program.run_ns = run_ns_after.saturating_sub(run_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::BpfProgram;
    use windage_probe::bpf::Program;

    /// Programs with their runs and the time in them.
    fn objects(programs: &[(u32, u64, u64)]) -> Objects {
        let program = |&(id, runs, run_ns): &(u32, u64, u64)| Program {
            id,
            runs,
            run_ns,
            ..Program::default()
        };
        Objects {
            programs: programs.iter().map(program).collect(),
            ..Objects::default()
        }
    }

    #[test]
    fn runs_are_those_between_two_looks() {
        let (before, after) = (
            objects(&[(7, 10, 1_000), (8, 0, 0), (9, 5, 500)]),
            objects(&[(7, 30, 1_900), (8, 4, 80), (11, 2, 40)]),
        );
        let of_agents = |id| BpfProgram {
            id,
            ..BpfProgram::default()
        };
        let mut cycle = AgentCycle {
            programs: Some([7, 8, 9, 11].map(of_agents).to_vec()),
            ..AgentCycle::default()
        };
        take_runs(&mut cycle, &before, &after);
        let told = cycle.programs.iter().flatten();
        let told: Vec<(u32, u64, u64)> = told.map(|p| (p.id, p.runs, p.run_ns)).collect();
        // One that has gone meanwhile ran as far as is known not at all; one that came, all its runs.
        assert_eq!(told, [(7, 20, 900), (8, 4, 80), (9, 0, 0), (11, 2, 40)]);
        let mut unknown = AgentCycle::default();
        take_runs(&mut unknown, &before, &after);
        assert_eq!(unknown.programs, None);
    }
}
