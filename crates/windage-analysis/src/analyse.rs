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
use crate::{Analysis, ArmAnalysis, DesignFacts, MetricAnalysis, OwnCost, fidelity, validity};

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
        let late = validity::of_times(self.blocks.windows_of(arm));
        for metric in RESPONSE_TIME.metrics.iter().chain(&SERVICE_TIME.metrics) {
            if let Some(of_times) = metrics.get_mut(&metric.0) {
                of_times.validity.reasons.extend(late.iter().cloned());
            }
        }
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
mod tests {
    use super::*;
    use crate::fixture;
    use windage_model::{DoubtCode, Order, Soundness, Verdict};

    fn analysed(records: &Records) -> Analysis {
        analyse(records, std::iter::empty(), std::iter::empty())
    }

    #[test]
    fn overhead_is_found_under_drift_and_holds_what_was_deferred() {
        let analysis = analysed(&fixture::records(4));
        let otel = &analysis.arms[2];
        let cpu = &otel.metrics[&Metric::CpuPerRequest];
        let relative = cpu.difference.as_ref().unwrap().relative.as_ref().unwrap();
        // A fifth in the windows; 2.2 ms for 1100 requests, spread over hidden settle times,
        // are 2 µs and a little more beyond the 60 µs.
        let truth = 1.2 * (1.0 + 2.0 / 60.0) - 1.0;
        assert!((relative.estimate - truth).abs() < 0.01, "{relative:?}");
        assert_eq!(cpu.verdict, Some(Verdict::Costs));
        assert_eq!(cpu.exceeds_nil(), Some(true));
        let in_window = &otel.metrics[&Metric::CpuInWindow];
        let relative = in_window
            .difference
            .as_ref()
            .unwrap()
            .relative
            .as_ref()
            .unwrap();
        assert!((relative.estimate - 0.2).abs() < 0.003, "{relative:?}");
        assert_eq!(
            analysis.validity.soundness(),
            Soundness::Valid,
            "{:?}",
            analysis.validity
        );
    }

    #[test]
    fn the_control_is_negligible_and_the_baseline_has_no_difference() {
        let analysis = analysed(&fixture::records(4));
        let control = &analysis.control().unwrap().metrics[&Metric::CpuPerRequest];
        assert_eq!(control.verdict, Some(Verdict::Negligible));
        let baseline = &analysis.baseline().unwrap().metrics[&Metric::CpuPerRequest];
        assert_eq!(
            baseline.difference.as_ref().unwrap_err().code,
            crate::MissingCode::Baseline
        );
    }

    #[test]
    fn sequential_order_is_named_for_what_it_is() {
        let mut records = fixture::records(1);
        records.manifest.design.order = Order::Sequential;
        let codes: Vec<DoubtCode> = analysed(&records)
            .validity
            .reasons
            .iter()
            .map(|r| r.code)
            .collect();
        assert_eq!(codes, [DoubtCode::SingleRound, DoubtCode::SequentialOrder]);
    }

    #[test]
    fn what_was_lost_is_a_doubt() {
        let mut records = fixture::records(3);
        records.delivered[1].root_spans -= 5_000;
        let analysis = analysed(&records);
        assert!(
            analysis
                .validity
                .reasons
                .iter()
                .any(|r| r.code == DoubtCode::TelemetryLost)
        );
        assert_eq!(
            analysis.arms[2].fidelity.as_ref().unwrap().lost,
            Some(5_000.0)
        );
    }

    #[test]
    fn little_or_nothing_gives_a_defined_answer() {
        let nothing = Records {
            windows: vec![],
            launches: vec![],
            ends: vec![],
            delivered: vec![],
            ..fixture::records(1)
        };
        assert_eq!(analysed(&nothing).validity.soundness(), Soundness::Void);
        let one = Records {
            windows: fixture::records(1).windows[..1].to_vec(),
            ..nothing.clone()
        };
        let analysis = analysed(&one);
        assert!(
            analysis.arms[2].metrics[&Metric::CpuPerRequest]
                .difference
                .is_err()
        );
        let mut idle = fixture::records(3);
        for window in &mut idle.windows {
            window.exchanges.completed = 0;
            window.cpu.in_window_ns = None;
        }
        let analysis = analysed(&idle);
        let missing = analysis.arms[2].metrics.get(&Metric::CpuInWindow);
        assert!(missing.is_none_or(|m| m.difference.is_err()));
    }

    #[test]
    fn a_control_that_differs_makes_the_run_suspect() {
        let mut records = fixture::records(4);
        for window in records
            .windows
            .iter_mut()
            .filter(|w| w.place.arm == ArmIndex::CONTROL)
        {
            window.cpu.in_window_ns = window.cpu.in_window_ns.map(|ns| ns + ns / 50);
        }
        let analysis = analysed(&records);
        assert!(
            analysis
                .validity
                .reasons
                .iter()
                .any(|r| r.code == DoubtCode::ControlNotNil)
        );
    }

    #[test]
    fn a_late_generator_speaks_against_times_and_nothing_else() {
        let mut records = fixture::records(3);
        for window in &mut records.windows {
            window
                .doubts
                .push(windage_model::Doubt::new(DoubtCode::SendLag, "Late."));
        }
        let times = |arm: u16| Timed {
            launch: 0,
            block: 0,
            arm: ArmIndex(arm),
            times: {
                let mut times = hdrhistogram::Histogram::new_with_max(1_000_000, 3).unwrap();
                times.record_n(1000, 100).unwrap();
                times
            },
        };
        let analysis = analyse(
            &records,
            [times(0), times(2)].into_iter(),
            std::iter::empty(),
        );
        let otel = &analysis.arms[2].metrics;
        let codes = |metric| -> Vec<DoubtCode> {
            otel[&metric]
                .validity
                .reasons
                .iter()
                .map(|d| d.code)
                .collect()
        };
        assert_eq!(codes(Metric::ResponseTimeP50), [DoubtCode::SendLag]);
        assert_eq!(codes(Metric::CpuPerRequest), []);
        assert_eq!(analysis.validity.soundness(), Soundness::Valid);
    }

    #[test]
    fn json_has_no_figure_that_is_not_one() {
        let json = crate::wire::to_json(&analysed(&fixture::records(3)));
        assert_eq!(json["schema"], 1);
        let otel = &json["arms"][2];
        assert_eq!(otel["metrics"]["cpu_per_request"]["verdict"], "costs");
        assert_eq!(otel["metrics"]["cpu_per_request"]["exceeds_nil"], true);
        assert_eq!(
            json["arms"][0]["metrics"]["cpu_per_request"]["missing"]["code"],
            "baseline"
        );
        assert_eq!(
            otel["metrics"]["cpu_deferred"]["missing"]["code"],
            "baseline_nil"
        );
        assert!(otel["metrics"]["cpu_per_span"]["difference"]["estimate"].is_number());
        assert_eq!(otel["fidelity"]["lost"], 0.0);
        assert_eq!(otel["versions"]["app"], "app 1.2.3");
    }
}
