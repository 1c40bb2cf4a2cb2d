//! The two runs of a calibration.

use std::time::Duration;

/// One of the two runs of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Costs in CPU, under a closed loop.
    Cpu,
    /// Delays, at a fixed rate.
    Latency,
}

impl Part {
    pub(super) const BOTH: [Part; 2] = [Part::Cpu, Part::Latency];

    /// Name of its directory.
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Cpu => "cpu",
            Part::Latency => "latency",
        }
    }

    /// Its plan.
    pub(super) fn plan(self) -> &'static str {
        match self {
            Part::Cpu => include_str!("../../../calibration/cpu.toml"),
            Part::Latency => include_str!("../../../calibration/latency.toml"),
        }
    }

    /// Its share of the measuring time. CPU gets more, because it has more arms and is the usual
    /// question.
    pub(super) fn share_of(self, length: Duration) -> Duration {
        match self {
            Part::Cpu => length * 2 / 3,
            Part::Latency => length / 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use windage_plan::Plan;

    use super::*;

    fn plan(part: Part) -> Plan {
        Plan::parse(part.plan(), "the calibration plan", Path::new("/"))
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    #[test]
    fn each_arm_injects_its_level() {
        let ids = |part| {
            let plan = plan(part);
            let ids = plan.arms.iter().map(|arm| arm.id.to_string());
            ids.collect::<Vec<_>>()
        };
        let cpu = ids(Part::Cpu);
        assert_eq!(cpu.len(), 10, "{cpu:?}");
        assert_eq!(cpu[..3], ["off", "control", "spin-iterations-390"]);
        assert_eq!(cpu[3], "busy-ns-0");
        let latency = ids(Part::Latency);
        assert_eq!(latency.len(), 7, "{latency:?}");
    }

    #[test]
    fn both_parts_share_the_measuring_time() {
        let whole = Duration::from_secs(180);
        let parts = Part::BOTH.map(|part| part.share_of(whole).as_secs());
        assert_eq!(parts, [120, 60]);
    }
}
