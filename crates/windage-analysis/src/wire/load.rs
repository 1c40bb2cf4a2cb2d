//! The load and the slowest exchanges in `analysis.json`.

use serde::Serialize;
use windage_model::{ErrorCounts, StatusClasses};

use super::finite;
use crate::{Analysis, ArmLoad, Coincidence, SlowExchange};

#[derive(Serialize)]
pub(super) struct LoadWire {
    intended_per_s: Option<f64>,
    offered_per_s: Option<f64>,
    achieved_per_s: Option<f64>,
    mean_response_time_us: Option<f64>,
    intended: u64,
    sent: u64,
    completed: u64,
    waited: u64,
    dropped: u64,
    errors: ErrorsWire,
    status: StatusWire,
    sent_bytes: u64,
    received_bytes: u64,
    connections_opened: u64,
    generator: GeneratorWire,
}

#[derive(Serialize)]
struct ErrorsWire {
    connect: u64,
    timeout: u64,
    closed: u64,
    protocol: u64,
}

#[derive(Serialize)]
struct StatusWire {
    #[serde(rename = "1xx")]
    informational: u64,
    #[serde(rename = "2xx")]
    success: u64,
    #[serde(rename = "3xx")]
    redirection: u64,
    #[serde(rename = "4xx")]
    client_error: u64,
    #[serde(rename = "5xx")]
    server_error: u64,
}

#[derive(Serialize)]
struct GeneratorWire {
    send_lag_us_max: f64,
    preemptions: Option<u64>,
    run_queue_us: Option<f64>,
    stalls: u64,
    longest_stall_us: f64,
}

#[derive(Serialize)]
pub(super) struct SlowExchangeWire<'a> {
    arm: &'a str,
    launch: u32,
    block: u32,
    position: u32,
    at_s: f64,
    response_time_us: f64,
    waited_us: f64,
    coincided: CoincidenceWire,
}

#[derive(Serialize)]
struct CoincidenceWire {
    stall_us: Option<f64>,
    generator_preemptions: Option<u64>,
    generator_run_queue_us: Option<f64>,
    steal_us: f64,
    cpu_pressure_us: Option<f64>,
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

impl From<&ArmLoad> for LoadWire {
    fn from(load: &ArmLoad) -> Self {
        let exchanges = &load.exchanges;
        LoadWire {
            intended_per_s: load.intended_per_s.and_then(finite),
            offered_per_s: load.offered_per_s.and_then(finite),
            achieved_per_s: load.achieved_per_s.and_then(finite),
            mean_response_time_us: load.mean_response_time_us.and_then(finite),
            intended: exchanges.intended,
            sent: exchanges.sent,
            completed: exchanges.completed,
            waited: exchanges.waited,
            dropped: exchanges.dropped,
            errors: exchanges.errors.into(),
            status: exchanges.status.into(),
            sent_bytes: exchanges.sent_bytes,
            received_bytes: exchanges.received_bytes,
            connections_opened: exchanges.reopened + exchanges.grown,
            generator: GeneratorWire {
                send_lag_us_max: microseconds(exchanges.send_lag_ns_max),
                preemptions: exchanges.generator_preemptions,
                run_queue_us: exchanges.generator_run_queue_ns.map(microseconds),
                stalls: exchanges.stalls,
                longest_stall_us: microseconds(exchanges.longest_stall_ns),
            },
        }
    }
}

impl From<ErrorCounts> for ErrorsWire {
    fn from(errors: ErrorCounts) -> Self {
        let ErrorCounts {
            connect,
            timeout,
            closed,
            protocol,
        } = errors;
        ErrorsWire {
            connect,
            timeout,
            closed,
            protocol,
        }
    }
}

impl From<StatusClasses> for StatusWire {
    fn from(StatusClasses([one, two, three, four, five]): StatusClasses) -> Self {
        StatusWire {
            informational: one,
            success: two,
            redirection: three,
            client_error: four,
            server_error: five,
        }
    }
}

impl<'a> SlowExchangeWire<'a> {
    pub(super) fn new(slow: &SlowExchange, analysis: &'a Analysis) -> SlowExchangeWire<'a> {
        let arm = analysis.arms.get(slow.place.arm.get());
        SlowExchangeWire {
            arm: arm.map_or("", |arm| arm.id.as_str()),
            launch: slow.place.launch,
            block: slow.place.block,
            position: slow.place.position,
            at_s: slow.at.intended_ns as f64 / 1e9,
            response_time_us: microseconds(slow.at.response_time_ns()),
            waited_us: microseconds(slow.at.waited_ns()),
            coincided: (&slow.coincided).into(),
        }
    }
}

impl From<&Coincidence> for CoincidenceWire {
    fn from(coincided: &Coincidence) -> Self {
        let Coincidence {
            stall_ns,
            generator_preemptions,
            generator_run_queue_ns,
            steal_ns,
            cpu_pressure_ns,
        } = *coincided;
        CoincidenceWire {
            stall_us: stall_ns.map(microseconds),
            generator_preemptions,
            generator_run_queue_us: generator_run_queue_ns.map(microseconds),
            steal_us: microseconds(steal_ns),
            cpu_pressure_us: cpu_pressure_ns.map(microseconds),
        }
    }
}
