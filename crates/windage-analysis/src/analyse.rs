//! From records to conclusions: every arm, every metric that its load can have.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, CpuSource, Interval, LoadModel, Metric, Reason, Role};
use windage_record::{Ending, LostLines, RecordError, RunDir, RunState};
use windage_stats::Confidence;

use crate::budgets;
use crate::claims;
use crate::conclude::{conclude, relative_at};
use crate::curve::{self, Sources};
use crate::family::{Comparisons, Families};
use crate::loads::Reading;
use crate::parallel::of_each_arm;
use crate::quantiles::{RESPONSE_TIME, SERVICE_TIME, Timed};
use crate::records::Records;
use crate::run::Run;
use crate::windows::OwnCpu;
use crate::{
    Analysis, ArmAnalysis, ArmLoad, BatchFacts, DesignFacts, MetricAnalysis, OwnCost, StopOutcome,
    agents, by_service, changeover, course, family, fidelity, idle, interference, metrics,
    per_span, planning, profiles, script, self_reported, stages, totals, validity,
};

/// Analyses a run directory. For a run under several loads, the analysis of the first load carries
/// those of the others.
///
/// # Errors
/// When the directory can't be read. A damaged end of the journal or of a histogram log is not an
/// error: what comes before it counts, and the analysis has a warning.
pub fn of_run_directory(run: &RunDir) -> Result<Analysis, RecordError> {
    Ok(concluded(run)?.1)
}

/// As [`of_run_directory`], with the run's state from the same reading.
///
/// # Errors
/// As for [`of_run_directory`].
pub fn concluded(run: &RunDir) -> Result<(RunState, Analysis), RecordError> {
    let reading = Reading::begin(run, &run.host()?, |_, _| {})?;
    let mut analyses = Vec::new();
    reading.each_load(&[], |of_load| analyses.push(analysis(of_load)))?;
    Ok((reading.state, of_all_loads(run, analyses)?))
}

/// One analysis from those under each load of a run.
pub(crate) fn of_all_loads(
    run: &RunDir,
    mut analyses: Vec<Analysis>,
) -> Result<Analysis, RecordError> {
    let recorded = run.profiles()?;
    for analysis in &mut analyses {
        analysis.found_at = run.found_at();
        analysis.profiles = profiles::of_load(analysis, &recorded);
    }
    let mut first = analyses.remove(0);
    first.other_loads = analyses;
    first.fidelity_curve = fidelity::curve(&first);
    first.restored = run.restored()?;
    Ok(first)
}

/// Analyses a run. Histograms are streamed in the order in which they were recorded, both kinds at
/// once: reading them takes longer than everything else.
#[must_use]
pub fn analyse(
    records: &Records,
    response_times: impl Iterator<Item = Timed> + Send,
    service_times: impl Iterator<Item = Timed> + Send,
) -> Analysis {
    analysis(&Run::gathered(records, response_times, service_times, &[]))
}

pub(crate) fn analysis(run: &Run<'_>) -> Analysis {
    let manifest = &run.records.manifest;
    let arms = u16::try_from(manifest.arms.len()).unwrap_or(u16::MAX);
    let compared: Vec<Comparisons> = of_each_arm(arms, |arm| compared(run, arm));
    let roles = manifest.arms.iter().map(|arm| arm.role);
    let families = Families::of(manifest.load.model, roles.zip(&compared));
    let control_at_99 = control_at_99(run, &compared, families.primary);
    let model = manifest.load.model;
    let sources = Sources::new(&compared, families.primary, model, run.rules.sequence);
    let arms: Vec<ArmAnalysis> = (0u16..)
        .zip(compared)
        .map(|(i, comparisons)| arm(run, ArmIndex(i), comparisons, families))
        .collect();
    let mut validity = validity::of_run(run.records, control_at_99.as_ref());
    let lost_lines = LostLines::warning(&run.lost_lines);
    validity.reasons.extend(lost_lines.map(Reason::from));
    let design = design(run);
    let turns = design.turns.as_ref();
    let interfere = turns.and_then(|turns| interference::arms_interfere(turns, design.margin));
    validity.reasons.extend(interfere.map(Reason::from));
    for (arm, facts) in arms.iter().zip(&manifest.arms) {
        if let Some(fidelity) = &arm.fidelity
            && arm.role == Role::Treatment
        {
            let lost = fidelity::warning(arm.id.as_str(), fidelity);
            let other = fidelity::unexpected_telemetry(arm.id.as_str(), fidelity, facts.expected);
            let found = lost.into_iter().chain(other);
            validity.reasons.extend(found.map(Reason::from));
        }
    }
    Analysis {
        regime: manifest.load.regime.clone(),
        run: manifest.run.clone(),
        found_at: manifest.run.clone(),
        plan: manifest.plan.clone(),
        about: manifest.about.clone(),
        command: manifest.command.clone(),
        started: manifest.started_rfc3339(),
        windage: manifest.windage.clone(),
        host: run.records.host.clone(),
        versions: run.records.versions.clone(),
        design,
        validity,
        primary: families.primary,
        curves: curve::curves(&sources, &arms),
        stages: stages::stages(run, &arms),
        arms,
        own_cost: own_cost(run.records),
        outliers: run.records.windows.slowest.exchanges().to_vec(),
        profiles: Vec::new(),
        fidelity_curve: Vec::new(),
        revisions: manifest.revisions.clone(),
        restored: None,
        other_loads: Vec::new(),
    }
}

fn design(run: &Run<'_>) -> DesignFacts {
    let manifest = &run.records.manifest;
    let design = &manifest.design;
    let windows = &run.records.windows;
    let seconds = |ns: u64| ns as f64 / 1e9;
    DesignFacts {
        order: design.order,
        load: manifest.load.model,
        rate_per_s: manifest.load.rate_per_s,
        connections: manifest.load.connections,
        request: manifest.load.request.clone(),
        window_s: seconds(design.window_ns),
        settle_s: seconds(design.settle_ns),
        drain_s: seconds(design.drain_ns),
        idle_s: seconds(design.idle_ns),
        rounds_planned: design.rounds,
        rounds: u32::try_from(run.records.measured_launches()).unwrap_or(u32::MAX),
        blocks: run.blocks.count(),
        measured_s: seconds(windows.duration_ns),
        seed: manifest.seed,
        margin: design.margin,
        cpu_source: run
            .records
            .launches
            .first()
            .and_then(|l| l.arms.first())
            .map_or(CpuSource::None, |a| a.cpu_source),
        placement: design.placement.clone(),
        stop: design.stop.map(|stop| StopOutcome {
            until: stop.until,
            within_s: seconds(stop.within_ns),
            is_reached: matches!(run.records.ending, Some(Ending::StoppedEarly { .. })),
        }),
        turns: interference::turn_facts(run),
        batch: batch(run),
    }
}

fn batch(run: &Run<'_>) -> Option<BatchFacts> {
    let load = &run.records.manifest.load;
    let windows = run.records.windows.measured.iter();
    let iterations = || windows.clone().map(|window| window.completed);
    let (fewest, most) = iterations().min().zip(iterations().max())?;
    (load.model == LoadModel::Batch).then(|| BatchFacts {
        whole_processes: script::is_by_process(run.records),
        iterations_chosen: load.iterations.is_none(),
        iterations_fewest: fewest,
        iterations_most: most,
    })
}

/// Every metric that the arm's load can have.
fn compared(run: &Run<'_>, arm: ArmIndex) -> Comparisons {
    let is_paced = validity::is_paced_by_generator(run.records, arm);
    // What is left out has a reason.
    let is_always = |metric| is_time(metric) || (is_paced && is_pace(metric));
    let comparisons = metrics::comparisons(run, arm).into_iter();
    let mut comparisons: Comparisons = comparisons
        .filter(|(m, c)| c.arm.is_some() || c.baseline.is_some() || is_always(*m))
        .collect();
    if is_paced {
        let times = comparisons
            .iter_mut()
            .filter(|(metric, _)| is_time(**metric));
        times.for_each(|(_, of)| of.leave_out());
    }
    let model = run.records.manifest.load.model;
    let asked_first = family::first_compared(model, &comparisons);
    for (metric, comparison) in &mut comparisons {
        let ratios = std::mem::take(&mut comparison.ratios);
        // Each further comparison could be a false alarm, and others are correlated with this
        // one. Turns show the course over launches, isolated windows that within them.
        let is_asked = Some(*metric) == asked_first || is_cpu_alone(*metric);
        if is_asked && is_treatment(run, arm) {
            comparison.warnings = course::warnings(&ratios, run.rules.margin);
        }
    }
    comparisons
}

fn is_treatment(run: &Run<'_>, arm: ArmIndex) -> bool {
    run.records.manifest.arms[arm.get()].role == Role::Treatment
}

fn arm(run: &Run<'_>, arm: ArmIndex, comparisons: Comparisons, families: Families) -> ArmAnalysis {
    let facts = &run.records.manifest.arms[arm.get()];
    let budgets = budgets::of_arm(run, arm, &comparisons);
    let claims = claims::of_arm(run, arm, &comparisons);
    let mut metrics: BTreeMap<Metric, MetricAnalysis> = comparisons
        .into_iter()
        .map(|(metric, comparison)| {
            let seat = families.seat(facts.role, metric);
            (metric, conclude(metric, arm, run.rules, seat, comparison))
        })
        .collect();
    warning_cpu(run, arm, &mut metrics);
    let fidelity = fidelity::of_arm(run.records, arm);
    per_span::cpu_per_item(run, arm, fidelity.as_ref(), &mut metrics);
    warning_times(run, arm, &mut metrics);
    warning_isolated(run, arm, &mut metrics);
    leave_out_typical(run, &mut metrics);
    let planning = planning::usual(&metrics);
    let agent = agents::agent_use(run, arm, metrics.get(&run.cpu_metric()));
    let saturated = validity::is_saturated(run, arm);
    for metric in metrics.values_mut() {
        metric.saturated = saturated;
    }
    ArmAnalysis {
        id: facts.id.clone(),
        name: facts.name.clone(),
        role: facts.role,
        levels: facts
            .levels
            .iter()
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect(),
        metrics,
        fidelity,
        load: load(run, arm),
        planning,
        script: script::of_arm(run.records, arm),
        agent,
        isolated_less_interleaved: interference::isolated_less_interleaved(run, arm),
        carry_over: changeover::carry_over(run, arm, Confidence::P95),
        bill: agents::bill(run, arm),
        bystander_of: agents::watched(run, arm),
        at_base: facts
            .at_base
            .map(|of| run.records.manifest.arms[of.get()].id.clone()),
        bystander: agents::bystander(run, arm),
        budgets,
        claims,
        services: by_service::of_arm(run, arm),
        self_reported: self_reported::of_arm(run.records, arm),
    }
}

fn load(run: &Run<'_>, arm: ArmIndex) -> Option<ArmLoad> {
    let model = run.records.manifest.load.model;
    let load = run.records.windows.arms[arm.get()].load.load(model)?;
    Some(ArmLoad {
        mean_response_time_us: run.response_times.mean_us(arm),
        ..load
    })
}

/// Warnings about times and throughput: the generator's lateness is part of all times, a limit on
/// connections limits the subject's concurrency, and a closed loop is as slow as its generator.
fn warning_times(run: &Run<'_>, arm: ArmIndex, metrics: &mut BTreeMap<Metric, MetricAnalysis>) {
    let windows = &run.records.windows.arms[arm.get()];
    let paced = validity::of_pace(windows);
    for (_, of_pace) in metrics.iter_mut().filter(|(metric, _)| is_pace(**metric)) {
        of_pace.validity.reasons.extend(paced.iter().cloned());
    }
    let late = validity::of_times(windows);
    let bounded = validity::of_service_times(windows);
    let all = RESPONSE_TIME.metrics.iter().chain(&SERVICE_TIME.metrics);
    let reasons = all
        .map(|(metric, _)| (metric, &late))
        .chain(SERVICE_TIME.metrics.iter().map(|(m, _)| (m, &bounded)));
    for (metric, reasons) in reasons {
        if let Some(of_times) = metrics.get_mut(metric) {
            of_times.validity.reasons.extend(reasons.iter().cloned());
        }
    }
}

/// Warnings about figures of isolated windows in a run in which arms took turns, and about the
/// agreement of both.
fn warning_isolated(run: &Run<'_>, arm: ArmIndex, metrics: &mut BTreeMap<Metric, MetricAnalysis>) {
    let of_windows = validity::of_isolated(run.records, &run.records.windows.arms[arm.get()]);
    for (_, of) in metrics
        .iter_mut()
        .filter(|(metric, _)| is_isolated(**metric))
    {
        of.validity.reasons.extend(of_windows.iter().cloned());
    }
    if let Some(whole) = metrics.get_mut(&run.cpu_metric()) {
        let disagree = interference::measures_disagree(run, arm);
        whole.validity.reasons.extend(disagree);
        whole.validity.reasons.extend(changeover::warning(run, arm));
    }
}

/// Whether a metric is CPU in isolated windows beside that in turns.
fn is_cpu_alone(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::CpuPerRequestIsolated | Metric::CpuPerIterationIsolated
    )
}

/// Whether a metric is of isolated windows even where arms take turns.
fn is_isolated(metric: Metric) -> bool {
    use Metric::{
        CpuInWindow, CpuPerIterationIsolated, CpuPerRequestIsolated, MachineCpuPerRequest,
        Throughput, TypicalCpuPerRequest, WallPerIteration,
    };
    let of_cpu = [
        CpuInWindow,
        CpuPerIterationIsolated,
        CpuPerRequestIsolated,
        MachineCpuPerRequest,
        Throughput,
        TypicalCpuPerRequest,
        WallPerIteration,
    ];
    of_cpu.contains(&metric) || is_time(metric)
}

/// The cost of a typical request is reported where it differs from the cost of all requests.
fn leave_out_typical(run: &Run<'_>, metrics: &mut BTreeMap<Metric, MetricAnalysis>) {
    let relative = |metric: Metric| {
        let difference = metrics.get(&metric)?.difference.as_ref().ok()?;
        difference.relative
    };
    let typical = relative(Metric::TypicalCpuPerRequest);
    // Both of the same windows, where there are turns as well.
    let whole = relative(Metric::CpuPerRequestIsolated).or_else(|| relative(run.cpu_metric()));
    let differs = typical
        .zip(whole)
        .is_some_and(|(typical, whole)| !(whole.low..=whole.high).contains(&typical.estimate));
    if !differs {
        metrics.remove(&Metric::TypicalCpuPerRequest);
    }
}

/// Warnings about CPU figures: deferred cost that is unknown or had not ended.
fn warning_cpu(run: &Run<'_>, arm: ArmIndex, metrics: &mut BTreeMap<Metric, MetricAnalysis>) {
    let (records, turns) = (run.records, &run.records.turns);
    let of_windows = validity::deferred_of_windows(&records.ledgers, arm);
    let of_whole = match turns.is_empty() {
        true => of_windows.clone(),
        false => {
            let known = totals::interleaved(run, arm, &[arm]).len();
            validity::deferred_unknown(turns.launches_of(arm), known)
        }
    };
    let not_drained = validity::not_drained(&records.ledgers, arm);
    let negative = idle::deferred_negative(run, arm);
    let uncertain = idle::idle_uncertain(run, arm);
    for (metric, of_cpu) in metrics {
        let is_whole = *metric == run.cpu_metric();
        if !is_whole && !is_cpu_alone(*metric) {
            continue;
        }
        let unknown = if is_whole { &of_whole } else { &of_windows };
        let negative = negative.as_ref().filter(|_| !is_whole || turns.is_empty());
        let uncertain = uncertain.as_ref().filter(|_| is_whole);
        let found = unknown.iter().chain(&not_drained).chain(negative);
        let reasons = found.chain(uncertain).cloned().map(Reason::from);
        of_cpu.validity.reasons.extend(reasons);
    }
}

/// The control's relative difference in the primary metric at 99 %.
fn control_at_99(run: &Run<'_>, compared: &[Comparisons], primary: Metric) -> Option<Interval> {
    let facts = run.records.manifest.arms.get(ArmIndex::CONTROL.get())?;
    let control = compared.get(ArmIndex::CONTROL.get())?.get(&primary)?;
    let is_control = facts.role == Role::Control;
    is_control.then(|| relative_at(control, Confidence::P99, run.rules))?
}

/// Whether a metric depends on how fast a closed loop's generator is.
fn is_pace(metric: Metric) -> bool {
    metric == Metric::Throughput || is_time(metric)
}

/// Every load of requests has these, though a tail quantile may have too few answers.
fn is_time(metric: Metric) -> bool {
    let mut times = RESPONSE_TIME.metrics.iter().chain(&SERVICE_TIME.metrics);
    times.any(|(of_time, _)| *of_time == metric)
}

fn own_cost(records: &Records) -> OwnCost {
    let (windows, turns) = (&records.windows, &records.turns);
    let load_ns = windows.duration_ns as f64 + turns.load_ns as f64;
    let of_both = |of: fn(&OwnCpu) -> f64| of(&windows.own) + of(&turns.own);
    let read_over_ns = of_both(|own| own.read_over_ns);
    if load_ns <= 0.0 || read_over_ns <= 0.0 {
        return OwnCost::default();
    }
    let [generator_ns, sink_ns] = [of_both(|own| own.generator_ns), of_both(|own| own.sink_ns)];
    let rest_ns = (of_both(|own| own.all_ns) - generator_ns - sink_ns).max(0.0);
    OwnCost {
        generator_cores: generator_ns / load_ns,
        sink_cores: sink_ns / read_over_ns,
        rest_cores: rest_ns / read_over_ns,
        rss_bytes: records
            .ends
            .iter()
            .filter_map(|end| end.own_rss_bytes)
            .max(),
    }
}

#[cfg(test)]
mod tests;
