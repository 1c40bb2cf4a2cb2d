//! Steal: time that the hypervisor took from this machine.

use std::fs;

use anyhow::{Context, Result};

/// CPU time that the hypervisor has taken from all cores since the machine started.
pub(super) fn stolen_s() -> Result<f64> {
    let stat = fs::read_to_string("/proc/stat").context("read /proc/stat")?;
    stolen_in(&stat).context("/proc/stat has no steal")
}

/// The eighth figure of the line of all cores, in ticks of 10 ms (proc(5)).
fn stolen_in(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: f64 = line.split_whitespace().nth(7)?.parse().ok()?;
    Some(ticks / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_figure() {
        let stat = "cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 1 1 1 1 1 1 1\n";
        assert_eq!(stolen_in(stat), Some(2.5));
        assert_eq!(stolen_in("cpu  1 2 3\n"), None);
        assert!(stolen_s().unwrap() >= 0.0);
    }
}
