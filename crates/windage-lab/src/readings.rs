//! The readings at both ends of a window, and the CPU accounts computed from them.

use crate::process_set::Instance;
use crate::receiving::Receiving;
use windage_load::{RunReport, monotonic_ns};
use windage_model::{ArmCpu, ArmIndex, Beside, WindowCpu};
use windage_probe::{
    ArmProbe, Clocks, KernelThreadsProbe, Linux, MachineProbe, MachineSnapshot, ProbeError,
    SelfProbe,
};

use crate::outside_load::OutsideLoad;

/// Every counter at one moment, read when the load was drained and the service asleep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) at_ns: u64,
    /// CPU of each instance; `None` where it can't be read.
    pub(crate) instances_ns: Vec<Option<u64>>,
    /// CPU of each of several services of an arm, see `ByService`; empty where there are none, or
    /// where one can't be read.
    pub(crate) services_ns: Vec<u64>,
    pub(crate) machine: Option<MachineSnapshot>,
    pub(crate) windage_ns: u64,
    pub(crate) sink_ns: u64,
    /// CPU of the attached agents; `None` when there are none.
    pub(crate) agents_ns: Option<u64>,
    pub(crate) kernel_threads_ns: Option<u64>,
    /// CPU of the services that all arms share; `None` where it can't be read.
    pub(crate) shared_ns: Option<u64>,
    pub(crate) clocks: Option<Clocks>,
}

/// Windage's own and the machine's counters.
pub(crate) struct Meters {
    pub(crate) machine: MachineProbe,
    pub(crate) own: SelfProbe,
    /// Read only where agents attach and detach: kernel work that they cause is part of their cost.
    pub(crate) kernel_threads: Option<KernelThreadsProbe>,
    /// Looks for programs outside the run, between windows.
    pub(crate) outside_load: OutsideLoad,
}

impl Meters {
    /// Reads everything; the instances first, as close together as possible.
    pub(crate) fn read(
        &mut self,
        (instances, shared): (&mut [Instance], &mut Instance),
        receiving: Option<&Receiving>,
        agents: Option<&mut ArmProbe>,
    ) -> Result<Reading, ProbeError> {
        Ok(Reading {
            at_ns: monotonic_ns(),
            instances_ns: instances
                .iter_mut()
                .map(|i| i.probe.cpu_ns().ok())
                .collect(),
            services_ns: Vec::new(),
            machine: self.machine.snapshot().ok(),
            windage_ns: self.own.cpu_ns()?,
            sink_ns: receiving.map_or(0, Receiving::cpu_ns),
            agents_ns: agents.and_then(|agents| agents.cpu_ns().ok()),
            kernel_threads_ns: self
                .kernel_threads
                .as_mut()
                .and_then(|threads| threads.cpu_ns().ok()),
            shared_ns: shared.probe.cpu_ns().ok(),
            clocks: Clocks::read(&Linux).ok(),
        })
    }
}

/// CPU of one instance between two readings; `None` if either is missing or it went backwards.
pub(crate) fn used(from: &Reading, to: &Reading, instance: usize) -> Option<u64> {
    let (before, after) = (
        from.instances_ns.get(instance)?,
        to.instances_ns.get(instance)?,
    );
    (*after)?.checked_sub((*before)?)
}

/// What ran beside the subject between two readings.
pub(crate) fn beside(from: &Reading, to: &Reading) -> Beside {
    let used = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
    Beside {
        agent_ns: used(from.agents_ns, to.agents_ns),
        agent_rss_bytes: None,
        kernel_threads_ns: used(from.kernel_threads_ns, to.kernel_threads_ns),
        between_readings_ns: Some(to.at_ns.saturating_sub(from.at_ns)),
    }
}

/// The arm to which an instance's CPU is credited now: the one that last had load there.
pub(crate) type Credit = Vec<ArmIndex>;

/// Who used CPU around a window.
pub(crate) fn bill(
    readings: [&Reading; 3],
    own_instance: usize,
    credit: &Credit,
    load: &RunReport,
) -> WindowCpu {
    let [before, start, end] = readings;
    let others = |from, to| -> Vec<ArmCpu> {
        (0..credit.len())
            .filter(|&instance| instance != own_instance)
            .filter_map(|instance| {
                let cpu_ns = used(from, to, instance).filter(|ns| *ns > 0)?;
                Some(ArmCpu {
                    arm: credit[instance],
                    cpu_ns,
                })
            })
            .collect()
    };
    WindowCpu {
        in_window_ns: used(start, end, own_instance),
        settle_ns: used(before, start, own_instance).unwrap_or(0),
        others_in_window: others(start, end),
        others_before: others(before, start),
        generator_ns: load.generator_cpu_ns,
        sink_ns: end.sink_ns.saturating_sub(start.sink_ns),
        windage_ns: end.windage_ns.saturating_sub(start.windage_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_load::RunReport;

    fn reading(instances_ns: &[Option<u64>]) -> Reading {
        Reading {
            instances_ns: instances_ns.to_vec(),
            ..Reading::default()
        }
    }

    #[test]
    fn cpu_goes_to_the_window_its_settle_and_the_others() {
        let before = reading(&[Some(100), Some(10), Some(5)]);
        let start = reading(&[Some(130), Some(10), Some(6)]);
        let end = reading(&[Some(230), Some(17), None]);
        let credit = vec![ArmIndex(0), ArmIndex(1), ArmIndex(4)];
        let cpu = bill([&before, &start, &end], 0, &credit, &RunReport::default());
        assert_eq!((cpu.in_window_ns, cpu.settle_ns), (Some(100), 30));
        assert_eq!(
            cpu.others_in_window,
            [ArmCpu {
                arm: ArmIndex(1),
                cpu_ns: 7
            }]
        );
        assert_eq!(
            cpu.others_before,
            [ArmCpu {
                arm: ArmIndex(4),
                cpu_ns: 1
            }]
        );
    }

    #[test]
    fn cpu_beside_the_subject_is_the_difference_of_the_readings() {
        let at = |at_ns, agents_ns, kernel_threads_ns| Reading {
            at_ns,
            agents_ns,
            kernel_threads_ns,
            ..Reading::default()
        };
        let found = beside(&at(700, Some(40), Some(9)), &at(1_900, Some(640), None));
        let expected = Beside {
            agent_ns: Some(600),
            agent_rss_bytes: None,
            kernel_threads_ns: None,
            between_readings_ns: Some(1_200),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_counter_that_goes_backwards_is_unreadable() {
        let (start, end) = (reading(&[Some(100)]), reading(&[Some(99)]));
        let cpu = bill(
            [&start, &start, &end],
            0,
            &vec![ArmIndex(0)],
            &RunReport::default(),
        );
        assert_eq!(cpu.in_window_ns, None);
    }
}
