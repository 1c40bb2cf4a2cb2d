//! Whether the disk has room for another round.

use windage_plan::FREE_DISK_BYTES_MIN;

/// What the last round took of the disk.
#[derive(Debug, Default)]
pub(crate) struct FreeDisk {
    /// What was free before the last round.
    before_bytes: Option<u64>,
}

impl FreeDisk {
    /// How much a round needs, if less than that is free. A round needs twice what the last one took:
    /// logs grow faster while a service fails. Of what others wrote meanwhile, later rounds know
    /// nothing.
    pub(crate) fn lacking(&mut self, free_bytes: u64) -> Option<u64> {
        let before_bytes = self.before_bytes.replace(free_bytes);
        let took_bytes = before_bytes.map_or(0, |before| before.saturating_sub(free_bytes));
        let needed_bytes = FREE_DISK_BYTES_MIN.max(took_bytes.saturating_mul(2));
        (free_bytes < needed_bytes).then_some(needed_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_needs_twice_what_the_last_one_took() {
        let table: [(&[u64], Option<u64>, &str); 6] = [
            (&[256], None, "the least, exactly"),
            (&[255], Some(256), "less"),
            (
                &[1000, 990, 300],
                Some(1380),
                "690 in the last of two rounds",
            ),
            (&[1000, 600], Some(800), "400 in a round"),
            (&[9000, 4400, 4300], None, "somebody else wrote earlier"),
            (&[1000, 2000, 300], Some(3400), "1700 in the last"),
        ];
        for (free_mb, needed_mb, why) in table {
            let mut disk = FreeDisk::default();
            let looks = free_mb.iter().map(|mb| disk.lacking(mb * 1_000_000));
            let last = looks.last().unwrap();
            assert_eq!(last, needed_mb.map(|mb| mb * 1_000_000), "{why}");
        }
    }
}
