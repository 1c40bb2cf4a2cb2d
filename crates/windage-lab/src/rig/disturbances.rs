//! What disturbed a stretch: programs outside the run, a suspended machine, a wall clock that was set,
//! CPU limits, and processes of an arm that came or went where CPU is read by process.

use windage_model::{CpuSource, Warning};
use windage_probe::ProcessChanges;

use super::services::Services;
use crate::outside_load::OutsideUse;
use crate::readings::Reading;
use crate::warnings;

impl Services<'_, '_> {
    /// What disturbed the stretch between two readings. `earlier` are the changes of these sets'
    /// processes before it, `earlier_ns` is for how long each had been held back.
    pub(super) fn disturbances(
        &mut self,
        [start, end]: [&Reading; 2],
        sets: &[usize],
        earlier: Vec<ProcessChanges>,
        earlier_ns: Vec<u64>,
    ) -> Vec<Warning> {
        // Of the one held back longest: arms may share a limit.
        let throttled = self.throttled_ns(sets).into_iter().zip(earlier_ns);
        let throttled = throttled.map(|(now, before)| now.saturating_sub(before));
        let throttled = warnings::throttled(throttled.max().unwrap_or(0), [start, end]);
        let meters = &mut *self.meters;
        let (instances, shared) = (&self.instances, &self.shared);
        // Attached processes are no descendants of Windage's.
        let attached = || {
            let all = instances.iter().chain([shared]);
            all.flat_map(|instance| instance.probe.process_ids())
                .collect()
        };
        let used = OutsideUse::between(start, end);
        let busy_error_ns = meters.machine.busy_error_ns();
        let outside = meters.outside_load.warning(used, busy_error_ns, attached);
        let changed = self.process_changes(sets).into_iter().zip(earlier);
        let changed = warnings::processes_changed(changed.map(|(now, before)| now.since(before)));
        let suspended = warnings::suspended([start, end]);
        // Spans may end at any time, so no step may be missed between two stretches.
        let stepped = warnings::clock_stepped([&self.last, end]);
        let found = [outside, suspended, stepped, changed, throttled];
        found.into_iter().flatten().collect()
    }

    /// For how long each of these sets has been held back by CPU limits so far.
    pub(super) fn throttled_ns(&self, sets: &[usize]) -> Vec<u64> {
        let of = |set: &usize| self.instances[*set].probe.throttled_ns();
        sets.iter().map(of).collect()
    }

    /// How many processes of these sets have come and gone so far; none where a cgroup counts them.
    pub(super) fn process_changes(&self, sets: &[usize]) -> Vec<ProcessChanges> {
        let of = |set: &usize| match self.is_read_by_process(*set) {
            true => self.instances[*set].probe.process_changes(),
            false => ProcessChanges::default(),
        };
        sets.iter().map(of).collect()
    }

    /// Lists the processes of these sets anew where CPU is read by process, so that the next reading
    /// has those that came meanwhile. A cgroup needs no list.
    pub(super) fn list_without_cgroups(&mut self, sets: &[usize]) {
        for &set in sets {
            if self.is_read_by_process(set) {
                // The next listing reports what went wrong.
                let _ = self.instances[set].probe.refresh_tasks();
            }
        }
    }

    fn is_read_by_process(&self, set: usize) -> bool {
        self.instances[set].probe.source() == CpuSource::ProcessClock
    }
}
