//! What version 2 of a window has behind the fields of version 1.
//!
//! An older reader takes the front and misses nothing that it knew of. A window of version 1 has
//! nothing here: its counts are nil and what may be unknown is unknown.

use serde::{Deserialize, Serialize};
use windage_model::{Outlier, Window};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredAddition {
    waited: u64,
    grown: u64,
    pauses: u64,
    generator_preemptions: Option<u64>,
    generator_run_queue_ns: Option<u64>,
    stalls: u64,
    /// How long, and when after the load's start.
    longest_stall_ns: [u64; 2],
    /// Intended start after the window's start, sent after that, completed after that: small
    /// numbers are short in a file. Signed, since an exchange may begin before the window's
    /// first look at the clock.
    outliers_ns: Vec<[i64; 3]>,
}

impl From<&Window> for StoredAddition {
    fn from(window: &Window) -> Self {
        let exchanges = &window.exchanges;
        StoredAddition {
            waited: exchanges.waited,
            grown: exchanges.grown,
            pauses: exchanges.pauses,
            generator_preemptions: exchanges.generator_preemptions,
            generator_run_queue_ns: exchanges.generator_run_queue_ns,
            stalls: exchanges.stalls,
            longest_stall_ns: [exchanges.longest_stall_ns, exchanges.longest_stall_at_ns],
            outliers_ns: window
                .outliers
                .iter()
                .map(|outlier| steps(window.started_ns, outlier))
                .collect(),
        }
    }
}

impl StoredAddition {
    /// Fills in what the window's first version has no place for.
    pub(super) fn complete(self, window: &mut Window) {
        let exchanges = &mut window.exchanges;
        exchanges.waited = self.waited;
        exchanges.grown = self.grown;
        exchanges.pauses = self.pauses;
        exchanges.generator_preemptions = self.generator_preemptions;
        exchanges.generator_run_queue_ns = self.generator_run_queue_ns;
        exchanges.stalls = self.stalls;
        [exchanges.longest_stall_ns, exchanges.longest_stall_at_ns] = self.longest_stall_ns;
        window.outliers = self
            .outliers_ns
            .iter()
            .map(|&of| outlier(window.started_ns, of))
            .collect();
    }
}

/// Each time as the distance from the one before; wrapping, so that any times come back.
fn steps(started_ns: u64, outlier: &Outlier) -> [i64; 3] {
    let Outlier {
        intended_ns,
        sent_ns,
        completed_ns,
    } = *outlier;
    [
        intended_ns.wrapping_sub(started_ns).cast_signed(),
        sent_ns.wrapping_sub(intended_ns).cast_signed(),
        completed_ns.wrapping_sub(sent_ns).cast_signed(),
    ]
}

fn outlier(started_ns: u64, [intended, sent, completed]: [i64; 3]) -> Outlier {
    let intended_ns = started_ns.wrapping_add_signed(intended);
    let sent_ns = intended_ns.wrapping_add_signed(sent);
    Outlier {
        intended_ns,
        sent_ns,
        completed_ns: sent_ns.wrapping_add_signed(completed),
    }
}
