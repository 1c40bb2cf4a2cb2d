//! What clocks show when they are compared: whether the machine was suspended, and whether the wall
//! clock was set.

use std::io;

use crate::system::{Clock, System};

/// How far the kernel's clocks are ahead of one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// The boot clock goes on while the machine is suspended, the monotonic clock does not.
    boot_before_monotonic: Lead,
    /// Both go on while the machine is suspended and are slewed alike, but only the wall clock is
    /// ever set.
    wall_before_boot: Lead,
}

impl Clocks {
    /// Reads them.
    ///
    /// # Errors
    /// When the system lacks a clock.
    pub fn read(system: &dyn System) -> io::Result<Clocks> {
        Ok(Clocks {
            boot_before_monotonic: Lead::read(system, [Clock::Boot, Clock::Monotonic])?,
            wall_before_boot: Lead::read(system, [Clock::Wall, Clock::Boot])?,
        })
    }

    /// How long the machine was suspended since an earlier reading, at the least, in nanoseconds.
    #[must_use]
    pub fn suspended_ns_since(&self, earlier: &Clocks) -> u64 {
        let gained_ns = self
            .boot_before_monotonic
            .gained_ns_since(earlier.boot_before_monotonic);
        u64::try_from(gained_ns).unwrap_or(0)
    }

    /// How far the wall clock was set since an earlier reading, at the least, in nanoseconds; below
    /// zero if back.
    #[must_use]
    pub fn stepped_ns_since(&self, earlier: &Clocks) -> i64 {
        self.wall_before_boot
            .gained_ns_since(earlier.wall_before_boot)
    }
}

/// How far one clock is ahead of another, in nanoseconds and within bounds: they are read one after
/// the other, and this process may lose its core in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lead {
    at_least_ns: i64,
    at_most_ns: i64,
}

impl Lead {
    /// Of the first clock before the second.
    fn read(system: &dyn System, [of, before]: [Clock; 2]) -> io::Result<Lead> {
        // 63 bits of nanoseconds last until the year 2262.
        let read = |clock| Ok::<i64, io::Error>(system.clock_ns(clock)?.cast_signed());
        let (first_ns, now_ns, last_ns) = (read(before)?, read(of)?, read(before)?);
        Ok(Lead {
            at_least_ns: now_ns.saturating_sub(last_ns),
            at_most_ns: now_ns.saturating_sub(first_ns),
        })
    }

    /// The smallest change that both readings allow.
    fn gained_ns_since(self, earlier: Lead) -> i64 {
        let at_least_ns = self.at_least_ns.saturating_sub(earlier.at_most_ns);
        let at_most_ns = self.at_most_ns.saturating_sub(earlier.at_least_ns);
        if at_least_ns > 0 {
            at_least_ns
        } else {
            at_most_ns.min(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;
    use crate::linux::Linux;

    /// A reading at these times of the monotonic, the boot and the wall clock.
    fn read([monotonic_ns, boot_ns, wall_ns]: [u64; 3]) -> Clocks {
        let system = FakeSystem::new();
        system.set_clock(Clock::Monotonic, monotonic_ns);
        system.set_clock(Clock::Boot, boot_ns);
        system.set_clock(Clock::Wall, wall_ns);
        Clocks::read(&system).unwrap()
    }

    #[test]
    fn a_suspended_machine_and_a_set_clock_are_told_apart() {
        // Two readings; how long the machine was suspended, and how far the wall clock was set.
        type Row = ([u64; 3], [u64; 3], (u64, i64), &'static str);
        let table: [Row; 6] = [
            ([100, 100, 7_100], [900, 900, 7_900], (0, 0), "neither"),
            (
                [100, 350, 7_100],
                [900, 1_150, 7_900],
                (0, 0),
                "suspended before",
            ),
            (
                [100, 100, 7_100],
                [900, 5_900, 12_900],
                (5_000, 0),
                "suspended: the wall clock goes on",
            ),
            (
                [100, 100, 7_100],
                [900, 900, 8_400],
                (0, 500),
                "set forward",
            ),
            (
                [100, 100, 7_100],
                [900, 900, 1_900],
                (0, -6_000),
                "set back",
            ),
            ([100, 100, 7_100], [900, 1_400, 8_390], (500, -10), "both"),
        ];
        for (earlier, now, expected, why) in table {
            let (earlier, now) = (read(earlier), read(now));
            let found = (
                now.suspended_ns_since(&earlier),
                now.stepped_ns_since(&earlier),
            );
            assert_eq!(found, expected, "{why}");
        }
        assert!(Clocks::read(&FakeSystem::new()).is_err());
    }

    #[test]
    fn a_change_within_the_bounds_is_none() {
        let lead = |at_least_ns, at_most_ns| Lead {
            at_least_ns,
            at_most_ns,
        };
        let lost_its_core = lead(0, 9_000);
        for (now, expected_ns) in [
            (lead(8_000, 8_000), 0),
            (lead(9_500, 9_600), 500),
            (lead(-300, -200), -200),
        ] {
            assert_eq!(now.gained_ns_since(lost_its_core), expected_ns, "{now:?}");
        }
    }

    #[test]
    fn a_machine_that_runs_is_not_suspended() {
        let earlier = Clocks::read(&Linux).unwrap();
        let now = Clocks::read(&Linux).unwrap();
        assert_eq!(now.suspended_ns_since(&earlier), 0);
    }
}
