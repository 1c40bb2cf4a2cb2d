//! The kernel's run-time statistics of BPF programs, taken under load outside windows.

use std::time::{Duration, Instant};

use windage_model::{AgentCycle, ArmIndex, BpfStatistics, Event};
use windage_probe::bpf::{Bpf, KernelBpf, Objects};

use super::{Attached, Services};
use crate::LabError;
use crate::clock::whole_ns;

/// A stretch of load in which the kernel times every run of the agents' programs, after an
/// equally long one without timing. The two show what the kernel's clock reads cost.
pub(super) fn take_statistics(
    services: &mut Services,
    attached: &mut Attached,
) -> Result<(), LabError> {
    let lasts = services.setting.plan.design.bpf_statistics;
    let programs = attached.cycle.programs.as_ref();
    if lasts.is_zero() || programs.is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let owner = attached.owner;
    let without = counted_stretch(services, owner, lasts)?;
    let statistics = match KernelBpf.enable_statistics() {
        Ok(statistics) => statistics,
        Err(error) => {
            let text = format!("BPF run-time statistics are not available: {error}");
            (services.setting.emit)(Event::Note { text });
            return Ok(());
        }
    };
    let before = KernelBpf.objects();
    let with = counted_stretch(services, owner, lasts)?;
    let after = KernelBpf.objects();
    drop(statistics);
    // They are not among the attached agents now.
    services.notice_deaths(Some(&mut attached.instance))?;
    attached.note_death();
    let (Ok(before), Ok(after)) = (before, after) else {
        return Ok(());
    };
    if attached.instance.death.is_some() || services.setting.is_interrupted() {
        return Ok(());
    }
    take_runs(&mut attached.cycle, &before, &after);
    attached.cycle.statistics = Some(BpfStatistics {
        cpu_without_ns: without.cpu_ns,
        requests_without: without.requests,
        ..with
    });
    Ok(())
}

/// What an arm used and completed in a stretch of load.
fn counted_stretch(
    services: &mut Services,
    arm: ArmIndex,
    lasts: Duration,
) -> Result<BpfStatistics, LabError> {
    services.quiet(arm);
    let before_ns = services.probe(arm).cpu_ns().ok();
    let began = Instant::now();
    let requests = services.load_unmeasured(arm, lasts)?;
    let duration_ns = whole_ns(began.elapsed());
    let cpu_ns = before_ns.zip(services.probe(arm).cpu_ns().ok());
    Ok(BpfStatistics {
        cpu_ns: cpu_ns.map(|(before, after)| after.saturating_sub(before)),
        requests,
        duration_ns,
        ..BpfStatistics::default()
    })
}

/// Records the runs of each program between two readings.
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

    /// Programs as (id, runs, nanoseconds).
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
    fn runs_are_counted_between_two_readings() {
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
        // A program that ended meanwhile has no known runs; all runs of a new one count.
        assert_eq!(told, [(7, 20, 900), (8, 4, 80), (9, 0, 0), (11, 2, 40)]);
        let mut unknown = AgentCycle::default();
        take_runs(&mut unknown, &before, &after);
        assert_eq!(unknown.programs, None);
    }
}
