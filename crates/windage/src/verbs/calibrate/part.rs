//! The parts of a calibration.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use windage_plan::{Plan, PlanError};

/// A part of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Costs in CPU, interleaved.
    Cpu,
    /// A single cost in CPU, the smallest: three arms instead of seven share the time.
    Small,
    /// Delays, in isolated windows.
    Latency,
}

/// One run of a calibration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedRun {
    pub(super) part: Part,
    /// Name of its directory.
    pub(super) name: String,
    /// Runs of the same plan before it: each has an order of its own.
    pub(super) repeats: u32,
}

/// The runs of a calibration: CPU as often as asked for, then latency once.
pub(super) fn runs(only: Option<Part>, cpu_runs: u32) -> Vec<PlannedRun> {
    let run = |part: Part, repeats: u32| PlannedRun {
        part,
        name: match repeats {
            0 => part.name().to_owned(),
            _ => format!("{}-{}", part.name(), repeats + 1),
        },
        repeats,
    };
    let of_part = |part: Part| match part {
        Part::Cpu | Part::Small => cpu_runs,
        Part::Latency => 1,
    };
    let parts = only.map_or(vec![Part::Cpu, Part::Latency], |only| vec![only]);
    parts
        .into_iter()
        .flat_map(|part| (0..of_part(part)).map(move |repeats| run(part, repeats)))
        .collect()
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Cpu => "cpu",
            Part::Small => "small",
            Part::Latency => "latency",
        }
    }

    /// Its plan.
    pub(super) fn plan(self) -> Result<Plan, PlanError> {
        let text = match self {
            Part::Cpu | Part::Small => include_str!("../../../calibration/cpu.toml"),
            Part::Latency => include_str!("../../../calibration/latency.toml"),
        };
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let mut plan = Plan::parse(text, "the calibration plan", &here)?;
        if self == Part::Small {
            plan.name = "calibration-small".to_owned();
            // Baseline, control and the first treatment.
            plan.arms.truncate(3);
        }
        Ok(plan)
    }

    /// Its share of the measuring time. CPU gets more, because it is the usual question.
    pub(super) fn share_of(self, length: Duration, only: Option<Part>) -> Duration {
        match (only, self) {
            (Some(_), _) => length,
            (None, Part::Cpu | Part::Small) => length * 2 / 3,
            (None, Part::Latency) => length / 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::calibrate::observed::LAUNCHES;

    const PARTS: [Part; 2] = [Part::Cpu, Part::Latency];

    fn plan(part: Part) -> Plan {
        part.plan()
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    #[test]
    fn each_arm_injects_its_level() {
        let ids = |part| {
            let plan = plan(part);
            let ids = plan.arms.iter().map(|arm| arm.id.to_string());
            ids.collect::<Vec<_>>()
        };
        let cpu = [
            "off",
            "control",
            "spin-iterations-550",
            "busy-ns-0",
            "busy-ns-2000",
            "burst",
            "timer",
        ];
        assert_eq!(ids(Part::Cpu), cpu);
        assert_eq!(ids(Part::Small), cpu[..3]);
        let latency = ids(Part::Latency);
        assert_eq!(latency.len(), 7, "{latency:?}");
    }

    #[test]
    fn cpu_is_interleaved_and_latency_isolated() {
        let cpu = plan(Part::Cpu).design.interleaving.unwrap();
        assert_eq!(cpu.isolated, 0.0);
        assert_eq!(plan(Part::Latency).design.interleaving, None);
        for part in PARTS {
            assert!(plan(part).design.rounds as usize >= LAUNCHES);
        }
    }

    #[test]
    fn parts_share_the_measuring_time() {
        let whole = Duration::from_secs(180);
        let table = [
            (None, [120, 60]),
            (Some(Part::Cpu), [180, 180]),
            (Some(Part::Latency), [180, 180]),
        ];
        for (only, expected) in table {
            let shares = PARTS.map(|part| part.share_of(whole, only).as_secs());
            assert_eq!(shares, expected, "{only:?}");
        }
    }

    #[test]
    fn cpu_is_repeated_and_latency_is_not() {
        let names = |only, cpu_runs| {
            let runs = runs(only, cpu_runs).into_iter();
            runs.map(|run| (run.name, run.repeats)).collect::<Vec<_>>()
        };
        let named = |of: &[(&str, u32)]| -> Vec<(String, u32)> {
            of.iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect()
        };
        let (cpu, small, latency) = (Some(Part::Cpu), Some(Part::Small), Some(Part::Latency));
        assert_eq!(names(None, 1), named(&[("cpu", 0), ("latency", 0)]));
        assert_eq!(
            names(cpu, 3),
            named(&[("cpu", 0), ("cpu-2", 1), ("cpu-3", 2)])
        );
        assert_eq!(names(small, 2), named(&[("small", 0), ("small-2", 1)]));
        assert_eq!(names(latency, 3), named(&[("latency", 0)]));
    }
}
