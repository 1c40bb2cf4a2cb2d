//! From records to conclusions: every arm, every metric that its load can have.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, CpuSource, Interval, Metric, Role, Window};
use windage_record::{RecordError, RunDir, Timing};
use windage_stats::Confidence;

use crate::blocks::Blocks;
use crate::compare::{Rules, conclude, interval};
use crate::ledger::Ledgers;
use crate::quantiles::{Finished, Gatherer, RESPONSE_TIME, SERVICE_TIME, Timed};
use crate::records::{Records, Streamed};
use crate::{
    Analysis, ArmAnalysis, DesignFacts, MetricAnalysis, OwnCost, fidelity, load, validity,
};

/// A subject that keeps this share of its cores busy is saturated.
const SATURATED_SHARE: f64 = 0.9;

/// Concludes from a run directory.
///
/// # Errors
/// When it can't be read. A damaged end, of the journal or of a histogram log, is no error: what
/// is before it counts, and the analysis says so.
pub fn of_run_directory(run: &RunDir) -> Result<Analysis, RecordError> {
    let records = Records::read(run)?;
    let arms = records
        .manifest
        .arms
        .iter()
        .map(|a| (a.id.to_string(), a.index))
        .collect();
    let void = records.void_places();
    let response_times = Streamed::open(run, Timing::ResponseTime, &arms, &void)?;
    let service_times = Streamed::open(run, Timing::ServiceTime, &arms, &void)?;
    Ok(analyse(&records, response_times, service_times))
}

/// Concludes from a run. Histograms are streamed in the order in which they were recorded.
#[must_use]
pub fn analyse(
    records: &Records,
    response_times: impl Iterator<Item = Timed>,
    service_times: impl Iterator<Item = Timed>,
) -> Analysis {
    let arms = records.manifest.arms.len();
    let gather = |quantiles, times: &mut dyn Iterator<Item = Timed>| {
        let mut gatherer = Gatherer::new(arms, quantiles, records.manifest.design.order);
        times.for_each(|timed| gatherer.add(&timed));
        gatherer.finish()
    };
    let mut response_times = response_times;
    let mut service_times = service_times;
    let run = Run {
        records,
        rules: Rules {
            order: records.manifest.design.order,
            interest: records.manifest.design.interest,
        },
        blocks: Blocks::index(&records.windows, arms),
        ledgers: Ledgers::open(&records.windows, &records.launches, &records.ends),
        response_times: gather(RESPONSE_TIME, &mut response_times),
        service_times: gather(SERVICE_TIME, &mut service_times),
    };
    run.analysis()
}

/// A run's records, arranged for comparing.
pub(crate) struct Run<'a> {
    pub(crate) records: &'a Records,
    pub(crate) rules: Rules,
    pub(crate) blocks: Blocks<'a>,
    pub(crate) ledgers: Ledgers,
    pub(crate) response_times: Finished,
    pub(crate) service_times: Finished,
}

impl Run<'_> {
    fn analysis(&self) -> Analysis {
        let manifest = &self.records.manifest;
        let arms: Vec<ArmAnalysis> = (0u16..)
            .zip(&manifest.arms)
            .map(|(i, _)| self.arm(ArmIndex(i)))
            .collect();
        let mut validity = validity::of_run(self.records, self.control_at_99().as_ref());
        for arm in arms.iter().filter(|arm| arm.role == Role::Treatment) {
            let doubt = arm
                .fidelity
                .as_ref()
                .and_then(|f| fidelity::doubt(&arm.name, f));
            validity.reasons.extend(doubt);
        }
        Analysis {
            run: manifest.run.clone(),
            plan: manifest.plan.clone(),
            about: manifest.about.clone(),
            command: manifest.command.clone(),
            started: manifest.started_rfc3339(),
            windage: manifest.windage.clone(),
            host: self.records.host.clone(),
            versions: self.records.versions.clone(),
            design: self.design(),
            validity,
            arms,
            own_cost: own_cost(&self.records.windows),
            outliers: load::slowest(&self.records.windows),
        }
    }

    fn design(&self) -> DesignFacts {
        let manifest = &self.records.manifest;
        let design = &manifest.design;
        let launches: std::collections::BTreeSet<u32> = self
            .records
            .windows
            .iter()
            .map(|w| w.place.launch)
            .collect();
        let measured_ns: u64 = self.records.windows.iter().map(|w| w.duration_ns).sum();
        DesignFacts {
            order: design.order,
            load: manifest.load.model,
            rate_per_s: manifest.load.rate_per_s,
            connections: manifest.load.connections,
            window_s: design.window_ns as f64 / 1e9,
            rounds_planned: design.rounds,
            rounds: u32::try_from(launches.len()).unwrap_or(u32::MAX),
            blocks: u32::try_from(self.blocks.blocks.len()).unwrap_or(u32::MAX),
            measured_s: measured_ns as f64 / 1e9,
            seed: manifest.seed,
            interest: design.interest,
            cpu_source: self
                .records
                .launches
                .first()
                .and_then(|l| l.arms.first())
                .map_or(CpuSource::None, |a| a.cpu_source),
        }
    }

    fn arm(&self, arm: ArmIndex) -> ArmAnalysis {
        let facts = &self.records.manifest.arms[arm.get()];
        let fidelity = fidelity::fidelity(
            arm,
            facts.expected.unwrap_or_default(),
            &self.records.delivered,
        );
        let mut metrics: BTreeMap<Metric, MetricAnalysis> = self
            .comparisons(arm)
            .into_iter()
            .filter(|(m, c)| c.arm.is_some() || c.baseline.is_some() || is_time(*m))
            .map(|(metric, comparison)| (metric, conclude(metric, arm, self.rules, comparison)))
            .collect();
        self.doubt_cpu(arm, &mut metrics);
        self.cpu_per_span(arm, &mut metrics);
        self.doubt_times(arm, &mut metrics);
        let saturated = self.saturated(arm);
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
            load: load::of_arm(&self.records.windows, arm, self.records.manifest.load.model),
        }
    }

    /// What speaks against times: the generator's lateness is in all of them, and connections
    /// that were all in use bound what the subject met at a time.
    fn doubt_times(&self, arm: ArmIndex, metrics: &mut BTreeMap<Metric, MetricAnalysis>) {
        let late = validity::of_times(self.blocks.windows_of(arm));
        let bounded = validity::of_service_times(self.blocks.windows_of(arm));
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

    /// What speaks against the CPU figures: deferred cost that is unknown or was not over.
    fn doubt_cpu(&self, arm: ArmIndex, metrics: &mut BTreeMap<Metric, MetricAnalysis>) {
        for metric in [Metric::CpuPerRequest, Metric::CpuPerIteration] {
            if let Some(of_cpu) = metrics.get_mut(&metric) {
                of_cpu
                    .validity
                    .reasons
                    .extend(validity::of_cpu(&self.ledgers, arm));
            }
        }
    }

    fn saturated(&self, arm: ArmIndex) -> bool {
        let (mut cpu_ns, mut time_ns) = (0.0, 0.0);
        for window in self.blocks.windows_of(arm) {
            cpu_ns += window.cpu.in_window_ns.unwrap_or(0) as f64;
            time_ns += window.duration_ns as f64;
        }
        time_ns > 0.0
            && cpu_ns / time_ns
                >= SATURATED_SHARE * f64::from(self.records.manifest.design.subject_cores)
    }

    /// The control's relative difference in the primary metric at 99 %.
    fn control_at_99(&self) -> Option<Interval> {
        let control = self.records.manifest.arms.get(ArmIndex::CONTROL.get())?;
        if control.role != Role::Control {
            return None;
        }
        let location = self.whole_cpu(ArmIndex::CONTROL).location.ok()?;
        Some(interval(&location, Confidence::P99).map(f64::exp_m1))
    }
}

/// Every load of requests has these, though a tail may lack the answers to be told.
fn is_time(metric: Metric) -> bool {
    let mut times = RESPONSE_TIME.metrics.iter().chain(&SERVICE_TIME.metrics);
    times.any(|(of_time, _)| *of_time == metric)
}

fn own_cost(windows: &[Window]) -> OwnCost {
    let (mut time, mut generator, mut sink, mut all) = (0.0, 0.0, 0.0, 0.0);
    for window in windows {
        time += window.duration_ns as f64;
        generator += window.cpu.generator_ns as f64;
        sink += window.cpu.sink_ns as f64;
        all += window.cpu.windage_ns as f64;
    }
    if time <= 0.0 {
        return OwnCost::default();
    }
    OwnCost {
        generator_cores: generator / time,
        sink_cores: sink / time,
        rest_cores: (all - generator - sink).max(0.0) / time,
    }
}

#[cfg(test)]
#[path = "analyse_tests.rs"]
mod tests;
