//! Metrics of agents. The baseline has no agents, so its figure is zero.

use std::collections::BTreeMap;

use windage_model::{AgentCycle, ArmIndex, BpfStatistics, Metric};

use super::cycles::{ByLaunch, units};
use super::pieces::{Part, pieces};
use crate::compare::{self, Comparison, Ratios, Scale, mean_by_launch};
use crate::growth::OF_AGENTS;
use crate::run::Run;
use crate::sums::Quotient;
use crate::windows::AgentsBeside;

/// An attachment, and what its agents used during windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attachment<'a> {
    pub(super) cycle: &'a AgentCycle,
    /// In the arm's own windows.
    pub(super) own: AgentsBeside,
    /// In windows of its bystanders, void ones included, in nanoseconds.
    pub(super) bystanders_ns: f64,
}

/// Numerator and denominator of a metric for one attachment; `None` when not read.
pub(super) type Figure = fn(&Attachment<'_>) -> Option<Quotient>;

const FIGURES: [(Metric, Figure); 8] = [
    (Metric::AgentCpu, cores),
    (Metric::AgentCpuPerRequest, us_per_request),
    (Metric::AgentRssSteady, rss_steady),
    (Metric::AgentRssPeak, |of| {
        Some((of.cycle.rss_peak_bytes? as f64, 1.0))
    }),
    (Metric::AgentAttachTime, |of| {
        Some((of.cycle.attach_ns as f64 / 1e9, 1.0))
    }),
    (Metric::AgentAttachCpu, |of| {
        Some((of.cycle.attach_cpu_ns? as f64 / 1e9, 1.0))
    }),
    (Metric::BpfNsPerRequest, bpf_ns_per_request),
    (Metric::BpfRunsPerRequest, bpf_runs_per_request),
];

/// Cores that the agents kept busy in the arm's own windows, so under its load alone.
pub(super) fn cores(of: &Attachment<'_>) -> Option<Quotient> {
    (of.own.lasted_ns > 0.0).then_some((of.own.usable_ns, of.own.lasted_ns))
}

/// Agent CPU in microseconds per request, without windows of bystanders: what agents use there is
/// not for the arm's requests.
pub(super) fn us_per_request(of: &Attachment<'_>) -> Option<Quotient> {
    // The two counters are read at different times and may differ slightly.
    let ns = (of.cycle.up_cpu_ns? as f64 - of.bystanders_ns).max(0.0);
    Some((ns / 1e3, of.cycle.requests as f64))
}

/// Resident memory at the end of the attachment.
pub(super) fn rss_steady(of: &Attachment<'_>) -> Option<Quotient> {
    Some((of.cycle.rss_steady_bytes? as f64, 1.0))
}

/// Nanoseconds in BPF programs per request.
pub(super) fn bpf_ns_per_request(of: &Attachment<'_>) -> Option<Quotient> {
    let (statistics, _, run_ns) = bpf(of.cycle)?;
    Some((run_ns as f64, statistics.requests as f64))
}

/// Runs of BPF programs per request.
pub(super) fn bpf_runs_per_request(of: &Attachment<'_>) -> Option<Quotient> {
    let (statistics, runs, _) = bpf(of.cycle)?;
    Some((runs as f64, statistics.requests as f64))
}

/// A figure of these attachments.
pub(super) fn by_launch(attached: &[Attachment<'_>], figure: Figure) -> ByLaunch {
    let mut parts = ByLaunch::new();
    for of in attached {
        if let Some(part) = figure(of) {
            parts.entry(of.cycle.launch).or_default().push(part);
        }
    }
    parts
}

/// The statistics of an attachment, with the runs of all its programs and the time in them.
pub(super) fn bpf(cycle: &AgentCycle) -> Option<(&BpfStatistics, u64, u64)> {
    let statistics = cycle.statistics.as_ref()?;
    let programs = cycle.programs.as_ref()?;
    let sum = |of: fn(&windage_model::BpfProgram) -> u64| {
        programs.iter().map(of).fold(0, u64::saturating_add)
    };
    Some((statistics, sum(|p| p.runs), sum(|p| p.run_ns)))
}

/// All attachments of an arm, in the order in which they ended.
pub(super) fn all_attachments<'a>(
    run: &'a Run<'_>,
    arm: ArmIndex,
) -> impl Iterator<Item = Attachment<'a>> {
    let cycles = run.records.cycles.iter();
    let of_arm = cycles.filter(move |cycle| cycle.arm == arm);
    of_arm.map(move |cycle| attachment(run, cycle))
}

/// Those that did not fail.
pub(super) fn attachments<'a>(
    run: &'a Run<'_>,
    arm: ArmIndex,
) -> impl Iterator<Item = Attachment<'a>> {
    let all = all_attachments(run, arm);
    all.filter(|of| of.cycle.failed.is_none())
}

fn attachment<'a>(run: &'a Run<'_>, cycle: &'a AgentCycle) -> Attachment<'a> {
    let windows = &run.records.windows;
    let beside = |arm| windows.agents_beside(arm, cycle.launch, cycle.block);
    let arms = run.records.manifest.arms.iter();
    let bystanders = arms.filter(|of| of.bystander_of == Some(cycle.arm));
    Attachment {
        cycle,
        own: beside(cycle.arm),
        bystanders_ns: bystanders.map(|of| beside(of.index).all_ns).sum(),
    }
}

/// The metrics that a plan with agents has for every arm; empty for other plans.
pub(crate) fn of_agents(run: &Run<'_>, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
    let mut arms = run.records.manifest.arms.iter();
    if arms.all(|arm| arm.agents.is_empty()) {
        return Vec::new();
    }
    let kernel_threads = kernel_threads(run, arm);
    let of_cycles = FIGURES
        .into_iter()
        .filter_map(|(metric, figure)| Some((metric, of_cycles(run, arm, figure)?)));
    let growths = OF_AGENTS.into_iter();
    let growths = growths.filter_map(|metric| Some((metric, growth(run, arm, metric)?)));
    kernel_threads
        .map(|found| (Metric::KernelThreadsCpuPerRequest, found))
        .into_iter()
        .chain(of_cycles)
        .chain(growths)
        .collect()
}

/// Zero for the baseline; `None` for other arms without agents, and where no attachment lasted long
/// enough.
fn growth(run: &Run<'_>, arm: ArmIndex, metric: Metric) -> Option<Comparison> {
    let of = |arm| run.records.windows.growth.per_hour(metric, arm);
    let mut arms = run.records.manifest.arms.iter();
    let of_arm = match arm {
        ArmIndex::BASELINE => arms.map(|arm| of(arm.index)).find(|of| !of.is_empty())?,
        _ => of(arms
            .find(|of| of.index == arm && !of.agents.is_empty())?
            .index),
    };
    let without: BTreeMap<u32, f64> = of_arm.keys().map(|launch| (*launch, 0.0)).collect();
    let of_arm = if arm == ArmIndex::BASELINE {
        &without
    } else {
        &of_arm
    };
    let windows = run.usable_windows(arm);
    let found = compare::by_launch(of_arm, &without, Scale::Difference, windows);
    (!of_arm.is_empty()).then_some(found)
}

/// By differences within blocks, because kernel threads may use nothing on a quiet machine.
fn kernel_threads(run: &Run<'_>, arm: ArmIndex) -> Option<Comparison> {
    let pieces = pieces(run, arm)?;
    let of = pieces.part(Part::KernelThreads)?;
    let (baseline, rounds) = (Some(of.baseline_us), of.differences.len());
    Some(Comparison {
        arm: Some(of.arm_us),
        ..of_differences(run, arm, baseline, rounds, &of.differences)
    })
}

/// A figure of an arm's attachments; zero for the baseline, where agents are detached; `None`
/// for other arms and when no attachment has it.
fn of_cycles(run: &Run<'_>, arm: ArmIndex, figure: Figure) -> Option<Comparison> {
    let mut own = parts(run, arm, figure);
    if arm == ArmIndex::BASELINE {
        let mut arms = run.records.manifest.arms.iter();
        let is_known = arms.any(|of| !parts(run, of.index, figure).is_empty());
        is_known.then(|| own.insert(0, vec![(0.0, 1.0)]))?;
    }
    let rounds = own.len();
    let values = replicates(&own);
    let mean = compare::mean(values.values().flatten().copied())?;
    Some(Comparison {
        arm: Some(mean),
        ..of_differences(run, arm, Some(0.0), rounds, &values)
    })
}

/// A comparison by differences between launches or attachments, without log ratios.
fn of_differences(
    run: &Run<'_>,
    arm: ArmIndex,
    baseline: Option<f64>,
    rounds: usize,
    values: &BTreeMap<u32, Vec<f64>>,
) -> Comparison {
    let location = mean_by_launch(values);
    Comparison {
        baseline,
        arm: None,
        own: location.as_ref().ok().cloned(),
        rounds,
        location,
        scale: Scale::Difference,
        absolute: None,
        counts: None,
        totals: None,
        windows: run.usable_windows(arm),
        scatter: None,
        ratios: Ratios::new(),
        warnings: Vec::new(),
    }
}

/// A figure of an arm's attachments, in launches where the denominator is not zero.
fn parts(run: &Run<'_>, arm: ArmIndex, figure: Figure) -> ByLaunch {
    let attached: Vec<Attachment<'_>> = attachments(run, arm).collect();
    let mut parts = by_launch(&attached, figure);
    parts.retain(|_, of| of.iter().any(|(_, under)| *under > 0.0));
    parts
}

/// One value per launch, sums divided by sums. In a run of one launch the attachments take the
/// place of launches: in each the agents start afresh.
fn replicates(parts: &ByLaunch) -> BTreeMap<u32, Vec<f64>> {
    let (units, _) = units(parts);
    let known = units.into_iter().filter(|(_, under)| *under > 0.0);
    (0..)
        .zip(known.map(|(over, under)| vec![over / under]))
        .collect()
}
