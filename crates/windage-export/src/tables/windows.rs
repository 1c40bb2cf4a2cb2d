//! A row for each isolated window.

use windage_model::{ArmCpu, ArmIndex, Soundness, Window};

use super::{OfArm, Scope, Subject, codes, subject_columns};
use crate::column::{Column, flag, text, whole};

pub(crate) struct Row {
    subject: Subject,
    predecessor: Option<ArmIndex>,
    window: Window,
}

impl OfArm for Row {
    fn subject(&self) -> &Subject {
        &self.subject
    }
}

/// Which arm was measured last.
#[derive(Default)]
pub(crate) struct Order {
    last: Option<(u32, ArmIndex)>,
}

impl Order {
    /// The row of the next window.
    pub(crate) fn row(&mut self, scope: &Scope, window: Window) -> Row {
        let place = window.place;
        let last = self.last.replace((place.launch, place.arm));
        Row {
            subject: scope.subject(place.round, place.arm),
            predecessor: last.and_then(|(launch, arm)| (launch == place.launch).then_some(arm)),
            window,
        }
    }
}

pub(crate) fn columns() -> Vec<Column<Row>> {
    let mut columns = subject_columns();
    columns.extend([
        whole("launch", |of: &Row| Some(of.window.place.launch.into())),
        whole("round", |of| Some(of.window.place.round.into())),
        whole("block", |of| Some(of.window.place.block.into())),
        whole("position", |of| Some(of.window.place.position.into())),
        text("predecessor", |of| of.subject.id_of(of.predecessor?)),
        whole("started_ns", |of| Some(of.window.started_ns)),
        whole("duration_ns", |of| Some(of.window.duration_ns)),
        whole("stretch_ns", |of| Some(of.window.stretch_ns)),
        whole("between_readings_ns", |of| {
            of.window.beside.between_readings_ns
        }),
        whole("intended_requests", |of| Some(of.window.exchanges.intended)),
        whole("sent_requests", |of| Some(of.window.exchanges.sent)),
        whole("completed_requests", |of| {
            Some(of.window.exchanges.completed)
        }),
        whole("failed_requests", |of| Some(of.window.exchanges.failed())),
        whole("dropped_requests", |of| Some(of.window.exchanges.dropped)),
        whole("settle_requests", |of| {
            Some(of.window.exchanges.settle_completed)
        }),
        whole("in_window_cpu_ns", |of| of.window.cpu.in_window_ns),
        whole("settle_cpu_ns", |of| Some(of.window.cpu.settle_ns)),
        whole("others_in_window_cpu_ns", |of| {
            sum(&of.window.cpu.others_in_window)
        }),
        whole("others_before_cpu_ns", |of| {
            sum(&of.window.cpu.others_before)
        }),
        text("others_in_window", |of| {
            each(of, &of.window.cpu.others_in_window)
        }),
        text("others_before", |of| each(of, &of.window.cpu.others_before)),
        whole("generator_cpu_ns", |of| Some(of.window.cpu.generator_ns)),
        whole("sink_cpu_ns", |of| Some(of.window.cpu.sink_ns)),
        whole("windage_cpu_ns", |of| Some(of.window.cpu.windage_ns)),
        whole("agents_cpu_ns", |of| of.window.beside.agent_ns),
        whole("kernel_threads_cpu_ns", |of| {
            of.window.beside.kernel_threads_ns
        }),
        whole("machine_busy_ns", |of| of.window.machine.busy_ns),
        whole("steal_ns", |of| Some(of.window.machine.steal_ns)),
        whole("cpu_pressure_ns", |of| of.window.machine.cpu_pressure_ns),
        whole("rss_bytes", |of| of.window.rss_bytes),
        whole("page_faults", |of| Some(of.window.activity?.page_faults)),
        whole("context_switches", |of| {
            Some(of.window.activity?.context_switches)
        }),
        text("warnings", |of| codes(&of.window.warnings)),
        flag("is_void", |of| {
            Some(of.window.soundness() == Soundness::Void)
        }),
    ]);
    columns
}

fn sum(of: &[ArmCpu]) -> Option<u64> {
    Some(of.iter().map(|arm| arm.cpu_ns).fold(0, u64::saturating_add))
}

/// Each arm's share in nanoseconds, as `arm=n;arm=n`.
fn each(row: &Row, of: &[ArmCpu]) -> Option<String> {
    let of = of.iter();
    let pairs =
        of.filter_map(|arm| Some(format!("{}={}", row.subject.id_of(arm.arm)?, arm.cpu_ns)));
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| pairs.join(";"))
}
