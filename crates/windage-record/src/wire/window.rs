//! Stored forms of windows and of warnings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windage_model::{
    Activity, ArmCpu, ArmIndex, Beside, ErrorCounts, Evidence, EvidenceMap, Exchanges,
    MachineDelta, Outlier, Place, StatusClasses, Warning, WarningCode, Window, WindowCpu,
};

use super::stored::{Store, stored};

stored!(Window as StoredWindow {
    place: Place,
    started_ns: u64,
    duration_ns: u64,
    stretch_ns: u64,
    exchanges: Exchanges,
    cpu: WindowCpu,
    machine: MachineDelta,
    beside: Beside,
    rss_bytes: Option<u64>,
    activity: Option<Activity>,
    warnings: Vec<Warning>,
    outliers: Vec<Outlier>,
});

stored!(Place as StoredPlace {
    launch: u32,
    round: u32,
    block: u32,
    position: u32,
    arm: ArmIndex,
});

stored!(Exchanges as StoredExchanges {
    intended: u64,
    sent: u64,
    completed: u64,
    dropped: u64,
    status: StatusClasses,
    errors: ErrorCounts,
    reopened: u64,
    settle_completed: u64,
    sent_bytes: u64,
    received_bytes: u64,
    send_lag_ns_p50: u64,
    send_lag_ns_p99: u64,
    send_lag_ns_max: u64,
    waited: u64,
    grown: u64,
    generator_preemptions: Option<u64>,
    generator_run_queue_ns: Option<u64>,
    stalls: u64,
    longest_stall_ns: u64,
    longest_stall_at_ns: u64,
});

stored!(ErrorCounts as StoredErrorCounts {
    connect: u64,
    timeout: u64,
    closed: u64,
    protocol: u64,
});

stored!(WindowCpu as StoredCpu {
    in_window_ns: Option<u64>,
    settle_ns: u64,
    others_in_window: Vec<ArmCpu>,
    others_before: Vec<ArmCpu>,
    generator_ns: u64,
    sink_ns: u64,
    windage_ns: u64,
});

stored!(ArmCpu as StoredArmCpu {
    arm: ArmIndex,
    cpu_ns: u64,
});

stored!(MachineDelta as StoredMachine {
    busy_ns: Option<u64>,
    steal_ns: u64,
    cpu_pressure_ns: Option<u64>,
});

stored!(Beside as StoredBeside {
    agent_ns: Option<u64>,
    agent_rss_bytes: Option<u64>,
    kernel_threads_ns: Option<u64>,
    between_readings_ns: Option<u64>,
});

stored!(Activity as StoredActivity {
    page_faults: u64,
    context_switches: u64,
});

/// A code and its evidence, both by name, because the order of codes in the model may change.
impl Store for Warning {
    type Stored = (String, BTreeMap<String, StoredEvidence>);

    fn store(&self) -> Self::Stored {
        let evidence = self.evidence();
        let evidence = evidence.iter().map(|(name, of)| (name.clone(), of.store()));
        (self.code().as_str().to_owned(), evidence.collect())
    }

    fn restore((name, evidence): Self::Stored) -> Result<Warning, String> {
        let code =
            WarningCode::from_name(&name).ok_or_else(|| format!("unknown warning `{name}`"))?;
        let evidence: Result<EvidenceMap, String> = evidence
            .into_iter()
            .map(|(name, of)| Ok((name, Evidence::restore(of)?)))
            .collect();
        let evidence = evidence?;
        let warning = Warning::from_evidence(code, &evidence)
            .ok_or_else(|| format!("the evidence of the warning `{name}` is not complete"))?;
        if warning.evidence().len() != evidence.len() {
            return Err(format!("the warning `{name}` has unknown evidence"));
        }
        Ok(warning)
    }
}

impl Store for StatusClasses {
    type Stored = [u64; 5];

    fn store(&self) -> [u64; 5] {
        self.0
    }

    fn restore(stored: [u64; 5]) -> Result<StatusClasses, String> {
        Ok(StatusClasses(stored))
    }
}

/// Each time except the first as the difference from the previous one: small numbers take less
/// space.
impl Store for Outlier {
    type Stored = (u64, i64, i64);

    fn store(&self) -> (u64, i64, i64) {
        let Outlier {
            intended_ns,
            sent_ns,
            completed_ns,
        } = *self;
        // Wrapping, so that any sequence of times survives.
        let waited = sent_ns.wrapping_sub(intended_ns).cast_signed();
        let served = completed_ns.wrapping_sub(sent_ns).cast_signed();
        (intended_ns, waited, served)
    }

    fn restore((intended_ns, waited, served): (u64, i64, i64)) -> Result<Outlier, String> {
        let sent_ns = intended_ns.wrapping_add_signed(waited);
        Ok(Outlier {
            intended_ns,
            sent_ns,
            completed_ns: sent_ns.wrapping_add_signed(served),
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) enum StoredEvidence {
    Number(f64),
    Text(String),
    List(Vec<String>),
}

impl Store for Evidence {
    type Stored = StoredEvidence;

    fn store(&self) -> StoredEvidence {
        match self {
            Evidence::Number(number) => StoredEvidence::Number(*number),
            Evidence::Text(text) => StoredEvidence::Text(text.clone()),
            Evidence::List(list) => StoredEvidence::List(list.clone()),
        }
    }

    fn restore(stored: StoredEvidence) -> Result<Evidence, String> {
        Ok(match stored {
            StoredEvidence::Number(number) => Evidence::Number(number),
            StoredEvidence::Text(text) => Evidence::Text(text),
            StoredEvidence::List(list) => Evidence::List(list),
        })
    }
}
