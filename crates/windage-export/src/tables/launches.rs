//! A row for each launch and arm.

use windage_record::{Launch, LaunchArmEnd, LaunchEnd, LaunchedArm};

use super::{OfArm, Scope, Subject, subject_columns};
use crate::column::{Column, flag, real, text, whole};

pub(crate) struct Row {
    subject: Subject,
    launch: u32,
    started_ns: u64,
    arm: LaunchedArm,
    /// `None` when the launch's end was not recorded.
    end: Option<LaunchArmEnd>,
}

impl OfArm for Row {
    fn subject(&self) -> &Subject {
        &self.subject
    }
}

/// The rows of a launch; none without its beginning.
pub(crate) fn rows(scope: &Scope, launch: Option<Launch>, end: Option<LaunchEnd>) -> Vec<Row> {
    let Some(launch) = launch else {
        return Vec::new();
    };
    let end = end.filter(|end| end.launch == launch.launch);
    let ends = end.map(|end| end.arms).unwrap_or_default();
    let row = |arm: &LaunchedArm| Row {
        subject: scope.subject(launch.round, arm.arm),
        launch: launch.launch,
        started_ns: launch.started_ns,
        arm: *arm,
        end: ends.iter().find(|of| of.arm == arm.arm).copied(),
    };
    launch.arms.iter().map(row).collect()
}

pub(crate) fn columns() -> Vec<Column<Row>> {
    let mut columns = subject_columns();
    columns.extend([
        whole("launch", |of: &Row| Some(of.launch.into())),
        whole("round", |of| Some(of.subject.round.into())),
        whole("started_ns", |of| Some(of.started_ns)),
        text("load_model", |of| {
            Some(of.subject.load().model.as_str().to_owned())
        }),
        real("rate_per_s", |of| of.subject.load().rate_per_s),
        whole("instance", |of| Some(of.arm.instance.into())),
        text("cpu_source", |of| {
            Some(of.arm.cpu_source.as_str().to_owned())
        }),
        whole("cpu_resolution_ns", |of| Some(of.arm.cpu_resolution_ns)),
        whole("startup_ns", |of| of.arm.startup_ns),
        whole("startup_cpu_ns", |of| of.arm.startup_cpu_ns),
        whole("warmup_requests", |of| Some(of.arm.warmup_completed)),
        whole("warmup_outside_cpu_ns", |of| Some(of.arm.warmup_outside_ns)),
        whole("warmup_outside_ns", |of| {
            Some(of.arm.warmup_outside_time_ns)
        }),
        flag("has_end", |of| Some(of.end.is_some())),
        whole("after_last_window_cpu_ns", |of| {
            of.end?.after_last_window_ns
        }),
        whole("drain_ns", |of| Some(of.end?.drain_ns)),
        whole("idle_cpu_ns", |of| of.end?.idle_cpu_ns),
        whole("idle_ns", |of| Some(of.end?.idle_ns)),
        whole("after_turns_cpu_ns", |of| of.end?.after_turns_ns),
        whole("turns_drain_ns", |of| Some(of.end?.turns_drain_ns)),
        whole("hidden_ns", |of| Some(of.end?.hidden_ns)),
        whole("unmeasured_requests", |of| Some(of.end?.unmeasured)),
        whole("rss_peak_bytes", |of| of.end?.rss_peak_bytes),
        whole("pss_bytes", |of| of.end?.pss_bytes),
    ]);
    columns
}
