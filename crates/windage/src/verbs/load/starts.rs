//! When requests of an open loop start: at a rate, along a profile, or at recorded times.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use windage_load::{Piece, Profile, ReplayError, Schedule};
use windage_report::number::rate;

use crate::flag_values::duration;

/// The highest rate, in requests per second; the same as a plan's.
const MAX_RATE_PER_S: f64 = 10_000_000.0;

/// When requests of an open loop start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrivals {
    /// At equal intervals.
    Constant,
    /// At random, like independent users.
    Poisson,
}

impl Arrivals {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Arrivals::Constant => "constant",
            Arrivals::Poisson => "poisson",
        }
    }
}

/// What the starts of an open loop follow.
#[derive(Clone, Debug)]
pub(super) enum Starts {
    /// Requests per second.
    Rate(f64),
    Profile(ProfileFlag),
    /// Recorded times, and the file they come from.
    Replay {
        schedule: Schedule,
        file: String,
    },
}

/// A profile as given by a flag.
#[derive(Clone, Debug)]
pub(crate) struct ProfileFlag {
    text: String,
    profile: Profile,
}

impl ProfileFlag {
    /// Parses `0..2000/s for 10s, 2000/s for 30s`: constant rates, or ramps between two rates, each
    /// with its length.
    pub(super) fn parse(text: &str) -> Result<ProfileFlag, String> {
        let pieces: Vec<Piece> = text.split(',').map(piece).collect::<Result<_, _>>()?;
        let profile = Profile::new(&pieces).map_err(|error| error.to_string())?;
        Ok(ProfileFlag {
            text: text.trim().to_owned(),
            profile,
        })
    }

    /// Its length.
    pub(super) fn lasts(&self) -> Duration {
        self.profile.lasts()
    }
}

impl Starts {
    /// Reads recorded starts and their length: the time to the last start plus the average
    /// interval; one second if there is a single start.
    pub(super) fn replay(path: &Path) -> Result<(Starts, Duration), ReplayError> {
        let schedule = Schedule::read_replay(path)?;
        let (count, last_ns) = schedule
            .clone()
            .fold((0u64, 0), |(count, _), at_ns| (count + 1, at_ns));
        let gap_ns = last_ns.checked_div(count.saturating_sub(1));
        let gap_ns = gap_ns.unwrap_or(1_000_000_000).max(1);
        let file = path.display().to_string();
        let lasts = Duration::from_nanos(last_ns.saturating_add(gap_ns));
        Ok((Starts::Replay { schedule, file }, lasts))
    }

    /// The intended starts. The seed draws random arrivals.
    pub(super) fn schedule(&self, arrivals: Arrivals, seed: u64) -> Schedule {
        match (self, arrivals) {
            (Starts::Rate(per_s), Arrivals::Constant) => Schedule::constant(*per_s),
            (Starts::Rate(per_s), Arrivals::Poisson) => Schedule::poisson(*per_s, seed),
            (Starts::Profile(flag), Arrivals::Constant) => Schedule::profile(&flag.profile),
            (Starts::Profile(flag), Arrivals::Poisson) => {
                Schedule::poisson_profile(&flag.profile, seed)
            }
            (Starts::Replay { schedule, .. }, _) => schedule.clone(),
        }
    }

    /// A description for people.
    pub(super) fn describe(&self, arrivals: Arrivals) -> String {
        let arrivals = arrivals.as_str();
        match self {
            Starts::Rate(per_s) => format!("{}, {arrivals} arrivals", rate(*per_s)),
            Starts::Profile(flag) => format!("{}, {arrivals} arrivals", flag.text),
            Starts::Replay { file, .. } => format!("arrivals from {file}"),
        }
    }

    /// The rate, if it is constant.
    pub(super) fn rate_per_s(&self) -> Option<f64> {
        match self {
            Starts::Rate(per_s) => Some(*per_s),
            _ => None,
        }
    }

    /// The profile as it was given.
    pub(super) fn profile(&self) -> Option<&str> {
        match self {
            Starts::Profile(flag) => Some(&flag.text),
            _ => None,
        }
    }

    /// The file of recorded starts.
    pub(super) fn replayed(&self) -> Option<&str> {
        match self {
            Starts::Replay { file, .. } => Some(file),
            _ => None,
        }
    }
}

fn piece(text: &str) -> Result<Piece, String> {
    let text = text.trim();
    let in_piece = |why: String| format!("`{text}`: {why}");
    let (rates, lasts) = text.split_once(" for ").ok_or_else(|| {
        in_piece("write a piece as RATE for DURATION, or RATE..RATE for DURATION".to_owned())
    })?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    Ok(Piece {
        from_per_s: rate_or_zero(from).map_err(in_piece)?,
        to_per_s: rate_or_zero(to).map_err(in_piece)?,
        lasts: duration_or_zero(lasts.trim()).map_err(in_piece)?,
    })
}

pub(super) const NOTHING: &str = "the rate must be above 0/s";

/// Parses a rate in requests per second, which may be zero: `2000/s` or `2000`.
pub(super) fn rate_or_zero(text: &str) -> Result<f64, String> {
    let number = text.trim();
    let number = number.strip_suffix("/s").unwrap_or(number).trim_end();
    let unsigned = number.strip_prefix('-').unwrap_or(number);
    // `f64`'s own parser also takes `inf`, `nan` and exponents.
    let is_plain = unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let rate_per_s = number
        .parse::<f64>()
        .ok()
        .filter(|rate| is_plain && rate.is_finite())
        .ok_or("not a rate; write it as 2000/s")?;
    if rate_per_s < 0.0 {
        return Err(NOTHING.into());
    }
    if rate_per_s > MAX_RATE_PER_S {
        return Err(format!("the highest rate is {MAX_RATE_PER_S}/s"));
    }
    Ok(rate_per_s)
}

pub(super) fn duration_or_zero(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(zero) if zero.is_zero() => Ok(zero),
        _ => duration(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_pieces_with_their_lengths() {
        let profile = ProfileFlag::parse("0..100/s for 10s, 100/s for 5s,0 for 1s").unwrap();
        assert_eq!(profile.lasts(), Duration::from_secs(16));
        let starts = Starts::Profile(profile).schedule(Arrivals::Constant, 1);
        assert_eq!(starts.count(), 1000);
        let wrong = [
            "",
            "100/s",
            "100/s 10s",
            "0/s for 10s",
            "100/s for 0s",
            "-1/s for 1s",
            "a..b for 1s",
            "100/s for 1s,",
        ];
        for wrong in wrong {
            assert!(ProfileFlag::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_is_the_same_for_the_same_seed() {
        let starts = Starts::Rate(100.0);
        let first =
            |seed| -> Vec<u64> { starts.schedule(Arrivals::Poisson, seed).take(5).collect() };
        assert_eq!(first(3), first(3));
        assert_ne!(first(3), first(4));
        assert_eq!(
            starts.describe(Arrivals::Poisson),
            "100/s, poisson arrivals"
        );
    }
}
