//! Whether the machine was suspended.

use std::io;

use crate::system::{Clock, System};

/// How long the machine has been suspended since it booted, within bounds: the two clocks that show
/// it are read one after the other, and this process may lose its core in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspension {
    at_least_ns: u64,
    at_most_ns: u64,
}

impl Suspension {
    /// Reads it: the boot clock goes on while the machine is suspended, the monotonic clock does
    /// not.
    ///
    /// # Errors
    /// When the system has no such clock.
    pub fn read(system: &dyn System) -> io::Result<Suspension> {
        let before_ns = system.clock_ns(Clock::Monotonic)?;
        let boot_ns = system.clock_ns(Clock::Boot)?;
        let after_ns = system.clock_ns(Clock::Monotonic)?;
        Ok(Suspension {
            at_least_ns: boot_ns.saturating_sub(after_ns),
            at_most_ns: boot_ns.saturating_sub(before_ns),
        })
    }

    /// How long it was suspended since an earlier reading, at the least, in nanoseconds.
    #[must_use]
    pub fn since(&self, earlier: &Suspension) -> u64 {
        self.at_least_ns.saturating_sub(earlier.at_most_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;
    use crate::linux::Linux;

    #[test]
    fn a_suspension_is_what_the_boot_clock_gained() {
        let read = |monotonic_ns, boot_ns| {
            let system = FakeSystem::new();
            system.set_clock(Clock::Monotonic, monotonic_ns);
            system.set_clock(Clock::Boot, boot_ns);
            Suspension::read(&system).unwrap()
        };
        let table = [
            (read(100, 100), read(900, 900), 0, "awake"),
            (read(100, 350), read(900, 1_150), 0, "suspended before"),
            (read(100, 100), read(900, 5_900), 5_000, "suspended"),
        ];
        for (earlier, now, expected_ns, why) in table {
            assert_eq!(now.since(&earlier), expected_ns, "{why}");
        }
        let lost_its_core = Suspension {
            at_least_ns: 0,
            at_most_ns: 9_000,
        };
        assert_eq!(read(0, 8_000).since(&lost_its_core), 0, "within the bounds");
        assert!(Suspension::read(&FakeSystem::new()).is_err());
    }

    #[test]
    fn a_machine_that_runs_is_not_suspended() {
        let earlier = Suspension::read(&Linux).unwrap();
        let now = Suspension::read(&Linux).unwrap();
        assert_eq!(now.since(&earlier), 0);
    }
}
