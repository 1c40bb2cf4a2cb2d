//! How what is kept is stored.

use serde::{Deserialize, Serialize};

use super::{KeptTimes, KeptTrack};
use crate::Committed;

/// What stands before the times.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredHead {
    /// The version that gathered it.
    pub(super) windage: String,
    journal_bytes: u64,
    histogram_bytes: [u64; 2],
    /// Of the manifest, the journal, response times and service times, as far as they were
    /// committed.
    pub(super) checksums: [u32; 4],
    /// How many loads the run has.
    pub(super) loads: u64,
}

impl StoredHead {
    pub(super) fn new(
        windage: &str,
        committed: &Committed,
        checksums: [u32; 4],
        loads: usize,
    ) -> StoredHead {
        StoredHead {
            windage: windage.to_owned(),
            journal_bytes: committed.journal_bytes,
            histogram_bytes: committed.histogram_bytes,
            checksums,
            loads: loads as u64,
        }
    }

    pub(super) fn committed(&self) -> Committed {
        Committed {
            journal_bytes: self.journal_bytes,
            histogram_bytes: self.histogram_bytes,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredTimes {
    tracks: Vec<StoredTrack>,
    whole: Vec<Vec<StoredCount>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredTrack {
    quantile: f64,
    ratios: Vec<Vec<(u32, Vec<f64>)>>,
}

/// Counters in use lie close together: how many were passed over takes one byte as a rule.
#[derive(Debug, Serialize, Deserialize)]
struct StoredCount {
    passed_over: u32,
    count: u64,
}

impl From<KeptTimes> for StoredTimes {
    fn from(kept: KeptTimes) -> StoredTimes {
        let tracks = kept.tracks.into_iter().map(|track| StoredTrack {
            quantile: track.quantile,
            ratios: track.ratios,
        });
        let of_arm = |counts: Vec<(u32, u64)>| {
            let mut next = 0_u32;
            let counts = counts.into_iter().map(|(counter, count)| {
                let passed_over = counter.wrapping_sub(next);
                next = counter.wrapping_add(1);
                StoredCount { passed_over, count }
            });
            counts.collect()
        };
        StoredTimes {
            tracks: tracks.collect(),
            whole: kept.whole.into_iter().map(of_arm).collect(),
        }
    }
}

impl From<StoredTimes> for KeptTimes {
    fn from(stored: StoredTimes) -> KeptTimes {
        let tracks = stored.tracks.into_iter().map(|track| KeptTrack {
            quantile: track.quantile,
            ratios: track.ratios,
        });
        let of_arm = |counts: Vec<StoredCount>| {
            let mut next = 0_u32;
            let counts = counts.into_iter().map(|stored| {
                let counter = next.wrapping_add(stored.passed_over);
                next = counter.wrapping_add(1);
                (counter, stored.count)
            });
            counts.collect()
        };
        KeptTimes {
            tracks: tracks.collect(),
            whole: stored.whole.into_iter().map(of_arm).collect(),
        }
    }
}
