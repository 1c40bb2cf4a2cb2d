//! The figures that the sink has to reach, judged by what was measured.

use super::receiver::Receiver;
use super::trial::{Quantity, Reading, Trial};
use crate::bench::judged::Judged;
use crate::bench::median::{Median, median};

/// A figure that the sink has to reach in the comparison: no less than a bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) what: &'static str,
    pub(super) of: Run,
    pub(super) quantity: Quantity,
    /// What it is divided by: the same quantity in the same round.
    pub(super) against: Option<Run>,
    pub(super) at_least: f64,
}

/// A receiver in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) receiver: Receiver,
    pub(super) scenario: &'static str,
}

pub(super) const GOALS: &[Goal] = &[
    Goal {
        what: "OTLP/HTTP, all counters: spans a CPU second",
        of: run(Receiver::Windage, "http-512"),
        quantity: Quantity::SpansPerCpuSecond,
        against: None,
        at_least: 2e6,
    },
    Goal {
        what: "OTLP/HTTP, all counters: spans a CPU second against the Collector",
        of: run(Receiver::Windage, "http-512"),
        quantity: Quantity::SpansPerCpuSecond,
        against: Some(run(Receiver::Collector, "http-512")),
        at_least: 10.0,
    },
    Goal {
        what: "OTLP/HTTP, count-only: bytes a CPU second against read-and-discard",
        of: run(Receiver::WindageCountOnly, "http-512"),
        quantity: Quantity::BytesPerCpuSecond,
        against: Some(run(Receiver::Discard, "http-512")),
        at_least: 0.6,
    },
    Goal {
        what: "OTLP/gRPC, all counters: spans a CPU second",
        of: run(Receiver::Windage, "grpc-512"),
        quantity: Quantity::SpansPerCpuSecond,
        against: None,
        at_least: 1e6,
    },
    Goal {
        what: "OTLP/gRPC, all counters: spans a CPU second against the Collector",
        of: run(Receiver::Windage, "grpc-512"),
        quantity: Quantity::SpansPerCpuSecond,
        against: Some(run(Receiver::Collector, "grpc-512")),
        at_least: 5.0,
    },
    Goal {
        what: "OTLP/gRPC, count-only: bytes a CPU second against read-and-discard over HTTP",
        of: run(Receiver::WindageCountOnly, "grpc-512"),
        quantity: Quantity::BytesPerCpuSecond,
        against: Some(run(Receiver::Discard, "http-512")),
        at_least: 0.3,
    },
];

const fn run(receiver: Receiver, scenario: &'static str) -> Run {
    Run { receiver, scenario }
}

impl Goal {
    /// Judges by the trials of a study.
    pub(super) fn judge(&self, trials: &[Trial]) -> Judged {
        let figure = figure(trials, self.of, self.quantity, self.against);
        Judged {
            figure,
            is_reached: figure.and_then(|figure| {
                figure.interval?;
                Some(figure.estimate >= self.at_least)
            }),
            doubts: self.doubts(trials),
        }
    }

    fn doubts(&self, trials: &[Trial]) -> Vec<String> {
        let mut doubts = Vec::new();
        for one in std::iter::once(self.of).chain(self.against) {
            let all = of(trials, one);
            let failed = all.iter().filter(|trial| trial.outcome.is_err()).count();
            if failed > 0 {
                let (name, scenario) = (one.receiver.as_str(), one.scenario);
                doubts.push(format!(
                    "{failed} of {} runs of {name} in {scenario} failed",
                    all.len()
                ));
            }
        }
        doubts
    }
}

/// The trials of one receiver in one scenario.
fn of(trials: &[Trial], one: Run) -> Vec<&Trial> {
    trials
        .iter()
        .filter(|trial| trial.scenario == one.scenario && trial.receiver == one.receiver)
        .collect()
}

/// The median over rounds of a quantity, divided by another run's of the same round.
pub(super) fn figure(
    trials: &[Trial],
    one: Run,
    quantity: Quantity,
    against: Option<Run>,
) -> Option<Median> {
    let value = |trial: &Trial| {
        let reading: &Reading = trial.outcome.as_ref().ok()?;
        reading.value(quantity)
    };
    let others = against.map(|against| of(trials, against));
    median(of(trials, one).into_iter().filter_map(|trial| {
        let divisor = match &others {
            None => 1.0,
            Some(others) => value(others.iter().find(|other| other.round == trial.round)?)?,
        };
        Some(value(trial)? / divisor)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::scenario;
    use super::*;

    fn trial(one: Run, round: u32, spans: u64) -> Trial {
        Trial {
            scenario: one.scenario,
            round,
            place: 1,
            receiver: one.receiver,
            outcome: Ok(Reading {
                requests: 1,
                spans,
                body_bytes: 10 * spans,
                seconds: 1.0,
                cpu_s: 1.0,
                ..Reading::default()
            }),
        }
    }

    #[test]
    fn goals_are_about_runs_that_there_are() {
        for goal in GOALS {
            for one in std::iter::once(goal.of).chain(goal.against) {
                let scenario = scenario::by_name(one.scenario).unwrap();
                assert!(
                    scenario.receivers().contains(&one.receiver),
                    "{}",
                    goal.what
                );
            }
        }
    }

    #[test]
    fn ratios_are_of_the_same_round_and_failures_are_doubts() {
        let goal = &GOALS[1];
        let collector = goal.against.unwrap();
        let mut trials = Vec::new();
        for round in 1..=7 {
            // The machine is twice as fast from round to round: a ratio does not see it.
            let fast = 1 << round;
            trials.push(trial(goal.of, round, 1_200 * fast));
            trials.push(trial(collector, round, 100 * fast));
        }
        let judged = goal.judge(&trials);
        assert_eq!(
            judged.figure.unwrap().show(|v| format!("{v}")),
            "12 [12, 12]"
        );
        assert_eq!((judged.is_reached, judged.doubts.len()), (Some(true), 0));

        trials[1].outcome = Err("it died".into());
        let judged = goal.judge(&trials);
        assert_eq!(judged.figure.unwrap().count, 6);
        assert_eq!(
            judged.doubts,
            ["1 of 7 runs of collector in http-512 failed"]
        );

        let few = goal.judge(&trials[2..6]);
        assert_eq!((few.figure.unwrap().count, few.is_reached), (2, None));
        assert_eq!(goal.judge(&[]).is_reached, None);
    }

    #[test]
    fn a_value_below_its_bound_is_not_reached() {
        let goal = &GOALS[0];
        let trials: Vec<Trial> = (1..=6).map(|r| trial(goal.of, r, 1_999_999)).collect();
        assert_eq!(goal.judge(&trials).is_reached, Some(false));
    }
}
