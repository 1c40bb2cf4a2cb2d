//! Rates that change over time: ramps, steps and combinations of them.

use std::sync::Arc;
use std::time::Duration;

/// A nanosecond clock can't resolve more starts per second.
const RATE_PER_S_MAX: f64 = 1e9;

/// A piece of a profile, in which the rate changes linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Starts per second at its beginning; 0 for none.
    pub from_per_s: f64,
    /// Starts per second at its end; equal to the beginning for a constant rate.
    pub to_per_s: f64,
    /// Its length; more than zero.
    pub lasts: Duration,
}

/// Why pieces don't form a profile. Pieces are counted from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// An invalid rate.
    #[error("piece {piece}: {rate_per_s} is not a rate; give starts per second, from 0 to 1e9")]
    Rate {
        /// Which piece.
        piece: usize,
        /// The rate.
        rate_per_s: f64,
    },
    /// A piece of length zero.
    #[error("piece {piece} has no length; give it one, or remove the piece")]
    NoTime {
        /// Which piece.
        piece: usize,
    },
    /// No start at all.
    #[error("the profile has no starts; give one of its pieces a rate above 0")]
    NoStarts,
    /// Longer than 64 bits of nanoseconds.
    #[error("the profile lasts longer than 584 years; shorten its pieces")]
    TooLong,
}

/// A rate that changes over time, piece by piece. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use windage_load::{Piece, Profile, Schedule};
/// let ramp = Piece { from_per_s: 0.0, to_per_s: 100.0, lasts: Duration::from_secs(10) };
/// let profile = Profile::new(&[ramp])?;
/// assert_eq!(Schedule::profile(&profile).last(), Some(9_989_994_995));
/// # Ok::<(), windage_load::ProfileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    legs: Arc<[Leg]>,
    lasts_ns: u64,
}

/// A piece and its position in the profile.
#[derive(Clone, Copy, Debug)]
struct Leg {
    piece: Piece,
    begins_ns: u64,
    /// The integral of the rate at its beginning and at its end.
    starts_before: f64,
    starts_after: f64,
}

impl Profile {
    /// Joins pieces.
    ///
    /// # Errors
    /// When a rate is negative, not finite or above 1e9/s, when a piece has no length, or when
    /// nothing would start.
    pub fn new(pieces: &[Piece]) -> Result<Profile, ProfileError> {
        let mut legs = Vec::with_capacity(pieces.len());
        let (mut begins_ns, mut starts) = (0u64, 0.0);
        for (index, &piece) in pieces.iter().enumerate() {
            piece.check(index + 1)?;
            let lasts_ns = u64::try_from(piece.lasts.as_nanos());
            let starts_after = starts + piece.starts();
            legs.push(Leg {
                piece,
                begins_ns,
                starts_before: starts,
                starts_after,
            });
            starts = starts_after;
            begins_ns = lasts_ns
                .ok()
                .and_then(|lasts_ns| begins_ns.checked_add(lasts_ns))
                .ok_or(ProfileError::TooLong)?;
        }
        if starts == 0.0 {
            return Err(ProfileError::NoStarts);
        }
        Ok(Profile {
            legs: legs.into(),
            lasts_ns: begins_ns,
        })
    }

    /// Total length.
    #[must_use]
    pub fn lasts(&self) -> Duration {
        Duration::from_nanos(self.lasts_ns)
    }

    /// When the integral exceeds this many starts; `None` if it never does. `leg` is where to start
    /// looking, and then where it was found: the next call can't ask for fewer.
    pub(super) fn at_ns(&self, leg: &mut usize, starts: f64) -> Option<u64> {
        while self.legs.get(*leg)?.starts_after <= starts {
            *leg += 1;
        }
        let Leg {
            piece,
            begins_ns,
            starts_before,
            ..
        } = self.legs[*leg];
        let within_ns = (piece.seconds_to(starts - starts_before) * 1e9).round() as u64;
        let at_ns = begins_ns.saturating_add(within_ns);
        (at_ns < self.lasts_ns).then_some(at_ns)
    }
}

impl Piece {
    fn check(&self, piece: usize) -> Result<(), ProfileError> {
        for rate_per_s in [self.from_per_s, self.to_per_s] {
            if !(0.0..=RATE_PER_S_MAX).contains(&rate_per_s) {
                return Err(ProfileError::Rate { piece, rate_per_s });
            }
        }
        if self.lasts.is_zero() {
            return Err(ProfileError::NoTime { piece });
        }
        Ok(())
    }

    /// The integral of its rate.
    fn starts(&self) -> f64 {
        f64::midpoint(self.from_per_s, self.to_per_s) * self.lasts.as_secs_f64()
    }

    /// When its integral reaches this many starts, in seconds from its beginning.
    ///
    /// Solves `from·t + slope·t²/2 = starts` in the form that loses no digits for either sign of
    /// the slope (Press et al., Numerical Recipes, 5.6).
    fn seconds_to(&self, starts: f64) -> f64 {
        let lasts_s = self.lasts.as_secs_f64();
        let slope = (self.to_per_s - self.from_per_s) / lasts_s;
        // Zero at the end of a ramp down to 0; rounding can make it slightly negative.
        let squared_rate = (self.from_per_s * self.from_per_s + 2.0 * slope * starts).max(0.0);
        let twice_mean_rate = self.from_per_s + squared_rate.sqrt();
        if twice_mean_rate == 0.0 {
            // At the very beginning of a ramp up from 0.
            return 0.0;
        }
        (2.0 * starts / twice_mean_rate).min(lasts_s)
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
