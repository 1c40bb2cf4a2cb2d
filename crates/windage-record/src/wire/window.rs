//! Stored forms of windows and of doubts.
//!
//! Conversions take every field apart by name: a field that the model gains does not compile
//! until it is stored, too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windage_model::{
    ArmCpu, ArmIndex, Doubt, DoubtCode, ErrorCounts, Evidence, Exchanges, MachineDelta, Place,
    StatusClasses, Window, WindowCpu,
};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredWindow {
    place: StoredPlace,
    started_ns: u64,
    duration_ns: u64,
    stretch_ns: u64,
    exchanges: StoredExchanges,
    cpu: StoredCpu,
    machine: StoredMachine,
    rss_bytes: Option<u64>,
    page_faults: u64,
    arm_context_switches: u64,
    doubts: Vec<StoredDoubt>,
}

impl From<&Window> for StoredWindow {
    fn from(window: &Window) -> Self {
        let Window {
            place,
            started_ns,
            duration_ns,
            stretch_ns,
            exchanges,
            ref cpu,
            machine,
            rss_bytes,
            page_faults,
            arm_context_switches,
            ref doubts,
            // Since version 2, in `StoredAddition`.
            outliers: _,
            // Since version 3, in `StoredBeside`, and since version 4 behind it.
            beside: _,
        } = *window;
        StoredWindow {
            place: place.into(),
            started_ns,
            duration_ns,
            stretch_ns,
            exchanges: exchanges.into(),
            cpu: cpu.into(),
            machine: machine.into(),
            rss_bytes,
            page_faults,
            arm_context_switches,
            doubts: doubts.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<StoredWindow> for Window {
    type Error = String;

    fn try_from(stored: StoredWindow) -> Result<Self, String> {
        Ok(Window {
            place: stored.place.into(),
            started_ns: stored.started_ns,
            duration_ns: stored.duration_ns,
            stretch_ns: stored.stretch_ns,
            exchanges: stored.exchanges.into(),
            cpu: stored.cpu.into(),
            machine: stored.machine.into(),
            rss_bytes: stored.rss_bytes,
            page_faults: stored.page_faults,
            arm_context_switches: stored.arm_context_switches,
            doubts: stored
                .doubts
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            outliers: Vec::new(),
            beside: Default::default(),
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredPlace {
    launch: u32,
    round: u32,
    block: u32,
    position: u32,
    arm: u16,
}

impl From<Place> for StoredPlace {
    fn from(place: Place) -> Self {
        let Place {
            launch,
            round,
            block,
            position,
            arm,
        } = place;
        StoredPlace {
            launch,
            round,
            block,
            position,
            arm: arm.0,
        }
    }
}

impl From<StoredPlace> for Place {
    fn from(stored: StoredPlace) -> Self {
        let StoredPlace {
            launch,
            round,
            block,
            position,
            arm,
        } = stored;
        Place {
            launch,
            round,
            block,
            position,
            arm: ArmIndex(arm),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StoredExchanges {
    intended: u64,
    sent: u64,
    completed: u64,
    dropped: u64,
    status: [u64; 5],
    /// Connect, timeout, closed, protocol.
    errors: [u64; 4],
    reopened: u64,
    settle_completed: u64,
    sent_bytes: u64,
    received_bytes: u64,
    /// Median, 99th percentile, worst.
    send_lag_ns: [u64; 3],
}

impl From<Exchanges> for StoredExchanges {
    fn from(exchanges: Exchanges) -> Self {
        let Exchanges {
            intended,
            sent,
            completed,
            dropped,
            status: StatusClasses(status),
            errors:
                ErrorCounts {
                    connect,
                    timeout,
                    closed,
                    protocol,
                },
            reopened,
            settle_completed,
            sent_bytes,
            received_bytes,
            send_lag_ns_p50,
            send_lag_ns_p99,
            send_lag_ns_max,
            // Since version 2, in `StoredAddition`.
            waited: _,
            grown: _,
            pauses: _,
            generator_preemptions: _,
            generator_run_queue_ns: _,
            stalls: _,
            longest_stall_ns: _,
            longest_stall_at_ns: _,
        } = exchanges;
        StoredExchanges {
            intended,
            sent,
            completed,
            dropped,
            status,
            errors: [connect, timeout, closed, protocol],
            reopened,
            settle_completed,
            sent_bytes,
            received_bytes,
            send_lag_ns: [send_lag_ns_p50, send_lag_ns_p99, send_lag_ns_max],
        }
    }
}

impl From<StoredExchanges> for Exchanges {
    fn from(stored: StoredExchanges) -> Self {
        let [connect, timeout, closed, protocol] = stored.errors;
        let [send_lag_ns_p50, send_lag_ns_p99, send_lag_ns_max] = stored.send_lag_ns;
        Exchanges {
            intended: stored.intended,
            sent: stored.sent,
            completed: stored.completed,
            dropped: stored.dropped,
            status: StatusClasses(stored.status),
            errors: ErrorCounts {
                connect,
                timeout,
                closed,
                protocol,
            },
            reopened: stored.reopened,
            settle_completed: stored.settle_completed,
            sent_bytes: stored.sent_bytes,
            received_bytes: stored.received_bytes,
            send_lag_ns_p50,
            send_lag_ns_p99,
            send_lag_ns_max,
            ..Exchanges::default()
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StoredCpu {
    in_window_ns: Option<u64>,
    settle_ns: u64,
    /// Arm and nanoseconds; arms that used none are left out.
    others_in_window: Vec<(u16, u64)>,
    others_before: Vec<(u16, u64)>,
    generator_ns: u64,
    sink_ns: u64,
    windage_ns: u64,
}

impl From<&WindowCpu> for StoredCpu {
    fn from(cpu: &WindowCpu) -> Self {
        let WindowCpu {
            in_window_ns,
            settle_ns,
            ref others_in_window,
            ref others_before,
            generator_ns,
            sink_ns,
            windage_ns,
        } = *cpu;
        StoredCpu {
            in_window_ns,
            settle_ns,
            others_in_window: others_in_window.iter().map(pair).collect(),
            others_before: others_before.iter().map(pair).collect(),
            generator_ns,
            sink_ns,
            windage_ns,
        }
    }
}

impl From<StoredCpu> for WindowCpu {
    fn from(stored: StoredCpu) -> Self {
        WindowCpu {
            in_window_ns: stored.in_window_ns,
            settle_ns: stored.settle_ns,
            others_in_window: stored.others_in_window.into_iter().map(arm_cpu).collect(),
            others_before: stored.others_before.into_iter().map(arm_cpu).collect(),
            generator_ns: stored.generator_ns,
            sink_ns: stored.sink_ns,
            windage_ns: stored.windage_ns,
        }
    }
}

fn pair(cpu: &ArmCpu) -> (u16, u64) {
    (cpu.arm.0, cpu.cpu_ns)
}

fn arm_cpu((arm, cpu_ns): (u16, u64)) -> ArmCpu {
    ArmCpu {
        arm: ArmIndex(arm),
        cpu_ns,
    }
}

#[derive(Serialize, Deserialize)]
struct StoredMachine {
    busy_ns: Option<u64>,
    steal_ns: u64,
    cpu_pressure_ns: Option<u64>,
    context_switches: u64,
}

impl From<MachineDelta> for StoredMachine {
    fn from(machine: MachineDelta) -> Self {
        let MachineDelta {
            busy_ns,
            steal_ns,
            cpu_pressure_ns,
            context_switches,
        } = machine;
        StoredMachine {
            busy_ns,
            steal_ns,
            cpu_pressure_ns,
            context_switches,
        }
    }
}

impl From<StoredMachine> for MachineDelta {
    fn from(stored: StoredMachine) -> Self {
        let StoredMachine {
            busy_ns,
            steal_ns,
            cpu_pressure_ns,
            context_switches,
        } = stored;
        MachineDelta {
            busy_ns,
            steal_ns,
            cpu_pressure_ns,
            context_switches,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredDoubt {
    /// By name: the order of codes in the model is nobody's contract.
    code: String,
    text: String,
    evidence: Vec<(String, StoredEvidence)>,
}

/// Stored by position: new kinds of evidence are added at the end.
#[derive(Serialize, Deserialize)]
enum StoredEvidence {
    Number(f64),
    Text(String),
}

impl From<&Doubt> for StoredDoubt {
    fn from(doubt: &Doubt) -> Self {
        let evidence = doubt.evidence.iter().map(|(name, value)| {
            let value = match value {
                Evidence::Number(n) => StoredEvidence::Number(*n),
                Evidence::Text(t) => StoredEvidence::Text(t.clone()),
            };
            (name.clone(), value)
        });
        StoredDoubt {
            code: doubt.code.as_str().to_owned(),
            text: doubt.text.clone(),
            evidence: evidence.collect(),
        }
    }
}

impl TryFrom<StoredDoubt> for Doubt {
    type Error = String;

    fn try_from(stored: StoredDoubt) -> Result<Self, String> {
        // A doubt that is passed over could be the one that voids a window.
        let code = DoubtCode::from_name(&stored.code)
            .ok_or_else(|| format!("unknown doubt `{}`", stored.code))?;
        let evidence: BTreeMap<String, Evidence> = stored
            .evidence
            .into_iter()
            .map(|(name, value)| match value {
                StoredEvidence::Number(n) => (name, Evidence::Number(n)),
                StoredEvidence::Text(t) => (name, Evidence::Text(t)),
            })
            .collect();
        Ok(Doubt {
            code,
            text: stored.text,
            evidence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_of_a_later_version_is_not_passed_over() {
        let stored = StoredDoubt {
            code: "moon_phase".to_owned(),
            text: String::new(),
            evidence: vec![],
        };
        assert_eq!(
            Doubt::try_from(stored),
            Err("unknown doubt `moon_phase`".to_owned())
        );
    }
}
