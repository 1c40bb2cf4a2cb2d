//! The load and the slowest exchanges in `analysis.json`.

use serde::Serialize;
use windage_model::{ErrorCounts, StatusClasses};

use super::finite;
use crate::{Analysis, ArmLoad, Coincidence, SlowExchange};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadWire {
    pub intended_per_s: Option<f64>,
    pub offered_per_s: Option<f64>,
    pub achieved_per_s: Option<f64>,
    pub mean_response_time_us: Option<f64>,
    pub intended: u64,
    pub sent: u64,
    pub completed: u64,
    pub waited: u64,
    pub dropped: u64,
    pub errors: ErrorsWire,
    pub status: StatusWire,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub connections_opened: u64,
    pub generator: GeneratorWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorsWire {
    pub connect: u64,
    pub timeout: u64,
    pub closed: u64,
    pub protocol: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusWire {
    #[serde(rename = "1xx")]
    pub informational: u64,
    #[serde(rename = "2xx")]
    pub success: u64,
    #[serde(rename = "3xx")]
    pub redirection: u64,
    #[serde(rename = "4xx")]
    pub client_error: u64,
    #[serde(rename = "5xx")]
    pub server_error: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GeneratorWire {
    pub send_lag_us_max: f64,
    pub preemptions: Option<u64>,
    pub run_queue_us: Option<f64>,
    pub stalls: u64,
    pub longest_stall_us: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SlowExchangeWire {
    pub arm: String,
    pub launch: u32,
    pub block: u32,
    pub position: u32,
    pub at_s: f64,
    pub response_time_us: f64,
    pub waited_us: f64,
    pub coincided: CoincidenceWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CoincidenceWire {
    pub stall_us: Option<f64>,
    pub generator_preemptions: Option<u64>,
    pub generator_run_queue_us: Option<f64>,
    pub steal_us: f64,
    pub cpu_pressure_us: Option<f64>,
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

impl SlowExchangeWire {
    pub(super) fn new(slow: &SlowExchange, analysis: &Analysis) -> SlowExchangeWire {
        let arm = analysis.arms.get(slow.place.arm.get());
        SlowExchangeWire {
            arm: arm
                .map_or("".to_owned(), |arm| arm.id.as_str().to_string())
                .to_owned(),
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
