//! The figures that the generator has to reach, judged by what was measured.

use super::contender::Contender;
use super::trial::{Quantity, Reading, Trial};
use crate::bench::judged::Judged;
use crate::bench::median::{Median, median};

/// A figure to reach, by Windage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) what: &'static str,
    pub(super) scenario: &'static str,
    /// Windage, in which of the ways that it is used.
    pub(super) of: Contender,
    pub(super) quantity: Quantity,
    pub(super) against: Against,
    pub(super) bound: Bound,
}

/// What a quantity is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// Another contender's, in the same round.
    Contender(Contender),
    /// What it would be without error, in the same run.
    Truth,
    /// Nothing: the value itself, in its unit.
    Nothing,
}

/// When a figure is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// The low end of the interval is no less.
    LowEndAtLeast(f64),
    /// The median is no more.
    AtMost(f64),
    /// The median is no further from 1.
    Within(f64),
}

pub(super) const GOALS: &[Goal] = &[
    Goal {
        what: "closed loop: throughput against wrk",
        scenario: "closed",
        of: Contender::Windage,
        quantity: Quantity::Throughput,
        against: Against::Contender(Contender::Wrk),
        bound: Bound::LowEndAtLeast(0.98),
    },
    cpu(
        "closed loop: CPU a request against wrk",
        "closed",
        Contender::Wrk,
        0.90,
    ),
    cpu(
        "closed loop: CPU a request against the floor loop",
        "closed",
        Contender::Floor,
        1.10,
    ),
    cpu(
        "open loop, 10,000/s: CPU a request against h2load",
        "open-10000",
        Contender::H2load,
        1.0,
    ),
    cpu(
        "open loop, 2,000/s: CPU a request against h2load",
        "open-2000",
        Contender::H2load,
        1.0,
    ),
    in_bursts(
        "the same at 10,000/s with starts as h2load has them, eight at once",
        "open-10000",
    ),
    in_bursts(
        "the same at 2,000/s with starts as h2load has them, eight at once",
        "open-2000",
    ),
    Goal {
        what: "constant server: p50 against truth",
        scenario: "constant",
        of: Contender::Windage,
        quantity: Quantity::LatencyP50,
        against: Against::Truth,
        bound: Bound::Within(0.03),
    },
    Goal {
        what: "stalling server: response time p99 against truth",
        scenario: "stall",
        of: Contender::Windage,
        quantity: Quantity::LatencyP99,
        against: Against::Truth,
        bound: Bound::Within(0.01),
    },
    Goal {
        what: "send lag p99 at 10,000/s",
        scenario: "open-10000",
        of: Contender::Windage,
        quantity: Quantity::SendLagP99,
        against: Against::Nothing,
        bound: Bound::AtMost(60.0),
    },
    memory("peak memory at 8 connections", "memory", 12e6),
    memory("peak memory at 10,000 connections", "memory-10000", 96e6),
];

const fn cpu(what: &'static str, scenario: &'static str, other: Contender, most: f64) -> Goal {
    Goal {
        what,
        scenario,
        of: Contender::Windage,
        quantity: Quantity::CpuPerRequest,
        against: Against::Contender(other),
        bound: Bound::AtMost(most),
    }
}

const fn in_bursts(what: &'static str, scenario: &'static str) -> Goal {
    Goal {
        of: Contender::WindageBursts,
        ..cpu(what, scenario, Contender::H2load, 1.0)
    }
}

const fn memory(what: &'static str, scenario: &'static str, most_bytes: f64) -> Goal {
    Goal {
        what,
        scenario,
        of: Contender::Windage,
        quantity: Quantity::Memory,
        against: Against::Nothing,
        bound: Bound::AtMost(most_bytes),
    }
}

impl Goal {
    /// Judges by the trials of a run.
    pub(super) fn judge(&self, trials: &[Trial]) -> Judged {
        let figure = ratio(trials, self.scenario, self.of, self.quantity, self.against);
        Judged {
            figure,
            is_reached: figure.and_then(|figure| self.bound.holds(&figure)),
            doubts: self.doubts(trials),
        }
    }

    fn doubts(&self, trials: &[Trial]) -> Vec<String> {
        let mut contenders = vec![self.of];
        if let Against::Contender(other) = self.against {
            contenders.push(other);
        }
        contenders
            .iter()
            .flat_map(|&contender| self.doubts_about(contender, trials))
            .collect()
    }

    fn doubts_about(&self, contender: Contender, trials: &[Trial]) -> Vec<String> {
        let name = contender.as_str();
        let own = of(trials, self.scenario, contender);
        let readings: Vec<&Reading> = own.iter().filter_map(|t| t.outcome.as_ref().ok()).collect();
        let mut doubts = Vec::new();
        let mut doubt = |count: usize, what: &str| {
            if count > 0 {
                doubts.push(format!("{count} of {} runs of {name} {what}", own.len()));
            }
        };
        doubt(own.len() - readings.len(), "failed");
        let with = |is: fn(&Reading) -> bool| readings.iter().filter(|reading| is(reading)).count();
        doubt(with(|r| r.answer.errors > 0), "had errors");
        let is_doubted = |r: &Reading| r.answer.validity.as_deref().is_some_and(|v| v != "valid");
        doubt(with(is_doubted), "were called suspect or void by itself");
        if self.quantity == Quantity::Throughput {
            doubts.extend(disagreement(name, &readings));
        }
        doubts
    }
}

/// Own clocks differ from that outside by starting up and ending; beyond 1 % that is said.
fn disagreement(name: &str, readings: &[&Reading]) -> Option<String> {
    let excess = median(readings.iter().filter_map(|reading| {
        let own = reading.value(Quantity::Throughput)?;
        Some(own / reading.value(Quantity::ThroughputOutside)? - 1.0)
    }))?;
    (excess.estimate.abs() > 0.01).then(|| {
        format!(
            "requests/s of {name} by its own clock are {:+.1} % off those by the clock outside, \
             which holds its start and end",
            excess.estimate * 100.0
        )
    })
}

impl Bound {
    /// `None` for a figure without an interval: too few rounds to conclude anything.
    fn holds(self, figure: &Median) -> Option<bool> {
        let (low, _) = figure.interval?;
        Some(match self {
            Bound::LowEndAtLeast(least) => low >= least,
            Bound::AtMost(most) => figure.estimate <= most,
            Bound::Within(most) => (figure.estimate - 1.0).abs() <= most,
        })
    }
}

/// The trials of one contender in one scenario.
pub(super) fn of<'t>(trials: &'t [Trial], scenario: &str, contender: Contender) -> Vec<&'t Trial> {
    trials
        .iter()
        .filter(|trial| trial.scenario == scenario && trial.contender == contender)
        .collect()
}

/// The median over rounds of a contender's quantity, divided by another's of the same round.
pub(super) fn ratio(
    trials: &[Trial],
    scenario: &str,
    contender: Contender,
    quantity: Quantity,
    against: Against,
) -> Option<Median> {
    let others = match against {
        Against::Contender(other) => of(trials, scenario, other),
        Against::Truth | Against::Nothing => Vec::new(),
    };
    let divisor = |round: u32, reading: &Reading| match against {
        Against::Nothing => Some(1.0),
        Against::Truth => reading.true_value(quantity),
        Against::Contender(_) => others
            .iter()
            .find(|other| other.round == round)
            .and_then(|other| other.outcome.as_ref().ok()?.value(quantity)),
    };
    median(of(trials, scenario, contender).iter().filter_map(|trial| {
        let reading = trial.outcome.as_ref().ok()?;
        Some(reading.value(quantity)? / divisor(trial.round, reading)?)
    }))
}

#[cfg(test)]
#[path = "goals_tests.rs"]
mod tests;
