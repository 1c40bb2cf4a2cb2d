//! The whole bill: busy CPU of the machine for a request, and who used it.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Interval, LoadModel, Method};
use windage_stats::Confidence;

use super::metrics::us_per_request;
use super::pieces::{Part, Pieces};
use crate::analyse::Run;
use crate::compare::{mean, mean_by_launch};
use crate::conclude::interval;

/// Busy CPU of the machine for a request of an arm, and where it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// Busy CPU of the whole machine while windows lasted.
    pub machine: BillLine,
    /// Its parts, in order: they add up to it.
    pub lines: Vec<(BillItem, BillLine)>,
    /// CPU of the arm's agents that falls outside its windows, credited to its requests; `None`
    /// for an arm without agents.
    pub agent_outside_windows: Option<BillLine>,
    /// CPU of the arm's services that falls outside its windows; `None` when that is not known.
    pub service_outside_windows: Option<BillLine>,
    /// The machine's with what was deferred: the sum of the three, those that no launch knows left
    /// out, over the launches that know the others.
    pub with_deferred: BillLine,
    /// Launches that went in.
    pub rounds: usize,
}

/// What a part of the machine's CPU was used by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BillItem {
    /// The arm's services; the traps and the BPF programs of probes on them are in it.
    Service,
    /// The agents that were attached.
    Agent,
    /// The load generator's thread; on loopback the sender pays the receiver's TCP input.
    Generator,
    /// Windage, but for the generator's thread: receivers of telemetry, probes, journal, display.
    Windage,
    /// The kernel's own threads.
    KernelThreads,
    /// What is left of the machine's busy time: other arms' services, other processes,
    /// interrupts.
    Remainder,
}

impl BillItem {
    /// Every item, in the order of a bill.
    pub const ALL: [BillItem; 6] = [
        BillItem::Service,
        BillItem::Agent,
        BillItem::Generator,
        BillItem::Windage,
        BillItem::KernelThreads,
        BillItem::Remainder,
    ];

    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            BillItem::Service => "service",
            BillItem::Agent => "agent",
            BillItem::Generator => "generator",
            BillItem::Windage => "windage",
            BillItem::KernelThreads => "kernel_threads",
            BillItem::Remainder => "remainder",
        }
    }
}

/// One line of a bill, in microseconds a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BillLine {
    /// The baseline's, in the same blocks; `None` when it is not known (what it is then stands in
    /// the remainder), as below.
    pub baseline_us: Option<f64>,
    /// The arm's.
    pub arm_us: Option<f64>,
    /// Arm − baseline; `None` for the baseline.
    pub difference_us: Option<f64>,
    /// The difference's interval; `None` where there is too little for one.
    pub interval: Option<Interval>,
}

impl BillItem {
    fn part(self) -> Part {
        match self {
            BillItem::Service => Part::Service,
            BillItem::Agent => Part::Agent,
            BillItem::Generator => Part::Generator,
            BillItem::Windage => Part::Windage,
            BillItem::KernelThreads => Part::KernelThreads,
            BillItem::Remainder => Part::Remainder,
        }
    }
}

/// A value of an arm and of the baseline in each launch that knows both.
type OfLaunches = BTreeMap<u32, (f64, f64)>;

impl Run<'_> {
    /// An arm's bill; `None` for a batch load, without windows beside the baseline's, and when
    /// the machine's CPU was not read.
    pub(crate) fn bill(&self, arm: ArmIndex) -> Option<Bill> {
        if self.records.manifest.load.model == LoadModel::Batch {
            return None;
        }
        let pieces = self.pieces(arm)?;
        let line = |part| match pieces.part(part) {
            Some(of) => self.line(arm, of.baseline_us, of.arm_us, &of.differences),
            None => BillLine::default(),
        };
        let machine = line(Part::Machine);
        let outside = [
            self.agent_outside_windows(arm, &pieces),
            self.service_outside_windows(arm, &pieces),
        ];
        let with_deferred = self.with_all(arm, &pieces, &outside);
        let [agent, service] =
            outside.map(|of| (!of.is_empty()).then(|| self.of_launches(arm, &of)));
        Some(Bill {
            lines: BillItem::ALL.map(|item| (item, line(item.part()))).to_vec(),
            agent_outside_windows: agent,
            service_outside_windows: service,
            with_deferred: with_deferred.unwrap_or_else(|| machine.clone()),
            machine,
            rounds: pieces.launches().count(),
        })
    }

    /// What the arm's agents use beyond its windows, by launch: while it gets load that is not
    /// measured, and while nobody gets any. What they use in windows of bystanders is in the bills
    /// of these.
    fn agent_outside_windows(&self, arm: ArmIndex, pieces: &Pieces) -> OfLaunches {
        let outside = |launch| {
            let attachments = self.attachments(arm);
            let of_launch = attachments.filter(|of| of.cycle.launch == launch);
            let mut parts = of_launch.map(|of| us_per_request(&of));
            let (us, requests) = parts.try_fold((0.0, 0.0), |(us, requests), part| {
                part.map(|(more_us, more)| (us + more_us, requests + more))
            })?;
            let (in_windows, _) = pieces.of_launch(launch, Part::Agent)?;
            (requests > 0.0).then(|| (launch, (us / requests - in_windows, 0.0)))
        };
        pieces.launches().filter_map(outside).collect()
    }

    /// What the arm and the baseline deferred, by launch.
    fn service_outside_windows(&self, arm: ArmIndex, pieces: &Pieces) -> OfLaunches {
        let deferred = |launch, of| {
            let ledger = self.records.ledgers.get(launch, of)?;
            Some(ledger.deferred_per_request_ns()? / 1e3)
        };
        let both = |launch| {
            let of_arm = deferred(launch, arm)?;
            Some((launch, (of_arm, deferred(launch, ArmIndex::BASELINE)?)))
        };
        pieces.launches().filter_map(both).collect()
    }

    fn of_launches(&self, arm: ArmIndex, of: &OfLaunches) -> BillLine {
        let baseline_us = mean(of.values().map(|(_, baseline)| *baseline));
        let arm_us = mean(of.values().map(|(arm, _)| *arm));
        let differences = of
            .iter()
            .map(|(launch, (arm, base))| (*launch, vec![arm - base]));
        match baseline_us.zip(arm_us) {
            Some((baseline_us, arm_us)) => {
                self.line(arm, baseline_us, arm_us, &differences.collect())
            }
            None => BillLine::default(),
        }
    }

    /// The machine's line with what falls outside windows, all of it over the launches that know
    /// it; `None` without any.
    fn with_all(
        &self,
        arm: ArmIndex,
        pieces: &Pieces,
        outside: &[OfLaunches; 2],
    ) -> Option<BillLine> {
        let known: Vec<&OfLaunches> = outside.iter().filter(|of| !of.is_empty()).collect();
        if known.is_empty() {
            return None;
        }
        let in_all = |launch| {
            let machine = pieces.of_launch(launch, Part::Machine);
            let beyond = known.iter().map(|of| of.get(&launch).copied());
            let parts: Option<Vec<(f64, f64)>> = std::iter::once(machine).chain(beyond).collect();
            let (of_arm, of_baseline): (Vec<f64>, Vec<f64>) = parts?.into_iter().unzip();
            let sum = |of: &[f64]| of.iter().sum::<f64>();
            Some((launch, (sum(&of_arm), sum(&of_baseline))))
        };
        let launches: OfLaunches = pieces.launches().filter_map(in_all).collect();
        (!launches.is_empty()).then(|| self.of_launches(arm, &launches))
    }

    fn line(
        &self,
        arm: ArmIndex,
        baseline_us: f64,
        arm_us: f64,
        differences: &BTreeMap<u32, Vec<f64>>,
    ) -> BillLine {
        let difference_us = arm_us - baseline_us;
        let is_compared = arm != ArmIndex::BASELINE;
        let location = mean_by_launch(differences).ok();
        let found = location.and_then(|of| interval(&of, Confidence::P95, self.rules));
        BillLine {
            baseline_us: Some(baseline_us),
            arm_us: Some(arm_us),
            difference_us: is_compared.then_some(difference_us),
            // A sequence over batches lies about another mean.
            interval: found.filter(|_| is_compared).map(|found| {
                let moved = difference_us - found.estimate;
                Interval {
                    estimate: difference_us,
                    method: match (differences.len(), self.rules.sequence) {
                        (1, false) => Method::MeanWithinLaunch,
                        (1, true) => Method::SequenceByBatch,
                        (_, false) => Method::MeanByLaunch,
                        (_, true) => Method::SequenceByLaunch,
                    },
                    ..found.map(|end| end + moved)
                }
            }),
        }
    }
}
