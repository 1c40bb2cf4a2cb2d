//! The bill: busy CPU of the machine per request, and who used it.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Interval, LoadModel, Method};
use windage_stats::Confidence;

use super::metrics::{attachments, us_per_request};
use super::pieces::{Part, Pieces, pieces};
use crate::compare::{mean, mean_by_launch};
use crate::conclude::interval;
use crate::run::Run;

/// Busy CPU of the machine per request of an arm, and where it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// Busy CPU of the whole machine during windows.
    pub machine: BillLine,
    /// Its parts, in order; they add up to `machine`.
    pub lines: Vec<(BillItem, BillLine)>,
    /// CPU of the arm's agents outside its windows, credited to its requests; `None` for an arm
    /// without agents.
    pub agent_outside_windows: Option<BillLine>,
    /// CPU of the arm's services outside its windows; `None` when unknown.
    pub service_outside_windows: Option<BillLine>,
    /// The machine's CPU plus the deferred parts: the sum of the three above, without those that no
    /// launch knows, over the launches that know the others.
    pub with_deferred: BillLine,
    /// Launches that went in.
    pub rounds: usize,
}

/// Who used a part of the machine's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BillItem {
    /// The arm's services, including the traps and BPF programs of probes on them.
    Service,
    /// The agents that were attached.
    Agent,
    /// The load generator's thread; on loopback the sender pays the receiver's TCP input.
    Generator,
    /// Windage without the generator's thread: telemetry receivers, probes, journal, display.
    Windage,
    /// The kernel's own threads.
    KernelThreads,
    /// The rest of the machine's busy time: other arms' services, other processes, interrupts.
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

/// One line of a bill, in microseconds per request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BillLine {
    /// The baseline's, in the same blocks; `None` when unknown (it is then part of the remainder),
    /// as below.
    pub baseline_us: Option<f64>,
    /// The arm's.
    pub arm_us: Option<f64>,
    /// Arm − baseline; `None` for the baseline.
    pub difference_us: Option<f64>,
    /// The difference's interval; `None` where there are too few values for one.
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

/// The values of an arm and of the baseline in each launch that knows both.
type OfLaunches = BTreeMap<u32, (f64, f64)>;

/// An arm's bill; `None` for a batch load, without windows paired with the baseline's, and when
/// the machine's CPU was not read.
pub(crate) fn bill(run: &Run<'_>, arm: ArmIndex) -> Option<Bill> {
    if run.records.manifest.load.model == LoadModel::Batch {
        return None;
    }
    let pieces = pieces(run, arm)?;
    let line = |part| match pieces.part(part) {
        Some(of) => line(run, arm, of.baseline_us, of.arm_us, &of.differences),
        None => BillLine::default(),
    };
    let machine = line(Part::Machine);
    let outside = [
        agent_outside_windows(run, arm, &pieces),
        service_outside_windows(run, arm, &pieces),
    ];
    let with_deferred = with_all(run, arm, &pieces, &outside);
    let [agent, service] = outside.map(|of| (!of.is_empty()).then(|| of_launches(run, arm, &of)));
    Some(Bill {
        lines: BillItem::ALL.map(|item| (item, line(item.part()))).to_vec(),
        agent_outside_windows: agent,
        service_outside_windows: service,
        with_deferred: with_deferred.unwrap_or_else(|| machine.clone()),
        machine,
        rounds: pieces.launches().count(),
    })
}

/// CPU of the arm's agents outside its windows, by launch: during load that is not measured,
/// and without load. What they use in windows of bystanders is in the bystanders' bills.
fn agent_outside_windows(run: &Run<'_>, arm: ArmIndex, pieces: &Pieces) -> OfLaunches {
    let outside = |launch| {
        let attachments = attachments(run, arm);
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

/// Deferred cost of the arm and of the baseline, by launch.
fn service_outside_windows(run: &Run<'_>, arm: ArmIndex, pieces: &Pieces) -> OfLaunches {
    let deferred = |launch, of| {
        let ledger = run.records.ledgers.get(launch, of)?;
        Some(ledger.deferred_per_request_ns()? / 1e3)
    };
    let both = |launch| {
        let of_arm = deferred(launch, arm)?;
        Some((launch, (of_arm, deferred(launch, ArmIndex::BASELINE)?)))
    };
    pieces.launches().filter_map(both).collect()
}

fn of_launches(run: &Run<'_>, arm: ArmIndex, of: &OfLaunches) -> BillLine {
    let baseline_us = mean(of.values().map(|(_, baseline)| *baseline));
    let arm_us = mean(of.values().map(|(arm, _)| *arm));
    let differences = of
        .iter()
        .map(|(launch, (arm, base))| (*launch, vec![arm - base]));
    match baseline_us.zip(arm_us) {
        Some((baseline_us, arm_us)) => line(run, arm, baseline_us, arm_us, &differences.collect()),
        None => BillLine::default(),
    }
}

/// The machine's line plus CPU outside windows, over the launches that know all parts; `None`
/// without any.
fn with_all(
    run: &Run<'_>,
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
    (!launches.is_empty()).then(|| of_launches(run, arm, &launches))
}

fn line(
    run: &Run<'_>,
    arm: ArmIndex,
    baseline_us: f64,
    arm_us: f64,
    differences: &BTreeMap<u32, Vec<f64>>,
) -> BillLine {
    let difference_us = arm_us - baseline_us;
    let is_compared = arm != ArmIndex::BASELINE;
    let location = mean_by_launch(differences).ok();
    let found = location.and_then(|of| interval(&of, Confidence::P95, run.rules));
    BillLine {
        baseline_us: Some(baseline_us),
        arm_us: Some(arm_us),
        difference_us: is_compared.then_some(difference_us),
        // A sequence over batches is for a different mean.
        interval: found.filter(|_| is_compared).map(|found| {
            let moved = difference_us - found.estimate;
            Interval {
                estimate: difference_us,
                method: match (differences.len(), run.rules.sequence) {
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
