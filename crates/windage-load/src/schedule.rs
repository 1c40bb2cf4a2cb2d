//! Arrival schedules: intended starts as offsets from the window's start, known in advance.

mod profile;
mod replay;

use std::path::Path;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub use profile::{Piece, Profile, ProfileError};
pub use replay::ReplayError;

/// A deterministic sequence of intended starts, in nanoseconds from the window's start.
///
/// Offsets never decrease. A schedule with one rate is endless; a profile or a replay ends. A rate
/// that is not positive and finite has no starts. A clone continues from the original's position,
/// and `next` allocates nothing.
///
/// ```
/// use windage_load::Schedule;
/// let starts: Vec<u64> = Schedule::constant(2_000.0).take(3).collect();
/// assert_eq!(starts, [0, 500_000, 1_000_000]);
/// ```
#[derive(Clone, Debug)]
pub struct Schedule(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Constant {
        rate_per_s: f64,
        next: u64,
    },
    Poisson {
        rate_per_s: f64,
        at_ns: f64,
        random: Box<ChaCha8Rng>,
    },
    Profile {
        profile: Profile,
        piece: usize,
        due: Due,
        latest_ns: u64,
    },
    Replay {
        offsets_ns: Arc<[u64]>,
        next: usize,
    },
    Empty,
}

/// The profile's integral at which the next start is due.
#[derive(Clone, Debug)]
enum Due {
    Evenly {
        next: u64,
    },
    Randomly {
        starts: f64,
        random: Box<ChaCha8Rng>,
    },
}

impl Schedule {
    /// Starts at equal distances, the first at 0.
    #[must_use]
    pub fn constant(rate_per_s: f64) -> Schedule {
        if !is_rate(rate_per_s) {
            return Schedule(Kind::Empty);
        }
        Schedule(Kind::Constant {
            rate_per_s,
            next: 0,
        })
    }

    /// Starts of a Poisson process: exponential gaps, with a gap before the first start. The same
    /// seed gives the same starts on every machine.
    #[must_use]
    pub fn poisson(rate_per_s: f64, seed: u64) -> Schedule {
        if !is_rate(rate_per_s) {
            return Schedule(Kind::Empty);
        }
        let random = Box::new(ChaCha8Rng::seed_from_u64(seed));
        Schedule(Kind::Poisson {
            rate_per_s,
            at_ns: 0.0,
            random,
        })
    }

    /// Evenly spaced starts by a changing rate: one each time the profile's integral grows by one.
    /// As many in total as the integral over the whole profile, all before its end.
    #[must_use]
    pub fn profile(profile: &Profile) -> Schedule {
        Schedule::along(profile, Due::Evenly { next: 0 })
    }

    /// Starts of a Poisson process whose rate follows a profile. They end with it.
    #[must_use]
    pub fn poisson_profile(profile: &Profile, seed: u64) -> Schedule {
        let random = Box::new(ChaCha8Rng::seed_from_u64(seed));
        let starts = 0.0;
        Schedule::along(profile, Due::Randomly { starts, random })
    }

    fn along(profile: &Profile, due: Due) -> Schedule {
        Schedule(Kind::Profile {
            profile: profile.clone(),
            piece: 0,
            due,
            latest_ns: 0,
        })
    }

    /// Starts at recorded times, in nanoseconds from the window's start. Clones share them.
    ///
    /// # Errors
    /// When there are none, or one is earlier than the one before it.
    pub fn replay(offsets_ns: impl Into<Arc<[u64]>>) -> Result<Schedule, ReplayError> {
        let offsets_ns = offsets_ns.into();
        replay::check(&offsets_ns)?;
        Ok(Schedule(Kind::Replay {
            offsets_ns,
            next: 0,
        }))
    }

    /// Starts at the times in a file: one per line, in seconds from the start of the recording,
    /// such as `12.000345`. In lines with commas the first value counts. A first line that is not a
    /// number is skipped as a header.
    ///
    /// # Errors
    /// When the file can't be read, is larger than 256 MiB or has no times, or when a line has no
    /// time or an earlier one than the line before it.
    pub fn read_replay(path: &Path) -> Result<Schedule, ReplayError> {
        Schedule::replay(replay::read(path)?)
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            Kind::Constant { rate_per_s, next } => {
                // From the ordinal, not from the previous start: sums of rounded gaps drift.
                let at_ns = *next as f64 / *rate_per_s * 1e9;
                *next += 1;
                Some(whole_ns(at_ns))
            }
            Kind::Poisson {
                rate_per_s,
                at_ns,
                random,
            } => {
                *at_ns += unit_gap(random) / *rate_per_s * 1e9;
                Some(whole_ns(*at_ns))
            }
            Kind::Profile {
                profile,
                piece,
                due,
                latest_ns,
            } => {
                let at_ns = profile.at_ns(piece, due.next())?;
                // At high rates rounding can put a start before the previous one.
                *latest_ns = at_ns.max(*latest_ns);
                Some(*latest_ns)
            }
            Kind::Replay { offsets_ns, next } => {
                let at_ns = offsets_ns.get(*next).copied()?;
                *next += 1;
                Some(at_ns)
            }
            Kind::Empty => None,
        }
    }
}

impl Due {
    fn next(&mut self) -> f64 {
        match self {
            Due::Evenly { next } => {
                let ordinal = *next;
                *next += 1;
                ordinal as f64
            }
            // A Poisson process of rate 1 in the profile's integral has the profile's rate in time
            // (Çinlar, Introduction to Stochastic Processes, 4.7).
            Due::Randomly { starts, random } => {
                *starts += unit_gap(random);
                *starts
            }
        }
    }
}

/// A draw from the exponential distribution of mean 1.
fn unit_gap(random: &mut ChaCha8Rng) -> f64 {
    // 53 random bits give a number in (0, 1]; zero is excluded because of the logarithm.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -uniform.ln()
}

fn is_rate(rate_per_s: f64) -> bool {
    rate_per_s.is_finite() && rate_per_s > 0.0
}

/// Offsets are not negative, and the cast saturates at 584 years.
fn whole_ns(at_ns: f64) -> u64 {
    at_ns.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constant_starts_do_not_drift() {
        // 1/3 s is not a whole number of nanoseconds; after a million starts it must still fit.
        let at = |rate: f64, i: usize| Schedule::constant(rate).nth(i);
        assert_eq!(at(3.0, 1), Some(333_333_333));
        assert_eq!(at(3.0, 3), Some(1_000_000_000));
        assert_eq!(at(3.0, 999_999), Some(333_333_000_000_000));
        assert_eq!(at(7_000.0, 700_000), Some(100_000_000_000));
    }

    #[test]
    fn invalid_rates_have_no_starts() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Schedule::constant(rate).next(), None, "{rate}");
            assert_eq!(Schedule::poisson(rate, 1).next(), None, "{rate}");
        }
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        // Kolmogorov–Smirnov against 1 − exp(−rate·gap): 1.63 / √n is the 1 % critical value.
        let (rate, n) = (1_000.0, 20_000usize);
        let starts: Vec<u64> = Schedule::poisson(rate, 42).take(n).collect();
        let mut before = 0;
        let mut gaps_s: Vec<f64> = starts
            .iter()
            .map(|&at| (at - std::mem::replace(&mut before, at)) as f64 / 1e9)
            .collect();
        gaps_s.sort_by(f64::total_cmp);
        let farthest = gaps_s
            .iter()
            .enumerate()
            .map(|(i, gap)| {
                let expected = 1.0 - (-rate * gap).exp();
                (expected - i as f64 / n as f64)
                    .abs()
                    .max(((i + 1) as f64 / n as f64 - expected).abs())
            })
            .fold(0.0, f64::max);
        assert!(farthest < 1.63 / (n as f64).sqrt(), "{farthest}");
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        let starts = |seed| Schedule::poisson(500.0, seed).take(50).collect::<Vec<_>>();
        assert_eq!(starts(7), starts(7));
        assert_ne!(starts(7), starts(8));
    }

    proptest! {
        #[test]
        fn starts_are_sorted_and_keep_their_rate(rate in 10.0f64..1e6, seed: u64) {
            let n = 5_000u32;
            for schedule in [Schedule::constant(rate), Schedule::poisson(rate, seed)] {
                let starts: Vec<u64> = schedule.take(n as usize + 1).collect();
                prop_assert!(starts.is_sorted());
                let span_s = (starts[n as usize] - starts[0]) as f64 / 1e9;
                // Six standard errors of a Poisson count.
                let tolerance = 6.0 / f64::from(n).sqrt();
                prop_assert!((f64::from(n) / span_s / rate - 1.0).abs() < tolerance);
            }
        }
    }
}
