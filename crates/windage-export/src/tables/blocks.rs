//! A row for each block of turns and arm.

use std::rc::Rc;

use windage_model::{ArmTurns, Soundness, TurnBlock};

use super::{OfArm, Scope, Subject, codes, subject_columns};
use crate::column::{Column, flag, text, whole};

pub(crate) struct Row {
    subject: Subject,
    arm: ArmTurns,
    block: Rc<TurnBlock>,
}

impl OfArm for Row {
    fn subject(&self) -> &Subject {
        &self.subject
    }
}

pub(crate) fn rows(scope: &Scope, block: TurnBlock) -> impl Iterator<Item = Row> {
    let block = Rc::new(block);
    let arms = block.arms.clone().into_iter();
    arms.map(move |arm| Row {
        subject: scope.subject(block.round, arm.arm),
        arm,
        block: Rc::clone(&block),
    })
}

pub(crate) fn columns() -> Vec<Column<Row>> {
    let mut columns = subject_columns();
    columns.extend([
        whole("launch", |of: &Row| Some(of.block.launch.into())),
        whole("round", |of| Some(of.block.round.into())),
        whole("block", |of| Some(of.block.block.into())),
        text("order", |of| Some(of.block.order.as_str().to_owned())),
        whole("started_ns", |of| Some(of.block.started_ns)),
        whole("lasted_ns", |of| Some(of.block.lasted_ns)),
        whole("load_ns", |of| Some(of.block.load_ns)),
        whole("turn_requests", |of| Some(of.block.turn)),
        whole("turns", |of| Some(of.arm.turns.into())),
        whole("intended_requests", |of| Some(of.arm.exchanges.intended)),
        whole("sent_requests", |of| Some(of.arm.exchanges.sent)),
        whole("completed_requests", |of| Some(of.arm.exchanges.completed)),
        whole("failed_requests", |of| Some(of.arm.exchanges.failed())),
        whole("dropped_requests", |of| Some(of.arm.exchanges.dropped)),
        whole("cpu_ns", |of| of.arm.cpu_ns),
        flag("is_awake", |of| Some(of.arm.is_awake)),
        whole("block_generator_cpu_ns", |of| Some(of.block.generator_ns)),
        whole("block_sink_cpu_ns", |of| Some(of.block.sink_ns)),
        whole("block_windage_cpu_ns", |of| Some(of.block.windage_ns)),
        whole("block_machine_busy_ns", |of| of.block.machine.busy_ns),
        whole("block_steal_ns", |of| Some(of.block.machine.steal_ns)),
        whole("block_cpu_pressure_ns", |of| {
            of.block.machine.cpu_pressure_ns
        }),
        text("warnings", |of| codes(&of.block.warnings)),
        flag("is_void", |of| {
            Some(of.block.soundness() == Soundness::Void)
        }),
    ]);
    columns
}
